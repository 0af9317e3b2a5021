// Keys: from the client's environment, credentials.yaml (0600) or `keyCommand`, in this order. Values are kept in memory alone;
// the journal has names. Must never put a value into a message, a fact or a log. Spawning is not this folder's:
// `run` comes in as a parameter.
// Test: test/tables/config-credentials.test.ts.
import * as z from 'zod'
import { KernelError } from '../kernel/errors.ts'
import { problemError, readText } from './files.ts'
import type { Env, Paths } from './paths.ts'
import { parseYaml, type Format } from './yaml.ts'

/** The most bytes of an environment, names and values together: it is recorded with the process. */
export const MAX_ENV_BYTES = 512 * 1024
const MAX_CREDENTIALS = 200
const NO_KEYS: ReadonlySet<string> = new Set()

export interface SplitEnv {
  /** is recorded in the journal and comes back at a resume */
  readonly recorded: Readonly<Record<string, string>>
  /** stays in memory; only the names are recorded */
  readonly secrets: Readonly<Record<string, string>>
}

// Words of a name that mean a secret. They must be whole words: MONKEY, KEYBOARD and TOKENIZERS_PARALLELISM are none.
const SECRET_NAME = /(^|_)(API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|KEY|TOKEN|SECRETS?|PASS|PASSWD|PASSWORD|PASSPHRASE|CREDENTIALS?|AUTH|COOKIE|BEARER|PAT|PWD|JWT|DSN)(_(ID|[A-Z]*\d+|BASE64|JSON|VALUE|CONFIG))?$|(APIKEY|TOKEN|SECRET|PASSWORD|PASSWD)$/i
// Names that look so, and are not: where something is, and the working directories of shells.
const HARMLESS_NAME = /^(PWD|OLDPWD|INIT_CWD)$|_(FILE|PATH|DIR|SOCK|URL|URI|HOST|PORT|COMMAND|PROGRAM|ASKPASS)$/i
// Keys that give themselves away by their form, whatever the variable is called, and URLs with a password.
const SECRET_VALUE = /^(sk-|sk_|rk_|pk_live|gh[opsru]_|github_pat_|glpat-|xox[abeprs]-|AKIA|ASIA|AIza|npm_|hf_|eyJ[\w-]+\.)\S{12,}|-----BEGIN [A-Z ]*PRIVATE KEY|\bBearer \S{12,}|:\/\/[^/\s:@]*:[^/\s@]+@/

// What belongs to the shell or program that called, not to the person: wrong for anything that is started later.
const DROPPED = new Set([
  '_', 'SHLVL', 'PWD', 'OLDPWD', 'REEVE_PROC', 'NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'NODE_UNIQUE_ID',
  'LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES', 'NOTIFY_SOCKET', 'WATCHDOG_PID', 'WATCHDOG_USEC', 'INVOCATION_ID', 'JOURNAL_STREAM',
  // An agent's seat at reeve's own tools: whoever it starts would speak in its name.
  'REEVE_MCP_TOKEN', 'REEVE_MCP_SOCKET', 'REEVE_MCP_OUTBOX', 'REEVE_MCP_PROCESS',
])

/**
 * A command expects its whole environment, so all that does not look like a secret is recorded, and is none of the `keys`: the
 * names under which the configuration has them. Throws INVALID if it is too big.
 */
export function splitEnv(env: Env, keys: ReadonlySet<string> = NO_KEYS): SplitEnv {
  const recorded: Record<string, string> = {}
  const secrets: Record<string, string> = {}
  let bytes = 0
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || DROPPED.has(name)) continue
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
    const into = looksSecret(name, value) || (keys.has(name) && value !== '') ? secrets : recorded
    into[name] = value
  }
  if (bytes > MAX_ENV_BYTES) throw new KernelError('INVALID', `the environment has ${bytes} bytes; at most ${MAX_ENV_BYTES} can be recorded`)
  return { recorded, secrets }
}

/** By the variable's name, or by the form of the value alone where the name is empty. */
export function looksSecret(name: string, value: string): boolean {
  if (SECRET_VALUE.test(value)) return true
  return SECRET_NAME.test(name) && !HARMLESS_NAME.test(name) && value !== ''
}

const name = z.string().regex(/^[A-Za-z_]\w{0,127}$/, 'expected the name of a variable')
const credentialsFormat: Format<Record<string, string>> = {
  schema: z.record(name, z.string().min(1).max(16_384)).refine((all) => Object.keys(all).length <= MAX_CREDENTIALS, `at most ${MAX_CREDENTIALS} credentials`),
  known: () => [],
  secret: true,
}

/** credentials.yaml: a map of names and values. Throws AGENT_INVALID if others can read the file or it is wrong. */
export async function readCredentials(where: Paths): Promise<Readonly<Record<string, string>>> {
  const file = where.credentialsFile
  const found = await readText(file)
  if (found === null) return {}
  if ((found.mode & 0o077) !== 0) throw problemError({ file, line: 0, message: `others can read it (mode ${found.mode.toString(8).padStart(4, '0')}); run: chmod 600 ${file}` })
  const parsed = parseYaml(found.text, credentialsFormat, file)
  if (!parsed.ok) throw problemError(parsed.problem)
  return parsed.value
}

/** Runs an argv without a shell; the caller bounds time and output. */
export type RunCommand = (argv: readonly string[]) => Promise<{ readonly code: number; readonly stdout: string }>

export interface KeySources {
  /** the client's secrets, by name; they come first */
  readonly secrets: Readonly<Record<string, string>>
  readonly paths: Paths
  readonly keyCommand: readonly string[] | null
  readonly run: RunCommand
}

export interface FoundKeys {
  readonly values: Readonly<Record<string, string>>
  /** names that no source knows: the hold `credentials`, or CREDENTIALS_MISSING */
  readonly missing: readonly string[]
}

/** Where a key was found. */
export type KeySource = 'environment' | 'credentials.yaml' | 'keyCommand'

/** Looks for one name in the sources' order; null if none knows it. `keyCommand` runs only for what the others lack. */
export async function locateKey(one: string, sources: KeySources): Promise<{ readonly value: string; readonly from: KeySource } | null> {
  const sent = sources.secrets[one]
  if (sent !== undefined) return { value: sent, from: 'environment' }
  const kept = (await readCredentials(sources.paths))[one]
  if (kept !== undefined) return { value: kept, from: 'credentials.yaml' }
  const told = await fromCommand(one, sources)
  return told === null ? null : { value: told, from: 'keyCommand' }
}

/** Looks for each name. */
export async function findKeys(names: readonly string[], sources: KeySources): Promise<FoundKeys> {
  const values: Record<string, string> = {}
  const missing: string[] = []
  for (const one of names) {
    const found = await locateKey(one, sources)
    if (found === null) missing.push(one)
    else values[one] = found.value
  }
  return { values, missing }
}

/** What the command prints, without the newline at its end; null if it fails or prints nothing. */
async function fromCommand(key: string, { keyCommand, run }: KeySources): Promise<string | null> {
  if (keyCommand === null) return null
  const { code, stdout } = await run(keyCommand.map((part) => part.replaceAll('{name}', key)))
  const value = stdout.replace(/\r?\n$/, '')
  return code === 0 && value !== '' ? value : null
}
