// The rows of `reeve compose` in the verb table: the family and its verbs. Test: test/tables/cli/table/verbs.test.ts.
import { LIMIT_FLAGS } from './limits.ts'
import type { Flag } from '../input/args.ts'
import type { Verb } from './verb.ts'

const on = (help: string, short?: string): Flag => ({ kind: 'on', help, ...(short ? { short } : {}) })
const text = (value: string, help: string, short?: string): Flag => ({ kind: 'text', value, help, ...(short ? { short } : {}) })
const count = (help: string): Flag => ({ kind: 'count', value: 'N', help })

const PARTS: Readonly<Record<string, Verb>> = {
  up: {
    summary: 'Run the agents of a file in dependency order',
    usage: ['reeve compose up [FLAG]... [NODE]...', 'reeve compose up --dry-run [NODE]...'],
    about: [
      'Starts a run of `agents:` in the nearest reeve.yaml (or in `--file`): all nodes, or the named ones with their dependencies. Then it follows the run, with a line per change of a node; a terminal shows a live table. The exit code is 0 if all nodes completed, else 1.',
      'The file, agents, models, keys and directories are checked before anything starts; errors name the line. `--dry-run` checks the same except keys, and shows the order. Nodes in one row can run in parallel.',
      'A node starts when its dependencies have completed. A failed node blocks only the nodes that depend on it. On a terminal the first Ctrl+C asks whether to detach or to stop the run; the second stops it.',
      'A run is a process, and its nodes are processes named RUN.NODE. `reeve pause --subtree RUN`, `reeve inspect`, `reeve logs` and the other verbs work on them. docs/reference/compose.md describes the file.',
    ],
    wordRange: [0, 200],
    exitsWithProcessCode: true,
    flags: {
      file: text('FILE', 'the file (default: the nearest reeve.yaml)', 'f'),
      detach: on('print the UUID of the run and return at once', 'd'),
      name: text('NAME', 'the name of the run (default: from the directory of the file)'),
      parallel: count('run at most N nodes at a time'),
      'dry-run': on('show what would run, and in which order'),
      ...LIMIT_FLAGS,
    },
    exits: '0 if all nodes completed, else 1; 125 failure of reeve',
    examples: [
      ['reeve compose up', 'run all of reeve.yaml, and follow'],
      ['reeve compose up -d test', 'test and its dependencies'],
      ['reeve compose up --dry-run', 'check the file'],
      ['reeve compose up --budget-usd 5 --parallel 2', 'at most 5 dollars, two nodes at a time'],
    ],
    load: () => import('../verbs/compose/up.ts'),
  },
  down: {
    summary: 'Stop a run with all its nodes',
    usage: ['reeve compose down [--now] [RUN]'],
    about: [
      'Stops the running nodes gracefully, the last one first, and then the run. RUN defaults to the run of this directory, or the only one that is running. `reeve resume RUN` continues a stopped run.',
    ],
    wordRange: [0, 1],
    flags: { now: on('stop all at once') },
    exits: '0; 1 it has not ended in time; 3 no such run; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve compose down', 'the run of this directory'],
      ['reeve compose down --now nightly', 'at once'],
    ],
    load: () => import('../verbs/compose/down.ts'),
  },
  ps: {
    summary: 'List the nodes of a run',
    usage: ['reeve compose ps [RUN]', 'reeve compose ps --all'],
    about: [
      'Lists the nodes of a run (default: the newest of this directory): state, process, restarts and usage. With `--all` it lists the runs.',
    ],
    wordRange: [0, 1],
    flags: { all: on('list the runs, also those that have ended', 'a') },
    exits: '0; 3 no such run; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve compose ps', 'the state of each node'],
      ['reeve compose ps --all', 'all runs'],
      ['reeve compose ps --json nightly', 'for a program'],
    ],
    load: () => import('../verbs/compose/ps.ts'),
  },
  resume: {
    summary: 'Resume a node of a run and then its dependents',
    usage: ['reeve compose resume --node NAME [FLAG]... [RUN]', 'reeve compose resume --node NAME --fork [--from-step N] [FLAG]... [RUN]'],
    about: [
      'Resumes the process of a node from the end of its history, as `reeve resume` does. RUN defaults to the newest run of this directory. With `--fork` a fork replaces the process, from any step; the original is not changed. A command has no history: it runs again from its beginning.',
      'Then the nodes that depend on it run as new processes: blocked ones, and those that completed with the old result. The command is refused while a dependent node is running. An ended run gets a new incarnation, and its other stopped nodes continue as well.',
      'It returns at once; `reeve wait RUN` waits for the end.',
    ],
    wordRange: [0, 1],
    flags: {
      node: text('NODE', 'the node'),
      message: text('TEXT', 'a message that it reads before its next model call'),
      fork: on('replace its process by a fork'),
      'from-step': count('with --fork: continue after step N (0 is before the first)'),
    },
    exits: '0; 1 it cannot be resumed; 3 no such run or node; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve compose resume --node test', 'the node that failed'],
      ['reeve compose resume --node plan --message "in Go" nightly', 'with a message'],
      ['reeve compose resume --node build --fork --from-step 3', 'try again from step 4 on'],
    ],
    load: () => import('../verbs/compose/resume.ts'),
  },
}

export const COMPOSE_VERBS: Readonly<Record<string, Verb>> = {
  compose: {
    summary: 'Run agents that depend on each other',
    usage: ['reeve compose', ...Object.values(PARTS).flatMap(({ usage }) => usage)],
    about: [
      'Runs the agents of a reeve.yaml in dependency order, and passes results on. `reeve compose` alone lists the runs. docs/reference/compose.md describes the file.',
    ],
    wordRange: [0, 0],
    flags: {},
    parts: PARTS,
    exits: '0; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve compose up', 'run reeve.yaml'],
      ['reeve compose', 'list the runs'],
      ['reeve help compose up', 'explain one verb'],
    ],
    load: () => import('../verbs/compose/compose.ts'),
  },
}
