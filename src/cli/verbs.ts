// The command line's words: one row per verb. Parsing, help and the pages under docs/verbs come from this table alone.
// A flag stands here only if it works. Test: test/tables/cli-verbs.test.ts.
import { LIMIT_FLAGS } from './limit-rows.ts'
import type { Args, Flag, Flags } from './args.ts'
import type { Output } from './output.ts'
import { MCP } from './mcp-row.ts'
import { HEARTBEAT } from './heartbeat-row.ts'
import { COMPOSE } from './compose-rows.ts'
import { CREW } from './crew-rows.ts'
import { HISTORY } from './history-rows.ts'
import { RESUMES } from './resume-rows.ts'
import { PS } from './ps-row.ts'
import { USAGE } from './usage-row.ts'
import type { Reeve } from '../index.ts'

/** All that a verb is given. */
export interface Call {
  readonly args: Args
  readonly out: Output
  readonly reeve: Reeve
}

export interface Verb {
  readonly summary: string
  readonly usage: readonly string[]
  /** what it does, as paragraphs */
  readonly about: readonly string[]
  /** how many words: at least and at most */
  readonly words: readonly [number, number]
  readonly flags: Flags
  /** `--` begins a command line for the process */
  readonly takesCommand?: true
  /** its exit code is the process's */
  readonly givesProcessCode?: true
  /** it is a family: its parts by their second word */
  readonly parts?: Readonly<Record<string, Verb>>
  readonly exits: string
  readonly examples: readonly (readonly [command: string, what: string])[]
  readonly load: () => Promise<{ run(call: Call): Promise<number> }>
}

const on = (help: string, short?: string): Flag => ({ kind: 'on', help, ...(short ? { short } : {}) })
const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })
const list = (value: string, help: string): Flag => ({ kind: 'list', value, help })
const duration = (value: string, help: string): Flag => ({ kind: 'duration', value, help })
const count = (help: string): Flag => ({ kind: 'count', value: 'N', help })
const tail = count('only the last N lines')
const since = text('D|TIME', 'only what came after: 10m, 2h, 2026-01-31, 2026-01-31T14:05')

const ONE = [1, 1] as const
const SOME = [1, 1000] as const
const NONE = [0, 0] as const
const usual = (one?: string): string => `0; ${one ? `1 ${one}; ` : ''}3 no such process; 4 the daemon cannot be reached; 64 usage`


export const VERBS: Readonly<Record<string, Verb>> = {
  run: {
    summary: 'Start a process and follow it',
    usage: ['reeve run [FLAG]... "INTENT"', 'reeve run [FLAG]... -', 'reeve run [FLAG]... -- COMMAND [ARG]...', 'reeve run [FLAG]... --supervisor NAME'],
    about: [
      'Starts an agent with an intent, or any command as a process, and follows it to its end. What the agent writes goes to stdout; what it does is told on stderr. With `-` the intent is read from stdin.',
      'On a terminal the last rows say what it and its children do. With `--interactive` they have a line to type on, as with `reeve attach`.',
      'On a terminal the first Ctrl+C asks whether to detach, to interrupt the turn or to stop the process; the second stops it. Without a terminal SIGINT and SIGTERM stop the process. It is stopped, too, when nobody reads its output any more (`| head`); it goes on when the terminal is closed.',
      'With `--worktree` it works in a git worktree of its own, on a new branch `reeve/NAME`, and its files are recorded after each step, so that `reeve resume --fork --from-step N --with-files` can go back to them. The worktree goes with the process (`reeve rm`); what is not committed is salvaged to a ref first.',
      'With `--restart` it is resumed when it has failed (a command is run again), after a growing wait and so often within 10 minutes; what you stop or kill stays ended. An end that would only come again (a limit, a full context, a refused key) is held for you to look at. docs/supervision.md has the rules, and those of `--supervisor`.',
      'The environment of this command goes along: what is not a secret is recorded and comes back at a resume, keys stay in the memory of the daemon.',
    ],
    words: [0, 1],
    takesCommand: true,
    givesProcessCode: true,
    flags: {
      detach: on('print the UUID and return at once', 'd'),
      'intent-file': text('FILE', 'read the intent from a file, or from stdin with -'),
      agent: text('AGENT', 'the agent to run (see `reeve agents`)'),
      model: text('PROVIDER/NAME', 'the model; script:FILE plays one from a file, replay:P what process P was answered'),
      effort: text('LEVEL', 'how hard a reasoning model thinks: none, minimal, low, medium, high, xhigh or max'),
      fallback: list('PROVIDER/NAME', 'models that are asked when the first cannot answer, in order'),
      name: text('NAME', 'a name for the process; not all digits'),
      ...LIMIT_FLAGS,
      cwd: text('DIR', 'its working directory (default: this one)'),
      worktree: on('work in a git worktree of its own, on a new branch; its files are recorded after each step'),
      interactive: on('keep it ready for messages after its first turn'),
      parent: text('P', 'make it a child of this process'),
      restart: text('WHEN', 'whether it comes back by itself: no (the default), on-failure or always; under a supervisor also temporary, transient or permanent'),
      supervisor: text('NAME', 'start this supervisor of reeve.yaml, with its children'),
      'child-id': text('ID', 'its id among the children of the supervisor that --parent names'),
      allow: list('X', 'what it may: tools (then no others), read:PATH, write:PATH (then nowhere else), network, spawn, spawn:AGENT, signal; repeat it, or use commas'),
      deny: list('X', 'what it may not: tools, network, spawn, signal'),
      mcp: list('NAME', 'the MCP servers that it may use, of those that are configured, whatever its agent says; none: no server'),
      gateway: text('MODE', 'whether an agent of others calls its models through the gateway: auto, on or off'),
      permissions: text('POLICY', 'what an agent that asks may do without asking: ask (nothing; the default), allow or deny'),
      wake: on('go on by itself when a rate limit with a known end is over; without it a person resumes it'),
      reeve: on('it has tools to start, wait for, write to and signal other processes (docs/mcp-server.md)'),
      containment: text('KIND', 'what owns its programs: auto, cgroup, pidns or group'),
    },
    exits: "the process's own: 143 where it was stopped, 1 where its time or steps are over, 126 command not runnable, 127 command not found; 125 failure of reeve",
    examples: [
      ['reeve run "fix the failing test"', 'the default agent, followed'],
      ['reeve run -d --name docs --budget-usd 2 "write the manual"', 'in the background, with a budget'],
      ['reeve run --agent reviewer --model anthropic/claude-sonnet-4-5 "review the last commit"', 'an agent and a model'],
      ['git diff | reeve run --agent reviewer -', 'an intent from stdin'],
      ['reeve run --worktree --name docs "write the manual"', 'beside your own work'],
      ['reeve run --timeout 10m -- npm test', 'any command, with a time limit'],
      ['reeve run -d --restart always --name web -- npm run dev', 'a server that comes back'],
      ['reeve run -d --supervisor team', 'all that `supervisors: team:` of reeve.yaml says'],
    ],
    load: () => import('./verbs/run.ts'),
  },
  ps: { ...PS, load: () => import('./verbs/ps.ts') },
  inspect: {
    summary: 'Show all about a process',
    usage: ['reeve inspect P'],
    about: ['Shows state, holds, limits, usage and family of one process, dead or alive, and what is suspended below it. `--json` gives every field.'],
    words: ONE,
    flags: {},
    exits: usual(),
    examples: [['reeve inspect 5', 'by PID'], ['reeve inspect docs --json', 'by name, as JSON']],
    load: () => import('./verbs/inspect.ts'),
  },
  steps: {
    summary: 'Show the steps of a process',
    usage: ['reeve steps P'],
    about: ['Shows each model call with its text, its tool calls and their outcome, tokens, cost and time.'],
    words: ONE,
    flags: {},
    exits: usual(),
    examples: [['reeve steps 5', 'all steps'], ['reeve steps 5 --json', 'with whole inputs and results']],
    load: () => import('./verbs/steps.ts'),
  },
  logs: {
    summary: 'Show what a process said and printed',
    usage: ['reeve logs [-f] [-t] [--tail N] [--since D|TIME] P'],
    about: ['Shows the assistant text, tool calls and output of a process. With `-f` it goes on until the process has ended. `--since` takes a time, or how long ago; together with `--tail` both hold.'],
    words: ONE,
    flags: { follow: on('go on as it happens', 'f'), timestamps: on('the time before each line', 't'), tail, since },
    exits: usual(),
    examples: [['reeve logs --tail 20 docs', 'the end'], ['reeve logs -f --since 10m 5', 'the last ten minutes, and on']],
    load: () => import('./verbs/logs.ts'),
  },
  events: {
    summary: 'Show the events of one process or of all',
    usage: ['reeve events [-f] [--after CURSOR] [--tail N] [--since D|TIME] [P]'],
    about: ['Shows what happened, in order. Each event has a cursor, its `seq`: `--after` goes on behind it, so that nothing is missed or seen twice.'],
    words: [0, 1],
    flags: { follow: on('go on as it happens', 'f'), after: { kind: 'count', value: 'CURSOR', help: 'only what came after this cursor' }, tail: count('only the last N events'), since },
    exits: usual('the cursor is no longer kept'),
    examples: [['reeve events -f', 'everything, as it happens'], ['reeve events --json --after 1200 5', 'for a program']],
    load: () => import('./verbs/events.ts'),
  },
  send: {
    summary: 'Send a message to a process',
    usage: ['reeve send P TEXT'],
    about: ['Queues a message; it is delivered as a turn of its own when the process is ready. It does not wake a suspended one.'],
    words: [2, 2],
    flags: {},
    exits: usual(),
    examples: [['reeve send 5 "also update the changelog"', 'one more thing']],
    load: () => import('./verbs/send.ts'),
  },
  attach: {
    summary: 'Watch a process and talk to it',
    usage: ['reeve attach P'],
    about: [
      'Shows what a process did last, goes on as it happens, and takes messages for it. What is sent while a turn is on is read when the turn has ended. Any number may be attached to the same process.',
      'On a terminal: Enter sends; a backslash at the end of a line, Alt+Enter or a paste makes several lines; Ctrl+C interrupts the turn that is on, and otherwise asks as `reeve run` does; Ctrl+D or `/detach` leaves the process running; `/pause`, `/resume`, `/stop` and `/help`. A message that begins with a slash is written with two.',
      'Without a terminal each line of stdin is a message, stdout is what the agent writes from now on (with `--json` its events), and the end of stdin detaches.',
    ],
    words: ONE,
    givesProcessCode: true,
    flags: {},
    exits: "0 when it was left running, else the process's own; 125 failure of reeve",
    examples: [['reeve attach 5', 'watch it and talk to it'], ['echo "also the docs" | reeve attach docs', 'one message'], ['reeve attach --json 5 < messages.txt', 'for a program']],
    load: () => import('./verbs/attach.ts'),
  },
  answer: {
    summary: 'Answer what a process asks',
    usage: ['reeve answer [--ask N] P', 'reeve answer [--ask N] P OPTION|TEXT', 'reeve answer [--ask N] P OPTION TEXT', 'reeve answer [--ask N] --yes|--no P'],
    about: [
      'Without an answer it lists what the process asks, with the options of each. An option is named by its number, its name or its id; a question without options takes any text. Where a reason is wanted beside an option, it stands behind it. While the process is suspended the answer is kept, and told when it goes on.',
      '`reeve ps` shows who asks in NOTE, and `reeve wait --for waiting P` waits for it. In `reeve attach`, and in a `reeve run` of such an agent on a terminal, the number is typed.',
    ],
    words: [1, 3],
    flags: {
      yes: on('allow it, once if that is offered', 'y'),
      no: on('refuse it, once if that is offered', 'n'),
      ask: text('N', 'which of its questions, by its number in the list or its id'),
    },
    exits: usual('it asks nothing'),
    examples: [['reeve answer 5', 'what does it want?'], ['reeve answer 5 1', 'the first option'], ['reeve answer --no 5', 'refuse'], ['reeve answer docs "use pnpm"', 'a text']],
    load: () => import('./verbs/answer.ts'),
  },
  pause: {
    summary: 'Pause processes',
    usage: ['reeve pause [--subtree] [--now] P...'],
    about: ['Adds a hold. An agent finishes the model call in flight and stops before the next call; one that others wrote finishes its turn, gets no message and no answer meanwhile, and is frozen then, or after 2 minutes; a command is frozen at once. While it is suspended its clock and time limits stand still.'],
    words: SOME,
    flags: { subtree: on('also all its living descendants'), now: on('freeze it at once, whatever is in flight') },
    exits: usual(),
    examples: [['reeve pause 5', 'at the next boundary'], ['reeve pause --subtree --now 5', 'everything below it, at once']],
    load: () => import('./verbs/pause.ts'),
  },
  ...RESUMES,
  kill: {
    summary: 'Send a signal to processes',
    usage: ['reeve kill [-s SIGNAL] [--subtree] [--grace D] P...'],
    about: [
      'Sends SIGTERM, and SIGKILL after a grace of 300ms (Claude Code 3s, Codex 6s, or what an agent file says); it returns when the process has ended. Children go on unless `--subtree` is given; it says how many.',
      'Signals: SIGTERM (15), SIGKILL (9), SIGINT (2, ends the current turn), SIGPAUSE (19, or STOP), SIGRESUME (18, or CONT); with or without SIG, in any case. An agent may put one off, or be told and wrap up: `reeve signals`.',
    ],
    words: SOME,
    flags: { signal: { kind: 'text', short: 's', value: 'SIGNAL', help: 'a name or a POSIX number (default SIGTERM)' }, subtree: on('also all its living descendants'), grace: duration('D', 'how long SIGTERM leaves it to end by itself (default 300ms, or what its agent needs)') },
    exits: usual('refused, or not ended in time'),
    examples: [['reeve kill 5', 'end it'], ['reeve kill -s 9 5 7', 'at once, both'], ['reeve kill --subtree --grace 5s 5', 'with all below it']],
    load: () => import('./verbs/kill.ts'),
  },
  signals: {
    summary: 'See what becomes of the signals of a process, and change it',
    usage: ['reeve signals [--block SIGNAL]... [--unblock SIGNAL]... [--handle SIGNAL=HANDLER]... P'],
    about: [
      'Shows which signals are blocked, what waits, which handlers there are, and the last signals with who sent them. With a flag it changes that first: handlers, then the mask.',
      'SIGTERM (15): stop, with a grace, then kill. SIGKILL (9): kill at once; cannot be blocked or handled. SIGINT (2): end the current turn; what is not interactive ends with 130. SIGPAUSE (19): add a hold, as `reeve pause` does. SIGRESUME (18): remove holds, as `reeve resume` does.',
      'A handler is `default`, `ignore`, or `message`: the agent is told and may wrap up; with SIGTERM it is ended when its grace is over, or its turn. What a person sends is put off by a mask or `ignore` for 10 s at most. A new incarnation begins with no mask and no handlers.',
    ],
    words: ONE,
    flags: {
      block: list('SIGNAL', 'block these, so that they wait; repeat it, or use commas'),
      unblock: list('SIGNAL', 'block these no more; those that wait are delivered'),
      handle: list('SIGNAL=HANDLER', 'what it does from now on: default, ignore or message'),
    },
    exits: usual(),
    examples: [['reeve signals 5', 'look'], ['reeve signals 5 --handle TERM=message', 'let it wrap up when it is stopped'], ['reeve signals 5 --block TERM,PAUSE', 'while it commits']],
    load: () => import('./verbs/signals.ts'),
  },
  stop: {
    summary: 'End processes with time to clean up',
    usage: ['reeve stop P...'],
    about: ['Sends SIGTERM with a grace of 10 s (longer where an agent file says so), then SIGKILL; it returns when the process has ended. What was stopped can be resumed.'],
    words: SOME,
    flags: {},
    exits: usual('refused, or not ended in time'),
    examples: [['reeve stop 5', 'and `reeve resume 5` later']],
    load: () => import('./verbs/stop.ts'),
  },
  rm: {
    summary: 'Remove ended processes with their history',
    usage: ['reeve rm [-f] P...'],
    about: [
      'Removes processes for good: their steps, logs and events, too. Their numbers are never used again, and a P that named one is told as removed.',
      'One that has not ended is refused, unless `--force` ends it first (as `reeve kill` does); so is one that is pinned. On a terminal it asks before it removes more than 10, unless `--force` is given.',
      'A worktree of its own goes with it. What is not committed in there is salvaged to a ref first, a branch with commits of its own stays, and so does a worktree that holds another repository; each is told.',
    ],
    words: SOME,
    flags: { force: on('end what has not ended, also what is pinned, and do not ask', 'f') },
    exits: usual('refused, it has not ended, or it is pinned'),
    examples: [['reeve rm 5 docs', 'both'], ['reeve rm $(reeve ps -aq --filter status=completed)', 'all that ended well']],
    load: () => import('./verbs/rm.ts'),
  },
  ...HISTORY,
  ...USAGE,
  wait: {
    summary: 'Wait for processes',
    usage: ['reeve wait [--for exited|ready|suspended|waiting] [--any] [--timeout D] P...'],
    about: ['Waits until all (with `--any`: one) of the processes have exited, or are as asked, and prints a line for each. The exit code is that of the process; of several, the first that is not 0.'],
    words: SOME,
    givesProcessCode: true,
    flags: { for: text('WHAT', 'exited (default), ready, suspended or waiting'), any: on('return when one of them is'), timeout: duration('D', 'give up after this time, with exit code 124') },
    exits: "the process's own; 124 timed out, 125 failure of reeve, or it ended before it was as asked",
    examples: [['reeve wait 5 7', 'both'], ['reeve wait --for ready --timeout 1m docs', 'until it takes a message']],
    load: () => import('./verbs/wait.ts'),
  },
  daemon: {
    summary: 'Start, stop and look at the daemon',
    usage: ['reeve daemon start|status|run', 'reeve daemon stop|restart [--drain D | --now]', 'reeve daemon logs [-f] [--tail N]', 'reeve daemon install [--print | --now] [--drain D]', 'reeve daemon uninstall [--now] [--drain D]'],
    about: [
      'The daemon starts by itself at first use. `stop` lets running agents reach a boundary (the end of a model call, a tool or a turn that is in flight) and suspends them; the next start lets just these go on. Agents that others wrote are ended, and come back with their session. Commands, and agents that told no session, cannot go on later: they are ended. What is still in flight after `--drain` is cut off; a second `stop --now` does so at once.',
      '`restart` looks at the configuration first: where the new daemon could not start, the old one goes on. `run` keeps it in the foreground, for a service manager. `logs` reads the log file, also when the daemon is gone.',
      '`install` makes it a unit of your systemd (`~/.config/systemd/user/reeve.service`) and enables it: it starts with your login (with the machine after `loginctl enable-linger`), is started again when it dies, and has a cgroup delegated to it, the strongest containment. The unit keeps REEVE_HOME and PATH as they are now. With `--now` it starts at once, and a daemon that runs outside of the unit is stopped first, in good order. Where no user manager answers nothing is written; a unit that was changed by hand is left alone. `uninstall` takes the unit away; with `--now` it stops the daemon as well.',
    ],
    words: ONE,
    flags: {
      drain: duration('D', 'how long what is in flight may take before a stop (default 10m)'),
      now: on('stop, restart: cut off what is in flight; install: start at once; uninstall: stop it, too'),
      print: on('install: print the unit, and do nothing'),
      follow: on('logs: go on as they are written', 'f'),
      tail,
    },
    exits: '0; 1 the unit cannot be installed or removed; 4 the daemon cannot be reached or started; 64 usage, or a configuration that cannot be used',
    examples: [['reeve daemon status', 'is it there'], ['reeve daemon restart', 'after an update'], ['reeve daemon logs -f', 'what it says'], ['reeve daemon install --now', 'let systemd start it']],
    load: () => import('./verbs/daemon.ts'),
  },
  ...CREW,
  ...COMPOSE,
  ...HEARTBEAT,
  ...MCP,
  doctor: {
    summary: 'Check the surroundings and the store',
    usage: ['reeve doctor [--verify] [--models]'],
    about: ['Says what works here and what does not, and what to do about it: directories, configuration, keys, containment, and with `--verify` the store. A `no` is no fault: something else does its work.', 'With `--models` it asks the providers of models for what they have: those whose key is in this environment, in credentials.yaml or with `keyCommand`, and those on this machine that need none. Nothing else goes to the network.'],
    words: NONE,
    flags: { verify: on('also check the whole store for damage'), models: on('also ask the providers of models whether they can be used') },
    exits: '0; 1 a check failed; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve doctor', 'what is wrong'], ['reeve doctor --verify', 'and read the whole store'], ['reeve doctor --models', 'which keys work']],
    load: () => import('./verbs/doctor.ts'),
  },
  config: {
    summary: 'Show the configuration, and change it',
    usage: ['reeve config show [KEY]', 'reeve config path', 'reeve config set KEY VALUE', 'reeve config unset KEY', 'reeve config trust|untrust [DIR]'],
    about: [
      '`show` prints what is in force in this directory, each key with the file or the variable that says so; `show KEY` prints one value. `path` prints where the files are.',
      '`set` and `unset` change the user\'s config.yaml and keep its comments and its order; nothing is written unless the whole file is right. KEY is a key of the file or `mcp.NAME`; VALUE is YAML (`[a, b]`, `{ command: npx }`), and a list of words may be written with commas.',
      '`trust` lets the files of a directory and of all below it name programs to start (MCP servers, and agents that take the place of others). Without DIR it is this directory.',
    ],
    words: [1, 3],
    flags: {},
    exits: '0; 1 a file cannot be written; 64 usage, or a file that cannot be used',
    examples: [
      ['reeve config show', 'what is in force'],
      ['reeve config set defaultModel anthropic/claude-sonnet-5', 'the model of agents that name none'],
      ['reeve config set fallback openai/gpt-5,ollama/qwen3', 'a list'],
      ['reeve config trust', 'this project may start its MCP servers'],
    ],
    load: () => import('./verbs/config.ts'),
  },
  agents: {
    summary: 'List the agents that can be run here',
    usage: ['reeve agents'],
    about: ['Lists the agents of the project, of the user and the built-in ones. READY says whether one could run now: it has a model, and the key for it is in this environment, in credentials.yaml or with `keyCommand`, or its program is there; else the reason follows. FORK says where a process of it can be forked: after any step (`any`), as it is now, or not; `now?` is what an agent that speaks ACP is asked when it starts. An agent is a Markdown file with a front matter; one that cannot be used is told with the place of its error.'],
    words: NONE,
    flags: {},
    exits: '0; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve agents', 'names for `reeve run --agent`']],
    load: () => import('./verbs/agents.ts'),
  },
  completion: {
    summary: 'Complete words on the command line of a shell',
    usage: ['reeve completion bash|zsh|fish'],
    about: [
      'Prints a script that makes the shell complete verbs, flags, their values, and the PIDs and names of processes. It asks reeve itself, so it knows what this version knows; it never starts the daemon.',
      'bash: `source <(reeve completion bash)` in ~/.bashrc, or the output in ~/.local/share/bash-completion/completions/reeve.',
      'zsh: `source <(reeve completion zsh)` in ~/.zshrc behind compinit, or the output as `_reeve` in a directory of $fpath.',
      'fish: `reeve completion fish > ~/.config/fish/completions/reeve.fish`.',
      'The scripts call `reeve completion -- WORD...` with the words so far, the last of which may be empty: a line for each that may stand there, with its description behind a tab.',
    ],
    words: [0, 1],
    takesCommand: true,
    flags: {},
    exits: '0; 64 usage',
    examples: [['reeve completion bash', 'the script'], ['reeve completion -- logs --ta', 'what would be completed']],
    load: () => import('./verbs/completion.ts'),
  },
  help: {
    summary: 'Show help about a verb or a topic',
    usage: ['reeve help [VERB | TOPIC]'],
    about: ['Shows all verbs on one screen, or all about one. `reeve VERB --help` is the same. A verb may have two words (`reeve help crew roles`). Topics tell a concept: how processes are named, models, limits, exit codes and more. Nothing is paged: `reeve help run | less`.'],
    words: [0, 2],
    flags: {},
    exits: '0; 64 no such verb or topic',
    examples: [['reeve help run', 'all about run'], ['reeve help models', 'which model is asked, and with which key']],
    load: () => import('./verbs/help.ts'),
  },
  version: {
    summary: 'Show the version',
    usage: ['reeve version'],
    about: ['Prints the version of this command and of the Node.js that runs it.'],
    words: NONE,
    flags: {},
    exits: '0',
    examples: [['reeve version --json', 'for a program']],
    load: () => import('./verbs/version.ts'),
  },
}
