// What works here and what does not, each with the way out. Owns the list of checks; changes nothing.
// Tests: test/e2e/api.test.ts, test/e2e/containment.test.ts.
import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { loadConfig } from '../config/config.ts'
import { readCredentials } from '../config/credentials.ts'
import type { Paths } from '../config/paths.ts'
import { adviceOn } from '../drivers/contain/advice.ts'
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

/** What each kind does not hold, of what it might be expected to. */
const KIND_LIMITS = {
  cgroup: 'holds all that its agents start',
  pidns: process.geteuid?.() === 0 ? 'holds all that its agents start' : 'holds all that its agents start; `sudo` and rootless containers do not work inside',
  group: 'what leaves its group, clears its environment and loses its parent is not held',
} as const

export interface ExamineParts {
  readonly paths: Paths
  readonly container: Container
  readonly store: Store
  /** what looks at itself */
  readonly more: () => Promise<readonly Check[]>
}

export async function examine({ paths, container, store, more }: ExamineParts, verify: boolean): Promise<Check[]> {
  const checks: Check[] = [{ name: 'node', ok: true, detail: process.version }, await stateCheck(paths)]
  checks.push(await fileCheck('configuration', paths.configFile, () => loadConfig({ paths, cwd: null, env: {} })))
  checks.push(await fileCheck('keys', paths.credentialsFile, () => readCredentials(paths)))
  checks.push(...containmentChecks(container), await offlineCheck(container))
  // A configuration that cannot be used has been told above.
  checks.push(...(await more().catch(() => [])))
  if (verify) checks.push(await storeCheck(store))
  return checks
}

/** Each kind: whether it works here, or why not and how to get it; and the one that is in use. */
function containmentChecks({ probes, kind: used }: Container): Check[] {
  const rows = probes.map((probe): Check => {
    const { kind, ok, detail } = probe
    return { name: `containment ${kind}`, ok, detail, ...(ok ? {} : { hint: adviceOn(probe, readSetting) }), ...(kind === 'group' ? {} : { optional: true }) }
  })
  return [...rows, { name: 'containment in use', ok: true, detail: `${used}: ${KIND_LIMITS[used]}` }]
}

/** Only who asks for it needs it. */
async function offlineCheck(container: Container): Promise<Check> {
  const why = await container.checkOffline().then(() => null, (error: Error) => error.message)
  return { name: 'network off', ok: why === null, detail: why ?? 'programs can be started without a network', optional: true }
}

function readSetting(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name}`, 'latin1')
  } catch {
    return null
  }
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
