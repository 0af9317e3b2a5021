// The rows of the verb table for names, labels and kept histories: `gc`, `rename`, `label`, `pin`, `export` and `import`.
// Test: test/tables/cli/table/verbs.test.ts.
import type { Verb } from './verb.ts'

export const HISTORY_VERBS: Readonly<Record<'gc' | 'rename' | 'label' | 'pin' | 'export' | 'import', Verb>> = {
  gc: {
    summary: 'Collect ended processes',
    usage: ['reeve gc [--dry-run] [-f]'],
    about: [
      'Removes ended processes by the rules under `gc` in the configuration. `retention_days` removes those that ended longer ago. `max_entries` (a number of processes) and `max_bytes` (the size of the store) remove the oldest above them. Each rule works alone; 0 turns it off. The daemon does the same every `interval_seconds`.',
      'Living, suspended and pinned (`reeve pin`) processes are never removed. Histories that forks depend on are kept. An unreadable row is skipped with a warning.',
      'It lists the removed processes. On a terminal it asks before it collects more than 100; without one it refuses that, unless `--force` or `--json` is given.',
    ],
    wordRange: [0, 0],
    flags: { 'dry-run': { kind: 'on', help: 'only show what would be removed' }, force: { kind: 'on', short: 'f', help: 'do not ask' } },
    exits: '0; 1 not confirmed; 4 the daemon cannot be reached; 64 usage error, or no terminal to ask on',
    examples: [
      ['reeve gc --dry-run', 'preview'],
      ['reeve gc', 'collect now'],
      ['reeve config set gc.retention_days 7', 'keep ended processes for a week'],
    ],
    load: () => import('../verbs/system/gc.ts'),
  },
  rename: {
    summary: 'Give a process another name',
    usage: ['reeve rename P NEWNAME'],
    about: [
      'Gives a process another name, or its first one. The rules are those of `reeve run --name`: no living process may have the name, and it cannot be all digits. The process may be running, suspended or ended; its work goes on.',
      'The old name no longer finds the process, but `reeve logs` shows it. A branch that was made under the old name keeps its name. A crew and its members cannot be renamed: branches and commands find them by their names.',
    ],
    wordRange: [2, 2],
    flags: {},
    exits: '0; 1 a living process has that name; 3 no such process; 4 the daemon cannot be reached; 64 usage error, or a crew',
    examples: [
      ['reeve rename 5 docs', 'the process with PID 5 is now docs'],
      ['reeve rename docs docs-2', 'makes the name free for another process'],
    ],
    load: () => import('../verbs/rename.ts'),
  },
  label: {
    summary: 'Change the labels of a process',
    usage: ['reeve label P LABEL...'],
    about: [
      'Sets or removes labels of a process, which may be running, suspended or ended. `KEY=VALUE` sets a label, `KEY` sets it without a value, and `KEY-` removes it.',
      'Keys have up to 63 of `a-z0-9._/-`, values up to 256 characters; a process has at most 32 labels. `reeve run --label` and `labels:` in an agent file give the first ones. A resume and a fork keep them; children do not get them.',
      '`reeve ps -l` finds processes by their labels, and `reeve inspect` shows them. Labels never change what a process does.',
    ],
    wordRange: [2, 33],
    flags: {},
    exits: '0; 3 no such process; 4 the daemon cannot be reached; 64 usage error, or too many labels',
    examples: [
      ['reeve label docs team=web sprint=12', 'set two'],
      ['reeve label docs sprint-', 'remove one'],
      ['reeve ps -l team=web', 'find it'],
    ],
    load: () => import('../verbs/label.ts'),
  },
  pin: {
    summary: 'Keep processes from being collected',
    usage: ['reeve pin [--remove] P...'],
    about: ['A pinned process is never collected, and only `reeve rm --force` removes it. `reeve ps` marks it in NOTE.'],
    wordRange: [1, 1000],
    flags: { remove: { kind: 'on', help: 'remove the pin' } },
    exits: '0; 3 no such process; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve pin docs', 'keep it'],
      ['reeve pin --remove docs', 'it may be collected again'],
    ],
    load: () => import('../verbs/pin.ts'),
  },
  export: {
    summary: 'Write the history of a process to files',
    usage: ['reeve export P DIR'],
    about: [
      'Writes the whole record of a process to DIR/steps/UUID, and prints that path. The record has its steps with requests and responses, its events, the tokens of its context, its prompt and tools, and its newest checkpoint. The history of a fork includes the part before the fork. A living process is written in its current state. No keys are written.',
      'The directory appears complete or not at all, and nothing is ever overwritten. `reeve import` restores the process on any machine.',
    ],
    wordRange: [2, 2],
    flags: {},
    exits: '0; 1 the directory exists already; 3 no such process; 4 the daemon cannot be reached; 64 usage error, or DIR cannot be written',
    examples: [
      ['reeve export docs ~/backup', 'to ~/backup/steps/UUID'],
      ['jq -r .response.finish ~/backup/steps/*/steps.jsonl', 'read it with other programs'],
    ],
    load: () => import('../verbs/system/export.ts'),
  },
  import: {
    summary: 'Restore exported processes',
    usage: ['reeve import DIR'],
    about: [
      'DIR is a directory that `reeve export` made: one steps/UUID, or one that contains several. Each process is restored with its UUID and its whole history, as ended. It can be resumed and forked. A process that had not ended is `interrupted`. A process that exists here is refused; one that was removed here can be restored.',
      'A torn last line and a missing checkpoint are reported and repaired. Any other damage is refused with the file, line and byte, and nothing is restored.',
    ],
    wordRange: [1, 1],
    flags: {},
    exits: '0; 1 it exists here already; 4 the daemon cannot be reached; 64 usage error, or invalid files in DIR',
    examples: [
      ['reeve import ~/backup', 'all of it'],
      ['reeve import ~/backup/steps/0198c1a2-7b54-7cc3-9d4e-5f60718293a4', 'one'],
    ],
    load: () => import('../verbs/system/import.ts'),
  },
}
