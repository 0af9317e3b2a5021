// Resolves the MCP servers at the start of an incarnation: chooses the usable ones, and fills in all values. A server with a missing value
// or without trust is not used, and the process still starts. Also lists the variables that servers refer to. The result contains secrets,
// and must never be recorded.
// Test: test/tables/config/mcp/servers.test.ts, test/e2e/mcp/config.test.ts.
import { dirname, join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import type { McpTransport, McpStart } from '../../kernel/model/mcp-start.ts'
import type { McpServer } from '../../kernel/model/spec-parts.ts'
import { parseAgent } from '../agents/agent-file.ts'
import { loadConfig, readUserServers } from '../config.ts'
import { readText, trustedOwners } from '../untrusted-files.ts'
import { readMcpJson } from './select-servers.ts'
import type { Paths } from '../paths.ts'
import { expandVariables, MissingVariable, variablesIn } from '../expand-variables.ts'
import { isInDirectory, isTrusted, projectDirectory } from '../trust.ts'
import { lookUp } from '../../kernel/util/lookup.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** the default time limits for the start of a server, and for a call */
const START_MS = 10_000
const CALL_MS = 120_000
/** the shortest secret that is removed from output; a shorter text could occur there by chance */
const MIN_SECRET_CHARS = 8

type Values = Readonly<Record<string, string>>
type Spec = Pick<ProcessSpec, 'mcp' | 'env' | 'cwd'>

/** Resolves each server. A server that cannot be used gives a result with the reason. Errors: those of the user's configuration. */
export async function resolveMcpServers(spec: Spec, credentials: Values, paths: Paths): Promise<readonly McpStart[]> {
  if (!spec.mcp || spec.mcp.length === 0) return []
  const { trusted } = await loadConfig({ paths, cwd: null })
  return Promise.all(spec.mcp.map((server) => resolveServer(server, { spec, credentials, paths, trusted })))
}

/** Returns the variables that usable servers refer to, and that the recorded environment does not have. They may be keys. */
export async function mcpVariableNames({ mcp = [], env }: Omit<Spec, 'cwd'>, paths: Paths): Promise<readonly string[]> {
  if (mcp.length === 0) return []
  const { trusted } = await loadConfig({ paths, cwd: null })
  const names = await Promise.all(mcp.map(async (server) => ((await isUsable(server, paths, trusted)) ? variableNamesIn(server) : [])))
  return [...new Set(names.flat())].filter((name) => env[name] === undefined)
}

function variableNamesIn(server: McpServer): readonly string[] {
  const texts = server.kind === 'http' ? [server.url, ...Object.values(server.headers)] : [...server.argv, ...Object.values(server.env)]
  return texts.flatMap((text) => (text === null ? [] : variablesIn(text)))
}

/** Whether a server may start a program: the user named it at the spawn (`--mcp`), or its file is trusted. */
async function isUsable({ named, source }: McpServer, paths: Paths, trusted: readonly string[]): Promise<boolean> {
  return named === true || isTrusted(source, paths, trusted)
}

interface ResolveContext {
  readonly spec: Spec
  readonly credentials: Values
  readonly paths: Paths
  readonly trusted: readonly string[]
}

async function resolveServer(server: McpServer, context: ResolveContext): Promise<McpStart> {
  const { name, source, problem } = server
  if (problem !== undefined) return { state: 'failed', name, why: `${source}: ${problem}` }
  if (!(await isUsable(server, context.paths, context.trusted))) {
    return {
      state: 'untrusted',
      name,
      why: `${source} is not trusted to start programs: ${trustAdvice(projectDirectory(source), context.spec.env['HOME'])}`,
    }
  }
  try {
    return await fillServer(server, context)
  } catch (error) {
    if (error instanceof MissingVariable || error instanceof KernelError) return { state: 'failed', name, why: error.message }
    throw error
  }
}

/** Returns how the user can allow the server. The advice is never to trust a home directory: it contains all repositories. */
function trustAdvice(dir: string, home: string | undefined): string {
  const containsHome = home !== undefined && isInDirectory(home, dir)
  return containsHome ? `add the server to config.yaml, or name it with --mcp (do not trust all of ${dir})` : `reeve config trust ${dir}`
}

async function fillServer(server: McpServer, context: ResolveContext): Promise<McpStart> {
  const completed = await withSecrets(server, context)
  const { env, cwd } = context.spec
  const secrets = new Set(secretValues(server, completed))
  const fill = (text: string): string => {
    for (const name of variablesIn(text)) if (isKey(name, context)) secrets.add(context.credentials[name] ?? '')
    return expandVariables(text, (name) => lookUp(env, name) ?? lookUp(context.credentials, name))
  }
  const filled = (values: Readonly<Record<string, string | null>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, fill(value ?? '')]))
  const transport: McpTransport =
    completed.kind === 'http'
      ? { kind: 'http', url: checkWebUrl(fill(completed.url)), headers: filled(completed.headers) }
      : {
          kind: 'stdio',
          argv: completed.argv.map((text) => fill(refuseSecretArgument(text, context))),
          cwd: completed.cwd ?? cwd,
          env: { ...env, ...filled(completed.env) },
        }
  return {
    state: 'ready',
    name: server.name,
    transport,
    effects: server.effects ?? {},
    notes: server.notes ?? [],
    startMs: server.startMs ?? START_MS,
    callMs: server.callMs ?? CALL_MS,
    secrets: [...secrets].filter((value) => value.length >= MIN_SECRET_CHARS),
  }
}

/** Whether a variable is a key: the credentials have it, and the recorded environment does not. */
function isKey(name: string, { spec, credentials }: ResolveContext): boolean {
  return spec.env[name] === undefined && credentials[name] !== undefined
}

/** Returns the argument. Errors: INVALID if it refers to a key, because all users of the machine can read arguments. */
function refuseSecretArgument(argument: string, context: ResolveContext): string {
  const key = variablesIn(argument).find((name) => isKey(name, context))
  if (key !== undefined)
    throw new KernelError('INVALID', `its arguments contain the secret ${key}, which other programs could read; put it into env`)
  return argument
}

function checkWebUrl(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) throw new KernelError('INVALID', 'its url must start with http or https')
  return url
}

/** Returns the values of the completed server that its record omits, because they may be secrets. */
function secretValues(recorded: McpServer, completed: McpServer): readonly string[] {
  const [known, full] = [valuesOf(recorded), valuesOf(completed)]
  return Object.keys(known).flatMap((key) => (known[key] === null ? [full[key] ?? ''] : []))
}

function valuesOf(server: McpServer): Readonly<Record<string, string | null>> {
  return server.kind === 'http' ? server.headers : server.env
}

/** Adds the values that were not recorded, which it reads from the server's file. All other values stay as recorded. */
async function withSecrets(server: McpServer, context: ResolveContext): Promise<McpServer> {
  const hidden = Object.entries(valuesOf(server))
    .filter(([, value]) => value === null)
    .map(([key]) => key)
  if (hidden.length === 0) return server
  const current = (await readServers(server.source, context)).find((each) => each.name === server.name && each.kind === server.kind)
  const values = { ...valuesOf(server) }
  for (const key of hidden) {
    const value = current && valuesOf(current)[key]
    if (typeof value !== 'string') throw new KernelError('INVALID', `its ${key} is missing in ${server.source}`)
    values[key] = value
  }
  return server.kind === 'http' ? { ...server, headers: values } : { ...server, env: values }
}

async function readServers(source: string, { spec, paths }: ResolveContext): Promise<readonly McpServer[]> {
  if (source === paths.configFile) return readUserServers(paths)
  if (!source.endsWith('.md')) return readMcpJson(source, spec.cwd)
  const dir = dirname(source)
  const found = await readText(source, dir === paths.agentsDir ? undefined : await trustedOwners(spec.cwd))
  const parsed = found && parseAgent(found.text, source, dir.endsWith(join('.claude', 'agents')) ? 'claude' : 'project')
  return parsed?.ok ? (parsed.value.mcp?.definitions ?? []) : []
}
