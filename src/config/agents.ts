// Finds agents: the project's .reeve/agents, its .claude/agents, the user's, the built-in one, in this order of precedence;
// within one kind the nearest directory wins. A bad file is named with its line and hides no other. An agent of lower
// precedence does not take its name's place: it could have more tools than the one that was meant.
// Test: test/tables/config-agents.test.ts.
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { KernelError } from '../kernel/errors.ts'
import { NATIVE, parseAgent, type Agent, type AgentSource } from './agent-file.ts'
import { ancestors, problemIn, readText, trustedOwners, type Problem } from './files.ts'
import type { Paths } from './paths.ts'
import type { Parsed } from './yaml.ts'

/** The most agent files that are read from one directory. */
export const MAX_AGENT_FILES = 500

const DEFAULT_PROMPT = `You are a coding agent. You work in a directory on the user's machine with the tools that you are given, and nobody may be watching while you do.

- Look before you change: read the files that matter and search for where things are used. Do not guess at names or APIs.
- Make the smallest change that does the whole task, in the style of the code around it. Leave unrelated things as they are.
- Check your work: run the project's own tests, type checks or the program itself, and repair what fails. Say so if you could not.
- Commands must end by themselves. Start servers in the background, and stop them when you are done.
- Never destroy what you did not make: no forced pushes, no resets, no deleting of files that the task does not name. Do not commit or push unless asked.
- A result that says "interrupted; it may or may not have happened" means just that: look at the state of things before you do it again.
- If the task is ambiguous, take the reading that is easiest to undo and say which you took.

When you are done, answer in a few sentences: what you changed and where, how you checked it, and what is left open.`

/** How long what these agents start was seen to need to end after SIGTERM; docs/external-agents.md. */
export const GRACE_MS = { claude: 3_000, codex: 6_000 } as const

const BUILT_IN: readonly Agent[] = [
  {
    name: 'default',
    description: 'Built-in coding agent: reads, searches and edits files and runs commands.',
    ...NATIVE,
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
  external('claude', 'Claude Code, by its ACP adapter.', ['claude-agent-acp'], GRACE_MS.claude),
  external('codex', 'Codex, by its ACP adapter.', ['codex-acp'], GRACE_MS.codex),
  external('gemini', 'Gemini CLI, by ACP.', ['gemini', '--acp']),
  external('opencode', 'OpenCode, by ACP.', ['opencode', 'acp']),
]

/** It has its own models, tools and prompt; what it may do without asking is for a file of that name to say. */
function external(name: string, description: string, command: readonly string[], graceMs: number | null = null): Agent {
  return {
    ...NATIVE, graceMs, name, description, driver: 'acp', command, model: null, fallback: null, effort: null, tools: null, deny: [], mcp: null, limits: {},
    system: null, source: 'built-in', file: null, unsupported: [],
  }
}

export interface FoundAgents {
  /** one per name, the one that would run; in order of name */
  readonly agents: readonly Agent[]
  readonly errors: readonly Problem[]
}

interface Folder {
  readonly dir: string
  readonly source: AgentSource
}

/** All agents that can be run from `cwd`. Never throws for a bad file. */
export async function findAgents(cwd: string, where: Paths): Promise<FoundAgents> {
  const trusted = await trustedOwners(cwd)
  const above = ancestors(cwd)
  const folders: Folder[] = [
    ...above.map((dir): Folder => ({ dir: join(dir, '.reeve', 'agents'), source: 'project' })),
    ...above.map((dir): Folder => ({ dir: join(dir, '.claude', 'agents'), source: 'claude' })),
    { dir: where.agentsDir, source: 'user' },
  ]
  const found: Found = { byName: new Map(), errors: [] }
  for (const folder of folders) await readFolder(folder, trusted, found)
  for (const agent of BUILT_IN) if (!found.byName.has(agent.name)) found.byName.set(agent.name, agent)
  const agents = [...found.byName.values()].filter((agent) => agent !== null)
  return { agents: agents.toSorted((a, b) => (a.name < b.name ? -1 : 1)), errors: found.errors }
}

/** The agent of that name, or an error that says which there are, or why its file is not usable. */
export async function findAgent(name: string, cwd: string, where: Paths): Promise<Agent> {
  const { agents, errors } = await findAgents(cwd, where)
  const found = agents.find((agent) => agent.name === name)
  const bad = errors.find((error) => basename(error.file, '.md') === name)
  if (found) return found
  if (bad) throw new KernelError('AGENT_INVALID', `${bad.file}:${bad.line}: ${bad.message}`, { ...bad })
  throw new KernelError('AGENT_INVALID', `there is no agent \`${name}\`; there are ${agents.map((agent) => agent.name).join(', ')}`)
}

/** Whom a name means where no project has a file of it: the user's own, or the built-in one; null where there is neither. */
export async function agentElsewhere(name: string, where: Paths): Promise<Agent | null> {
  const own: Found = { byName: new Map(), errors: [] }
  await readFolder({ dir: where.agentsDir, source: 'user' }, new Set(), own)
  return own.byName.get(name) ?? BUILT_IN.find((agent) => agent.name === name) ?? null
}

/** The first file of a name decides; null where that one cannot be read. */
interface Found {
  readonly byName: Map<string, Agent | null>
  readonly errors: Problem[]
}

async function readFolder({ dir, source }: Folder, trusted: ReadonlySet<number>, found: Found): Promise<void> {
  const here = new Map<string, string>()
  for (const entry of await agentFiles(dir, found.errors)) {
    const file = join(dir, entry)
    const parsed = await readAgent(file, source, trusted)
    if (parsed === null) continue
    const name = parsed.ok ? parsed.value.name : basename(file, '.md')
    const other = here.get(name)
    if (!parsed.ok) found.errors.push(parsed.problem)
    else if (other !== undefined) found.errors.push({ file, line: 1, message: `the name \`${name}\` is already that of ${basename(other)} here` })
    if (parsed.ok) here.set(name, other ?? file)
    // A stranger's file in a shared directory must not be able to block a name.
    const blocks = parsed.ok || parsed.problem.line > 0
    if (blocks && !found.byName.has(name)) found.byName.set(name, parsed.ok ? parsed.value : null)
  }
}

async function readAgent(file: string, source: AgentSource, trusted: ReadonlySet<number>): Promise<Parsed<Agent> | null> {
  try {
    const found = await readText(file, source === 'user' ? undefined : trusted)
    return found && parseAgent(found.text, file, source)
  } catch (error) {
    return { ok: false, problem: problemIn(error) }
  }
}

async function agentFiles(dir: string, errors: Problem[]): Promise<string[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') errors.push({ file: dir, line: 0, message: `it cannot be read (${error.code ?? error.message})` })
    return []
  })
  const files = names.filter((name) => name.endsWith('.md') && !name.startsWith('.')).toSorted()
  if (files.length > MAX_AGENT_FILES) errors.push({ file: dir, line: 0, message: `there are ${files.length} agent files; only the first ${MAX_AGENT_FILES} are read` })
  return files.slice(0, MAX_AGENT_FILES)
}

