// The rows of the verbs that keep, collect and carry histories, for the table in verbs.ts. Test: test/tables/cli-verbs.test.ts.
import type { Verb } from './verbs.ts'

export const HISTORY: Readonly<Record<'gc' | 'pin' | 'export' | 'import', Verb>> = {
  gc: {
    summary: 'Collect ended processes',
    usage: ['reeve gc [--dry-run] [-f]'],
    about: [
      'Removes ended processes by the rules of the configuration (`gc`): those that ended more than `retention_days` ago, the oldest while there are more than `max_entries`, and the oldest while the store is larger than `max_bytes`. Each rule counts on its own; one that is 0 is off. The daemon does the same by itself, every `interval_seconds`.',
      'What lives, is suspended or is pinned (`reeve pin`) never goes. What forks go on from is kept for them. A row that cannot be read is passed over with a warning.',
      'It shows what goes. On a terminal it asks before it collects more than 100; without one it refuses that, unless `--force` or `--json` is given.',
    ],
    words: [0, 0],
    flags: { 'dry-run': { kind: 'on', help: 'only show what would go' }, force: { kind: 'on', short: 'f', help: 'do not ask' } },
    exits: '0; 1 not agreed to; 4 the daemon cannot be reached; 64 usage, or many and nobody to ask',
    examples: [['reeve gc --dry-run', 'what would go'], ['reeve gc', 'collect now'], ['reeve config set gc.retention_days 7', 'keep a week']],
    load: () => import('./verbs/gc.ts'),
  },
  pin: {
    summary: 'Keep processes from being collected',
    usage: ['reeve pin [--remove] P...'],
    about: ['A pinned process is never collected, and `reeve rm` removes it with `--force` alone. `reeve ps` says so in NOTE.'],
    words: [1, 1000],
    flags: { remove: { kind: 'on', help: 'take that back' } },
    exits: '0; 3 no such process; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve pin docs', 'keep it'], ['reeve pin --remove docs', 'it may be collected again']],
    load: () => import('./verbs/pin.ts'),
  },
  export: {
    summary: 'Write the history of a process to files',
    usage: ['reeve export P DIR'],
    about: [
      'Writes all that there is of a process to DIR/steps/UUID, and prints that path: its steps with requests and responses, its events, the tokens of its context, its prompt and tools, its newest checkpoint. The history of a fork is whole, with what it goes on from. The process may live; it is written as it is now. There are no keys in it.',
      'The directory is there as a whole or not at all, and nothing is ever written over. `reeve import` brings the process back, on any machine.',
    ],
    words: [2, 2],
    flags: {},
    exits: '0; 1 something is there already; 3 no such process; 4 the daemon cannot be reached; 64 usage, or DIR cannot be written',
    examples: [['reeve export docs ~/backup', 'to ~/backup/steps/UUID'], ['jq -r .response.finish ~/backup/steps/*/steps.jsonl', 'read it with other programs']],
    load: () => import('./verbs/export.ts'),
  },
  import: {
    summary: 'Bring back processes that were exported',
    usage: ['reeve import DIR'],
    about: [
      'DIR is a directory that `reeve export` made: one steps/UUID, or what several are in. Each comes back with its UUID and all of its history, ended, and can be resumed and forked. What had not ended is interrupted. One that is here already is refused; one that was removed here may come back.',
      'A torn last line and a missing checkpoint are told and helped. Any other damage is refused with the file, the line and the byte, and leaves nothing behind.',
    ],
    words: [1, 1],
    flags: {},
    exits: '0; 1 it is here already; 4 the daemon cannot be reached; 64 usage, or what is in DIR cannot be used',
    examples: [['reeve import ~/backup', 'all of it'], ['reeve import ~/backup/steps/0198c1a2-7b54-7cc3-9d4e-5f60718293a4', 'one']],
    load: () => import('./verbs/import.ts'),
  },
}
