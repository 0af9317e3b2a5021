// The rows of the verb table for resumes and forks: `resume`, `list-resumable` and `lineage`. Test: test/tables/cli/table/verbs.test.ts.
import { RAISE_FLAGS } from './limits.ts'
import type { Flag, FlagTable } from '../input/args.ts'
import { LABEL_FILTER } from './ps.ts'
import type { Verb } from './verb.ts'

const on = (help: string): Flag => ({ kind: 'on', help })
const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })
const list = (value: string, help: string): Flag => ({ kind: 'list', value, help })
const count = (help: string): Flag => ({ kind: 'count', value: 'N', help })

/** the flags of a fork */
const FORK_FLAGS: FlagTable = {
  fork: on('make a new process from its history; this one stays unchanged'),
  'from-step': count('with --fork: continue after step N (0 is before the first)'),
  'from-checkpoint': on('require the newest checkpoint'),
  'with-files': on('with --fork: work in a new worktree with the files of that step'),
}

/** the flags that change settings of the process */
const OVERRIDE_FLAGS: FlagTable = {
  message: text('TEXT', 'a message that it reads before its next model call'),
  model: text('PROVIDER/NAME', 'continue with another model'),
  effort: text('LEVEL', 'its effort from now on, as in `reeve run`'),
  name: text('NAME', 'its name from now on'),
  allow: list('X', 'allow this in addition, in the words of `reeve run`; never more than a living parent may do'),
  deny: list('X', 'forbid this from now on: tools, network, spawn, signal'),
  cwd: text('DIR', 'its working directory from now on'),
  gateway: text('MODE', 'whether it calls its models through the gateway from now on: auto, on or off'),
  ...RAISE_FLAGS,
}

export const RESUME_VERBS: Readonly<Record<'resume' | 'list-resumable' | 'lineage', Verb>> = {
  resume: {
    summary: 'Resume a suspended or ended process, or fork it',
    usage: [
      'reeve resume [FLAG]... P...',
      'reeve resume --fork [--from-step N] [FLAG]... P',
      'reeve resume --all [--yes]',
      'reeve resume --all-interrupted [--yes]',
    ],
    about: [
      'Resumes a suspended process, and its ancestors if they were paused. An ended process gets a new incarnation with a new PID and the same UUID, and continues from the end of its history.',
      'With `--fork` a new process continues from that history: after any step (`--from-step`), or from now. With `-d` its UUID is printed. The original is not changed, and may still run. A fork has its own usage and limits, and no name unless `--name` gives it one.',
      'An external agent continues its own session, and forks it if it can. A plain command, or an agent without a session, can only run again from its beginning, with `--rerun`. A command that had input cannot: its input is not recorded. `reeve list-resumable` shows what each process can do.',
      '`--model` and the flags below it apply to an ended process, and to a fork. Limits can also be changed on a suspended process. With a plus (`--budget-usd +5`) the value is added to the limit; a process that its budget suspended then continues.',
      'The process is followed from here on, as with `reeve run`; the exit code is that of the process. With `-d` or `--json` the command returns at once. Several processes are resumed side by side, and not followed; neither are crews, compose runs and supervisors.',
      "A pattern in quotes, such as `'web*'`, selects the suspended processes with such a name, and `-l team=web` those with a label. `--all` selects all suspended ones, and asks first on a terminal. `reeve help references` has the rules.",
      '`--from-checkpoint` continues from the newest checkpoint and the facts after it, and fails if there is none. A fork begins at its step.',
      '`--all-interrupted` is for the time after a crash. It lists the interrupted processes, asks, and resumes one after the other, each when the previous one has started. Processes that need `--rerun` are listed and left alone. It stops after 3 failures in a row, and after 20 processes, and lists the rest.',
    ],
    wordRange: [0, 1000],
    flags: {
      detach: { kind: 'on', short: 'd', help: 'return at once' },
      ...FORK_FLAGS,
      subtree: on('also the processes that were paused together with it'),
      only: on('do not resume its ancestors'),
      ...OVERRIDE_FLAGS,
      rerun: on('run it again from its beginning, if it has no history to continue'),
      'all-interrupted': on('all processes that a crash of the daemon has interrupted'),
      label: LABEL_FILTER,
      all: on('all suspended processes'),
      yes: { kind: 'on', short: 'y', help: 'with --all or --all-interrupted: do not ask' },
    },
    exits:
      '0; 1 it cannot be resumed; the code of the process if it is followed; 3 no such process; 4 the daemon cannot be reached; 64 usage error, or no terminal to ask on',
    examples: [
      ['reeve resume 5', 'continue'],
      ['reeve resume --message "try the other approach" docs', 'with a message'],
      ['reeve resume --budget-usd +5 docs', 'with a larger budget'],
      ['reeve resume --fork --from-step 5 docs', 'try again from step 6 on'],
      ['reeve resume --rerun build', 'run a command again'],
      ['reeve resume --all', 'everything that is paused'],
      ['reeve resume --all-interrupted', 'after a crash'],
    ],
    load: () => import('../verbs/resume.ts'),
  },
  'list-resumable': {
    summary: 'List the processes that can be resumed',
    usage: ['reeve list-resumable [--limit N]'],
    about: [
      'Lists suspended and ended processes, newest first. CONTINUE shows whether `reeve resume P` works. FORK lists the steps after which `reeve resume --fork P` can begin. RERUN shows whether `reeve resume --rerun P` works. WHY gives the reason if neither of the first two is possible.',
      'Whether an ACP agent can fork its sessions is only known when it runs: FORK is `known at start`, and reeve asks the agent then.',
    ],
    wordRange: [0, 0],
    flags: { limit: count('list at most N ended processes (default 100)') },
    exits: '0; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve list-resumable', 'how each can be resumed'],
      ['reeve list-resumable --json', 'for a program'],
    ],
    load: () => import('../verbs/list-resumable.ts'),
  },
  lineage: {
    summary: 'Show the tree of forks',
    usage: ['reeve lineage P'],
    about: [
      'Shows the process with its origins and its forks, and the step of each fork. A removed process is marked `collected`; its history is kept for its forks.',
    ],
    wordRange: [1, 1],
    flags: {},
    exits: '0; 3 no such process; 4 the daemon cannot be reached; 64 usage error',
    examples: [['reeve lineage docs', 'all related forks']],
    load: () => import('../verbs/lineage.ts'),
  },
}
