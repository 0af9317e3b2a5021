// The rows of the verbs that keep, collect and carry histories, for the table in verbs.ts. Test: test/tables/cli-verbs.test.ts.
import type { Verb } from './verbs.ts'

export const HISTORY: Readonly<Record<'gc' | 'pin', Verb>> = {
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
}
