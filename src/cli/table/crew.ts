// The rows of `reeve crew` in the verb table: the family and its verbs. Test: test/tables/cli/table/verbs.test.ts.
import { TASK_ROLES, WORKER_ROLES } from '../../kernel/model/crew/words.ts'
import { DEFER_MS } from '../../kernel/model/signals.ts'
import type { Flag } from '../input/args.ts'
import { LIMIT_FLAGS, RAISE_FLAGS } from './limits.ts'
import type { Verb } from './verb.ts'

const on = (help: string, short?: string): Flag => ({ kind: 'on', help, ...(short ? { short } : {}) })
const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })

const SUCCESS = '0; 3 no such crew or task; 4 the daemon cannot be reached; 64 usage error'
const DEFAULT_CREW = 'CREW defaults to the only living crew, or to the newest ended one.'
const { 'budget-usd': budgetUsd, 'budget-tokens': budgetTokens, timeout, 'on-limit': onLimit } = LIMIT_FLAGS

/** the flags of `crew resume` that change a limit: a new value, or an increment after `+` */
const CREW_RAISES = Object.fromEntries(
  Object.entries(RAISE_FLAGS).filter(([name]) => name === 'budget-usd' || name === 'budget-tokens' || name === 'timeout'),
)

/** the flags for comments on a change, and on its lines */
const COMMENT_FLAGS = {
  comments: text('TEXT', 'the comments on the whole change; - reads them from stdin'),
  comment: text('FILE:LINE=TEXT', 'a comment on a line of the change; repeat it for more'),
}

/** the flags for limits of all members together */
const CREW_LIMITS = {
  ...(budgetUsd && { 'budget-usd': budgetUsd }),
  ...(budgetTokens && { 'budget-tokens': budgetTokens }),
  ...(timeout && { timeout }),
  ...(onLimit && { 'on-limit': onLimit }),
}

/** the flags for limits of one attempt at a task */
const ATTEMPT_LIMITS = {
  ...(budgetUsd && { 'budget-usd': budgetUsd }),
  ...(budgetTokens && { 'budget-tokens': budgetTokens }),
  ...(timeout && { timeout }),
  ...(LIMIT_FLAGS['max-steps'] && { 'max-steps': LIMIT_FLAGS['max-steps'] }),
}

const PARTS: Readonly<Record<string, Verb>> = {
  up: {
    summary: 'Start a crew and follow it',
    usage: ['reeve crew up [FLAG]... [NAME]'],
    about: [
      'Starts a crew from `crews:` in reeve.yaml, or one that the flags describe: its coordinator, its workers and its file of tasks. Then it follows the crew. On a terminal the last rows show what each worker does, and Ctrl+C asks whether to detach or stop.',
      'Each worker has its own git worktree. Approved changes are committed and merged into the branch of the crew, `reeve/NAME`. Your own branch and files are not touched: `reeve merge NAME` takes the result. A later crew with the same name continues from the commits that you have not merged.',
      'If an earlier crew with that name has ended in this repository, its finished tasks are taken over. Their id, text and needs must be the same, and their commits on the branch. They are listed before the crew starts; `--anew` does all tasks again. `--dry-run` shows the tasks with their workers, models, limits, worktree files and checks, and reports the same errors as a start.',
      'Files, agents, keys and the repository are checked before anything starts. docs/reference/crews.md describes all other settings.',
    ],
    wordRange: [0, 1],
    exitsWithProcessCode: true,
    flags: {
      detach: on('print the UUID and return at once', 'd'),
      file: { kind: 'text', short: 'f', value: 'FILE', help: 'the file with `crews:`, in place of reeve.yaml' },
      tasks: text('FILE', 'a file of tasks, as YAML or Markdown, in place of those in `crews:`'),
      workers: text('N|ROLE=N,...', `the number of workers, or of each role: ${WORKER_ROLES.join(', ')}`),
      coordinator: text('AGENT', 'the agent that coordinates; engine (the default): rules without a model'),
      agent: text('AGENT', 'the agent of its members'),
      model: text('PROVIDER/NAME', 'the model of the members with that agent'),
      name: text('NAME', 'its name; its branch is reeve/NAME'),
      gate: text('GATE', 'who approves a commit after the review: auto (the default), coordinator or human'),
      merge: text('MERGE', "what to do with commits: auto (the default) merges them into the crew's branch, leave does not"),
      'no-reviews': on('skip all reviews'),
      'no-worktrees': on('all members work in one directory, and nothing is committed'),
      verify: text(
        'CMD',
        'a command that must pass before each review and merge, for all roles; off: no command, not even that of a task or role',
      ),
      setup: text('CMD', 'a command that runs once in each new worktree, before its worker starts; off: none'),
      copy: {
        kind: 'list',
        value: 'PATTERN',
        help: 'ignored files of this checkout, such as .env, to copy into each new worktree; repeat it, or use commas',
      },
      stay: on('keep the crew running for more tasks when all are done'),
      anew: on('do all tasks, also those that an earlier crew of this name has finished'),
      'dry-run': on('show what would be started, and start nothing'),
      'max-attempts': { kind: 'count', value: 'N', help: 'attempts at one task (default 3)' },
      'max-workers': { kind: 'count', value: 'N', help: 'workers at a time, including those that the crew starts itself' },
      permissions: text('POLICY', 'the answer to permission requests of workers: ask (ask the user; the default), allow or deny'),
      ...CREW_LIMITS,
      cwd: text('DIR', 'its directory (default: this directory)'),
    },
    exits: '0 all tasks are done, also before the start; 1 some are not; 143 it was stopped; 125 failure of reeve',
    examples: [
      ['reeve crew up', 'the only crew of reeve.yaml'],
      ['reeve crew up -d fix', 'the crew fix, in the background'],
      ['reeve crew up --workers 3 --tasks tasks.md --agent claude', 'without a reeve.yaml'],
      ['reeve crew up --tasks tasks.md --verify "npm test"', 'a failed check returns the task to its author'],
      ['reeve crew up --dry-run --tasks tasks.md', 'the plan, with finished tasks'],
      ['reeve crew up --setup "npm ci" --copy .env', 'each worktree has packages and settings'],
      ['reeve crew up --workers implementer=2,reviewer=1 --tasks tasks.yaml --gate human --budget-usd 5', 'you approve each commit'],
    ],
    load: () => import('../verbs/crew/up.ts'),
  },
  follow: {
    summary: 'Follow a crew',
    usage: ['reeve crew follow [-a] [CREW]'],
    about: [
      `Reports the events of a crew from now on, until it has ended. On a terminal the last rows show what each worker does. Ctrl+C leaves it running. ${DEFAULT_CREW}`,
    ],
    wordRange: [0, 1],
    exitsWithProcessCode: true,
    flags: { all: on('start with the first event', 'a') },
    exits: '0 after a detach, else the code of the crew; 125 failure of reeve',
    examples: [
      ['reeve crew follow fix', 'what it does'],
      ['reeve crew follow -a fix > log.txt', 'the whole history'],
    ],
    load: () => import('../verbs/crew/follow.ts'),
  },
  ps: {
    summary: 'List the crews, or the members of one',
    usage: ['reeve crew ps [-a]', 'reeve crew ps [-a] CREW'],
    about: [
      'Lists the living crews. With CREW it lists the members: activity, process, fill of the context (CONTEXT) and cost. TASKS counts the finished tasks; NOTE names what the crew waits for. A narrow terminal omits some columns; `--json` has all.',
    ],
    wordRange: [0, 1],
    flags: { all: on('also those that have ended', 'a'), quiet: on('only the UUIDs of crews', 'q') },
    exits: SUCCESS,
    examples: [
      ['reeve crew ps', 'list the crews'],
      ['reeve crew ps fix', 'list its members'],
    ],
    load: () => import('../verbs/crew/ps.ts'),
  },
  tasks: {
    summary: 'List the tasks of a crew',
    usage: ['reeve crew tasks [CREW]'],
    about: [`Lists the tasks with state, implementer, reviewer, attempts, commit and needs. ${DEFAULT_CREW}`],
    wordRange: [0, 1],
    flags: {},
    exits: SUCCESS,
    examples: [
      ['reeve crew tasks', 'how far it is'],
      ['reeve crew tasks fix --json', 'for a program'],
    ],
    load: () => import('../verbs/crew/tasks.ts'),
  },
  show: {
    summary: 'Show a crew, or one of its tasks',
    usage: ['reeve crew show CREW [TASK]'],
    about: [
      'Shows the settings of a crew, its tasks, and all its members, past and present. With TASK it shows the text of the task and its history: assignments, reports, verdicts with comments, messages, commits.',
    ],
    wordRange: [1, 2],
    flags: {},
    exits: SUCCESS,
    examples: [
      ['reeve crew show fix', 'all of it'],
      ['reeve crew show fix lexer', 'one task with its history'],
    ],
    load: () => import('../verbs/crew/show.ts'),
  },
  diff: {
    summary: 'Show the change of a task',
    usage: ['reeve crew diff [--stat|--name-only] [--review|--committed] CREW TASK'],
    about: [
      'Shows the change of a task as a unified diff: the version under review, then the committed version, then the merged version. Changes that other tasks merged meanwhile are left out. If there is no change yet, a line gives the reason.',
      'The `.gitattributes` of the repository are ignored, and no program that they name runs. Control characters are shown as `^[`. A terminal shows the beginning of a long diff, and the git command for the rest; files and pipes get all of it. `--json` has both commits and the unchanged text.',
    ],
    wordRange: [2, 2],
    flags: {
      stat: on('only the files, with their number of changed lines'),
      'name-only': on('only the names of the files'),
      review: on('the reviewed version, also after the commit'),
      committed: on('the committed version, also after the merge'),
    },
    exits: SUCCESS,
    examples: [
      ['reeve crew diff fix lexer', 'the change to approve'],
      ['reeve crew diff --stat fix lexer', 'its size'],
    ],
    load: () => import('../verbs/crew/diff.ts'),
  },
  report: {
    summary: 'Summarize the work of a crew',
    usage: ['reeve crew report [CREW]'],
    about: [
      `Prints a Markdown report. It begins with the open points for you: questions, failed tasks, unmerged branches, and refs with uncommitted files. For each task follow its outcome, implementer, reviewer, verdicts with comments, failed attempts with their causes, commits, tokens, cost, and working and waiting time. ${DEFAULT_CREW}`,
      'The report works during the run, and as long as the journal is kept. A cost with `+` is a lower bound, because the price of some calls is unknown; `?` means that no price is known; `~` marks a partial estimate.',
    ],
    wordRange: [0, 1],
    flags: {},
    exits: SUCCESS,
    examples: [
      ['reeve crew report fix > report.md', 'for a pull request'],
      ['reeve crew report fix --json', 'for a program'],
    ],
    load: () => import('../verbs/crew/report.ts'),
  },
  send: {
    summary: 'Send a message to a member of a crew',
    usage: ['reeve crew send [--to MEMBER|TASK] [--now] CREW TEXT'],
    about: [
      'Queues a message for the coordinator, or with `--to` for a member, the assignee of a task, or all workers. It is delivered as a turn of its own when the member is ready. With `--now` a native agent reads it before its next model call, in the current turn. An external agent reads messages only between turns.',
    ],
    wordRange: [2, 2],
    flags: {
      to: text('MEMBER|TASK', 'the recipient: worker-2, a task, coordinator, or all'),
      now: on('deliver it before the next model call of the current turn'),
    },
    exits: SUCCESS,
    examples: [['reeve crew send --to lexer fix "use no regular expressions"', 'to the assignee of that task']],
    load: () => import('../verbs/crew/send.ts'),
  },
  add: {
    summary: 'Add a task to a crew',
    usage: ['reeve crew add [FLAG]... CREW TEXT'],
    about: [
      'Adds a task. Limits (`--budget-usd` and others) apply to one attempt with its reviews: an attempt that exceeds one fails. `--agent` or `--model` starts a separate worker for the task, if the crew has room. A task for a human (`--human`) is a question: the answer goes to the tasks that need it.',
    ],
    wordRange: [2, 2],
    flags: {
      id: text('ID', 'its id (default: task-N)'),
      title: text('TITLE', 'its title (default: the first line)'),
      acceptance: text('TEXT', 'the criteria that must be met when it is done'),
      needs: { kind: 'list', value: 'TASK', help: 'tasks that must be done first; repeat it, or use commas' },
      role: text('ROLE', `the role that does it: ${TASK_ROLES.join(', ')}; a researcher commits nothing`),
      human: on('ask the user this question'),
      'no-reviews': on('skip the review'),
      priority: text('N', 'higher is earlier; 0 is the default'),
      agent: text('AGENT', "the agent that does it, in place of the role's"),
      model: text('PROVIDER/NAME', "the model that does it, in place of the role's"),
      ...ATTEMPT_LIMITS,
      verify: text('CMD', "a command that must pass, in place of the crew's; off: none"),
    },
    exits: SUCCESS,
    examples: [
      ['reeve crew add fix "Update the changelog" --needs lexer,parser', 'one more'],
      ['reeve crew add fix "Rewrite the parser" --model anthropic/claude-opus-4', 'this task with another model'],
    ],
    load: () => import('../verbs/crew/add.ts'),
  },
  assign: {
    summary: 'Give a task to a worker',
    usage: ['reeve crew assign CREW TASK MEMBER'],
    about: [
      'Assigns a queued task to an idle worker, or a finished task without a review to a reviewer. The engine as coordinator does this by itself.',
    ],
    wordRange: [3, 3],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew assign fix lexer worker-2', 'to that worker']],
    load: () => import('../verbs/crew/assign.ts'),
  },
  approve: {
    summary: 'Approve the commit of a task',
    usage: ['reeve crew approve CREW TASK'],
    about: [
      'Approves the commit of a task that waits at its gate (`gate: human`). `reeve answer CREW` does the same for an open question; `reeve crew deny` rejects it.',
    ],
    wordRange: [2, 2],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew approve fix lexer', 'approve']],
    load: () => import('../verbs/crew/approve.ts'),
  },
  deny: {
    summary: 'Send a task back',
    usage: ['reeve crew deny [--comment FILE:LINE=TEXT]... CREW TASK [TEXT]'],
    about: [
      'Rejects a task that a crew asks you about, as `reeve answer CREW deny TEXT` does. The task returns to its author with your comments. A comment on a line reaches the author with that line quoted. `reeve crew diff` shows the change; line numbers refer to the file after the change.',
    ],
    wordRange: [2, 3],
    flags: COMMENT_FLAGS,
    exits: SUCCESS,
    examples: [
      ['reeve crew deny fix lexer "The tests are missing."', 'with a reason'],
      ["reeve crew deny fix lexer --comment src/lexer.ts:12='use a map'", 'with a comment on a line'],
    ],
    load: () => import('../verbs/crew/deny.ts'),
  },
  cancel: {
    summary: 'Cancel a task',
    usage: ['reeve crew cancel [--requeue] CREW TASK [REASON]'],
    about: [
      'Cancels a task. Its worker is interrupted, and uncommitted files are saved to a ref. The tasks that need it fail. With `--requeue` it returns to the queue for another worker.',
    ],
    wordRange: [2, 3],
    flags: { requeue: on('put it back into the queue') },
    exits: SUCCESS,
    examples: [['reeve crew cancel fix lexer "not needed any more"', 'with a reason']],
    load: () => import('../verbs/crew/cancel.ts'),
  },
  retry: {
    summary: 'Retry a failed or cancelled task',
    usage: ['reeve crew retry CREW TASK'],
    about: [
      'Returns the task to the queue with fresh attempts. Its worker learns why it failed, and where the uncommitted files of the last attempt are. Tasks that failed only because they needed this one return as well. An ended crew retries nothing: run `reeve crew up` with the same name and tasks, which takes over finished tasks and does the rest.',
    ],
    wordRange: [2, 2],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew retry fix lexer', 'with all tasks that need it']],
    load: () => import('../verbs/crew/retry.ts'),
  },
  reopen: {
    summary: 'Reopen a finished task',
    usage: ['reeve crew reopen --comments TEXT CREW TASK', 'reeve crew reopen --comment FILE:LINE=TEXT... CREW TASK'],
    about: [
      'Rejects a change that was approved and merged. The task returns to the queue with your comments; its next worker continues on top of the branch. Its commits and history stay. Tasks that need it wait for it if they have not begun; finished tasks stay finished.',
    ],
    wordRange: [2, 2],
    flags: COMMENT_FLAGS,
    exits: SUCCESS,
    examples: [['reeve crew reopen fix lexer --comments "empty strings are not covered"', 'with a reason']],
    load: () => import('../verbs/crew/reopen.ts'),
  },
  edit: {
    summary: 'Change a task of a crew',
    usage: ['reeve crew edit [FLAG]... CREW TASK'],
    about: [
      'Changes a task that is open, failed or cancelled; everything without a flag stays the same. Its worker and its reviewer learn of the change at their next turn, and the review uses the new text.',
      'Needs, role, agent, model and limits can change only while no member works on the task: in the queue, also between two attempts. Limits (`--budget-usd` and others) replace all earlier limits; `--agent` and `--model` replace both. An approved task can no longer be changed: `reeve crew cancel --requeue` takes it back, and `reeve crew reopen` a finished one.',
    ],
    wordRange: [2, 2],
    flags: {
      title: text('TITLE', 'its title'),
      text: text('FILE', 'the text of the task, from a file; - reads it from stdin'),
      acceptance: text('TEXT', 'the criteria that must be met when it is done'),
      needs: {
        kind: 'list',
        value: 'TASK',
        help: 'the tasks that must be done first, in place of the earlier ones; none removes all',
      },
      role: text('ROLE', `the role that does it: ${TASK_ROLES.join(', ')}`),
      reviews: on('require a review'),
      'no-reviews': on('skip the review'),
      agent: text('AGENT', 'the agent that does it'),
      model: text('PROVIDER/NAME', 'the model that does it'),
      'as-role': on('use the agent and the model of its role again'),
      ...ATTEMPT_LIMITS,
      'no-limits': on('remove the limits of its attempts'),
    },
    exits: SUCCESS,
    examples: [
      ['reeve crew edit fix lexer --text lexer.md', 'a better text'],
      ['echo "Use no regular expressions." | reeve crew edit fix lexer --text -', 'from stdin'],
      ['reeve crew edit fix parser --needs lexer,grammar', 'after both'],
      ['reeve crew edit fix parser --model anthropic/claude-opus-4 --budget-usd 5', 'the next attempt with another model'],
    ],
    load: () => import('../verbs/crew/edit.ts'),
  },
  priority: {
    summary: 'Change the order of the tasks of a crew',
    usage: ['reeve crew priority CREW TASK N', 'reeve crew priority --before TASK CREW TASK'],
    about: [
      'Tasks are assigned, reviewed and merged by priority, higher first (default 0). Within one priority the order of addition counts. `--before` gives the task the priority of another one and places it directly before that task. The worker of a task keeps it.',
    ],
    wordRange: [2, 3],
    flags: { before: text('TASK', 'the task to place it before') },
    exits: SUCCESS,
    examples: [
      ['reeve crew priority fix lexer 5', 'before all others'],
      ['reeve crew priority fix lexer -- -1', 'after all others'],
      ['reeve crew priority --before parser fix lexer', 'before `parser`'],
    ],
    load: () => import('../verbs/crew/priority.ts'),
  },
  spawn: {
    summary: 'Start another worker',
    usage: ['reeve crew spawn [FLAG]... CREW [ROLE]'],
    about: [
      'Starts a worker with the settings of the crew: generic (the default), implementer, reviewer or researcher. A task can be assigned at once, and waits until the worker is ready.',
    ],
    wordRange: [1, 2],
    flags: { task: text('TASK', 'use the agent and the model of this task') },
    exits: SUCCESS,
    examples: [['reeve crew spawn fix reviewer', 'when reviews are the bottleneck']],
    load: () => import('../verbs/crew/spawn.ts'),
  },
  replace: {
    summary: 'Replace a member',
    usage: ['reeve crew replace CREW MEMBER [SUMMARY]'],
    about: [
      'Starts a successor, which takes over the task, its files and the queued messages. The old member leaves when the successor is ready; it stays if the successor cannot start. SUMMARY is handed to the successor.',
      '`coordinator` names the coordinator; if it was killed or stopped, its successor is started. A member cannot be replaced while it commits.',
    ],
    wordRange: [2, 3],
    flags: {},
    exits: SUCCESS,
    examples: [
      ['reeve crew replace fix worker-1 "the tests in lexer.test.ts are right, the table is not"', 'it made no progress'],
      ['reeve crew replace fix coordinator', 'after you have killed it'],
    ],
    load: () => import('../verbs/crew/replace.ts'),
  },
  retire: {
    summary: 'Retire a worker',
    usage: ['reeve crew retire CREW MEMBER [REASON]'],
    about: [
      'Retires a worker for good. Its task returns to the queue, without a failed attempt. Unread messages return to their senders. Its worktree is removed; uncommitted files are saved to a ref first. The engine may start another worker as soon as there is work for it.',
    ],
    wordRange: [2, 3],
    flags: {},
    exits: SUCCESS,
    examples: [['reeve crew retire fix worker-3', 'there is not enough to do']],
    load: () => import('../verbs/crew/retire.ts'),
  },
  pause: {
    summary: 'Pause a crew with all its members',
    usage: ['reeve crew pause [--now] [CREW]'],
    about: [`Pauses the crew and its members, each at its next boundary. Nothing new is assigned, and reports are kept. ${DEFAULT_CREW}`],
    wordRange: [0, 1],
    flags: { now: on('freeze them at once, whatever is in flight') },
    exits: SUCCESS,
    examples: [['reeve crew pause fix', 'resume it later with `reeve crew resume fix`']],
    load: () => import('../verbs/crew/pause.ts'),
  },
  resume: {
    summary: 'Resume a crew',
    usage: ['reeve crew resume [FLAG]... [CREW]'],
    about: [
      `Resumes a paused crew with its members; a stopped crew continues where it was. A crew that has used up its budget needs a larger one. ${DEFAULT_CREW}`,
    ],
    wordRange: [0, 1],
    flags: CREW_RAISES,
    exits: '0; 1 another hold remains; 3 no such crew; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve crew resume fix', 'continue'],
      ['reeve crew resume --budget-usd +10 fix', 'with $10 more for all members together'],
    ],
    load: () => import('../verbs/crew/resume.ts'),
  },
  stop: {
    summary: 'Stop a crew with all its members',
    usage: ['reeve crew stop [--now] [CREW]'],
    about: [
      `Stops the members gracefully, then the crew. Its tasks and worktrees stay: \`reeve crew resume\` continues. A member whose commit has been requested may finish it, so the stop can take ${DEFER_MS / 1_000} s. With \`--now\` all are killed. ${DEFAULT_CREW}`,
    ],
    wordRange: [0, 1],
    flags: { now: on('kill them at once') },
    exits: '0; 1 not ended in time; 3 no such crew; 4 the daemon cannot be reached; 64 usage error',
    examples: [['reeve crew stop fix', 'stop it; it can be resumed']],
    load: () => import('../verbs/crew/stop.ts'),
  },
  roles: {
    summary: 'Show the prompts of the roles',
    usage: ['reeve crew roles [ROLE]'],
    about: [
      'Lists the roles and the source of each prompt; with ROLE it prints that prompt. A file `.reeve/roles/ROLE.md` of the project replaces it, or one in `roles` beside your config.yaml. The file is Markdown without a front matter; its text is recorded with each member when the crew starts. An invalid file is listed with the reason.',
    ],
    wordRange: [0, 1],
    flags: {},
    exits: '0; 4 the daemon cannot be reached; 64 usage error, or an invalid file for ROLE',
    examples: [
      ['reeve crew roles', 'list the roles'],
      ['reeve crew roles reviewer > .reeve/roles/reviewer.md', 'a copy to change'],
    ],
    load: () => import('../verbs/crew/roles.ts'),
  },
}

export const CREW_VERBS: Readonly<Record<string, Verb>> = {
  crew: {
    summary: 'Let several agents work on a list of tasks',
    usage: ['reeve crew PART'],
    about: [
      'A crew is a coordinator and its workers. Each task is implemented in a git worktree, reviewed by another member, committed, and merged into a branch of the crew. docs/guides/crews.md explains crews.',
      '`reeve crew` alone lists its verbs; `reeve help crew PART` explains one. CREW is a name, a PID or an ID, like P. The members are ordinary processes, so `reeve logs`, `attach` and `inspect` work on them.',
    ],
    wordRange: [0, 0],
    flags: {},
    parts: PARTS,
    exits: '0; 64 no such part',
    examples: [
      ['reeve crew up --workers 2 --tasks tasks.md', 'start a crew'],
      ['reeve crew tasks', 'how far it is'],
      ['reeve help crew up', 'explain one verb'],
    ],
    load: () => import('../verbs/crew/crew.ts'),
  },
}
