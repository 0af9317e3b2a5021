// The row of `reeve top` in the verb table. Test: test/tables/cli/table/verbs.test.ts.
import type { Verb } from './verb.ts'

export const TOP_VERBS: Readonly<Record<'top', Verb>> = {
  top: {
    summary: 'Watch and steer all processes on one screen',
    usage: ['reeve top [-a] [--read-only] [FILTER]...', 'reeve top --once [--json] [-a] [FILTER]...', 'reeve top --plain'],
    about: [
      'Shows what waits for you, the tree of processes, and a panel for the selected one. Keys answer questions, pause, stop, fork and filter; `?` lists them. Rows keep their places: a separate list above them shows the urgent ones.',
      'FILTER has words, and conditions such as `status:waiting`, `agent:claude`, `cost:>5`, `is:asking` or `under:NAME`. Without `-a`, ended processes are shown as long as you have not seen their end.',
      'Before `s` (stop) and `K` (kill), the screen shows what is lost and what is kept; `y` confirms. `Ctrl+Z` returns to the shell, `q` leaves. A narrow terminal has two lines for each process.',
      'If something new needs you while another window has the focus, the terminal rings its bell and, where it can, shows a notification. `-q` turns that off.',
      '`--read-only` only shows: no key answers, pauses or ends anything, and a key that would do so reports that.',
      '`--once` prints one screen and ends. `--plain` prints a line for each change, for screen readers and pipes; so does a stdout that is not a terminal.',
    ],
    wordRange: [0, 100],
    flags: {
      all: { kind: 'on', short: 'a', help: 'also what ended in the last 24 hours' },
      'read-only': { kind: 'on', help: 'only show: keys change nothing but the screen' },
      once: { kind: 'on', help: 'print one screen, and end' },
      plain: { kind: 'on', help: 'print changes as lines' },
    },
    exits: '0; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve top', 'watch and steer'],
      ['reeve top is:asking', 'only what asks'],
      ['reeve top --read-only', 'watch, for a screen that others can reach'],
      ['reeve top --once', 'one screen, as text'],
      ['reeve top --once --json', 'needs, sums and rows for a script'],
      ['reeve top --plain', 'changes as lines'],
    ],
    load: () => import('../verbs/top.ts'),
  },
}
