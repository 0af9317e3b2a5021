// The topics of `reeve help TOPIC`. Each fits one screen, and docs/ has the details. Only data, loaded on demand.
// Test: test/tables/cli/table/manual.test.ts.

export interface Topic {
  readonly summary: string
  /** paragraphs; a list of pairs is shown as a table */
  readonly text: readonly (string | readonly (readonly [string, string])[])[]
  /** the verbs that the topic concerns */
  readonly verbs: readonly string[]
}

export const TOPICS: Readonly<Record<string, Topic>> = {
  references: {
    summary: 'How a process is named: P',
    text: [
      'P is matched in this order:',
      [
        ['5', 'its PID, the number of one incarnation; PIDs are never reused'],
        ['docs', 'its exact name, as given with `--name`; if several ended processes share it, verbs that only read take the newest'],
        ['deadbeef', 'the first or last 4 or more digits of its UUID, which never changes; the ID in `reeve ps` is the last 8'],
      ],
      "Many at once: `kill`, `stop`, `pause` and `resume` take several references, `--all`, `-l LABEL`, and patterns of names in quotes (`'web*'`, `'w[1-3]'`, `'test-?'`). These select only living processes; for `resume`, only suspended ones. They never select members of a crew: name these exactly. A selected supervisor, crew or run ends its own children.",
      'If several processes match, nothing is done and the matches are listed. A resume after the end gives a process a new PID. Scripts should therefore keep the UUID (`reeve run -d` prints it, `reeve ps -q` lists them).',
    ],
    verbs: [
      'inspect',
      'steps',
      'logs',
      'events',
      'attach',
      'send',
      'answer',
      'pause',
      'resume',
      'kill',
      'signals',
      'stop',
      'wait',
      'rm',
      'pin',
      'rename',
    ],
  },
  'agent-files': {
    summary: 'Where agent files are, and what they contain',
    text: [
      'An agent is a Markdown file: a YAML front matter between two lines of `---`, then its system prompt. The usual keys: name, description, model, fallback, effort, tools, deny, limits, mcp; docs/reference/agents.md has all.',
      'For each name the first match counts:',
      [
        ['.reeve/agents/*.md', 'in this directory and its parents, nearest first'],
        ['.claude/agents/*.md', 'the same places; Claude Code files work unchanged'],
        ['agents/*.md', 'of the user, beside config.yaml (`reeve config path`)'],
        ['default', 'the built-in coding agent'],
      ],
      '`reeve agents` lists the available agents, and invalid files with the position of the error. An invalid file keeps its name: no other agent runs under it.',
    ],
    verbs: ['run', 'agents'],
  },
  keys: {
    summary: 'How the model and its key are chosen',
    text: [
      'A model is PROVIDER/NAME (anthropic/claude-sonnet-5), script:FILE for scripted answers, or replay:UUID for the recorded answers of a process.',
      "The first of these that is set counts: `--model`, the agent file, REEVE_MODEL, the project's reeve.yaml, `defaultModel` of the user's config.yaml. `--fallback` names models to try when it cannot answer.",
      'Built-in providers: anthropic, openai, google, openrouter, deepseek, ollama, lmstudio, vllm, openai-chat. Add others under `providers`. A key is looked up by the name of its variable:',
      [
        ['environment', 'of the `reeve` command that starts or resumes the process'],
        ['credentials.yaml', 'beside config.yaml, with mode 0600: lines of NAME: value'],
        ['keyCommand', 'a program that prints the key'],
      ],
      'Keys stay in the memory of the daemon; the journal records only their names. `reeve config show providers` lists the providers, `reeve doctor` the missing keys.',
    ],
    verbs: ['run', 'resume', 'config', 'agents', 'models', 'doctor'],
  },
  limits: {
    summary: 'Steps, time, tokens and money',
    text: [
      [
        ['--max-steps N', 'model calls; then it ends with code 1'],
        ['--timeout D', 'time, not counted while suspended; then it ends with code 1'],
        ['--budget-usd X', 'money; then it is suspended'],
        ['--budget-tokens N', 'tokens; then it is suspended'],
        ['--memory SIZE, --cpu-time D', 'of its programs; then it ends with code 2'],
      ],
      'Limits cover the process and all its descendants. They are checked before each model call, against the highest cost that the call can have. To continue after a budget has run out, raise it: `reeve resume --budget-usd +5 P`. docs/reference/limits.md lists all limits.',
      'A cost with a + in `reeve ps` is a lower bound: the price of some call is unknown.',
    ],
    verbs: ['run', 'resume'],
  },
  resuming: {
    summary: 'How to continue paused, ended and interrupted processes',
    text: [
      [
        ['suspended', '`reeve resume P` releases its holds, and those of its ancestors that keep it suspended; the PID stays'],
        ['ended', '`reeve resume P` starts a new incarnation from the end of its history: same UUID, new PID'],
        ['any', '`reeve resume --fork --from-step N P` makes a new process that continues after step N'],
        ['a plain command', 'can only run again from its beginning: `reeve resume --rerun P`; not if it had input, which is not recorded'],
      ],
      'Nothing is silently done twice: a tool call without a recorded result is not run again. The model reads "interrupted; it may or may not have happened", and decides.',
      'After `reeve daemon stop` agents continue at the next start. After a crash they are `interrupted` and wait for you. Processes that you paused or ended stay so, whatever restarts.',
    ],
    verbs: ['resume', 'pause', 'stop', 'daemon'],
  },
  statuses: {
    summary: 'The values of the STATUS column',
    text: [
      [
        ['pending, starting', 'not started yet'],
        ['ready', 'ready for a message'],
        ['working', 'in a turn'],
        ['waiting', "waits for the user's answer"],
        ['suspended', 'paused: it has at least one hold'],
        ['stopping, zombie', 'being ended; ended, while resources are released'],
        ['completed, retired', 'ended successfully'],
        ['stopped', 'ended by the user or its parent; it can be resumed'],
        ['failed', 'ended by an error or a limit'],
        ['interrupted', 'ended with the daemon or the machine; it can be resumed'],
      ],
    ],
    verbs: ['ps', 'inspect', 'wait'],
  },
  'exit-codes': {
    summary: 'Exit codes of the verbs',
    text: [
      [
        ['0', 'success'],
        ['1', 'the action failed'],
        ['3', 'no such process'],
        ['4', 'the daemon cannot be reached'],
        ['64', 'wrong flags, words or values; nothing was done'],
        ['75', '`wait --for done`: the process needs you'],
        ['123', '`wait --for exited,…`: not ended, but in another of the named conditions'],
        ['124', 'timed out'],
        ['125', 'failure of reeve itself'],
        ['126, 127', 'the command cannot be run; the command does not exist'],
        ['128+n', 'ended by a signal: 143 SIGTERM, 137 SIGKILL, 130 SIGINT'],
      ],
      '`run`, `attach` and `wait` return the code of the process (1: out of steps or time; 2: another limit). These verbs themselves return only 75 (`wait --for done`), 123 (`wait`), and 124 to 127. So scripts can distinguish the two.',
    ],
    verbs: ['run', 'wait', 'attach'],
  },
}
