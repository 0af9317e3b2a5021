// What works here and what does not, each with the way out. Owns the list of checks; changes nothing.
// Test: test/e2e/api.test.ts.
import { stat } from 'node:fs/promises'
import { loadConfig } from '../config/config.ts'
import { readCredentials } from '../config/credentials.ts'
import type { Paths } from '../config/paths.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { Store } from '../store/store.ts'

export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  readonly hint?: string
  /** nothing is wrong if it is not ok: there is something else for it */
  readonly optional?: true
}

const KIND_HINTS = {
  cgroup: 'run as root, or where a cgroup v2 directory is delegated to you',
  pidns: 'user namespaces are needed',
  group: 'this should always work',
} as const

export async function examine(parts: { readonly paths: Paths; readonly container: Container; readonly store: Store }, verify: boolean): Promise<Check[]> {
  const { paths, container, store } = parts
  const checks: Check[] = [{ name: 'node', ok: true, detail: process.version }, await stateCheck(paths)]
  checks.push(await fileCheck('configuration', paths.configFile, () => loadConfig({ paths, cwd: null, env: {} })))
  checks.push(await fileCheck('keys', paths.credentialsFile, () => readCredentials(paths)))
  for (const { kind, ok, detail } of container.probes) {
    checks.push({ name: `containment ${kind}`, ok, detail, ...(ok ? {} : { hint: KIND_HINTS[kind] }), ...(kind === 'group' ? {} : { optional: true }) })
  }
  checks.push({ name: 'containment in use', ok: true, detail: container.kind === 'group' ? `${container.kind}: what leaves its group and clears its environment is not held` : container.kind })
  if (verify) checks.push(await storeCheck(store))
  return checks
}

async function stateCheck(paths: Paths): Promise<Check> {
  const { mode } = await stat(paths.state)
  const closed = (mode & 0o077) === 0
  return { name: 'state directory', ok: closed, detail: paths.state, ...(closed ? {} : { hint: `chmod 700 ${paths.state}` }) }
}

/** A file that may be missing, and must be right if it is there. */
async function fileCheck(name: string, file: string, readIt: () => Promise<unknown>): Promise<Check> {
  try {
    await readIt()
    return { name, ok: true, detail: (await isThere(file)) ? file : `no ${file}` }
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message, hint: 'correct the file; docs/agents.md says what may stand in it' }
  }
}

function isThere(file: string): Promise<boolean> {
  return stat(file).then(() => true, () => false)
}

async function storeCheck(store: Store): Promise<Check> {
  const damage = await store.verify()
  if (damage.length === 0) return { name: 'store', ok: true, detail: 'every page, fact and blob is sound' }
  return { name: 'store', ok: false, detail: damage.join('; '), hint: 'stop the daemon and restore store.db from a backup; `sqlite3 store.db .recover` saves what can be read' }
}
