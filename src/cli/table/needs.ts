// The row of `reeve needs` in the verb table. Test: test/tables/cli/table/verbs.test.ts.
import type { Verb } from './verb.ts'

export const NEEDS_VERBS: Readonly<Record<'needs', Verb>> = {
  needs: {
    summary: 'List what waits for you',
    usage: ['reeve needs [-a] [--evidence] [--limit N] [P]', 'reeve needs --seen [P]', 'reeve needs --snooze DURATION|off [P]'],
    about: [
      'Lists what waits for you, the most urgent first, with the command that answers or shows it. P limits the list to a process and all below it.',
      'KIND distinguishes tool calls (`command`, `edit`, `fetch`, `permission`), questions (`plan`, `choice`, `text`), and questions of a crew (`gate`, `review`, `human-task`, `merge`). `hold` is a pause that only you can end. `failed` and `finished` are ends of the last seven days that you have not seen. `silent` is a process without output or progress. A plain command cannot ask: only its end and its silence are listed.',
      '`--evidence` shows the question, the change of each file, and what the agent wrote before. `--seen` removes the listed ends from the list, for all clients. `reeve run` and `reeve attach` on a terminal do the same with the end that they print. `--snooze` puts off what is listed now; an answer by anyone ends that.',
    ],
    wordRange: [0, 1],
    flags: {
      all: { kind: 'on', short: 'a', help: 'also list what is put off' },
      evidence: { kind: 'on', help: 'show the evidence of each' },
      limit: { kind: 'count', value: 'N', help: 'list at most N (default 100, at most 1,000)' },
      seen: { kind: 'on', help: 'mark what is listed as seen' },
      snooze: { kind: 'text', value: 'DURATION|off', help: 'put off what is listed, for a duration such as 2h' },
    },
    exits: '0; 3 no such process; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve needs', 'what waits for you'],
      ['reeve needs --evidence 5', 'what process 5 asks, with the change'],
      ['reeve needs --seen', 'mark the ended ones as seen'],
      ['reeve needs --snooze 2h docs', 'not now'],
    ],
    load: () => import('../verbs/needs.ts'),
  },
}
