// Splits an environment into secrets and variables that the journal may record, and drops those of the calling shell. A name or a value can
// show that a variable is a secret. A variable that looks like a secret must never be recorded. Test:
// test/tables/config/credentials.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Env } from '../paths.ts'

/** maximum size of the environment of a process, in bytes of names and values */
export const MAX_ENV_BYTES = 512 * 1024
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
  // The URL of the store, which may have a password
  'REEVE_STORE_URL',
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

/** Whether a variable looks like a secret, by its name or its value. With an empty name, only the value counts. */
export function looksSecret(name: string, value: string): boolean {
  if (SECRET_VALUE.test(value)) return true
  return SECRET_NAME.test(name) && !HARMLESS_NAME.test(name) && value !== ''
}
