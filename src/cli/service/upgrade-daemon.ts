// `reeve daemon upgrade`: replaces a daemon of another build by one of this build. Nothing is stopped before it is certain that the
// new daemon can start: its code loads, and it knows the tables of the store. Commands that a stop ends need the user's consent.
// Test: test/e2e/daemon/upgrade.test.ts, test/e2e/daemon/upgrade-under-load.test.ts.
import { BUILD, isOtherBuild } from '../../api/build.ts'
import { VERSION } from '../../api/version.ts'
import type { DaemonView } from '../../api/views/daemon.ts'
import { connect } from '../../index.ts'
import { Failure, UsageError } from '../errors.ts'
import { askToConfirm } from '../input/confirm.ts'
import type { Output } from '../print/output.ts'
import { tryDaemonCode } from './start-daemon.ts'
import { countEnded, readDaemonView, readStopEffects, type StoppedDaemon } from './stop-daemon.ts'

export interface UpgradeOptions {
  readonly out: Output
  /** whether commands may be ended without a question */
  readonly force: boolean
  /** stops the running daemon */
  readonly stop: () => Promise<StoppedDaemon>
  /** starts a daemon of this build */
  readonly start: () => Promise<DaemonView>
}

/** The result of an upgrade. */
export interface Upgrade {
  /** the daemon that runs now; null if none ran, and none was started */
  readonly view: DaemonView | null
  /** the replaced daemon; null if nothing was replaced */
  readonly from: { readonly pid: number; readonly reeve: string; readonly build: string | null } | null
}

/** Replaces the running daemon if it has another build. Errors: exit 1 if the new one cannot start, or the user does not agree. */
export async function upgradeDaemon({ out, force, stop, start }: UpgradeOptions): Promise<Upgrade> {
  if (BUILD === null) throw new Failure(1, 'this command runs from its sources, which have no build', 'Use `reeve daemon restart`.')
  const old = await readDaemonView(connect({ start: false }))
  if (!old) {
    await out.message(`no daemon runs; the next command starts ${describeBuild({ reeve: VERSION, build: BUILD })}`)
    return { view: null, from: null }
  }
  if (!isOtherBuild(old.build)) {
    await out.message(`nothing to upgrade: the daemon already runs ${describeBuild(old)}`)
    return { view: old, from: null }
  }
  checkNewDaemon(old)
  if (!(await mayEndCommands(out, force))) throw new Failure(1, 'nothing was changed; the old daemon goes on')
  await stop()
  const view = await start()
  if (isOtherBuild(view.build))
    throw new Failure(
      1,
      `the daemon started as ${describeBuild(view)}, but this command has ${BUILD}`,
      'Its systemd unit names another install: `reeve daemon install --now` writes the unit for this one.',
    )
  if (!out.json) await out.message(`upgraded from ${describeBuild(old)} to ${describeBuild(view)}`)
  return { view, from: { pid: old.pid, reeve: old.reeve, build: old.build } }
}

function describeBuild({ reeve, build }: Pick<DaemonView, 'reeve' | 'build'>): string {
  return `reeve ${reeve} (build ${build ?? 'unknown'})`
}

/** Loads the code of the new daemon, and compares its tables with the store of the running one. Errors: exit 1; nothing has changed. */
function checkNewDaemon(old: DaemonView): void {
  const checked = tryDaemonCode()
  if ('error' in checked)
    throw new Failure(
      1,
      `the new daemon cannot start, so the old one goes on: ${checked.error}`,
      'Install reeve again, then repeat `reeve daemon upgrade`.',
    )
  if (old.schema > checked.schema)
    throw new Failure(
      1,
      `the store has schema ${old.schema}, but this version (reeve ${VERSION}) knows ${checked.schema}: the old daemon goes on`,
      'The daemon is newer than this command. Install at least that version; a store never goes back to an older schema.',
    )
}

/** Asks before commands, and agents without a session, are ended. Errors: exit 64 if any run, and there is no terminal to ask on. */
async function mayEndCommands(out: Output, force: boolean): Promise<boolean> {
  const effects = await readStopEffects(connect({ start: false }))
  const { ended, hadInput } = effects
  if (ended.length === 0 || force) return true
  const processes = `${countEnded(ended, effects)} (PID ${ended.join(', ')})`
  if (!process.stdin.isTTY || !out.isTerminal('stderr'))
    throw new UsageError(
      `the upgrade would end ${processes}, and there is no terminal to ask on`,
      `Wait for them with \`reeve wait\`, or end them with \`reeve daemon upgrade --force\`${hadInput.length < ended.length ? '; `reeve resume --rerun` runs them again, unless they had input' : ''}.`,
    )
  return askToConfirm(`The upgrade ends ${processes}, which cannot continue later. Upgrade now?`)
}
