// Stops the daemon gracefully, for the actions of `reeve daemon`. Without a drain it kills a daemon that hangs or does not end. Reports
// which processes a stop suspends and which it ends.
// Tests: test/tables/cli/service/stop-daemon.test.ts, test/e2e/cli/daemon.test.ts, test/e2e/daemon/unresponsive-daemon.test.ts.
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '../../api/client/api-error.ts'
import { isStopped, readHolder, readHolderRecord, type LockHolder } from '../../api/client/daemon-holder.ts'
import { describeHang } from '../../api/client/hung-daemon.ts'
import type { DaemonView } from '../../api/views/daemon.ts'
import type { ProcessView } from '../../api/views/process.ts'
import { pathsFrom } from '../../config/paths.ts'
import { connect, type Reeve } from '../../index.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { Failure } from '../errors.ts'
import { withWaitNote } from '../follow/wait-note.ts'
import type { Wait } from '../print/wait-text.ts'
import { hasEnded } from '../print/process-text.ts'
import { formatCount, formatElapsed } from '../../faces/format.ts'
import type { VerbCall } from '../table/verb.ts'

/** the time limit after the drain, for ending programs and closing the store */
const END_MS = 2 * 60_000
/** the time limit of a stop without drain; the daemon is then killed */
const FORCED_END_MS = 30_000
const POLL_MS = 50

/** The result of a stop. */
export interface StoppedDaemon {
  /** the OS pid of the stopped daemon; null if none was running */
  readonly pid: number | null
  /** whether SIGKILL was necessary */
  readonly killed?: true
}

export interface StopOptions {
  readonly drainMs: number
  /** another daemon starts afterwards */
  readonly restart?: boolean
}

/** Stops the daemon, and resolves when it has ended. A stop without drain uses SIGKILL if the daemon hangs or does not end. */
export async function stopDaemon(call: Pick<VerbCall, 'out'>, { drainMs, restart = false }: StopOptions): Promise<StoppedDaemon> {
  const { holderFile } = pathsFrom()
  const holder = readHolder(holderFile)
  const isForced = drainMs === 0
  try {
    return await stopGracefully(call, { drainMs, restart, endMs: isForced && holder ? FORCED_END_MS : END_MS })
  } catch (error) {
    const hangs = error instanceof ApiError && error.code === 'HANGS'
    if (!holder || !(hangs || error instanceof StopTimeoutError)) throw error
    if (!isForced)
      throw hangs
        ? new ApiError('HANGS', error.message, {
            hint: '`reeve daemon stop --now` kills it; its processes are interrupted, and can be resumed.',
          })
        : error
    await (await import('./kill-daemon.ts')).killHolder(holder, holderFile)
    if (!call.out.json)
      await call.out.message(`${error.message}. It was killed (SIGKILL); its processes are interrupted, and can be resumed.`)
    return { pid: holder.pid, killed: true }
  }
}

/** The daemon has not ended in time, or it has the lock and is not listening. */
class StopTimeoutError extends Failure {}

/** Stops the daemon gracefully, and warns about the processes that the stop suspends or ends. */
async function stopGracefully(
  { out }: Pick<VerbCall, 'out'>,
  time: { readonly drainMs: number; readonly restart: boolean; readonly endMs: number },
): Promise<StoppedDaemon> {
  const reeve = connect({ start: false })
  const found = await withWaitNote(
    out,
    () => ({
      key: 'listen',
      what: 'the daemon, which is starting or ending',
      ends: `this command gives up after ${formatElapsed(time.endMs)}, and \`reeve daemon stop --now\` kills the daemon`,
    }),
    findDaemon(reeve, time.endMs),
  )
  if (!found) {
    await out.message('the daemon is not running')
    return { pid: null }
  }
  for (const line of stopWarnings(await readStopEffects(reeve))) await out.message(line)
  await sendStop(reeve, time)
  let stopping: DaemonView['stopping']
  await withWaitNote(
    out,
    () => describeWait(stopping, time.endMs),
    waitForEnd(reeve, found.pid, time, (view) => (stopping = view?.stopping)),
  )
  if (!out.json) await out.message('the daemon has ended')
  return { pid: found.pid }
}

/** Requests the stop. A daemon of an older build refuses the field `restart`, and is stopped without it. */
async function sendStop(reeve: Reeve, { drainMs, restart }: { readonly drainMs: number; readonly restart: boolean }): Promise<void> {
  try {
    await reeve.stopDaemon({ drainMs, ...(restart ? { restart } : {}) })
  } catch (error) {
    if (!restart || !(error instanceof ApiError) || error.code !== 'INVALID') throw error
    await reeve.stopDaemon({ drainMs })
  }
}

/** Finds the daemon. While a daemon has the lock but is not listening, waits until it listens or has ended. */
async function findDaemon(reeve: Reeve, endMs: number): Promise<DaemonView | undefined> {
  const deadline = performance.now() + endMs
  for (;;) {
    const view = await readDaemonView(reeve)
    const holder = readHolder(pathsFrom().holderFile)
    if (view || !holder) return view
    if (isStopped(holder) || performance.now() > deadline) throw notListeningError(holder)
    await delay(POLL_MS)
  }
}

/** Returns the error about a daemon that has the lock but is not listening. */
export function notListeningError(holder: LockHolder): Error {
  if (!isStopped(holder))
    return new StopTimeoutError(
      4,
      `the daemon (PID ${holder.pid}) is not listening: it is starting or ending`,
      '`reeve daemon stop --now` kills it if that lasts.',
    )
  const { message, hint } = describeHang(holder)
  return new ApiError('HANGS', message, { hint })
}

async function waitForEnd(
  reeve: Reeve,
  pid: number,
  { drainMs, endMs }: { readonly drainMs: number; readonly endMs: number },
  onView: (view: DaemonView | undefined) => void,
): Promise<void> {
  const deadline = performance.now() + drainMs + endMs
  for (;;) {
    const view = await readDaemonView(reeve)
    // The daemon closes its socket before it ends, and only its end releases the lock.
    if (!view && readHolderRecord(pid) === null) return
    onView(view)
    if (performance.now() > deadline) {
      throw new StopTimeoutError(
        1,
        `the daemon (PID ${pid}) has not ended within ${formatElapsed(endMs)} after its drain`,
        '`reeve daemon logs` may show why; `reeve daemon stop --now` kills it without losing acknowledged data.',
      )
    }
    await delay(POLL_MS)
  }
}

/** Describes what a stop waits for: the processes whose work is in flight, then the end of the daemon itself. */
function describeWait(stopping: DaemonView['stopping'], endMs: number): Wait {
  const now = '`reeve daemon stop --now` cuts it short'
  if (!stopping || stopping.waitsFor.length === 0)
    return { key: 'end', what: 'the daemon to end', ends: `at most ${formatElapsed(endMs)}, and ${now}` }
  const pids = stopping.waitsFor.join(', ')
  return {
    key: `drain ${pids}`,
    what: `PID ${pids} to reach the end of ${stopping.waitsFor.length === 1 ? 'its step' : 'their steps'}`,
    ends: `at most ${formatElapsed(stopping.leftMs)} more, and ${now}`,
  }
}

/** What a stop of the daemon does to the processes, by PID. */
interface StopEffects {
  /** agents that are suspended, and continue at the next start */
  readonly suspended: readonly number[]
  /** commands, and agents without a session: they are ended and cannot continue */
  readonly ended: readonly number[]
  /** those of `ended` that had input, which is not recorded: they cannot run again */
  readonly hadInput: readonly number[]
  /** those of `ended` that are agents */
  readonly agents: readonly number[]
}

const EFFECT_FIELDS = ['pid', 'state', 'status', 'driver', 'format', 'interactive', 'sessionId', 'originUuid', 'turn', 'input'] as const
type AffectedView = Pick<ProcessView, (typeof EFFECT_FIELDS)[number]>

/** Returns which processes a stop suspends, and which it ends because they cannot continue later. */
export async function readStopEffects(reeve: Reeve): Promise<StopEffects> {
  const views: readonly AffectedView[] = await reeve.list({ fields: [...EFFECT_FIELDS] })
  const living = views.filter((view) => !hasEnded(view) && !CAPABILITIES[view.driver].supervisesChildren)
  const ended = living.filter((view) => !canContinue(view))
  return {
    suspended: living.filter((view) => canContinue(view) && view.status !== 'suspended').map(({ pid }) => pid),
    ended: ended.map(({ pid }) => pid),
    hadInput: ended.filter(({ input }) => input).map(({ pid }) => pid),
    agents: ended.filter(({ driver, format }) => driver !== 'command' || format !== null).map(({ pid }) => pid),
  }
}

/** Whether a process can continue after the stop, by the rule of `resumeSource`. A fork without a session forks that of its origin. */
function canContinue({ driver, format, interactive, sessionId, originUuid, turn }: AffectedView): boolean {
  const hasSession = CAPABILITIES[driver].acceptsMessages || (format !== null && interactive)
  return CAPABILITIES[driver].recordsContext || sessionId !== null || originUuid !== null || (hasSession && turn === 0)
}

/** Warns about the processes that a stop suspends or ends: one line for each kind. */
export function stopWarnings(effects: StopEffects): string[] {
  const { suspended, ended, hadInput } = effects
  const lines: string[] = []
  if (suspended.length > 0)
    lines.push(
      `${formatCount(suspended.length, 'agent')} will be suspended, and ${suspended.length === 1 ? 'continues' : 'continue'} at the next start: PID ${suspended.join(', ')}`,
    )
  for (const isRepeatable of [true, false]) {
    const pids = ended.filter((pid) => hadInput.includes(pid) !== isRepeatable)
    if (pids.length === 0) continue
    const [they, them] = pids.length === 1 ? ['it', 'it'] : ['they', 'them']
    const later = isRepeatable ? ` (\`reeve resume --rerun\` runs ${them} again)` : `, nor run again: ${they} had input`
    lines.push(`${countEnded(pids, effects)} will be ended, because ${they} cannot continue later${later}: PID ${pids.join(', ')}`)
  }
  return lines
}

/** Counts processes that a stop ends, as commands, as agents, or as processes if there are both. */
export function countEnded(pids: readonly number[], { agents }: Pick<StopEffects, 'agents'>): string {
  const count = pids.filter((pid) => agents.includes(pid)).length
  return formatCount(pids.length, count === 0 ? 'command' : count === pids.length ? 'agent' : 'process')
}

/** Returns the view of the running daemon; undefined if none answers. */
export async function readDaemonView(reeve: Reeve): Promise<DaemonView | undefined> {
  try {
    return await reeve.daemon()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAVAILABLE') return undefined
    throw error
  }
}
