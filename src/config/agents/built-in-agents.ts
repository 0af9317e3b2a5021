// The built-in agents: a native coding agent, and the ACP commands of known external agents. An agent file replaces the built-in agent of
// the same name. Starts nothing. Test: test/tables/config/agents/find-agents.test.ts.
import { NATIVE_FIELDS, type AgentDefinition } from './agent-file.ts'

const DEFAULT_PROMPT = `You are a coding agent. You work in a directory on the user's machine with the tools that you are given, and nobody may be watching while you do.

- Look before you change: read the files that matter and search for where things are used. Do not guess at names or APIs.
- Make the smallest change that does the whole task, in the style of the code around it. Leave unrelated things as they are.
- Check your work: run the project's own tests, type checks or the program itself, and repair what fails. Say so if you could not.
- Commands must end by themselves. Start servers in the background, and stop them when you are done.
- Never destroy what you did not make: no forced pushes, no resets, no deleting of files that the task does not name. Do not commit or push unless asked.
- A result that says "interrupted; it may or may not have happened" means just that: look at the state of things before you do it again.
- If the task is ambiguous, take the reading that is easiest to undo and say which you took.

When you are done, answer in a few sentences: what you changed and where, how you checked it, and what is left open.`

/** The measured time that these agents and their programs need after SIGTERM, in ms (docs/reference/external-agents.md). */
export const GRACE_MS = { claude: 3_000, codex: 6_000 } as const

export const BUILT_IN_AGENTS: readonly AgentDefinition[] = [
  {
    name: 'default',
    description: 'Built-in coding agent: reads, searches and edits files and runs commands.',
    ...NATIVE_FIELDS,
    model: null,
    fallback: null,
    effort: null,
    tools: null,
    deny: [],
    mcp: null,
    limits: {},
    system: DEFAULT_PROMPT,
    source: 'built-in',
    file: null,
    unsupported: [],
  },
  { ...externalAgent('claude', 'Claude Code, through its ACP adapter.', ['claude-agent-acp'], GRACE_MS.claude), mode: 'default' },
  externalAgent('codex', 'Codex, through its ACP adapter.', ['codex-acp'], GRACE_MS.codex),
  externalAgent('gemini', 'Gemini CLI, through ACP.', ['gemini', '--acp']),
  externalAgent('opencode', 'OpenCode, through ACP.', ['opencode', 'acp']),
]

/** Returns a built-in external agent, which uses its own models, tools and prompt. */
function externalAgent(name: string, description: string, command: readonly string[], graceMs: number | null = null): AgentDefinition {
  return {
    ...NATIVE_FIELDS,
    graceMs,
    name,
    description,
    driver: 'acp',
    command,
    model: null,
    fallback: null,
    effort: null,
    tools: null,
    deny: [],
    mcp: null,
    limits: {},
    system: null,
    source: 'built-in',
    file: null,
    unsupported: [],
  }
}
