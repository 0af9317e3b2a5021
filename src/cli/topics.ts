// The concepts that `reeve help TOPIC` tells, each on one screen; docs/ has them at length. Data alone, loaded when asked for.
// Test: test/tables/cli-help.test.ts.

export interface Topic {
  readonly summary: string
  /** paragraphs; one that is a list of pairs is shown as a table */
  readonly text: readonly (string | readonly (readonly [string, string])[])[]
  /** where it matters */
  readonly verbs: readonly string[]
}

export const TOPICS: Readonly<Record<string, Topic>> = {
  references: {
    summary: 'How a process is named: P',
    text: [
      'P is tried in this order:',
      [['5', 'its PID, the number of one incarnation; none is ever used twice'], ['docs', 'its name, exactly as it was given with `--name`'], ['deadbeef', 'the first or last 4 digits, or more, of its UUID, which never changes; the ID that `reeve ps` shows is the last 8']],
      'Where several fit, nothing is done and they are listed. A resume after its end gives a process a new PID, so scripts should keep the UUID (`reeve run -d` prints it, `reeve ps -q` lists them).',
    ],
    verbs: ['inspect', 'steps', 'logs', 'events', 'attach', 'send', 'answer', 'pause', 'resume', 'kill', 'signals', 'stop', 'wait', 'rm', 'pin'],
  },
  'agent-files': {
    summary: 'Where agents come from, and what one looks like',
    text: [
      'An agent is a Markdown file: a front matter in YAML between two lines of `---`, then its system prompt. Keys: name, description, model, fallback, effort, tools, deny, limits, mcp.',
      'Of a name the first that is found counts:',
      [['.reeve/agents/*.md', 'in this directory and those above it, nearest first'], ['.claude/agents/*.md', 'the same; Claude Code\'s files are taken as they are'], ['agents/*.md', 'of the user, beside config.yaml (`reeve config path`)'], ['default', 'the built-in coding agent']],
      '`reeve agents` lists what would run here, and the files that cannot be used with the place of the mistake. A file with a mistake keeps its name: nothing else runs under it.',
    ],
    verbs: ['run', 'agents'],
  },
  models: {
    summary: 'Which model is asked, and with which key',
    text: [
      'A model is PROVIDER/NAME (anthropic/claude-sonnet-5), script:FILE for one that is played from a file, or replay:UUID for what a process was answered before.',
      'The first of these that says one counts: `--model`, the agent\'s file, REEVE_MODEL, the project\'s reeve.yaml, `defaultModel` of the user\'s config.yaml. `--fallback` names models that are asked when it cannot answer.',
      'Providers are built in (anthropic, openai, google, openrouter, deepseek, ollama, lmstudio, vllm, openai-chat); more are added under `providers`. A key is looked for by the name of its variable:',
      [['environment', 'of the `reeve` command that starts or resumes the process'], ['credentials.yaml', 'beside config.yaml, of mode 0600: lines of NAME: value'], ['keyCommand', 'a program that prints it']],
      'Keys stay in the daemon\'s memory; the journal has their names alone. `reeve config show providers` lists the providers, `reeve doctor` what is missing.',
    ],
    verbs: ['run', 'resume', 'config', 'agents', 'doctor'],
  },
  limits: {
    summary: 'Steps, time, tokens and money',
    text: [
      [['--max-steps N', 'model calls; then it ends with code 1'], ['--timeout D', 'time, not counted while it is suspended; then it ends with code 1'], ['--budget-usd X', 'money; then it is suspended'], ['--budget-tokens N', 'tokens; then it is suspended'], ['--memory SIZE, --cpu-time D', 'of its programs; then it ends with code 2']],
      'They cover the process and all that it spawns, and are checked before each model call, with what the call itself may cost. What a budget suspended goes on with a larger one: `reeve resume --budget-usd +5 P`. docs/limits.md has all of them.',
      'A cost with a + in `reeve ps` is a lower bound: some call had no known price.',
    ],
    verbs: ['run', 'resume'],
  },
  resuming: {
    summary: 'Going on: what was paused, what has ended, what was cut off',
    text: [
      [['suspended', '`reeve resume P` removes its holds, and those of its ancestors that keep it; the PID stays'], ['ended', '`reeve resume P` begins a new incarnation from where its history ends: same UUID, new PID'], ['any', '`reeve resume --fork --from-step N P` makes a new process that goes on after step N'], ['a plain command', 'can only be run again from its beginning: `reeve resume --rerun P`']],
      'Nothing is done twice in silence: a tool call whose end nobody saw is not run again. The model is told "interrupted; it may or may not have happened", and decides.',
      'After `reeve daemon stop` agents go on by themselves at the next start. After a crash they are `interrupted` and wait for you. What you paused stays paused, and what you ended stays ended, whatever restarts.',
    ],
    verbs: ['resume', 'pause', 'stop', 'daemon'],
  },
  statuses: {
    summary: 'The words in the column STATUS',
    text: [
      [['pending, starting', 'on its way'], ['ready', 'waits for a message'], ['working', 'a turn is on'], ['waiting', 'asks a person'], ['suspended', 'paused: it has at least one hold'], ['stopping, zombie', 'is to end; has ended and is being released'], ['completed, retired', 'ended well'], ['stopped', 'a person or its parent ended it; it can be resumed'], ['failed', 'an error or a limit'], ['interrupted', 'the daemon or the machine died under it; it can be resumed']],
    ],
    verbs: ['ps', 'inspect', 'wait'],
  },
  'exit-codes': {
    summary: 'What a verb returns to the shell',
    text: [
      [['0', 'it was done'], ['1', 'it could not be done'], ['3', 'no such process'], ['4', 'the daemon cannot be reached'], ['64', 'wrong flags, words or values; nothing was done'], ['124', 'timed out'], ['125', 'a failure of reeve itself'], ['126, 127', 'the command cannot be run; there is no such command'], ['128+n', 'ended by a signal: 143 SIGTERM, 137 SIGKILL, 130 SIGINT']],
      '`run`, `attach` and `wait` give the process\'s own code (2: a limit ended it), and of their own only 124 to 127, so that a script can tell the two apart.',
    ],
    verbs: ['run', 'wait', 'attach'],
  },
}
