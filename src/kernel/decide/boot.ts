// Boot: recovers each row that the last daemon left behind, after the new daemon has ended the programs of that process. A recorded stop is
// completed, and a running process ends as interrupted. A suspended process stays suspended, without a driver and with a new PID, unless it
// could only start over. An ended process restarts only by its policy or its supervisor, or, after a refusal by the provider, on hold.
// Tests: test/tables/kernel/decide/boot.test.ts, test/tables/kernel/decide/supervision.test.ts.
import { CAPABILITIES, resumeSource, isExternal, needsInput } from '../model/capabilities.ts'
import { INTERRUPTED_EXIT, signalExit } from '../model/exit.ts'
import { restartAfterProviderLimit } from './limits/rate-limits.ts'
import { orphanChildren, paidSubtree, settleUsage } from './limits/payer.ts'
import { awaitEnd, reap, survivorsText } from './release.ts'
import { keepWaiting } from './restart.ts'
import { deliverPending } from './signals.ts'
import { startOnHold } from './spawn.ts'
import { closeToolCalls, closeReservedCalls } from './close-open-calls.ts'
import { hasRestartOwner, mayRestart, holdsToKeep } from './children.ts'
import type { InputOf } from '../model/inputs.ts'
import type { ExitStatus, Hold, Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'

/** Recovers the row of one process. */
export function bootProcess(draft: DecisionDraft, input: InputOf<'boot'>): void {
  const process = draft.get(input.uuid)
  if (!process) return
  const { life } = process
  switch (life.state) {
    case 'created':
      return bootCreated(draft, process, input)
    case 'running':
      return bootRunning(draft, process, input)
    case 'zombie':
      return finishRelease(draft, process, input.survivors)
    case 'dead':
      return
  }
}

/** Ends an incarnation that had not begun. One that waits for a restart keeps waiting. */
function bootCreated(draft: DecisionDraft, process: Process, input: BootInput): void {
  const exit = bootExit(process)
  if (exit !== INTERRUPTED_EXIT || !process.restart || !hasRestartOwner(draft, process)) return endProcess(draft, process, exit, input)
  if (!input.crashLoop) keepWaiting(draft, process)
  else if (process.spec.childId === undefined) startOnHold(draft, process, crashHold(draft))
  else keepWaiting(draft, { ...process, restart: { ...process.restart, at: null } })
}

/**
 * The hold on automatic restarts after too many deaths of the daemon, until the user has checked the cause. Children get
 * no such hold, because they wait for their supervisor, which is held. Processes that an orderly stop of the daemon held
 * get none either: they resume only once, so they cause no crash loop.
 */
function crashHold(draft: DecisionDraft): Hold {
  return { reason: 'daemon-crash', by: 'system', at: draft.now.wall }
}

type BootInput = InputOf<'boot'>

/** Notes for programs that were not signalled, because they could not be identified for certain. */
const DOUBT_NOTES: Readonly<Record<NonNullable<BootInput['doubt']>, string>> = {
  unowned: 'its program may still run: the daemon died before it could record the PID, so nothing was signalled',
  stale: 'the PID of its program belongs to another program now, so nothing was signalled',
}

/** The exit of a command that never started: only the memory of the last daemon had its input. */
const INPUT_LOST_EXIT: ExitStatus = { ...INTERRUPTED_EXIT, error: 'it has not run, and its input was lost with the daemon' }

/** True if the PID of a program is recorded. Programs of a native agent's tools are found by their marker only. */
function hasRecordedProgram({ spec: { driver } }: Process): boolean {
  return CAPABILITIES[driver].hasProgram
}

function bootRunning(draft: DecisionDraft, process: Process, input: BootInput): void {
  const { life } = process
  const { survivors } = input
  if (life.state !== 'running') return
  if (input.doubt && process.clock.startedAt !== null && hasRecordedProgram(process))
    draft.emit(process.uuid, { type: 'process.note', text: DOUBT_NOTES[input.doubt] })
  if (life.stopping) return endProcess(draft, process, life.stopping.exit, input)
  const staysSuspended =
    life.holds.length > 0 && (resumeSource(process) !== 'rerun' || (process.clock.startedAt === null && !needsInput(process)))
  if (!staysSuspended) return endProcess(draft, process, bootExit(process), input)
  // A drained process waited before its next call. Its open calls have not begun, so they run when it continues.
  if (!life.drained || life.midway || isExternal(process.spec)) closeToolCalls(draft, process, 1)
  closeReservedCalls(draft, process.uuid)
  draft.emit(process.uuid, { type: 'process.rehydrated', pid: draft.takePid() })
  if (survivors.length > 0) recordSurvivors(draft, process, survivors)
  // Deferred signals must act before the process continues.
  else deliverPending(draft, process.uuid)
}

/** The exit of a process that the death of the daemon ended. A deferred stop, if there was one, is its cause. */
function bootExit(process: Process): ExitStatus {
  const { life, signals, spec, clock } = process
  const isRunning = life.state === 'running'
  const stop = signals.pending.find(
    ({ signal, dueMono }) => dueMono !== null && (signal === 'SIGTERM' || (signal === 'SIGINT' && !(isRunning && spec.interactive))),
  )
  if (stop) return signalExit(stop.signal, stop.by, isRunning && life.holds.length > 0)
  return clock.startedAt === null && needsInput(process) ? INPUT_LOST_EXIT : INTERRUPTED_EXIT
}

/** Ends a process whose driver died with the daemon. Its active time is known only up to its last activity. */
function endProcess(draft: DecisionDraft, process: Process, exit: ExitStatus, { survivors, crashLoop }: BootInput): void {
  const { uuid, clock } = process
  if (process.life.state === 'created')
    draft.emit(uuid, { type: 'process.started', mono: draft.now.mono, attached: false, containment: null })
  // After the death of the daemon no descendant will report the end of a call either.
  for (const member of paidSubtree(draft, uuid)) closeReservedCalls(draft, member)
  orphanChildren(draft, process)
  const elapsedMs = clock.elapsedMs + (clock.sinceAt === null ? 0 : Math.max(0, clock.lastActivityAt - clock.sinceAt))
  const holds = [
    ...holdsToKeep(process),
    ...(crashLoop && process.spec.childId === undefined && mayRestart(process) ? [crashHold(draft)] : []),
  ]
  draft.emit(uuid, {
    type: 'process.exited',
    exit,
    mono: draft.now.mono,
    elapsedMs,
    ...(holds.length > 0 ? { holds } : {}),
    ...settleUsage(draft, uuid),
  })
  finishRelease(draft, draft.mustGet(uuid), survivors)
}

/** Reaps a process without survivors; else it stays a zombie until they have ended. */
function finishRelease(draft: DecisionDraft, process: Process, survivors: readonly number[]): void {
  if (survivors.length === 0) {
    reap(draft, process)
    restartAfterProviderLimit(draft, draft.mustGet(process.uuid))
    return
  }
  recordSurvivors(draft, process, survivors)
  awaitEnd(draft, process)
}

function recordSurvivors(draft: DecisionDraft, process: Process, survivors: readonly number[]): void {
  draft.emit(process.uuid, { type: 'process.error', message: survivorsText(survivors) })
}
