// `reeve daemon install` and `uninstall`: the daemon as a unit of the user's systemd, which starts it with the machine, starts
// it again when it dies and delegates a cgroup to it. Nothing is left half-done: a unit that cannot be enabled is taken
// back, and one that a person has changed is left alone. Test: test/processes/daemon-unit.test.ts.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { paths, unitFile } from '../config/paths.ts'
import { Failure } from './errors.ts'
import type { Output } from './output.ts'
import { isAsWritten, UNIT, unitText } from './unit.ts'
import { complaintOfManager, lingers, order, unitPid } from './user-manager.ts'

export interface InstallOptions {
  readonly print: boolean
  /** also start it; whoever has the home is stopped first */
  readonly now: boolean
  /** ends the daemon that answers, if one does */
  readonly stop: () => Promise<unknown>
  /** starts it if none answers, and gives its PID */
  readonly start: () => Promise<number>
  /** the PID of the daemon that answers; null without one */
  readonly running: () => Promise<number | null>
}

/** What the daemon needs of this environment beside its home; keys stay where they are. */
const KEPT = ['REEVE_HOME', 'PATH', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'NODE_EXTRA_CA_CERTS'] as const

export async function install(out: Output, { print, now, stop, start, running }: InstallOptions): Promise<number> {
  const file = unitFile()
  const text = unitHere()
  if (print) {
    if (out.json) await out.value({ file, unit: text })
    else await out.raw('stdout', text)
    return 0
  }
  const before = readOrNull(file)
  checkUnchanged(file, before)
  checkManager()
  write(file, text, before)
  const isNew = before !== text
  if (!out.json) await out.words(`${isNew ? 'wrote' : 'unchanged:'} ${file}`)
  const pid = await running()
  const runsIt = pid !== null && pid === unitPid()
  if (now && pid !== null && (isNew || !runsIt)) await stop()
  const started = now ? await start() : null
  if (out.json) await out.value({ file, enabled: true, pid: started, lingers: lingers() })
  else await tell(out, { started, runsIt, isNew, other: pid !== null && !runsIt })
  return 0
}

async function tell(out: Output, { started, runsIt, isNew, other }: { started: number | null; runsIt: boolean; isNew: boolean; other: boolean }): Promise<void> {
  if (started !== null) await out.words(`the daemon runs as PID ${started} of ${UNIT}`)
  else if (runsIt && isNew) await out.words('it counts from the next `reeve daemon restart` on')
  else if (other) await out.words(`a daemon runs already, outside of the unit: \`reeve daemon restart\` puts it inside`)
  else if (!runsIt) await out.words('it starts with your next login, at first use, or with `reeve daemon start`')
  if (!lingers()) await out.words('it ends with your last logout; `loginctl enable-linger` lets it go on, and starts it with the machine')
}

export async function uninstall(out: Output, { now, stop }: Pick<InstallOptions, 'now' | 'stop'>): Promise<number> {
  const file = unitFile()
  const before = readOrNull(file)
  if (before === null) await out.words(`there is no ${file}`)
  else {
    checkUnchanged(file, before)
    const isManaged = complaintOfManager() === null
    if (now) await stop()
    // Also without a manager: the link is what starts it.
    if (isManaged) order('disable', UNIT)
    rmSync(join(dirname(file), 'default.target.wants', UNIT), { force: true })
    rmSync(file)
    if (isManaged) order('daemon-reload')
    if (!out.json) await out.words(`removed ${file}`)
  }
  if (out.json) await out.value({ file, removed: before !== null })
  return 0
}

function unitHere(): string {
  const env = Object.fromEntries(KEPT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
  return unitText({ home: paths().home, argv: [process.execPath, process.argv[1] ?? '', 'daemon', 'run'], env: { ...env, REEVE_UNIT: UNIT } })
}

function checkUnchanged(file: string, text: string | null): void {
  if (text === null || isAsWritten(text)) return
  throw new Failure(1, `${file} was changed by hand, or written by somebody else: it is left as it is`, `\`reeve daemon install --print\` shows what would be written. Changes of your own can stand beside it (\`systemctl --user edit ${UNIT}\`); move the file away, and install again.`)
}

function checkManager(): void {
  const complaint = complaintOfManager()
  if (complaint === null) return
  const sudo = process.env['SUDO_USER']
  if (process.geteuid?.() === 0) {
    throw new Failure(1, `nothing was written: this is root, and root has no user manager of systemd here (${complaint})`,
      sudo ? `Without sudo, as ${sudo}, it is ${sudo}'s daemon that is installed.` : 'Install it as the user whose agents they are. Root needs no delegation: cgroups work without it (`reeve doctor`).')
  }
  throw new Failure(1, `nothing was written: no user manager of systemd answers (${complaint})`,
    'It comes with a login (not with su or sudo), or for good with `loginctl enable-linger`. Where there is no systemd, let another service manager start `reeve daemon run`; `--print` shows the unit.')
}

/** Writes it whole and has it enabled; else all is as before. */
function write(file: string, text: string, before: string | null): void {
  mkdirSync(dirname(file), { recursive: true })
  const put = (content: string): void => {
    writeFileSync(`${file}.new`, content, { mode: 0o644 })
    renameSync(`${file}.new`, file)
  }
  put(text)
  try {
    order('daemon-reload')
    order('enable', UNIT)
  } catch (error) {
    if (before === null) rmSync(file, { force: true })
    else put(before)
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
