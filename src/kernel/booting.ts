// What a daemon's start makes of each row that the last daemon left: by this time nothing of it runs any more.
// Owns the recovery of states: a wish to stop is fulfilled, a suspended process comes back as a placeholder with a new
// PID, what ran is interrupted. A restart policy or a supervisor brings back what it owns (release.ts asks), and nothing else
// comes back on its own. Test: test/tables/booting.test.ts, test/tables/supervising.test.ts.
import { goesOnFrom, isExternal } from './capabilities.ts'
import { INTERRUPTED, signalExit } from './exit.ts'
import { comeBackHeld } from './rate-limits.ts'
import { orphan, paidSubtree, settleUp } from './payers.ts'
import { awaitEnd, reap } from './release.ts'
import { waitOn } from './restarting.ts'
import { beginHeld } from './spawning.ts'
import { closeCalls, closeReserved } from './closing.ts'
import { isKept, mayComeBack, pausesToKeep } from './children.ts'
import type { InputOf } from './inputs.ts'
import type { ExitStatus, Hold, Process } from './types.ts'
import type { Work } from './work.ts'

export function boot(work: Work, input: InputOf<'boot'>): void {
  const process = work.get(input.uuid)
  if (!process) return
  const { life } = process
  switch (life.state) {
    case 'created': return bootCreated(work, process, input)
    case 'running': return bootRunning(work, process, input)
    case 'zombie': return finish(work, process, input.survivors)
    case 'dead': return
  }
}

/** A restart that waits goes on waiting, as nothing of it had begun. */
function bootCreated(work: Work, process: Process, input: Boot): void {
  const exit = cutOff(process)
  if (exit !== INTERRUPTED || !process.restart || !isKept(work, process)) return end(work, process, exit, input)
  if (!input.crashLoop) waitOn(work, process)
  else if (process.spec.childId === undefined) beginHeld(work, process, crashHold(work))
  else waitOn(work, { ...process, restart: { ...process.restart, at: null } })
}

/**
 * Its daemon died too often: a person is to look at what would come back by itself. Children wait for their supervisor, which is
 * held; what an orderly stop had held goes on once, and cannot be what kills one daemon after the other.
 */
function crashHold(work: Work): Hold {
  return { reason: 'daemon-crash', by: 'system', at: work.now.wall }
}

type Boot = InputOf<'boot'>

function bootRunning(work: Work, process: Process, input: Boot): void {
  const { life } = process
  const { survivors } = input
  if (life.state !== 'running') return
  if (life.stopping) return end(work, process, life.stopping.exit, input)
  const comesBack = life.holds.length > 0 && (goesOnFrom(process) !== 'rerun' || process.clock.startedAt === null)
  if (!comesBack) return end(work, process, cutOff(process), input)
  // Drained, it waited before its next call: what is open has not begun, and is run when it goes on.
  if (!life.drained || life.midway || isExternal(process.spec)) closeCalls(work, process.uuid)
  closeReserved(work, process.uuid)
  work.emit(process.uuid, { type: 'process.rehydrated', pid: work.takePid() })
  if (survivors.length > 0) tellSurvivors(work, process, survivors)
}

/** A person had said that it is to end, and it put that off: the wish was durable, and is fulfilled now. */
function cutOff({ life, signals, spec }: Process): ExitStatus {
  const isRunning = life.state === 'running'
  const ends = signals.pending.find(({ signal, dueMono }) => dueMono !== null && (signal === 'SIGTERM' || (signal === 'SIGINT' && !(isRunning && spec.interactive))))
  return ends ? signalExit(ends.signal, ends.by, isRunning && life.holds.length > 0) : INTERRUPTED
}

/** Ends a row without a driver. Its clock is known up to its last activity only. */
function end(work: Work, process: Process, exit: ExitStatus, { survivors, crashLoop }: Boot): void {
  const { uuid, clock } = process
  if (process.life.state === 'created') work.emit(uuid, { type: 'process.started', mono: work.now.mono, attached: false, containment: null })
  // Nothing runs, so that nobody below it sees the end of a call either.
  for (const each of paidSubtree(work, uuid)) closeReserved(work, each)
  orphan(work, process)
  const seen = clock.elapsedMs + (clock.sinceAt === null ? 0 : Math.max(0, clock.lastActivityAt - clock.sinceAt))
  const holds = [...pausesToKeep(process), ...(crashLoop && process.spec.childId === undefined && mayComeBack(process) ? [crashHold(work)] : [])]
  work.emit(uuid, { type: 'process.exited', exit, mono: work.now.mono, elapsedMs: seen, ...(holds.length > 0 ? { holds } : {}), ...settleUp(work, uuid) })
  finish(work, work.need(uuid), survivors)
}

function finish(work: Work, process: Process, survivors: readonly number[]): void {
  if (survivors.length === 0) {
    reap(work, process)
    comeBackHeld(work, work.need(process.uuid))
    return
  }
  tellSurvivors(work, process, survivors)
  awaitEnd(work, process)
}

function tellSurvivors(work: Work, process: Process, survivors: readonly number[]): void {
  work.emit(process.uuid, { type: 'process.error', message: `still alive: ${survivors.join(', ')}` })
}
