// Finds agents, in this order of precedence: .reeve/agents and .claude/agents of the project, the user's folder, the built-in agents.
// Within one kind, the nearest directory wins. An invalid file is reported with its line. An agent of lower precedence must not replace an
// invalid one: it could have more tools than the user intended. Test: test/tables/config/agents/find-agents.test.ts.
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { parseAgent, type AgentDefinition, type AgentSource } from './agent-file.ts'
import { BUILT_IN_AGENTS } from './built-in-agents.ts'
import { problemIn, type Problem } from '../problem.ts'
import { ancestorDirectories, readText, trustedOwners } from '../untrusted-files.ts'
import type { Paths } from '../paths.ts'
import type { Parsed } from '../yaml.ts'
import { isMissing } from '../../kernel/util/missing-file.ts'

/** maximum number of agent files that are read from one directory */
export const MAX_AGENT_FILES = 500

export interface FoundAgents {
  /** for each name the agent that would run, sorted by name */
  readonly agents: readonly AgentDefinition[]
  readonly errors: readonly Problem[]
}

interface Folder {
  readonly dir: string
  readonly source: AgentSource
}

/** Finds all agents that can run in `cwd`. Does not throw for an invalid file, but lists it in `errors`. */
export async function findAgents(cwd: string, where: Paths): Promise<FoundAgents> {
  const trusted = await trustedOwners(cwd)
  const above = ancestorDirectories(cwd)
  const folders: Folder[] = [
    ...above.map((dir): Folder => ({ dir: join(dir, '.reeve', 'agents'), source: 'project' })),
    ...above.map((dir): Folder => ({ dir: join(dir, '.claude', 'agents'), source: 'claude' })),
    { dir: where.agentsDir, source: 'user' },
  ]
  const found: SearchResult = { byName: new Map(), errors: [] }
  for (const folder of folders) await readFolder(folder, trusted, found)
  for (const agent of BUILT_IN_AGENTS) if (!found.byName.has(agent.name)) found.byName.set(agent.name, agent)
  const agents = [...found.byName.values()].filter((agent) => agent !== null)
  return { agents: agents.toSorted((a, b) => (a.name < b.name ? -1 : 1)), errors: found.errors }
}

/** Finds the agent of that name. Errors: AGENT_INVALID with the problem of its file, or with the names of all agents. */
export async function findAgent(name: string, cwd: string, where: Paths): Promise<AgentDefinition> {
  const { agents, errors } = await findAgents(cwd, where)
  const found = agents.find((agent) => agent.name === name)
  const problem = errors.find((error) => basename(error.file, '.md') === name)
  if (found) return found
  if (problem) throw new KernelError('AGENT_INVALID', `${problem.file}:${problem.line}: ${problem.message}`, { ...problem })
  throw new KernelError('AGENT_INVALID', `there is no agent \`${name}\`; there are ${agents.map((agent) => agent.name).join(', ')}`)
}

/** Finds the user's agent of that name, else the built-in one; null if there is neither. */
export async function findUserOrBuiltInAgent(name: string, where: Paths): Promise<AgentDefinition | null> {
  const found: SearchResult = { byName: new Map(), errors: [] }
  await readFolder({ dir: where.agentsDir, source: 'user' }, new Set(), found)
  return found.byName.get(name) ?? BUILT_IN_AGENTS.find((agent) => agent.name === name) ?? null
}

/** The result of the search so far. */
interface SearchResult {
  /** the agent of the first file with each name; null if that file is invalid */
  readonly byName: Map<string, AgentDefinition | null>
  readonly errors: Problem[]
}

async function readFolder({ dir, source }: Folder, trusted: ReadonlySet<number>, found: SearchResult): Promise<void> {
  const firstFiles = new Map<string, string>()
  for (const entry of await listAgentFiles(dir, found.errors)) {
    const file = join(dir, entry)
    const parsed = await readAgent(file, source, trusted)
    if (parsed === null) continue
    const name = parsed.ok ? parsed.value.name : basename(file, '.md')
    const firstFile = firstFiles.get(name)
    if (!parsed.ok) found.errors.push(parsed.problem)
    else if (firstFile !== undefined)
      found.errors.push({ file, line: 1, message: `the name \`${name}\` is already used by ${basename(firstFile)} in this folder` })
    if (parsed.ok) firstFiles.set(name, firstFile ?? file)
    // A file of another user, for example in a shared directory, must not occupy a name. Its problem has the line 0.
    const takesName = parsed.ok || parsed.problem.line > 0
    if (takesName && !found.byName.has(name)) found.byName.set(name, parsed.ok ? parsed.value : null)
  }
}

async function readAgent(file: string, source: AgentSource, trusted: ReadonlySet<number>): Promise<Parsed<AgentDefinition> | null> {
  try {
    const found = await readText(file, source === 'user' ? undefined : trusted)
    return found && parseAgent(found.text, file, source)
  } catch (error) {
    return { ok: false, problem: problemIn(error) }
  }
}

async function listAgentFiles(dir: string, errors: Problem[]): Promise<string[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (!isMissing(error)) errors.push({ file: dir, line: 0, message: `it cannot be read (${error.code ?? error.message})` })
    return []
  })
  const files = names.filter((name) => name.endsWith('.md') && !name.startsWith('.')).toSorted()
  if (files.length > MAX_AGENT_FILES)
    errors.push({ file: dir, line: 0, message: `there are ${files.length} agent files; only the first ${MAX_AGENT_FILES} are read` })
  return files.slice(0, MAX_AGENT_FILES)
}
