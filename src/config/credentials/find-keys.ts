// Finds API keys: in the client's environment, in credentials.yaml (mode 0600), or through `keyCommand`, in this order. Values stay in
// memory, and the journal has only the names. No value may appear in a message, a fact or a log. Starts no program: the caller passes
// `run`.
// Test: test/tables/config/credentials.test.ts.
import * as z from 'zod'
import { problemError } from '../problem.ts'
import { readText } from '../untrusted-files.ts'
import type { Paths } from '../paths.ts'
import { parseYaml, type YamlFormat } from '../yaml.ts'

/** maximum number of entries in credentials.yaml */
const MAX_CREDENTIALS = 200

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
