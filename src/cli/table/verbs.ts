// The verb table: one row per verb. Parsing, help, completion and the pages under docs/reference/verbs use only this table. Test:
// test/tables/cli/table/verbs.test.ts.
import { DEFER_MS, STOP_GRACE_MS } from '../../kernel/model/signals.ts'
import { LIMIT_FLAGS } from './limits.ts'
import type { Flag } from '../input/args.ts'
import { MCP_VERBS } from './mcp.ts'
import { WEB_VERBS } from './web.ts'
import { HEARTBEAT_VERBS } from './heartbeat.ts'
import { NEEDS_VERBS } from './needs.ts'
import { TOP_VERBS } from './top.ts'
import { COMPOSE_VERBS } from './compose.ts'
import { CREW_VERBS } from './crew.ts'
import { HISTORY_VERBS } from './history.ts'
import { RESUME_VERBS } from './resume.ts'
import { LABEL_FILTER, PS_VERB } from './ps.ts'
import { USAGE_VERBS } from './usage.ts'
import { CHANGE_VERBS } from './changes.ts'
import type { Verb } from './verb.ts'

const on = (help: string, short?: string): Flag => ({ kind: 'on', help, ...(short ? { short } : {}) })
const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })
const list = (value: string, help: string): Flag => ({ kind: 'list', value, help })
const duration = (value: string, help: string): Flag => ({ kind: 'duration', value, help })
const count = (help: string): Flag => ({ kind: 'count', value: 'N', help })
const tail = count('only the last N lines')
const since = text('D|TIME', 'only what happened since: 10m, 2h, 2026-01-31, 2026-01-31T14:05')

const ONE_WORD = [1, 1] as const
const SOME_WORDS = [1, 1000] as const
const NO_WORDS = [0, 0] as const
/** the words of a verb that also takes `--all` */
const ANY_WORDS = [0, 1000] as const
/** Returns the flags of a verb that selects processes. `all`: the help of `--all` */
const allFlags = (all: string): Readonly<Record<'label' | 'all' | 'yes', Flag>> => ({
  label: LABEL_FILTER,
  all: on(all),
  yes: on('with --all: do not ask', 'y'),
})
const STAKES =
  'After the end of an agent a line lists what was interrupted and what is kept. `--dry-run` lists that before, and changes nothing. It shows open calls, files that are not recorded, queued messages, children, tasks and nodes.'
const SELECTION =
  "P may be a pattern in quotes, such as `'web*'`: it selects the living processes with such a name. `-l team=web` selects those with a label. `--all` selects all, and asks first on a terminal. `reeve help references` has the rules."
/** Returns the exit codes of most verbs. `failure`: the meaning of code 1. */
const usualExits = (failure?: string): string =>
  `0; ${failure ? `1 ${failure}; ` : ''}3 no such process; 4 the daemon cannot be reached; 64 usage error`

export const VERBS: Readonly<Record<string, Verb>> = {
  run: {
    summary: 'Start a process and follow it',
    usage: [
      'reeve run [FLAG]... "INTENT"',
      'reeve run [FLAG]... -',
      'reeve run [FLAG]... -- COMMAND [ARG]...',
      'reeve run [FLAG]... --supervisor NAME',
    ],
    about: [
      'Starts an agent with an intent, or any command, as a process, and follows it to its end. The text of the agent goes to stdout; its activity is reported on stderr. With `-` the intent is read from stdin. Text that is piped to a run with an intent is added to the intent.',
      "A command reads the stdin of `reeve run`: all of a pipe or a file, before it starts, also with `-d`. It is text in UTF-8 of at most 1 MB; let the command read a larger file itself (`reeve run -- sh -c 'sort < names'`). The text is never recorded. So a command with input cannot be restarted or run again, and `--restart` is refused.",
      'Without input a command has an empty stdin, `/dev/null`. It has none on a terminal, nor from a pipe that sends nothing within 3 s, which a line on stderr reports. In a loop that reads its own stdin, and in scripts, `reeve run -- COMMAND < /dev/null` gives no input.',
      'A command has no terminal. A bare shell or interpreter (`reeve run -- bash`) exits at once without input, and full-screen programs do not work; start those without reeve.',
      'On a terminal the last rows show the activity of the process and its children. With `--interactive` they include an input line, as in `reeve attach`. Markdown of the agent is drawn there, edits are shown as changed lines, and of a long result the beginning is shown. Text wraps between words; URLs and code are not split.',
      'On a terminal the first Ctrl+C asks whether to detach, to interrupt the turn or to stop the process; the second stops it. Without a terminal SIGINT and SIGTERM stop the process. A closed output (`| head`) stops it as well. A closed terminal does not.',
      'A process that is suspended, for example because its key was refused, or that asks you something, has not ended: `run` waits. It reports on stderr why, since when, and what ends the wait.',
      'With `--worktree` the process works in its own git worktree, on a new branch `reeve/NAME`. Its files are recorded after each step, so that `reeve resume --fork --from-step N --with-files` can return to them. `reeve rm` removes the worktree with the process; uncommitted files are saved to a ref first. The last lines of `run` name the branch and the worktree; `reeve diff` shows the changes, `reeve merge` takes them over, and `reeve pr` opens a pull request.',
      'With `--rm` the process is removed when it has ended: at once, or 10 s after its end with `-d`. The daemon does that, also if this command is gone. It stays if its worktree has commits or changed files, if it is pinned, or if a crash interrupted it. `--restart` and supervisors exclude it.',
      'With `--restart` a failed process is resumed (a command is run again) after a growing delay, with a limit per 10 minutes. A process that you stop or kill stays ended. A failure that would only repeat (a limit, a full context, a rejected key) is held until you resume it. The rules, also for `--supervisor`, are in docs/concepts/supervision.md.',
      'The process gets the environment of this command. Values that are not secret are recorded and restored at a resume; keys stay in the memory of the daemon.',
    ],
    wordRange: [0, 1],
    takesCommand: true,
    exitsWithProcessCode: true,
    flags: {
      detach: on('print the UUID and return at once', 'd'),
      'intent-file': text('FILE', 'read the intent from a file, or from stdin with -'),
      agent: text('AGENT', 'the agent to run (see `reeve agents`)'),
      model: text('PROVIDER/NAME', 'the model; script:FILE plays a scripted model, replay:P the recorded answers of process P'),
      effort: text('LEVEL', 'how hard a reasoning model thinks: none, minimal, low, medium, high, xhigh or max'),
      fallback: list('PROVIDER/NAME', 'models to try, in order, when the first cannot answer'),
      name: text('NAME', 'a name for the process; it cannot be all digits'),
      rm: on('remove it with its history when it has ended; the exit code stays'),
      label: list('LABEL', 'KEY=VALUE, or KEY alone: what `reeve ps -l` finds it by; repeat it for more'),
      ...LIMIT_FLAGS,
      cwd: text('DIR', 'its working directory (default: this one)'),
      worktree: on('work in its own git worktree, on a new branch; files are recorded after each step'),
      interactive: on('keep it ready for more messages after its first turn'),
      parent: text('P', 'make it a child of this process'),
      restart: text(
        'WHEN',
        'when to restart it: no (the default), on-failure or always; under a supervisor also temporary, transient or permanent',
      ),
      supervisor: text('NAME', 'start this supervisor of reeve.yaml, with its children'),
      'child-id': text('ID', 'its id below the supervisor that --parent names'),
      allow: list(
        'X',
        'what it may do: tools (only these), read:PATH, write:PATH (only there), network, spawn, spawn:AGENT, signal; and calls that need no answer: bash(npm test:*), edit(src/**). Repeat it, or use commas',
      ),
      deny: list('X', 'what it must not do: tools, network, spawn, signal, or calls such as bash(git push:*)'),
      mcp: list('NAME', 'the configured MCP servers that it may use, whatever its agent file lists; none: no server'),
      gateway: text('MODE', 'whether an external agent calls its models through the gateway: auto, on or off'),
      permissions: text(
        'POLICY',
        'for calls without a rule: ask (default of external agents), allow (of native ones) or deny. With plan a native agent only reads until you approve its plan. With agent its own settings decide',
      ),
      wake: on('continue by itself after a rate limit with a known end; without it the user resumes it'),
      'no-instructions': on('do not give a native agent the AGENTS.md of the repository'),
      'no-skills': on('do not give a native agent the skills of the repository and of the user'),
      reeve: on('give it tools to start, await, message and signal other processes (docs/reference/mcp-server.md)'),
      containment: text('KIND', 'how its programs are contained: auto, cgroup, pidns or group'),
    },
    exits:
      'the code of the process; 143 stopped; 1 out of time or steps; 126 command not runnable; 127 command not found; 125 failure of reeve',
    examples: [
      ['reeve run "fix the failing test"', 'the default agent, followed'],
      ['reeve run -d --name docs --budget-usd 2 "write the manual"', 'in the background, with a budget'],
      ['reeve run --agent reviewer --model anthropic/claude-sonnet-4-5 "review the last commit"', 'an agent and a model'],
      ['git diff | reeve run --agent reviewer "review this change"', 'an intent with text from a pipe'],
      ['reeve run --worktree --name docs "write the manual"', 'on its own branch'],
      ['reeve run --timeout 10m -- npm test', 'any command, with a time limit'],
      ['git diff | reeve run -- wc -l', 'a command that reads stdin'],
      ['reeve run -d --restart always --name web -- npm run dev', 'a server that is restarted'],
      ['reeve run -d --supervisor team', 'the supervisor `team` of reeve.yaml, with its children'],
    ],
    load: () => import('../verbs/run.ts'),
  },
  ps: { ...PS_VERB, load: () => import('../verbs/ps.ts') },
  inspect: {
    summary: 'Show all about a process',
    usage: ['reeve inspect P'],
    about: [
      'Shows the state, holds, limits, usage, parent and children of one process, alive or ended, and its suspended descendants. `--json` has every field.',
    ],
    wordRange: ONE_WORD,
    flags: {},
    exits: usualExits(),
    examples: [
      ['reeve inspect 5', 'by PID'],
      ['reeve inspect docs --json', 'by name, as JSON'],
    ],
    load: () => import('../verbs/inspect.ts'),
  },
  steps: {
    summary: 'Show the steps of a process',
    usage: ['reeve steps [--step N] P'],
    about: [
      'Shows each model call with its text, tool calls and their outcome, tokens, cost and duration.',
      'With `--step` one step is shown whole: messages before it, reasoning, attempts, inputs and results, questions, holds, and the context after it. Texts over 65,536 characters are cut; `--json` shows which.',
    ],
    wordRange: ONE_WORD,
    flags: { step: count('only this step, with all its details') },
    exits: '0; 3 no such process or step; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve steps 5', 'all steps'],
      ['reeve steps --step 12 5', 'step 12, whole'],
      ['reeve steps 5 --json', 'with complete inputs and results'],
    ],
    load: () => import('../verbs/steps.ts'),
  },
  ...CHANGE_VERBS,
  logs: {
    summary: 'Show the text and output of processes',
    usage: [
      'reeve logs [-f|--match TEXT] [-t] [--tail N] [--since D|TIME] [--tree] P...',
      'reeve logs [-f|--match TEXT] [-t] [--tail N] [--since D|TIME] -l LABEL|--all',
    ],
    about: [
      'Shows the assistant text, tool calls and output of processes. With `-f` it continues until all have ended. `--since` takes a time or a duration; with `--tail` both apply.',
      'Several processes are shown as one log in the order of time, and each row begins with a name. `--tree` adds all descendants, and with `-f` new ones. `--all` shows all living processes, and with `-f` every new one; it does not end by itself. `-l` shows the living ones with a label.',
      'P may be a pattern in quotes for names of living processes. `--tail` counts per process. Without it several processes show at most 20,000 lines together, but at least 10 each.',
      'A tool call is shown with its name and its main argument, shortened to one row. A call without a result has a word at its end: `running`, `held`, `interrupted`, or `waits for your answer`. A call that did not begin is `not begun`, and `not run` after the end of its process.',
      '`--json` prints `lines`, or with `-f` one object per line. Each has `uuid`, `pid`, `name`, `at`, `stream` and `text`. The text of a tool call is its name and its whole input as JSON; `reeve steps --json` has calls and results as fields.',
    ],
    wordRange: ANY_WORDS,
    flags: {
      follow: on('go on as it happens', 'f'),
      timestamps: on('print the time before each line', 't'),
      tail,
      since,
      match: text('TEXT', 'only lines with this text'),
      tree: on('also all descendants, living and ended'),
      label: LABEL_FILTER,
      all: on('all living processes'),
    },
    exits: usualExits(),
    examples: [
      ['reeve logs --tail 20 docs', 'the end'],
      ['reeve logs -f --since 10m 5', 'the last ten minutes, then what follows'],
      ["reeve logs --match 'npm test' docs", 'the lines about one thing'],
      ['reeve logs -f web db', 'two processes as one log'],
      ['reeve logs --json docs', 'with the whole input of each tool call'],
      ['reeve logs -f --tree docs', 'a process and all below it'],
    ],
    load: () => import('../verbs/logs.ts'),
  },
  search: {
    summary: 'Find a text in the transcripts of processes',
    usage: ['reeve search [-i] [--since D|TIME] [--limit N] TEXT [P]...'],
    about: [
      'Searches messages, texts of agents, inputs and results of tools, and the output of programs. It searches all processes, living and ended, or those that P names. Each line with the text is shown with its step, its time and what it is. Living processes come first, then ended ones, each the newest first.',
      'TEXT is plain text, not a pattern. Colours in the output of programs are ignored. A history that a fork shares with its origin is searched once.',
      'A search ends after a minute. A line on stderr reports that there may be more.',
    ],
    wordRange: ANY_WORDS,
    flags: {
      'ignore-case': on('upper and lower case are the same', 'i'),
      since,
      limit: count('show at most N lines, the newest (default 100, at most 1,000)'),
    },
    exits: usualExits('no line has the text'),
    examples: [
      ['reeve search "permission denied"', 'in all transcripts'],
      ['reeve search -i --since 2h todo docs', 'in one, of the last two hours'],
      ['reeve search --json ECONNRESET', 'for a program'],
    ],
    load: () => import('../verbs/search.ts'),
  },
  events: {
    summary: 'Show the events of one process or of all',
    usage: ['reeve events [-f] [--after CURSOR] [--tail N] [--since D|TIME] [P]'],
    about: [
      'Shows events in order. Each event has a cursor, its `seq`. `--after` continues after that cursor, so that no event is missed or repeated.',
    ],
    wordRange: [0, 1],
    flags: {
      follow: on('go on as it happens', 'f'),
      after: { kind: 'count', value: 'CURSOR', help: 'only events after this cursor' },
      tail: count('only the last N events'),
      since,
    },
    exits: usualExits('the events after the cursor are no longer kept'),
    examples: [
      ['reeve events -f', 'everything, as it happens'],
      ['reeve events --json --after 1200 5', 'for a program'],
    ],
    load: () => import('../verbs/events.ts'),
  },
  send: {
    summary: 'Send a message to a process',
    usage: ['reeve send [--now] P TEXT'],
    about: [
      'Queues a message. It is delivered as a turn of its own when the process is ready. It does not resume a suspended process.',
      'With `--now` a native agent reads the message before its next model call, in the current turn, together with all messages queued before it. An external agent reads messages only between turns.',
    ],
    wordRange: [2, 2],
    flags: { now: on('deliver it before the next model call of the current turn') },
    exits: usualExits(),
    examples: [
      ['reeve send 5 "also update the changelog"', 'add to its work'],
      ['reeve send --now 5 "leave the tests alone"', 'while it works'],
    ],
    load: () => import('../verbs/send.ts'),
  },
  attach: {
    summary: 'Watch a process and talk to it',
    usage: ['reeve attach P'],
    about: [
      'Shows the latest activity of a process, follows it, and sends it your messages. A message sent during a turn is read after that turn. Several terminals can attach to the same process.',
      'On a terminal: Enter sends. A backslash at the end of a line, Alt+Enter or a paste makes several lines. Ctrl+C interrupts the current turn; between turns it asks, as `reeve run` does. Ctrl+O shows a folded result of a tool whole, and again the one before. Ctrl+D or `/detach` leaves the process running. Other commands: `/pause`, `/resume`, `/stop` and `/help`. Begin a message with two slashes to send one.',
      'Without a terminal each line of stdin is a message, and the end of stdin detaches. The new text of the agent goes to stdout (with `--json` its events).',
    ],
    wordRange: ONE_WORD,
    exitsWithProcessCode: true,
    flags: {},
    exits: '0 after a detach, else the code of the process; 125 failure of reeve',
    examples: [
      ['reeve attach 5', 'watch it and talk to it'],
      ['echo "also the docs" | reeve attach docs', 'one message'],
      ['reeve attach --json 5 < messages.txt', 'for a program'],
    ],
    load: () => import('../verbs/attach.ts'),
  },
  answer: {
    summary: 'Answer the question of a process',
    usage: [
      'reeve answer [--diff] [--ask N] P',
      'reeve answer [--ask N] [--seen HASH] P OPTION|TEXT',
      'reeve answer [--ask N] [--comment FILE:LINE=TEXT]... P OPTION [TEXT]',
      'reeve answer [--ask N] --yes|--no P',
    ],
    about: [
      'Without an answer it lists the questions of the process, with their options. Name an option by its number, name or id; a question without options takes any text. A reason follows the option: a native agent reads it with the denial. For an external agent it is the next message, because its protocol has no reasons. While the process is suspended, the answer is kept and delivered when it resumes.',
      '`reeve ps` marks processes with questions in NOTE, and `reeve wait --for waiting P` waits for a question. In `reeve attach`, and in `reeve run` on a terminal, type the number.',
    ],
    wordRange: [1, 3],
    flags: {
      yes: on('allow it; only once if that is offered', 'y'),
      no: on('refuse it; only once if that is offered', 'n'),
      ask: text('N', 'which question: its number in the list, its id, or the task for a crew'),
      seen: text('HASH', 'only this question: its `hash` in --json; an answer to any other is refused'),
      diff: on('for a crew: also show the change in question'),
      comment: text('FILE:LINE=TEXT', 'with deny, for a crew: a comment on a line of the change; repeat it for more'),
    },
    exits: usualExits('it has no question'),
    examples: [
      ['reeve answer 5', 'list its questions'],
      ['reeve answer --diff fix', 'with the change that the crew asks about'],
      ['reeve answer 5 1', 'the first option'],
      ['reeve answer --no 5', 'refuse'],
      ['reeve answer docs "use pnpm"', 'a text'],
      ['reeve answer 5 deny "keep the old API"', 'refuse, with a reason'],
    ],
    load: () => import('../verbs/answer.ts'),
  },
  pause: {
    summary: 'Pause processes',
    usage: ['reeve pause [--subtree] [--now] P...', 'reeve pause [--now] -l LABEL', 'reeve pause [--now] --all [--yes]'],
    about: [
      'Adds a hold. A native agent finishes the model call in flight and stops before the next one. An external agent gets no messages or answers, finishes its turn, and is then frozen. After 2 minutes it is frozen in any case. A command is frozen at once. While a process is suspended, its time limits stand still.',
      SELECTION,
    ],
    wordRange: ANY_WORDS,
    flags: {
      subtree: on('also all its living descendants'),
      now: on('freeze it at once, whatever is in flight'),
      ...allFlags('pause all living processes'),
    },
    exits: usualExits('not confirmed'),
    examples: [
      ['reeve pause 5', 'at the next boundary'],
      ['reeve pause --subtree --now 5', 'the whole subtree, at once'],
      ['reeve pause --all', 'everything, after a question'],
    ],
    load: () => import('../verbs/pause.ts'),
  },
  ...RESUME_VERBS,
  kill: {
    summary: 'Send a signal to processes',
    usage: [
      'reeve kill [-s SIGNAL] [--subtree] [--grace D] [--dry-run] P...',
      'reeve kill [-s SIGNAL] [--grace D] -l LABEL',
      'reeve kill [-s SIGNAL] [--grace D] --all [--yes]',
    ],
    about: [
      'Sends SIGTERM, and SIGKILL after a grace of 300ms (Claude Code 3s, Codex 6s, or the value of the agent file). It returns when the process has ended. Without `--subtree` its children continue, and their number is printed.',
      STAKES,
      'Signals: SIGTERM (15), SIGKILL (9), SIGINT (2, ends the current turn), SIGPAUSE (19, or STOP), SIGRESUME (18, or CONT). Names work with or without SIG, in any case. A process can block a signal or handle it as a message: `reeve signals`.',
      SELECTION,
    ],
    wordRange: ANY_WORDS,
    flags: {
      signal: { kind: 'text', short: 's', value: 'SIGNAL', help: 'a name or a POSIX number (default SIGTERM)' },
      subtree: on('also all its living descendants'),
      grace: duration('D', 'how long it may take to end after SIGTERM (default 300ms, or the value of its agent)'),
      'dry-run': on('only show what would be lost and kept'),
      ...allFlags('signal all living processes'),
    },
    exits: usualExits('refused, not confirmed, or not ended in time'),
    examples: [
      ['reeve kill 5', 'stop it'],
      ['reeve kill -s 9 5 7', 'both, at once'],
      ['reeve kill --subtree --grace 5s 5', 'with its descendants'],
      ['reeve kill --dry-run --subtree 5', 'what that would cost'],
      ["reeve kill 'test-*'", 'all whose name begins with test-'],
    ],
    load: () => import('../verbs/kill.ts'),
  },
  signals: {
    summary: 'Show and change how a process handles signals',
    usage: ['reeve signals [--block SIGNAL]... [--unblock SIGNAL]... [--handle SIGNAL=HANDLER]... P'],
    about: [
      'Shows the blocked and pending signals, the handlers, and the latest signals with their senders. Flags change the handlers first, then the mask.',
      'SIGTERM (15): stop with a grace, then kill. SIGKILL (9): kill at once; cannot be blocked or handled. SIGINT (2): end the current turn; a process that is not interactive exits with 130. SIGPAUSE (19): add a hold, as `reeve pause` does. SIGRESUME (18): release holds, as `reeve resume` does.',
      `A handler is \`default\`, \`ignore\` or \`message\`. With \`message\` the agent receives the signal as a message and may wrap up. After SIGTERM it is ended at the end of the grace or of its turn. A mask or \`ignore\` delays a signal of the user for ${DEFER_MS / 1_000} s at most. A new incarnation has no mask and no handlers.`,
    ],
    wordRange: ONE_WORD,
    flags: {
      block: list('SIGNAL', 'block these signals, so that they stay pending; repeat it, or use commas'),
      unblock: list('SIGNAL', 'unblock these signals; pending ones are delivered'),
      handle: list('SIGNAL=HANDLER', 'the new handler of a signal: default, ignore or message'),
    },
    exits: usualExits(),
    examples: [
      ['reeve signals 5', 'look'],
      ['reeve signals 5 --handle TERM=message', 'let it wrap up on SIGTERM'],
      ['reeve signals 5 --block TERM,PAUSE', 'during a commit, for example'],
    ],
    load: () => import('../verbs/signals.ts'),
  },
  stop: {
    summary: 'Stop processes gracefully',
    usage: ['reeve stop [--dry-run] P...', 'reeve stop [--dry-run] -l LABEL', 'reeve stop [--dry-run] --all [--yes]'],
    about: [
      `Sends SIGTERM with a grace of ${STOP_GRACE_MS / 1_000} s (longer if the agent file sets it), then SIGKILL. It returns when the process has ended. A stopped process can be resumed.`,
      STAKES,
      SELECTION,
    ],
    wordRange: ANY_WORDS,
    flags: { 'dry-run': on('only show what would be lost and kept'), ...allFlags('stop all living processes') },
    exits: usualExits('refused, not confirmed, or not ended in time'),
    examples: [
      ['reeve stop 5', 'resume it later with `reeve resume 5`'],
      ["reeve stop docs 'web*'", 'one, and all whose name begins with web'],
      ['reeve stop --dry-run 5', 'what that would cost'],
      ['reeve stop -l team=web', 'all with that label'],
      ['reeve stop --all', 'all, after a question'],
    ],
    load: () => import('../verbs/stop.ts'),
  },
  rm: {
    summary: 'Remove ended processes with their history',
    usage: ['reeve rm [-f] P...'],
    about: [
      'Removes processes for good, with their steps, logs and events. Their PIDs are never reused; a command that names one reports that it was removed.',
      'A living process is refused, unless `--force` ends it first (as `reeve kill` does). A pinned one is refused as well. On a terminal it asks before it removes more than 10, unless `--force` is given.',
      'The worktree of a process is removed with it. Uncommitted files are saved to a ref first. A branch with commits of its own stays, and so does a worktree that contains another repository; each is reported.',
    ],
    wordRange: SOME_WORDS,
    flags: { force: on('end living processes, include pinned ones, and do not ask', 'f') },
    exits: usualExits('refused, still alive, or pinned'),
    examples: [
      ['reeve rm 5 docs', 'both'],
      ['reeve rm $(reeve ps -aq --filter status=completed)', 'all that completed'],
    ],
    load: () => import('../verbs/rm.ts'),
  },
  ...HISTORY_VERBS,
  ...USAGE_VERBS,
  wait: {
    summary: 'Wait for processes',
    usage: ['reeve wait [--for exited|done|ready|suspended|waiting[,...]] [--any] [--timeout D] P...'],
    about: [
      'Waits until all processes (with `--any`: one) have exited or reached the given condition. It prints a line for each. The exit code is that of the process; with several, the first that is not 0.',
      'If a process is suspended or asks a question meanwhile, stderr reports it with the command that lets it continue. After two seconds a line states what it waits for, since when, and what ends the wait. Another line comes when that changes.',
      '`--for done` waits until a process has ended, or is ready and has nothing left to do. It exits with 75 when the process needs you. A line on stderr then names the command that helps. With `--for exited,suspended,waiting` the exit code is 123 if a process has not ended.',
    ],
    wordRange: SOME_WORDS,
    exitsWithProcessCode: true,
    flags: {
      for: text('WHAT', 'the condition: exited (default), done, ready, suspended or waiting; several with commas'),
      any: on('return when one process meets the condition'),
      timeout: duration('D', 'give up after this time; the exit code is then 124'),
    },
    exits:
      'the code of the process; 75 `--for done`: it needs you; 123 not ended, but in another condition of `--for`; 124 timed out; 125 failure of reeve, or it ended before it met the condition',
    examples: [
      ['reeve wait 5 7', 'both'],
      ['reeve wait --for ready --timeout 1m docs', 'until it is ready for a message'],
      ['reeve wait --for done docs', 'until it has done its work, or needs you'],
    ],
    load: () => import('../verbs/wait.ts'),
  },
  daemon: {
    summary: 'Start, stop and inspect the daemon',
    usage: [
      'reeve daemon status',
      'reeve daemon start|run [--accept-store]',
      'reeve daemon stop|restart [--drain D | --now]',
      'reeve daemon upgrade [--drain D | --now] [--force]',
      'reeve daemon logs [-f] [--tail N]',
      'reeve daemon install [--print | --now] [--drain D]',
      'reeve daemon uninstall [--now] [--drain D]',
    ],
    about: [
      'The daemon starts at the first command that needs it. `stop` lets each agent reach a boundary (the end of a model call, tool or turn in flight) and suspends it. The next start resumes exactly these agents. External agents are ended and later resume their session. Commands, and agents without a session, cannot be resumed: they are ended. After `--drain` whatever is still in flight is cut off; a second `stop --now` does so at once.',
      'A daemon can hang (its event loop is blocked, or a signal stopped it). Every command that needs it then reports its PID within seconds and exits with 4. `stop --now` and `restart --now` end it with SIGKILL. Its guardians end the running programs; these processes are `interrupted` and can be resumed. Both also use SIGKILL if the daemon has not ended 30 s after the request.',
      'A daemon refuses to start if the store is empty, missing, older than before, or has a damaged log: restore the newest copy. `start --accept-store` continues with the store as it is. PIDs are not reused, and worktrees that the store does not know are moved to `aside/` in the state directory.',
      '`restart` checks the configuration first: if the new daemon could not start, the old one keeps running. `run` keeps the daemon in the foreground, for a service manager. `logs` reads the log file, even without a running daemon.',
      'A running daemon holds all its code in memory, so an installation of another version does not disturb it. Then each command warns once that its build differs; `status` and `reeve doctor` report it as well. `upgrade` replaces the daemon: it checks that the new one can start, stops the old one as `stop` does, and starts the new one. All agents continue.',
      'With the same build `upgrade` does nothing. Before it ends commands, it asks; `--force` skips the question. A daemon whose installation was removed ends by itself, a minute after its last process has ended or was suspended.',
      '`install` writes and enables a user unit of systemd (`~/.config/systemd/user/reeve.service`). The daemon then starts with your login (at boot after `loginctl enable-linger`). It is restarted when it dies or when its event loop is blocked for a minute (`WatchdogSec`). It gets a delegated cgroup, the strongest containment. The unit keeps the current REEVE_HOME and PATH.',
      'With `--now` the unit starts at once; a daemon that runs outside of it is first stopped gracefully. Without a user manager nothing is written, and a unit that was edited by hand is left alone. `uninstall` removes the unit; with `--now` it also stops the daemon.',
    ],
    wordRange: ONE_WORD,
    flags: {
      drain: duration('D', 'how long work in flight may take before a stop (default 10m)'),
      now: on('stop, restart, upgrade: cut off work in flight; install: start at once; uninstall: also stop the daemon'),
      force: on('upgrade: also end commands, without a question'),
      print: on('install: only print the unit'),
      'accept-store': on('start, run: accept a store that is empty, older than before, or has a damaged log'),
      follow: on('logs: follow new lines', 'f'),
      tail,
    },
    exits:
      '0; 1 the unit cannot be installed or removed, or an upgrade cannot start; 4 the daemon cannot be reached, started or ended, or hangs; 64 usage error, or an invalid configuration',
    examples: [
      ['reeve daemon status', 'whether it runs'],
      ['reeve daemon upgrade', 'after the installation of a new version'],
      ['reeve daemon logs -f', 'follow its log'],
      ['reeve daemon install --now', 'let systemd start it'],
    ],
    load: () => import('../verbs/system/daemon.ts'),
  },
  ...CREW_VERBS,
  ...COMPOSE_VERBS,
  ...NEEDS_VERBS,
  ...TOP_VERBS,
  ...HEARTBEAT_VERBS,
  ...MCP_VERBS,
  ...WEB_VERBS,
  doctor: {
    summary: 'Check the system, the configuration and the store',
    usage: ['reeve doctor [--verify] [--models]'],
    about: [
      'Checks directories, configuration, keys, containment, and with `--verify` the store. For each it reports whether it works, and what to do if not. A `no` is not an error: reeve uses something else instead.',
      'For each installed coding agent that reeve knows, it shows the version beside the newest one that was tested with this reeve. It reads the version from the package, and starts no program.',
      'With `--models` it asks model providers which models they have. It asks those with a key in this environment, in credentials.yaml or from `keyCommand`, and local ones that need no key. Nothing else uses the network.',
    ],
    wordRange: NO_WORDS,
    flags: { verify: on('also check the whole store for damage'), models: on('also check that the model providers can be used') },
    exits: '0; 1 a check failed; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve doctor', 'check the system'],
      ['reeve doctor --verify', 'also check the whole store'],
      ['reeve doctor --models', 'which keys work'],
    ],
    load: () => import('../verbs/system/doctor.ts'),
  },
  config: {
    summary: 'Show and change the configuration',
    usage: [
      'reeve config show [KEY]',
      'reeve config path',
      'reeve config set KEY VALUE',
      'reeve config unset KEY',
      'reeve config trust|untrust [DIR]',
    ],
    about: [
      '`show` prints the configuration in force in this directory, and for each key the file or variable that sets it; `show KEY` prints one value. `path` prints the paths of the files.',
      "`set` and `unset` change the user's config.yaml, and keep its comments and order. Nothing is written unless the resulting file is valid. KEY is a key of the file, a part of it such as `limits.budgetUsd`, or `mcp.NAME`. VALUE is YAML (`[a, b]`, `{ command: npx }`); a list of words can be written with commas.",
      '`trust` lets the files of a directory, and of all directories below it, name programs to start: MCP servers, and agents that replace other agents. DIR defaults to this directory.',
    ],
    wordRange: [1, 3],
    flags: {},
    exits: '0; 1 a file cannot be written; 64 usage error, or an invalid file',
    examples: [
      ['reeve config show', 'the configuration in force'],
      ['reeve config set defaultModel anthropic/claude-sonnet-5', 'the model for agents without one'],
      ['reeve config set fallback openai/gpt-5,ollama/qwen3', 'a list'],
      ['reeve config set limits.budgetUsd 3', 'a limit for each process that you start'],
      ['reeve config trust', 'allow the MCP servers of this project'],
    ],
    load: () => import('../verbs/system/config.ts'),
  },
  agents: {
    summary: 'List the available agents',
    usage: ['reeve agents'],
    about: [
      'Lists the agents of the project, the user and the built-in ones. An agent is a Markdown file with a front matter; an invalid file is listed with the position of its error.',
      'READY shows whether an agent can run now, or the reason why not. A native agent needs a model, and its key in this environment, in credentials.yaml or from `keyCommand`. An external agent needs its program in your PATH. READY is `not checked` for an external agent without a key in this environment: only the agent knows whether it is logged in. The command that logs in follows.',
      'FORK shows from where `reeve resume --fork P` can continue a copy of a process of the agent: after `any step`, from its `latest only`, or `no`. `known at start` means that reeve asks the agent when a process starts. Commands that take no messages while they run are marked: `--interactive` and crews cannot use them.',
    ],
    wordRange: NO_WORDS,
    flags: {},
    exits: '0; 4 the daemon cannot be reached; 64 usage error',
    examples: [['reeve agents', 'names for `reeve run --agent`']],
    load: () => import('../verbs/system/agents.ts'),
  },
  models: {
    summary: 'List the models that you can use',
    usage: ['reeve models [PROVIDER]'],
    about: [
      'Asks the model providers for their models. It asks those with a key in this environment, in credentials.yaml or from `keyCommand`, and local ones that need no key.',
      'WINDOW is the context window in tokens. IN, CACHED and OUT are USD per million tokens of input, of input from the cache, and of output. Prices that grow with the size of a request are shown at their lowest. A `?` is unknown; `prices` in config.yaml sets a price.',
    ],
    wordRange: [0, 1],
    flags: { quiet: on('only the names of models', 'q') },
    exits: '0; 1 a provider refused or did not answer; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve models', 'the models of all providers with a key'],
      ['reeve models anthropic', 'the models of one provider'],
      ['reeve models -q openai | grep gpt', 'only the names, for another command'],
    ],
    load: () => import('../verbs/system/models.ts'),
  },
  completion: {
    summary: 'Complete words in a shell',
    usage: ['reeve completion bash|zsh|fish'],
    about: [
      'Prints a script that lets the shell complete verbs, flags, values, PIDs and names. The script asks the installed reeve for candidates, so it never goes out of date. It never starts the daemon.',
      'bash: `source <(reeve completion bash)` in ~/.bashrc, or the output in ~/.local/share/bash-completion/completions/reeve.',
      'zsh: `source <(reeve completion zsh)` after compinit in ~/.zshrc, or the output as `_reeve` in a directory of $fpath.',
      'fish: `reeve completion fish > ~/.config/fish/completions/reeve.fish`.',
      'The scripts call `reeve completion -- WORD...` with the words typed so far; the last may be empty. It prints a line per candidate: the word, a tab and its description.',
    ],
    wordRange: [0, 1],
    takesCommand: true,
    flags: {},
    exits: '0; 64 usage error',
    examples: [
      ['reeve completion bash', 'the script'],
      ['reeve completion -- logs --ta', 'the candidates at this point'],
    ],
    load: () => import('../verbs/system/completion.ts'),
  },
  help: {
    summary: 'Show help about a verb or a topic',
    usage: ['reeve help [VERB | TOPIC]'],
    about: [
      'Shows all verbs on one screen, or the page of one. `reeve VERB --help` does the same. A verb can have two words (`reeve help crew roles`). A topic explains a concept: references to processes, models, limits, exit codes and more. There is no pager: `reeve help run | less`.',
    ],
    wordRange: [0, 2],
    flags: {},
    exits: '0; 64 no such verb or topic',
    examples: [
      ['reeve help run', 'the page of run'],
      ['reeve help keys', 'how models and keys are chosen'],
    ],
    load: () => import('../verbs/system/help.ts'),
  },
  version: {
    summary: 'Show the version',
    usage: ['reeve version'],
    about: ['Prints the version of this command and of the Node.js that runs it.'],
    wordRange: NO_WORDS,
    flags: {},
    exits: '0',
    examples: [['reeve version --json', 'for a program']],
    load: () => import('../verbs/system/version.ts'),
  },
}
