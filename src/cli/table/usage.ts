// The row of `reeve usage` in the verb table. Test: test/tables/cli/table/verbs.test.ts.
import type { Verb } from './verb.ts'

export const USAGE_VERBS: Readonly<Record<'usage', Verb>> = {
  usage: {
    summary: 'Show usage and cost',
    usage: ['reeve usage [--by GROUP[,GROUP]] [-l LABEL] [--since D|TIME] [--until D|TIME] [P]'],
    about: [
      'Adds up tokens, steps and USD of all processes, also of ended and removed ones. The groups are `agent` (the default), `model`, `day`, `hour`, `process`, `project`, `label:KEY` and `tree`. A project is the directory of the start, and a tree is a root process with all its descendants. A fork counts separately, only with its own usage.',
      'With P only that process and all below it count, by process. Two groups, such as `--by day,model`, give a row for each pair. With `-l` only the processes with that label count.',
      "INPUT counts tokens that were neither read from nor written to the provider's cache. A COST with `+` is a lower bound, because the price of some call is unknown; `~` marks a partial estimate, because some call was cut off. Set your own prices in config.yaml, under `prices`.",
      'If config.yaml has `budgets`, two lines show what all processes have spent today and this month.',
      '`--since` and `--until` count whole hours. `reeve inspect` shows the usage of one process.',
    ],
    wordRange: [0, 1],
    flags: {
      by: {
        kind: 'text',
        value: 'GROUP',
        help: 'agent (default), model, day, hour, tree, process, project or label:KEY; or two of them, such as day,model',
      },
      label: { kind: 'text', short: 'l', value: 'LABEL', help: 'only processes with this label: KEY=VALUE, or KEY with any value' },
      since: { kind: 'text', value: 'D|TIME', help: 'only usage since: 2h, 7d, 2026-01-31, 2026-01-31T14:05' },
      until: { kind: 'text', value: 'D|TIME', help: 'only usage before this time' },
    },
    exits: '0; 3 no such process; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve usage', 'by agent'],
      ['reeve usage --by day --since 7d', 'the last week'],
      ['reeve usage --by day,model --since 7d', 'each model on each day'],
      ['reeve usage --by label:team', 'by the values of a label'],
      ['reeve usage -l team=web --by model', 'the models of the processes with a label'],
      ['reeve usage fix', 'one process and all below it'],
      ['reeve usage --by model --json', 'for a program'],
    ],
    load: () => import('../verbs/system/usage.ts'),
  },
}
