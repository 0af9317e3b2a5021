// The rows of `reeve compose` in the table of verbs: the family and its parts. Test: test/tables/cli-verbs.test.ts.
import { LIMIT_FLAGS } from './limit-rows.ts'
import type { Flag } from './args.ts'
import type { Verb } from './verbs.ts'

const on = (help: string, short?: string): Flag => ({ kind: 'on', help, ...(short ? { short } : {}) })
const text = (value: string, help: string, short?: string): Flag => ({ kind: 'text', value, help, ...(short ? { short } : {}) })
const count = (help: string): Flag => ({ kind: 'count', value: 'N', help })

const PARTS: Readonly<Record<string, Verb>> = {
  up: {
    summary: 'Run the agents of a file in the order of what they depend on',
    usage: ['reeve compose up [FLAG]... [NODE]...', 'reeve compose up --dry-run [NODE]...'],
    about: [
      'Starts a run of `agents:` of the nearest reeve.yaml (or of `--file`), all or those that are named with what they need, and follows it: a line for each node when something becomes of it, on a terminal a table that is kept up to date. The exit code is 0 if all completed, else 1.',
      'Everything is checked before anything starts: the file with its lines, agents, models and their keys, directories. `--dry-run` checks the same but for keys, and shows the order; nodes of one row may run side by side.',
      'A node starts when what it depends on has completed; one that failed blocks only what depends on it. On a terminal the first Ctrl+C asks whether to detach or to stop the run; the second stops it.',
      'A run is a process: `reeve pause --subtree RUN`, `reeve inspect`, `reeve logs` and the rest work with it and with its nodes, which are called RUN.NODE. docs/compose.md has the file.',
    ],
    words: [0, 200],
    givesProcessCode: true,
    flags: {
      file: text('FILE', 'the file, if it is not the nearest reeve.yaml', 'f'),
      detach: on('print the UUID of the run and return at once', 'd'),
      name: text('NAME', 'what to call the run (default: after the directory of the file)'),
      parallel: count('so many nodes at a time'),
      'dry-run': on('show what would run, and in which order'),
      ...LIMIT_FLAGS,
    },
    exits: '0 if all nodes completed, else 1; 125 failure of reeve',
    examples: [['reeve compose up', 'all of reeve.yaml, and follow'], ['reeve compose up -d test', 'test and what it needs'], ['reeve compose up --dry-run', 'is the file right?'], ['reeve compose up --budget-usd 5 --parallel 2', 'for 5 dollars, two at a time']],
    load: () => import('./verbs/compose-up.ts'),
  },
  down: {
    summary: 'Stop a run, with all of its nodes',
    usage: ['reeve compose down [--now] [RUN]'],
    about: ['Stops the nodes that run, the last one first, with time to clean up, and then the run. Without RUN it is the one of this directory, or the only one that runs. What was stopped goes on with `reeve resume RUN`.'],
    words: [0, 1],
    flags: { now: on('at once, all of them') },
    exits: '0; 1 it has not ended in time; 3 no such run; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve compose down', 'the run of this directory'], ['reeve compose down --now nightly', 'at once']],
    load: () => import('./verbs/compose-down.ts'),
  },
  ps: {
    summary: 'List the nodes of a run',
    usage: ['reeve compose ps [RUN]', 'reeve compose ps --all'],
    about: ['Lists the nodes of a run, of the newest of this directory unless RUN names one: what has become of each, its process, how often it was started again, what it took. With `--all` it lists the runs.'],
    words: [0, 1],
    flags: { all: on('list the runs, also those that have ended', 'a') },
    exits: '0; 3 no such run; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve compose ps', 'how is it going'], ['reeve compose ps --all', 'all runs'], ['reeve compose ps --json nightly', 'for a program']],
    load: () => import('./verbs/compose-ps.ts'),
  },
  resume: {
    summary: 'Go on with a node of a run, and then with what depends on it',
    usage: ['reeve compose resume --node NAME [FLAG]... [RUN]', 'reeve compose resume --node NAME --fork [--from-step N] [FLAG]... [RUN]'],
    about: [
      'Resumes the process of a node (of the newest run of this directory, unless RUN names one) where its history ends, as `reeve resume` does. With `--fork` a fork of it takes its place, from any step; the process that it was is not touched. A command has nothing to go on with: it is run again from its beginning.',
      'Then what depends on it runs: what was blocked, and what had completed with the old result, as new processes. Where something that depends on it is running this is refused. A run that has ended gets a new incarnation; whatever else had been stopped with it goes on, too.',
      'It returns at once; `reeve wait RUN` waits for the end.',
    ],
    words: [0, 1],
    flags: {
      node: text('NODE', 'the node'),
      message: text('TEXT', 'a message that it reads before its next model call'),
      fork: on('a fork of its process takes its place'),
      'from-step': count('with --fork: go on after step N (0 is before the first)'),
    },
    exits: '0; 1 it cannot be resumed; 3 no such run or node; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve compose resume --node test', 'the node that failed'], ['reeve compose resume --node plan --message "in Go" nightly', 'with a word'], ['reeve compose resume --node build --fork --from-step 3', 'another way, from step 4 on']],
    load: () => import('./verbs/compose-resume.ts'),
  },
}

export const COMPOSE: Readonly<Record<string, Verb>> = {
  compose: {
    summary: 'Run agents that depend on each other',
    usage: ['reeve compose', ...Object.values(PARTS).flatMap(({ usage }) => usage)],
    about: ['Runs the agents of a reeve.yaml in the order of what they depend on, and passes results on. Without a part it lists the runs. docs/compose.md has the file.'],
    words: [0, 0],
    flags: {},
    parts: PARTS,
    exits: '0; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve compose up', 'run reeve.yaml'], ['reeve compose', 'which runs there are'], ['reeve help compose up', 'all about one part']],
    load: () => import('./verbs/compose.ts'),
  },
}
