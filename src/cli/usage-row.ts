// The row of `reeve usage` for the table in verbs.ts. Test: test/tables/cli-verbs.test.ts.
import type { Verb } from './verbs.ts'

export const USAGE: Readonly<Record<'usage', Verb>> = {
  usage: {
    summary: 'Show what was used, and what it cost',
    usage: ['reeve usage [--by agent|model|day|tree] [--since D|TIME]'],
    about: [
      'Adds up tokens, steps and USD of all processes, those that have ended and those that were removed, by the agent (the default), the model, the day, or the tree: who began it, with all that it and its children spawned. A fork counts by itself, and only for what it used itself.',
      'INPUT are tokens that were neither read from nor written to the provider\'s cache. A COST with `+` is a lower bound, as the price of some call is not known; one with `~` is in part an estimate, as some call was cut off. Prices of your own stand in config.yaml, under `prices`.',
      '`--since` counts whole hours. What each process of its own used says `reeve inspect`.',
    ],
    words: [0, 0],
    flags: {
      by: { kind: 'text', value: 'GROUP', help: 'agent (default), model, day or tree' },
      since: { kind: 'text', value: 'D|TIME', help: 'only what was used since: 2h, 7d, 2026-01-31, 2026-01-31T14:05' },
    },
    exits: '0; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve usage', 'by agent'], ['reeve usage --by day --since 7d', 'the last week'], ['reeve usage --by model --json', 'for a program']],
    load: () => import('./verbs/usage.ts'),
  },
}
