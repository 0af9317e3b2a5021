// The row of `reeve ps` in the table of verbs: apart from it, because the entry of `ps` alone loads no more than this.
// Test: test/tables/cli-verbs.test.ts.
import type { Verb } from './verbs.ts'

export const PS: Omit<Verb, 'load'> = {
  summary: 'List the processes',
  usage: ['reeve ps [-a] [--tree] [--watch] [--filter KEY=VALUE]...'],
  about: [
    'Lists the live processes by PID; with `-a` those that have ended too. COST with a + is a lower bound: some call had no known price.',
    'Filters: status, name, agent, driver, state, parent (a P). Those with the same key are alternatives; different keys must all fit. A status or state of ended processes includes them.',
    'With `--watch` the table is kept up to date on a screen of its own until q or Ctrl+C; when it does not fit, it says how many more there are. Without a terminal it is printed again after each change; with `--json` each is one line.',
  ],
  words: [0, 0],
  flags: {
    all: { kind: 'on', short: 'a', help: 'also the processes that have ended' },
    tree: { kind: 'on', help: 'children below their parents' },
    watch: { kind: 'on', short: 'w', help: 'keep it up to date' },
    quiet: { kind: 'on', short: 'q', help: 'only the UUIDs' },
    filter: { kind: 'list', value: 'KEY=VALUE', help: 'only those that fit; may be repeated' },
  },
  exits: '0; 3 no such parent; 4 the daemon cannot be reached; 64 usage',
  examples: [
    ['reeve ps', 'what is going on'],
    ['reeve ps -w', 'and what comes'],
    ['reeve ps -a --filter status=failed', 'what went wrong'],
    ['reeve pause $(reeve ps -q --filter agent=default)', 'UUIDs for another command'],
  ],
}
