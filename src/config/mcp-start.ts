// MCP servers at the start of an incarnation: which may be used, with every value filled in. What is missing or not
// trusted keeps that one server out, never the process. The result holds secrets and must never be recorded.
// Test: test/tables/config-mcp.test.ts, test/e2e/mcp-config.test.ts.
import { dirname, join } from 'node:path'
import { KernelError } from '../kernel/errors.ts'
import type { McpReach, McpStart } from '../kernel/mcp.ts'
import type { McpServer } from '../kernel/spec.ts'
import type { ProcessSpec } from '../kernel/types.ts'
import { parseAgent } from './agent-file.ts'
import { loadConfig, userServers } from './config.ts'
import { readText, trustedOwners } from './files.ts'
import { readMcpJson } from './mcp.ts'
import type { Paths } from './paths.ts'
import { expand, MissingVariable, variablesIn } from './template.ts'
import { isIn, isTrusted, projectOf } from './trust.ts'

const START_MS = 10_000
const CALL_MS = 120_000
/** Shorter values occur by chance in any text, and are not searched for. */
const MIN_SECRET_CHARS = 8

type Values = Readonly<Record<string, string>>
type Spec = Pick<ProcessSpec, 'mcp' | 'env' | 'cwd'>

/** Never rejects for what is wrong with one server. Errors: those of the user's configuration. */
export async function mcpStarts(spec: Spec, credentials: Values, paths: Paths): Promise<readonly McpStart[]> {
  if (!spec.mcp || spec.mcp.length === 0) return []
  const { trusted } = await loadConfig({ paths, cwd: null })
  return Promise.all(spec.mcp.map((server) => startOf(server, { spec, credentials, paths, trusted })))
}

/** The variables that those of its servers name that may be used, beyond its recorded environment: they may be keys. */
export async function mcpVariables({ mcp = [], env }: Omit<Spec, 'cwd'>, paths: Paths): Promise<readonly string[]> {
  if (mcp.length === 0) return []
  const { trusted } = await loadConfig({ paths, cwd: null })
  const names = await Promise.all(mcp.map(async (server) => ((await mayBeUsed(server, paths, trusted)) ? namesIn(server) : [])))
  return [...new Set(names.flat())].filter((name) => env[name] === undefined)
}

function namesIn(server: McpServer): readonly string[] {
  const texts = server.kind === 'http' ? [server.url, ...Object.values(server.headers)] : [...server.argv, ...Object.values(server.env)]
  return texts.flatMap((text) => (text === null ? [] : variablesIn(text)))
}

async function mayBeUsed({ named, source }: McpServer, paths: Paths, trusted: readonly string[]): Promise<boolean> {
  return named === true || isTrusted(source, paths, trusted)
}

interface Around {
  readonly spec: Spec
  readonly credentials: Values
  readonly paths: Paths
  readonly trusted: readonly string[]
}

async function startOf(server: McpServer, around: Around): Promise<McpStart> {
  const { name, source, problem } = server
  if (problem !== undefined) return { state: 'failed', name, why: `${source}: ${problem}` }
  if (!(await mayBeUsed(server, around.paths, around.trusted))) {
    return { state: 'untrusted', name, why: `${source} is not trusted to start programs: ${adviceFor(projectOf(source), around.spec.env['HOME'])}` }
  }
  try {
    return await readyOf(server, around)
  } catch (error) {
    if (error instanceof MissingVariable || error instanceof KernelError) return { state: 'failed', name, why: error.message }
    throw error
  }
}

/** Who trusts a home trusts every repository below it. */
function adviceFor(dir: string, home: string | undefined): string {
  const isTooMuch = home !== undefined && isIn(home, dir)
  return isTooMuch ? `write it into config.yaml, or name it with --mcp (to trust all of ${dir} would be too much)` : `reeve config trust ${dir}`
}

async function readyOf(server: McpServer, around: Around): Promise<McpStart> {
  const written = await withSecrets(server, around)
  const { env, cwd } = around.spec
  const secrets = new Set(hiddenValues(server, written))
  const fill = (text: string): string => {
    for (const one of variablesIn(text)) if (isKey(one, around)) secrets.add(around.credentials[one] ?? '')
    return expand(text, (one) => env[one] ?? around.credentials[one])
  }
  const filled = (values: Readonly<Record<string, string | null>>): Record<string, string> => Object.fromEntries(Object.entries(values).map(([key, value]) => [key, fill(value ?? '')]))
  const reach: McpReach = written.kind === 'http'
    ? { kind: 'http', url: webAddress(fill(written.url)), headers: filled(written.headers) }
    : { kind: 'stdio', argv: written.argv.map((text) => fill(visible(text, around))), cwd: written.cwd ?? cwd, env: { ...env, ...filled(written.env) } }
  return {
    state: 'ready', name: server.name, reach, effects: server.effects ?? {}, notes: server.notes ?? [],
    startMs: server.startMs ?? START_MS, callMs: server.callMs ?? CALL_MS,
    secrets: [...secrets].filter((value) => value.length >= MIN_SECRET_CHARS),
  }
}

/** Not of the recorded environment, so it is one of those that must not be seen. */
function isKey(name: string, { spec, credentials }: Around): boolean {
  return spec.env[name] === undefined && credentials[name] !== undefined
}

/** Everybody on the machine can read the arguments of a program. */
function visible(argument: string, around: Around): string {
  const key = variablesIn(argument).find((one) => isKey(one, around))
  if (key !== undefined) throw new KernelError('INVALID', `its arguments name ${key}, which is a secret: other programs could see it; put it into env`)
  return argument
}

function webAddress(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) throw new KernelError('INVALID', 'its url is not one with http or https')
  return url
}

function hiddenValues(recorded: McpServer, written: McpServer): readonly string[] {
  const [known, full] = [valuesOf(recorded), valuesOf(written)]
  return Object.keys(known).flatMap((key) => (known[key] === null ? [full[key] ?? ''] : []))
}

function valuesOf(server: McpServer): Readonly<Record<string, string | null>> {
  return server.kind === 'http' ? server.headers : server.env
}

/** What was not recorded stands in its file; all else is as it was recorded. */
async function withSecrets(server: McpServer, around: Around): Promise<McpServer> {
  const hidden = Object.entries(valuesOf(server)).filter(([, value]) => value === null).map(([key]) => key)
  if (hidden.length === 0) return server
  const now = (await readAgain(server.source, around)).find((one) => one.name === server.name && one.kind === server.kind)
  const values = { ...valuesOf(server) }
  for (const key of hidden) {
    const value = now && valuesOf(now)[key]
    if (typeof value !== 'string') throw new KernelError('INVALID', `its ${key} was in ${server.source}, and is not there any more`)
    values[key] = value
  }
  return server.kind === 'http' ? { ...server, headers: values } : { ...server, env: values }
}

async function readAgain(source: string, { spec, paths }: Around): Promise<readonly McpServer[]> {
  if (source === paths.configFile) return userServers(paths)
  if (!source.endsWith('.md')) return readMcpJson(source, spec.cwd)
  const dir = dirname(source)
  const found = await readText(source, dir === paths.agentsDir ? undefined : await trustedOwners(spec.cwd))
  const parsed = found && parseAgent(found.text, source, dir.endsWith(join('.claude', 'agents')) ? 'claude' : 'project')
  return parsed?.ok ? (parsed.value.mcp?.own ?? []) : []
}
