// `reeve daemon install` and `uninstall`: the daemon as a user unit of systemd. The unit starts the daemon at login, or with the machine
// after `loginctl enable-linger`. It also restarts a daemon that dies, and delegates a cgroup to it. If the unit cannot be enabled,
// the previous state is restored. A unit that the user has changed stays unchanged.
// Test: test/processes/daemon/systemd-unit.test.ts.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { pathsFrom, unitFile } from '../../config/paths.ts'
import { Failure } from '../errors.ts'
import type { Output } from '../print/output.ts'
import { isUnmodifiedUnit, UNIT_NAME, unitText } from './unit.ts'
import { findManagerProblem, isLingering, systemctlOrThrow, readUnitPid } from './user-manager.ts'

export interface InstallOptions {
  /** whether to print the unit and change nothing */
  readonly print: boolean
  /** whether to start or end the daemon at once; an install first stops a daemon outside of the unit, or of an earlier unit */
  readonly now: boolean
  /** stops the running daemon, if there is one */
  readonly stop: () => Promise<unknown>
  /** starts the daemon if none runs; resolves to its OS pid */
  readonly start: () => Promise<number>
  /** resolves to the OS pid of the running daemon; null if none runs */
  readonly findPid: () => Promise<number | null>
}

/** the variables of this environment that are copied into the unit; keys are not copied */
const COPIED_VARIABLES = ['REEVE_HOME', 'PATH', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'NODE_EXTRA_CA_CERTS'] as const

export async function installService(out: Output, { print, now, stop, start, findPid }: InstallOptions): Promise<number> {
  const file = unitFile()
  const text = buildUnit()
  if (print) {
    if (out.json) await out.value({ file, unit: text })
    else await out.raw('stdout', text)
    return 0
  }
  const previousText = readOrNull(file)
  checkUnchanged(file, previousText, 'Move the file away and install again.')
  checkManager()
  writeAndEnable(file, text, previousText)
  const isNew = previousText !== text
  if (!out.json) await out.message(`${isNew ? 'wrote' : 'unchanged:'} ${file}`)
  const pid = await findPid()
  const isUnitRunning = pid !== null && pid === readUnitPid()
  if (now && pid !== null && (isNew || !isUnitRunning)) await stop()
  const started = now ? await start() : null
  if (out.json) await out.value({ file, enabled: true, pid: started, lingers: isLingering() })
  else await printNextSteps(out, { started, isUnitRunning, isNew, isOtherRunning: pid !== null && !isUnitRunning })
  return 0
}

async function printNextSteps(
  out: Output,
  {
    started,
    isUnitRunning,
    isNew,
    isOtherRunning,
  }: { started: number | null; isUnitRunning: boolean; isNew: boolean; isOtherRunning: boolean },
): Promise<void> {
  if (started !== null) await out.message(`the daemon runs as PID ${started} of ${UNIT_NAME}`)
  else if (isUnitRunning && isNew) await out.message('it takes effect at the next `reeve daemon restart`')
  else if (isOtherRunning) await out.message(`a daemon already runs outside of the unit: \`reeve daemon restart\` moves it into the unit`)
  else if (!isUnitRunning) await out.message('it starts with your next login, at first use, or with `reeve daemon start`')
  if (!isLingering())
    await out.message('it ends with your last logout; `loginctl enable-linger` keeps it running, and starts it with the machine')
}

export async function uninstallService(out: Output, { now, stop }: Pick<InstallOptions, 'now' | 'stop'>): Promise<number> {
  const file = unitFile()
  const previousText = readOrNull(file)
  if (previousText === null) await out.message(`${file} does not exist`)
  else {
    checkUnchanged(file, previousText, 'To remove it, delete the file yourself.')
    const isManaged = findManagerProblem() === null
    if (now) await stop()
    if (isManaged) systemctlOrThrow('disable', UNIT_NAME)
    // Without a manager the link must be removed as well, because it starts the unit at the next login.
    rmSync(join(dirname(file), 'default.target.wants', UNIT_NAME), { force: true })
    rmSync(file)
    if (isManaged) systemctlOrThrow('daemon-reload')
    if (!out.json) await out.message(`removed ${file}`)
  }
  if (out.json) await out.value({ file, removed: previousText !== null })
  return 0
}

function buildUnit(): string {
  const env = Object.fromEntries(COPIED_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
  return unitText({
    home: pathsFrom().home,
    argv: [process.execPath, process.argv[1] ?? '', 'daemon', 'run'],
    env: { ...env, REEVE_UNIT: UNIT_NAME },
    canNotify: isInPath('systemd-notify'),
  })
}

function isInPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((dir) => isAbsolute(dir) && existsSync(join(dir, program)))
}

/** Errors: exit 1 if the user has changed the unit. `instead`: what the user can then do. */
function checkUnchanged(file: string, text: string | null, instead: string): void {
  if (text === null || isUnmodifiedUnit(text)) return
  throw new Failure(
    1,
    `${file} was changed by hand, or not written by reeve: it is left alone`,
    `\`reeve daemon install --print\` shows the new unit. Keep your own changes beside it (\`systemctl --user edit ${UNIT_NAME}\`). ${instead}`,
  )
}

function checkManager(): void {
  const problem = findManagerProblem()
  if (problem === null) return
  const sudo = process.env['SUDO_USER']
  if (process.geteuid?.() === 0) {
    throw new Failure(
      1,
      `nothing was written: root has no systemd user manager here (${problem})`,
      sudo
        ? `Without sudo it installs the daemon of ${sudo}.`
        : 'Install it as the user who runs the agents. Root needs no delegation: cgroups work without it (`reeve doctor`).',
    )
  }
  throw new Failure(
    1,
    `nothing was written: no systemd user manager answers (${problem})`,
    'A login starts one (su and sudo do not); `loginctl enable-linger` keeps one running. Without systemd, let another service manager start `reeve daemon run`; `--print` shows the unit.',
  )
}

/** Writes the unit and enables it. Restores the previous state on failure. */
function writeAndEnable(file: string, text: string, previousText: string | null): void {
  mkdirSync(dirname(file), { recursive: true })
  const replaceFile = (content: string): void => {
    writeFileSync(`${file}.new`, content, { mode: 0o644 })
    renameSync(`${file}.new`, file)
  }
  replaceFile(text)
  try {
    systemctlOrThrow('daemon-reload')
    systemctlOrThrow('enable', UNIT_NAME)
  } catch (error) {
    if (previousText === null) rmSync(file, { force: true })
    else replaceFile(previousText)
    throw error
  }
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
