// Finds API keys: in the client's environment, in credentials.yaml (mode 0600), or through `keyCommand`, in this order. Values stay in
// memory, and the journal has only the names. No value may appear in a message, a fact or a log. This folder starts no programs: the
// caller passes `run`.
// Test: test/tables/config/credentials.test.ts.
import * as z from 'zod'
import { KernelError } from '../kernel/model/errors.ts'
import { problemError } from './problem.ts'
import { readText } from './untrusted-files.ts'
import type { Env, Paths } from './paths.ts'
import { parseYaml, type YamlFormat } from './yaml.ts'

/** maximum size of the environment of a process, in bytes of names and values */
export const MAX_ENV_BYTES = 512 * 1024
const MAX_CREDENTIALS = 200
const NO_KEYS: ReadonlySet<string> = new Set()

export interface SplitEnv {
  /** recorded in the journal and restored at a resume */
  readonly recorded: Readonly<Record<string, string>>
  /** kept only in memory; the journal has their names */
  readonly secrets: Readonly<Record<string, string>>
}

// Matches names of secrets by whole words: MONKEY, KEYBOARD and TOKENIZERS_PARALLELISM are not secrets.
const SECRET_NAME =
  /(^|_)(API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|KEY|TOKEN|SECRETS?|PASS|PASSWD|PASSWORD|PASSPHRASE|CREDENTIALS?|AUTH|COOKIE|BEARER|PAT|PWD|JWT|DSN)(_(ID|[A-Z]*\d+|BASE64|JSON|VALUE|CONFIG))?$|(APIKEY|TOKEN|SECRET|PASSWORD|PASSWD)$/i
// Matches names that only look like secrets: locations, and the working directories of shells.
const HARMLESS_NAME = /^(PWD|OLDPWD|INIT_CWD)$|_(FILE|PATH|DIR|SOCK|URL|URI|HOST|PORT|COMMAND|PROGRAM|ASKPASS)$/i
// Matches values with the form of a key, and URLs with a password. The name of the variable does not matter.
const SECRET_VALUE =
  /^(sk-|sk_|rk_|pk_live|gh[opsru]_|github_pat_|glpat-|xox[abeprs]-|AKIA|ASIA|AIza|npm_|hf_|eyJ[\w-]+\.)\S{12,}|-----BEGIN [A-Z ]*PRIVATE KEY|\bBearer \S{12,}|:\/\/[^/\s:@]*:[^/\s@]+@/

// Variables that describe the calling shell or program. They would be wrong for a program that is started later.
const DROPPED_VARIABLES = new Set([
  '_',
  'SHLVL',
  'PWD',
  'OLDPWD',
  'REEVE_PROC',
  'NODE_CHANNEL_FD',
  'NODE_CHANNEL_SERIALIZATION_MODE',
  'NODE_UNIQUE_ID',
  'LISTEN_FDS',
  'LISTEN_PID',
  'LISTEN_FDNAMES',
  'NOTIFY_SOCKET',
  'WATCHDOG_PID',
  'WATCHDOG_USEC',
  'INVOCATION_ID',
  'JOURNAL_STREAM',
  // These variables give an agent access to reeve's own tools. A program that inherited them could act as that agent.
  'REEVE_MCP_TOKEN',
  'REEVE_MCP_SOCKET',
  'REEVE_MCP_OUTBOX',
  'REEVE_MCP_PROCESS',
])

/**
 * Splits an environment into secrets and recorded variables. Secrets are the variables in `keys` (the key variables of the configuration),
 * and those that look like secrets. All others are recorded, because a command expects its complete environment. Errors: INVALID if the
 * environment is too large.
 */
export function splitEnv(env: Env, keys: ReadonlySet<string> = NO_KEYS): SplitEnv {
  const recorded: Record<string, string> = {}
  const secrets: Record<string, string> = {}
  let bytes = 0
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || DROPPED_VARIABLES.has(name)) continue
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
    const target = looksSecret(name, value) || (keys.has(name) && value !== '') ? secrets : recorded
    target[name] = value
  }
  if (bytes > MAX_ENV_BYTES)
    throw new KernelError('INVALID', `the environment has ${bytes} bytes; at most ${MAX_ENV_BYTES} can be recorded`)
  return { recorded, secrets }
}

/** Whether a variable looks like a secret, by its name or its value. An empty name matches nothing. */
export function looksSecret(name: string, value: string): boolean {
  if (SECRET_VALUE.test(value)) return true
  return SECRET_NAME.test(name) && !HARMLESS_NAME.test(name) && value !== ''
}

const name = z.string().regex(/^[A-Za-z_]\w{0,127}$/, 'expected the name of a variable')
const credentialsFormat: YamlFormat<Record<string, string>> = {
  schema: z
    .record(name, z.string().min(1).max(16_384))
    .refine((all) => Object.keys(all).length <= MAX_CREDENTIALS, `at most ${MAX_CREDENTIALS} credentials`),
  knownKeys: () => [],
  secret: true,
}

/** Reads credentials.yaml, a map of names and values. Errors: AGENT_INVALID if the file is invalid, or other users can read it. */
export async function readCredentials(where: Paths): Promise<Readonly<Record<string, string>>> {
  const file = where.credentialsFile
  const found = await readText(file)
  if (found === null) return {}
  if ((found.mode & 0o077) !== 0)
    throw problemError({
      file,
      line: 0,
      message: `other users can read it (mode ${found.mode.toString(8).padStart(4, '0')}); run: chmod 600 ${file}`,
    })
  const parsed = parseYaml(found.text, credentialsFormat, file)
  if (!parsed.ok) throw problemError(parsed.problem)
  return parsed.value
}

/** Runs a command line without a shell. The implementation limits time and output. */
export type RunCommand = (argv: readonly string[]) => Promise<{ readonly code: number; readonly stdout: string }>

export interface KeySources {
  /** the secrets of the client, by name; they have precedence */
  readonly secrets: Readonly<Record<string, string>>
  readonly paths: Paths
  readonly keyCommand: readonly string[] | null
  readonly run: RunCommand
}

export interface FoundKeys {
  readonly values: Readonly<Record<string, string>>
  /** the names that no source has; the caller suspends the process, or reports CREDENTIALS_MISSING */
  readonly missing: readonly string[]
}

/** The source of a key. */
export type KeySource = 'environment' | 'credentials.yaml' | 'keyCommand'

/** Searches the sources in order for one key; null if none has it. `keyCommand` runs only if the other sources do not have the key. */
export async function locateKey(key: string, sources: KeySources): Promise<{ readonly value: string; readonly from: KeySource } | null> {
  const sent = sources.secrets[key]
  if (sent !== undefined) return { value: sent, from: 'environment' }
  const stored = (await readCredentials(sources.paths))[key]
  if (stored !== undefined) return { value: stored, from: 'credentials.yaml' }
  const printed = await runKeyCommand(key, sources)
  return printed === null ? null : { value: printed, from: 'keyCommand' }
}

/** Searches the sources for several keys. */
export async function findKeys(names: readonly string[], sources: KeySources): Promise<FoundKeys> {
  const values: Record<string, string> = {}
  const missing: string[] = []
  for (const key of names) {
    const found = await locateKey(key, sources)
    if (found === null) missing.push(key)
    else values[key] = found.value
  }
  return { values, missing }
}

/** Runs `keyCommand` and returns its output without the last newline; null if it fails or prints nothing. */
async function runKeyCommand(key: string, { keyCommand, run }: KeySources): Promise<string | null> {
  if (keyCommand === null) return null
  const { code, stdout } = await run(keyCommand.map((part) => part.replaceAll('{name}', key)))
  const value = stdout.replace(/\r?\n$/, '')
  return code === 0 && value !== '' ? value : null
}
