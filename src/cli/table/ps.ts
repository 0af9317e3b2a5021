// The row of `reeve ps` in the verb table, and the flag that selects by labels. The row has its own file, because the entry of `ps` must
// not load other rows. Test: test/tables/cli/table/verbs.test.ts.
import type { Flag } from '../input/args.ts'
import type { Verb } from './verb.ts'

/** Selects processes by their labels. */
export const LABEL_FILTER: Flag = {
  kind: 'list',
  short: 'l',
  value: 'LABEL',
  help: 'only processes with this label: KEY=VALUE, or KEY with any value; all given ones must match',
}

export const PS_VERB: Omit<Verb, 'load'> = {
  summary: 'List the processes',
  usage: ['reeve ps [-a] [--tree] [--watch] [--here] [-l LABEL]... [--filter KEY=VALUE]... [FLAG]...'],
  about: [
    'Lists the living processes by PID; with `-a` also ended ones. A COST with a + is a lower bound: the price of some call is unknown.',
    'Filters: status, name, agent, driver, state, parent (a P). Values of the same key are alternatives; different keys must all match. A status or state of ended processes includes ended ones.',
    'NOTE has what the user should know, else the beginning of the intent. On a narrow terminal ID, AGENT and STEP are left out first. `-o` chooses columns; `reeve ps -o help` lists them.',
    'With `--watch` the table updates on its own screen until q or Ctrl+C. A line on top names the processes that need you: `reeve needs` lists what they wait for, and `reeve web` shows all of it in a browser. On a small screen their rows stay, and a line counts the rows that do not fit.',
    'Without a terminal `--watch` prints the table again after each change; with `--json` as one line each.',
  ],
  wordRange: [0, 0],
  flags: {
    all: { kind: 'on', short: 'a', help: 'also ended processes' },
    tree: { kind: 'on', help: 'children below their parents' },
    watch: { kind: 'on', short: 'w', help: 'keep the table up to date' },
    here: { kind: 'on', help: 'only processes started in this directory or below' },
    columns: { kind: 'list', short: 'o', value: 'COLUMN', help: 'these columns, in this order, with commas' },
    wide: { kind: 'on', help: 'also model, directory, branch and intent, uncut' },
    sort: { kind: 'text', value: 'COLUMN', help: 'sort by this column; --sort=-COLUMN reverses' },
    quiet: { kind: 'on', short: 'q', help: 'only the UUIDs' },
    filter: { kind: 'list', value: 'KEY=VALUE', help: 'only matching processes; repeat it for more' },
    label: LABEL_FILTER,
  },
  exits: '0; 3 no such parent; 4 the daemon cannot be reached; 64 usage error',
  examples: [
    ['reeve ps', 'living processes'],
    ['reeve ps -w', 'follow changes'],
    ['reeve ps -a --filter status=failed', 'failed processes'],
    ['reeve ps --here --sort=-cost', 'of this project, the most expensive first'],
    ['reeve ps -o pid,name,cost,dir', 'chosen columns'],
    ['reeve ps -l team=web', 'processes with a label'],
    ['reeve pause $(reeve ps -q --filter agent=default)', 'UUIDs for another command'],
  ],
}
