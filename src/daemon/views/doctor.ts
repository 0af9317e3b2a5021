// Runs the checks of `reeve doctor`. Most failed checks have a hint on how to fix the problem. Changes nothing.
// Tests: test/e2e/daemon/api.test.ts, test/e2e/lifecycle/containment.test.ts.
import { readFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { BUILD } from '../../api/build.ts'
import type { AgentsView } from '../../api/views/agents.ts'
import { loadConfig } from '../../config/config.ts'
import { findInstalledPrograms } from '../../config/known-programs.ts'
import { readCredentials } from '../../config/credentials/find-keys.ts'
import type { Paths } from '../../config/paths.ts'
import { containmentAdvice } from '../../drivers/contain/advice.ts'
import type { ContainmentManager } from '../../drivers/contain/containment-contract.ts'
import { asideDir } from '../../store/files/aside-dir.ts'
import { Git, ownGitEnv } from '../../drivers/git/git.ts'
import { hasSurvivors } from '../../kernel/decide/release.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { LocalStore } from '../../store/store.ts'
import { storeError } from '../../store/errors.ts'
import type { Stores } from '../host/open-stores.ts'
import { VERSION } from '../../api/version.ts'
import { pathExists } from '../../drivers/common/path-exists.ts'

export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  readonly hint?: string
  /** true if a failure is not an error, because reeve works without it */
  readonly optional?: true
}

/** Describes which processes each kind of containment can end. */
const KIND_LIMITS = {
  cgroup: 'ends every program that an agent starts',
  pidns:
    process.geteuid?.() === 0
      ? 'ends every program that an agent starts'
      : 'ends every program that an agent starts; `sudo` and rootless containers do not work inside',
  group: 'does not end a program that leaves its group, clears its environment and loses its parent',
} as const

export interface DoctorDeps {
  readonly paths: Paths
  readonly containments: ContainmentManager
  readonly local: Pick<LocalStore, 'verify'>
  readonly engine: Stores['engine']
  readonly tmpDir: string
  /** finds the agents outside of any project, with the daemon's PATH */
  readonly agents: () => Promise<AgentsView>
  /** the checks of other parts of the daemon */
  readonly otherChecks: () => Promise<readonly Check[]>
}

/** Runs all checks; with `verify` also that of the whole store. */
export async function runDoctorChecks(
  { paths, containments, local, engine, tmpDir, agents, otherChecks }: DoctorDeps,
  verify: boolean,
): Promise<Check[]> {
  const checks: Check[] = [
    { name: 'node', ok: true, detail: process.version },
    { name: 'build', ok: true, detail: `reeve ${VERSION} (${BUILD ?? 'its sources'})` },
    await stateCheck(paths),
  ]
  checks.push(...(await asideCheck(paths)))
  if (engine !== null) checks.push(await engineCheck(engine))
  checks.push(await fileCheck('configuration', paths.configFile, () => loadConfig({ paths, cwd: null, env: {} })))
  checks.push(await fileCheck('keys', paths.credentialsFile, () => readCredentials(paths)))
  checks.push(
    await gitCheck(containments, tmpDir),
    ...(await modelCheck(paths)),
    ...(await agentsCheck(agents)),
    ...(await agentVersionChecks()),
  )
  checks.push(...containmentChecks(containments), ...(await programChecks(containments)))
  // An invalid configuration makes these checks fail. The check `configuration` reports it.
  checks.push(...(await otherChecks().catch(() => [])))
  if (verify) checks.push(await storeCheck(local, engine !== null))
  return checks
}

async function gitCheck(containments: ContainmentManager, tmpDir: string): Promise<Check> {
  await using git = new Git(() => containments.open(containments.plan(uuidv7(), 0, 'auto'), tmpDir))
  const env = ownGitEnv({ PATH: process.env['PATH'] ?? '' })
  try {
    return { name: 'git', ok: true, detail: await git.line(['--version'], { cwd: '/', at: null, env }) }
  } catch (error) {
    return {
      name: 'git',
      ok: false,
      optional: true,
      detail: (error as Error).message,
      hint: 'install git: worktrees, crews and forks with files need it',
    }
  }
}

/** Checks that a default model is configured. */
async function modelCheck(paths: Paths): Promise<Check[]> {
  // An unusable configuration is reported by its own check.
  const config = await loadConfig({ paths, cwd: null, env: {} }).catch(() => null)
  if (config === null) return []
  const model = config.defaultModel
  if (model !== null) return [{ name: 'model', ok: true, detail: `${model} is the default` }]
  return [
    {
      name: 'model',
      ok: false,
      optional: true,
      detail: 'no default model is set',
      hint: '`reeve config set defaultModel PROVIDER/NAME`, or `--model` with each run; `reeve help keys` explains more',
    },
  ]
}

/** Lists the agents that can and cannot run. */
async function agentsCheck(agents: () => Promise<AgentsView>): Promise<Check[]> {
  // An unusable configuration is reported by its own check.
  const view = await agents().catch(() => null)
  if (view === null) return []
  const names = (isReady: boolean): string =>
    view.agents
      .filter(({ usable }) => usable === isReady)
      .map(({ name }) => name)
      .join(', ') || 'none'
  return [
    {
      name: 'agents',
      ok: true,
      detail: `ready: ${names(true)}; not ready: ${names(false)} (\`reeve agents\` shows why, with your PATH and keys)`,
    },
  ]
}

const COMPARISONS = {
  tested: 'the newest tested version',
  newer: 'newer than the newest tested version',
  older: 'older than the newest tested version',
} as const

/** Compares the installed external agents with the versions that were tested with this reeve. */
async function agentVersionChecks(): Promise<Check[]> {
  const found = await findInstalledPrograms(process.env['PATH'] ?? '')
  return found.map(({ program, version, tested, comparison, package: packageName }): Check => {
    const name = `agent ${program}`
    if (comparison === null) return { name, ok: true, detail: `an unknown version; ${tested} is the newest tested one` }
    if (comparison === 'tested') return { name, ok: true, detail: `${version}, ${COMPARISONS.tested}` }
    const install = `\`npm install -g ${packageName}@${tested}\``
    return {
      name,
      ok: false,
      optional: true,
      detail: `${version} is ${COMPARISONS[comparison]} (${tested})`,
      hint: comparison === 'older' ? `${install} updates it` : `if it does not work with reeve, ${install} installs the tested version`,
    }
  })
}

/** One check for each kind of containment, then one for the kind in use. */
function containmentChecks({ probes, kind: used }: ContainmentManager): Check[] {
  const rows = probes.map((probe): Check => {
    const { kind, ok, detail } = probe
    return {
      name: `containment ${kind}`,
      ok,
      detail,
      ...(ok ? {} : { hint: containmentAdvice(probe, readSetting) }),
      ...(kind === 'group' ? {} : { optional: true }),
    }
  })
  return [...rows, { name: 'containment in use', ok: true, detail: `${used}: ${KIND_LIMITS[used]}` }]
}

/** A failed check if some processes have programs that survive their kill; empty if there are none. */
export function survivorsCheck(reads: { livingProcesses(): readonly Process[] }): Check[] {
  const zombies = reads.livingProcesses().filter(hasSurvivors)
  if (zombies.length === 0) return []
  const hint =
    'reeve kills them again every few seconds. If the system does not let one end, because it is frozen or waits for a device, free it by hand.'
  return [{ name: 'survivors', ok: false, detail: zombies.map(({ pid, note }) => `process ${pid}: ${note}`).join('; '), hint }]
}

/** Checks of restrictions of programs. They are optional: only users of these restrictions need them. */
async function programChecks(containments: ContainmentManager): Promise<Check[]> {
  const check = async (name: string, detailIfOk: string, attempt: Promise<void>): Promise<Check> => {
    const problem = await attempt.then(
      () => null,
      (error: Error) => error.message,
    )
    return { name, ok: problem === null, detail: problem ?? detailIfOk, optional: true }
  }
  return Promise.all([
    check('network off', 'programs can be started without a network', containments.checkOffline()),
    check('socket hidden', '`--deny signal`, `spawn` and `network` are enforced for programs', containments.checkSocketMount()),
  ])
}

/** Reads a kernel setting of Linux; null if this kernel does not have it. */
function readSetting(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name}`, 'latin1')
  } catch {
    // A missing file means that the kernel does not have the setting.
    return null
  }
}

/** Checks that no other user can read the state directory. */
async function stateCheck(paths: Paths): Promise<Check> {
  const { mode } = await stat(paths.state)
  const isPrivate = (mode & 0o077) === 0
  return { name: 'state directory', ok: isPrivate, detail: paths.state, ...(isPrivate ? {} : { hint: `chmod 700 ${paths.state}` }) }
}

/** A failed check if the daemon has moved files aside that the store did not know; empty if there are none. */
async function asideCheck({ state }: Paths): Promise<Check[]> {
  const dir = asideDir(state)
  const folders = ['', 'worktrees', 'files']
  const found = await Promise.all(
    // The folder may be missing.
    folders.map(async (folder) => (await readdir(join(dir, folder)).catch(() => [])).map((name) => join(folder, name))),
  )
  const names = found.flat().filter((name) => !folders.includes(name))
  if (names.length === 0) return []
  const hint = 'Take what you want to keep from there, then remove the folder: reeve does not remove it.'
  return [
    { name: 'set aside', ok: false, detail: `${dir} has files that the store did not know: ${names.join(', ')}`, hint, optional: true },
  ]
}

/** Checks that a file is valid, or does not exist. */
async function fileCheck(name: string, file: string, readFile: () => Promise<unknown>): Promise<Check> {
  try {
    await readFile()
    return { name, ok: true, detail: (await pathExists(file)) ? file : `no ${file}` }
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message, hint: 'correct the file; docs/reference/agents.md describes its fields' }
  }
}

/** Describes the database that has the store, and measures one write. */
async function engineCheck(report: NonNullable<Stores['engine']>): Promise<Check> {
  try {
    const { address, server, durability, commitMs } = await report()
    const standby = server.standbyNames === '' ? 'without a synchronous standby' : `with the synchronous standby ${server.standbyNames}`
    const detail = `PostgreSQL ${server.versionText} at ${address}, ${standby} (durability: ${durability}); a commit takes ${commitMs.toFixed(1)} ms`
    return { name: 'database', ok: true, detail }
  } catch (cause) {
    const error = storeError(cause, 'the database')
    return { name: 'database', ok: false, detail: error.message, hint: error.hint }
  }
}

/** Reads and verifies the whole store. */
async function storeCheck(local: Pick<LocalStore, 'verify'>, isDatabase: boolean): Promise<Check> {
  const damage = await local.verify()
  const what = isDatabase
    ? 'every row, fact and blob is sound; `pg_amcheck` checks the pages of the database'
    : 'every page, fact and blob is sound'
  if (damage.length === 0) return { name: 'store', ok: true, detail: what }
  return {
    name: 'store',
    ok: false,
    detail: damage.join('; '),
    hint: isDatabase
      ? 'stop the daemon and restore the database from a backup'
      : 'stop the daemon and restore store.db from a backup; `sqlite3 store.db .recover` saves what can be read',
  }
}
