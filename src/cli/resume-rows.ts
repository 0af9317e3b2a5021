// The rows of the verbs that go on with processes and tell how, for the table in verbs.ts. Test: test/tables/cli-verbs.test.ts.
import { RAISE_FLAGS } from './limit-rows.ts'
import type { Flag, Flags } from './args.ts'
import type { Verb } from './verbs.ts'

const on = (help: string): Flag => ({ kind: 'on', help })
const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })
const list = (value: string, help: string): Flag => ({ kind: 'list', value, help })
const count = (help: string): Flag => ({ kind: 'count', value: 'N', help })

const FORKING: Flags = {
  fork: on('make a new process of its history; this one stays as it is'),
  'from-step': count('with --fork: go on after step N (0 is before the first)'),
  'from-checkpoint': on('insist on the newest checkpoint'),
  'with-files': on('with --fork: in a worktree with the files of that step'),
}

const OVERRIDES: Flags = {
  message: text('TEXT', 'a message that it reads before its next model call'),
  model: text('PROVIDER/NAME', 'go on with another model'),
  effort: text('LEVEL', 'how hard it shall think from now on'),
  name: text('NAME', 'call it so from now on'),
  allow: list('X', 'let it do this beside what it may, in the words of `reeve run`; never more than its parent, while that lives'),
  deny: list('X', 'what it may not from now on: tools, network, spawn, signal'),
  cwd: text('DIR', 'let it work in this directory'),
  gateway: text('MODE', 'whether it calls its models through the gateway from now on: auto, on or off'),
  ...RAISE_FLAGS,
}

export const RESUMES: Readonly<Record<'resume' | 'list-resumable' | 'lineage', Verb>> = {
  resume: {
    summary: 'Go on with a process that is suspended or has ended, or fork it',
    usage: ['reeve resume [FLAG]... P', 'reeve resume --fork [--from-step N] [FLAG]... P', 'reeve resume --all-interrupted [--yes]'],
    about: [
      'A suspended process goes on, and so do its ancestors where they were paused for it. One that has ended begins a new incarnation with a new PID and the same UUID, from where its history ends.',
      'With `--fork` a new process goes on from that history: after any step (`--from-step`), or from now. It prints the new UUID. The origin is not touched, and may still run. What a fork has used, and its limits, are its own; it has no name unless `--name` gives it one.',
      'An agent that others wrote goes on with its own session, and forks it where it can. A plain command, and an agent that told no session, can only be run again from its beginning, which needs `--rerun`. `reeve list-resumable` says what each can do.',
      '`--model` and what stands below it holds for a process that has ended, and for a fork. Limits can be changed on a suspended one too, without a stop: with a plus (`--budget-usd +5`) they are added to what it has, and what a budget held goes on as soon as there is room.',
      '`--from-checkpoint` goes on from the newest checkpoint and the facts after it, and fails where there is none; a fork begins at its step.',
      '`--all-interrupted` is for the time after a crash: it shows what was interrupted, asks, and goes on with one after the other, each when the one before has started; what could only be run again (`--rerun`) is shown and left alone. It stops after 3 failures in a row, and at 20 processes, and says what is left.',
    ],
    words: [0, 1],
    flags: {
      ...FORKING,
      subtree: on('also what was paused together with it'),
      only: on('leave its ancestors as they are'),
      ...OVERRIDES,
      rerun: on('run it again from its beginning, where it has nothing to go on with'),
      'all-interrupted': on('all that the end of a daemon has interrupted'),
      yes: on('with --all-interrupted: do not ask'),
    },
    exits: '0; 1 it cannot be resumed; 3 no such process; 4 the daemon cannot be reached; 64 usage, or nobody to ask',
    examples: [
      ['reeve resume 5', 'go on'], ['reeve resume --message "try the other approach" docs', 'with a word'], ['reeve resume --budget-usd +5 docs', 'with more money'],
      ['reeve resume --fork --from-step 5 docs', 'another way, from step 6 on'], ['reeve resume --rerun build', 'a command, again'], ['reeve resume --all-interrupted', 'after a crash'],
    ],
    load: () => import('./verbs/resume.ts'),
  },
  'list-resumable': {
    summary: 'List what can be resumed, and how',
    usage: ['reeve list-resumable [--limit N]'],
    about: [
      'Lists what is suspended or has ended, the newest first. CONTINUE is `reeve resume P`, FORK `reeve resume --fork P` with the steps after which it can begin, RERUN `reeve resume --rerun P`. WHY says what is in the way where neither of the first two is possible.',
      'Whether an agent that speaks ACP can fork its sessions is known when it is asked: `now?` means that it will be tried.',
    ],
    words: [0, 0],
    flags: { limit: count('at most N that have ended (default 100)') },
    exits: '0; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve list-resumable', 'how each can go on'], ['reeve list-resumable --json', 'for a program']],
    load: () => import('./verbs/list-resumable.ts'),
  },
  lineage: {
    summary: 'Show the family tree of forks',
    usage: ['reeve lineage P'],
    about: ['Shows the family that a process belongs to: what it was forked from, what was forked from that, and after which step. What was removed is marked `collected`; its history is kept for the forks that go on from it.'],
    words: [1, 1],
    flags: {},
    exits: '0; 3 no such process; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve lineage docs', 'all forks of its family']],
    load: () => import('./verbs/lineage.ts'),
  },
}
