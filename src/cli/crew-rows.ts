// The rows of `reeve crew` in the table of verbs: the family and its parts. Test: test/tables/cli-verbs.test.ts.
import type { Verb } from './verbs.ts'

const PARTS: Readonly<Record<string, Verb>> = {
  roles: {
    summary: 'Show what the members of a crew are told',
    usage: ['reeve crew roles [ROLE]'],
    about: [
      'Lists the roles, and where the prompt of each comes from; with a ROLE it prints that prompt. A file `.reeve/roles/ROLE.md` of the project replaces it, or one in `roles` beside your config.yaml. It is Markdown without a front matter, and is recorded with each member when the crew is started.',
    ],
    words: [0, 1],
    flags: {},
    exits: '0; 4 the daemon cannot be reached; 64 usage, or a file that cannot be used',
    examples: [['reeve crew roles', 'which there are'], ['reeve crew roles reviewer > .reeve/roles/reviewer.md', 'a copy to change']],
    load: () => import('./verbs/crew-roles.ts'),
  },
}

export const CREW: Readonly<Record<string, Verb>> = {
  crew: {
    summary: 'Let several agents work on a list of tasks',
    usage: Object.values(PARTS).flatMap(({ usage }) => usage),
    about: [
      'A crew is a coordinator and its workers: tasks are implemented, reviewed by another member, and committed. docs/crews.md says how.',
      'Without a part it lists them.',
    ],
    words: [0, 0],
    flags: {},
    parts: PARTS,
    exits: '0',
    examples: [['reeve crew roles', 'what the members are told'], ['reeve help crew roles', 'all about one part']],
    load: () => import('./verbs/crew.ts'),
  },
}
