// The rows of `reeve crew` in the table of verbs: the family and its parts. Test: test/tables/cli-verbs.test.ts.
import type { Flag } from './args.ts'
import { LIMIT_FLAGS } from './limit-rows.ts'
import type { Verb } from './verbs.ts'

const on = (help: string, short?: string): Flag => ({ kind: 'on', help, ...(short ? { short } : {}) })
const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })

const SUCCESS = '0; 3 no such crew or task; 4 the daemon cannot be reached; 64 usage'
const REF = 'Without CREW it is the only one that lives, or the newest that has ended.'
const { 'budget-usd': budgetUsd, 'budget-tokens': budgetTokens, timeout, 'on-limit': onLimit } = LIMIT_FLAGS

/** Of all its members together. */
const OF_ALL = { ...(budgetUsd && { 'budget-usd': budgetUsd }), ...(budgetTokens && { 'budget-tokens': budgetTokens }), ...(timeout && { timeout }), ...(onLimit && { 'on-limit': onLimit }) }

const PARTS: Readonly<Record<string, Verb>> = {
  up: {
    summary: 'Start a crew and follow it',
    usage: ['reeve crew up [FLAG]... [NAME]'],
    about: [
      'Starts a crew of `crews:` in reeve.yaml, or one that the flags describe: who coordinates, how many workers, and the file of its tasks. Then it follows what happens; on a terminal the last rows say what each worker does. On a terminal Ctrl+C asks whether to detach or stop.',
      'Each worker has a git worktree of its own. What is approved is committed and merged into the branch `reeve/NAME`, which is the crew\'s; your own branch and files are not touched: `git merge reeve/NAME` takes the work. A later crew of the same name goes on from what you have not merged.',
      'All that can be wrong (files, agents, keys, the repository) is found before anything starts. What else a crew can be told stands in docs/crews.md.',
    ],
    words: [0, 1],
    givesProcessCode: true,
    flags: {
      detach: on('print the UUID and return at once', 'd'),
      file: { kind: 'text', short: 'f', value: 'FILE', help: 'the file whose `crews:` has it, in place of reeve.yaml' },
      tasks: text('FILE', 'its tasks, as YAML or Markdown, in place of those that it has'),
      workers: text('N|ROLE=N,...', 'how many, or how many of each role: generic, implementer, reviewer, researcher'),
      coordinator: text('AGENT', 'an agent that coordinates; engine (the default): no model does'),
      agent: text('AGENT', 'the agent that its members are'),
      model: text('PROVIDER/NAME', 'the model of members that are this agent'),
      name: text('NAME', 'what it is called; its branch is reeve/NAME'),
      gate: text('GATE', 'who says yes to a commit after the review: auto (the default), coordinator or human'),
      merge: text('MERGE', "whether commits are merged into the crew's branch: auto (the default), or leave"),
      'no-reviews': on('nobody reviews'),
      'no-worktrees': on('all work in one directory, and nothing is committed'),
      stay: on('it stays when all tasks are done, for more of them'),
      'max-attempts': { kind: 'count', value: 'N', help: 'tries of one task (default 3)' },
      'max-workers': { kind: 'count', value: 'N', help: 'workers at a time, with those that it starts itself' },
      permissions: text('POLICY', 'what workers that ask may do without asking: ask (nothing; the default), allow or deny'),
      ...OF_ALL,
      cwd: text('DIR', 'where it works (default: this directory)'),
    },
    exits: '0 all tasks are done; 1 some are not; 143 it was stopped; 125 failure of reeve',
    examples: [
      ['reeve crew up', 'the only crew of reeve.yaml'],
      ['reeve crew up -d fix', 'the crew fix, in the background'],
      ['reeve crew up --workers 3 --tasks tasks.md --agent claude', 'without a reeve.yaml'],
      ['reeve crew up --workers implementer=2,reviewer=1 --tasks tasks.yaml --gate human --budget-usd 5', 'you say yes to each commit'],
    ],
    load: () => import('./verbs/crew-up.ts'),
  },
  ps: {
    summary: 'List the crews, or the members of one',
    usage: ['reeve crew ps [-a]', 'reeve crew ps [-a] CREW'],
    about: ['Lists the crews that live. With CREW its members: what each does, which process it is, how full its context is (CONTEXT), what it has cost. TASKS counts those that are done; NOTE says what a crew waits for.'],
    words: [0, 1],
    flags: { all: on('also what has ended', 'a'), quiet: on('only the UUIDs of crews', 'q') },
    exits: SUCCESS,
    examples: [['reeve crew ps', 'which there are'], ['reeve crew ps fix', 'who does what']],
    load: () => import('./verbs/crew-ps.ts'),
  },
  tasks: {
    summary: 'List the tasks of a crew',
    usage: ['reeve crew tasks [CREW]'],
    about: [`Lists the tasks with their state, who implements and who reviews each, how often it was tried (TRIES), its commit, and what it needs. ${REF}`],
    words: [0, 1],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew tasks', 'how far it is'], ['reeve crew tasks fix --json', 'for a program']],
    load: () => import('./verbs/crew-tasks.ts'),
  },
  show: {
    summary: 'Show a crew, or one of its tasks',
    usage: ['reeve crew show CREW [TASK]'],
    about: ['Shows how a crew works, its tasks and all members that it ever had. With TASK the text of that task and its history: who had it, reports, verdicts with their comments, messages, commits.'],
    words: [1, 2],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew show fix', 'all of it'], ['reeve crew show fix lexer', 'why was it denied?']],
    load: () => import('./verbs/crew-show.ts'),
  },
  report: {
    summary: 'Give account of what a crew did',
    usage: ['reeve crew report [CREW]'],
    about: [
      `Prints an account as Markdown: what became of each task, who implemented and who reviewed it, verdicts with their comments, tries that failed and why, commits, tokens, cost, and the time worked and waited. It begins with what is left for you: questions, failed tasks, branches that are not merged, and refs with what was not committed. ${REF}`,
      'It can be asked for while the crew works, and as long as its journal is kept. Cost with `+` is a lower bound, as the price of some calls is not known; with `~` some of it is estimated.',
    ],
    words: [0, 1],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew report fix > report.md', 'for a pull request'], ['reeve crew report fix --json', 'for a program']],
    load: () => import('./verbs/crew-report.ts'),
  },
  send: {
    summary: 'Send a message to a member of a crew',
    usage: ['reeve crew send [--to MEMBER|TASK] CREW TEXT'],
    about: ['Queues a message for its coordinator, or with `--to` for a member, for who has a task, or for all workers. It is delivered as a turn of its own, when the member is ready.'],
    words: [2, 2],
    flags: { to: text('MEMBER|TASK', 'whom: worker-2, a task, coordinator, or all') },
    exits: SUCCESS,
    examples: [['reeve crew send --to lexer fix "use no regular expressions"', 'to whoever has that task']],
    load: () => import('./verbs/crew-send.ts'),
  },
  add: {
    summary: 'Add a task to a crew',
    usage: ['reeve crew add [FLAG]... CREW TEXT'],
    about: ['Adds a task. A task for a person (`--human`) is a question: what is answered is handed to the tasks that need it.'],
    words: [2, 2],
    flags: {
      id: text('ID', 'its id (default: task-N)'), title: text('TITLE', 'its title (default: the first line)'), acceptance: text('TEXT', 'what must be so when it is done'),
      needs: { kind: 'list', value: 'TASK', help: 'tasks that must be done before; repeat it, or use commas' }, role: text('ROLE', 'who is to do it: generic, implementer, or researcher (nothing is committed)'),
      human: on('it is a question for a person'), 'no-reviews': on('nobody reviews it'),
    },
    exits: SUCCESS,
    examples: [['reeve crew add fix "Update the changelog" --needs lexer,parser', 'one more']],
    load: () => import('./verbs/crew-add.ts'),
  },
  assign: {
    summary: 'Give a task to a worker',
    usage: ['reeve crew assign CREW TASK MEMBER'],
    about: ['Gives a task that waits to a worker that is idle; one whose work is done and not reviewed yet to its reviewer. With the engine as coordinator this happens by itself.'],
    words: [3, 3],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew assign fix lexer worker-2', 'to that one']],
    load: () => import('./verbs/crew-assign.ts'),
  },
  approve: {
    summary: 'Let a task be committed',
    usage: ['reeve crew approve CREW TASK'],
    about: ['Says yes to the commit of a task that waits for its gate (`gate: human`). `reeve answer CREW` does the same where it asks, and can say no.'],
    words: [2, 2],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew approve fix lexer', 'yes']],
    load: () => import('./verbs/crew-approve.ts'),
  },
  cancel: {
    summary: 'Give up a task',
    usage: ['reeve crew cancel [--requeue] CREW TASK [REASON]'],
    about: ['Cancels a task; whoever has it is interrupted, and what is not committed is salvaged to a ref. What needs it fails. With `--requeue` it goes back to the queue, for somebody else.'],
    words: [2, 3],
    flags: { requeue: on('put it back into the queue') },
    exits: SUCCESS,
    examples: [['reeve crew cancel fix lexer "not needed any more"', 'and why']],
    load: () => import('./verbs/crew-cancel.ts'),
  },
  pause: {
    summary: 'Pause a crew with all its members',
    usage: ['reeve crew pause [--now] [CREW]'],
    about: [`Pauses the crew and its members, each at its next boundary: nothing new is assigned, and what is reported is kept. ${REF}`],
    words: [0, 1],
    flags: { now: on('freeze them at once, whatever is in flight') },
    exits: SUCCESS,
    examples: [['reeve crew pause fix', 'and `reeve crew resume fix` later']],
    load: () => import('./verbs/crew-pause.ts'),
  },
  resume: {
    summary: 'Let a crew go on',
    usage: ['reeve crew resume [CREW]'],
    about: [`Wakes a crew that is paused, with its members; one that was stopped goes on where it was. ${REF}`],
    words: [0, 1],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew resume fix', 'go on']],
    load: () => import('./verbs/crew-resume.ts'),
  },
  stop: {
    summary: 'Stop a crew with all its members',
    usage: ['reeve crew stop [--now] [CREW]'],
    about: [`Stops the members, each with time to clean up, then the crew. Its tasks and worktrees stay: \`reeve crew resume\` goes on. With \`--now\` all are killed. ${REF}`],
    words: [0, 1],
    flags: { now: on('kill them at once') },
    exits: '0; 1 not ended in time; 3 no such crew; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve crew stop fix', 'end it for now']],
    load: () => import('./verbs/crew-stop.ts'),
  },
  roles: {
    summary: 'Show what the members of a crew are told',
    usage: ['reeve crew roles [ROLE]'],
    about: [
      'Lists the roles, and where the prompt of each comes from; with a ROLE it prints that prompt. A file `.reeve/roles/ROLE.md` of the project replaces it, or one in `roles` beside your config.yaml. It is Markdown without a front matter, and is recorded with each member when the crew is started.',
    ],
    words: [0, 1],
    flags: {},
    exits: '0; 4 the daemon cannot be reached; 64 usage, or a file that cannot be used',
    examples: [['reeve crew roles', 'which there are'], ['reeve crew roles reviewer > .reeve/roles/reviewer.md', 'a copy to change']],
    load: () => import('./verbs/crew-roles.ts'),
  },
}

export const CREW: Readonly<Record<string, Verb>> = {
  crew: {
    summary: 'Let several agents work on a list of tasks',
    usage: ['reeve crew PART'],
    about: [
      'A crew is a coordinator and its workers: each task is implemented in a git worktree, reviewed by another member, committed, and merged into a branch of the crew. docs/crews.md says how.',
      'Without a part it lists them; `reeve help crew PART` tells all about one. CREW is a name, a PID or an ID, as P elsewhere; the members are processes as any other, so `reeve logs`, `attach` and `inspect` work on them, too.',
    ],
    words: [0, 0],
    flags: {},
    parts: PARTS,
    exits: '0; 64 no such part',
    examples: [['reeve crew up --workers 2 --tasks tasks.md', 'start one'], ['reeve crew tasks', 'how far it is'], ['reeve help crew up', 'all about one part']],
    load: () => import('./verbs/crew.ts'),
  },
}
