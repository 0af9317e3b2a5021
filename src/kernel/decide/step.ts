// The entry point of the kernel: step(table, input) → { changes, effects }. Synchronous and pure; copies no table. Has the table of inputs,
// and decides those about the holds of the kernel, checkpoints and deadlines. An operating error becomes a `refuse` effect and changes
// nothing. One exception: a refused request of an agent is recorded in that agent's journal.
// Tests: test/properties/kernel.test.ts, test/simulation.
import { describeProcess, markSeen, pinProcess, snoozeProcess } from './annotate.ts'
import { answerAsk, deliverDueAnswers, withdrawAnswer } from './asks/asks.ts'
import { bootProcess } from './boot.ts'
import { hasChildren } from './children.ts'
import { startBuiltNode, resumeNode } from './compose.ts'
import { applyCrewCommand } from './crew-process/apply-command.ts'
import { deliverMovedMessages } from './crew-process/message-moves.ts'
import { retireMember } from './crew-process/member-process.ts'
import { freezeAt, timeoutAt } from './next-deadline.ts'
import { checkpointState, forkProcess } from './fork.ts'
import { ERRORS, KernelError } from '../model/errors.ts'
import { TIMED_OUT_EXIT } from '../model/exit.ts'
import { wakeWaitingAfterEnd, warnOfLimits } from './limits/enforce-limits.ts'
import { recordLiveness } from './liveness/liveness.ts'
import { recordLoop } from './liveness/loops.ts'
import { addHold } from './holds/add-hold.ts'
import { limitActionOf, usedOf } from '../state/limits.ts'
import { updateHome } from './limits/home-budgets.ts'
import { enforceReachedLimit } from './limits/limit-reached.ts'
import { releaseHolds } from './holds/release-holds.ts'
import { recordRefusal } from './authorize.ts'
import { closeRangesAt } from '../model/context.ts'
import { restartAfterProviderLimit, wakeIfDue } from './limits/rate-limits.ts'
import { reap, survivorsText, terminate } from './release.ts'
import { startIfDue, waitsForRestart } from './restart.ts'
import { applyReport } from './reports.ts'
import { resumeProcess } from './resume.ts'
import { deliverPending, setHandler, setMask, sendSignal } from './signals.ts'
import { sendMessage, takeQueuedMessages } from './messages.ts'
import { startOnHold, spawnProcess, startProcess, tableFullError } from './spawn.ts'
import { runFollowUps, removeChild } from './supervision.ts'
import { DecisionDraft } from './draft.ts'
import { endWrapUp } from './graceful-stop.ts'
import type { Input, InputOf } from '../model/inputs.ts'
import type { Hold, Process } from '../model/process.ts'
import type { LiveTable } from '../state/live-table.ts'
import type { Decision } from './draft.ts'
import type { Uuid } from '../model/ids.ts'

/** Decides one input. Throws only for a broken invariant, or an operating error of an input without a `reply`. */
export function step(table: LiveTable, input: Input): Decision {
  const draft = new DecisionDraft(table, input.now, viaOf(input))
  try {
    decide(draft, input)
    runFollowUps(draft)
    checkRoomForResumed(table, draft, input)
    return draft.toDecision()
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    if (!('reply' in input)) throw error
    const { code, message, details, hint } = error
    const refused = new DecisionDraft(table, input.now)
    recordRefusal(refused, input, error)
    refused.addEffect({
      type: 'refuse',
      to: input.reply,
      code,
      message,
      ...(details ? { details } : {}),
      ...(hint === ERRORS[code].hint ? {} : { hint }),
    })
    return refused.toDecision()
  }
}

type Handler<T extends Input['type']> = (draft: DecisionDraft, input: InputOf<T>) => void

/** The handler of each input. A new input does not compile without one. */
const HANDLERS: { readonly [T in Input['type']]: Handler<T> } = {
  spawn: spawnProcess,
  start: startProcess,
  signal: sendSignal,
  resume: resumeProcess,
  fork: forkProcess,
  pin: pinProcess,
  seen: markSeen,
  snooze: snoozeProcess,
  describe: describeProcess,
  removeChild,
  composeNode: startBuiltNode,
  composeResume: resumeNode,
  crew: applyCrewCommand,
  crewMoved: deliverMovedMessages,
  retire: retireMember,
  send: sendMessage,
  take: takeQueuedMessages,
  answer: answerAsk,
  withdrawAnswer,
  mask: setMask,
  handle: setHandler,
  hold: addKernelHold,
  release: releaseKernelHold,
  report: applyReport,
  released: handleReleased,
  checkpoint: handleCheckpoint,
  liveness: recordLiveness,
  loop: recordLoop,
  home: updateHome,
  tick: handleTick,
  boot: bootProcess,
}

/** The session of the page that sent a request. A signal records its client itself. */
function viaOf(input: Input): string | undefined {
  return 'via' in input && input.type !== 'signal' ? input.via : undefined
}

function decide(draft: DecisionDraft, input: Input): void {
  const handler = HANDLERS[input.type] as Handler<Input['type']>
  handler(draft, input)
}

/** Refuses a request that would wake more suspended processes than the table has room for. Errors: RESOURCE_EXHAUSTED. */
function checkRoomForResumed(before: LiveTable, draft: DecisionDraft, input: Input): void {
  const mayWake = input.type === 'signal' ? input.signal === 'SIGRESUME' : WAKING_INPUTS.has(input.type)
  if (mayWake && draft.activeCount > Math.max(before.activeCount, draft.maxProcesses))
    throw tableFullError(draft.maxProcesses, draft.maxProcesses)
}

/** inputs that may wake suspended processes, besides SIGRESUME */
const WAKING_INPUTS: ReadonlySet<Input['type']> = new Set<Input['type']>(['resume', 'mask', 'handle', 'crew', 'composeResume'])

/** Adds a hold of the kernel to one process or to all. */
function addKernelHold(draft: DecisionDraft, input: InputOf<'hold'>): void {
  const uuids = input.uuid === null ? [...draft.all()] : [input.uuid]
  for (const uuid of uuids) {
    const process = draft.get(uuid)
    const added: Hold = { reason: input.reason, by: 'system', at: draft.now.wall }
    // An incarnation that waits for its restart has nothing to drain, and keeps waiting under the next daemon.
    if (input.reason === 'daemon-shutdown' && process && waitsForRestart(process)) continue
    if (process?.life.state === 'created') startOnHold(draft, process, added)
    else if (process?.life.state === 'running' && !process.life.stopping) addHold(draft, uuid, added, false)
  }
}

/** Releases a hold of the kernel from one process or from all. */
function releaseKernelHold(draft: DecisionDraft, input: InputOf<'release'>): void {
  const uuids = input.uuid === null ? [...draft.all()] : [input.uuid]
  for (const uuid of uuids) {
    if (draft.get(uuid)) releaseHolds(draft, uuid, 'system', (hold) => hold.reason === input.reason && hold.by === 'system')
  }
}

/** Reaps a zombie whose containment is empty, or records the survivors. */
function handleReleased(draft: DecisionDraft, input: InputOf<'released'>): void {
  const process = draft.get(input.uuid)
  if (process?.life.state !== 'zombie' || process.pid !== input.pid) return
  if (input.survivors.length === 0) {
    reap(draft, process)
    wakeWaitingAfterEnd(draft, process)
    restartAfterProviderLimit(draft, draft.mustGet(process.uuid))
    return
  }
  // The daemon repeats the kill every few seconds; an unchanged result is not recorded again.
  const message = survivorsText(input.survivors)
  if (process.note !== message) draft.emit(process.uuid, { type: 'process.error', message })
}

function handleCheckpoint(draft: DecisionDraft, input: InputOf<'checkpoint'>): void {
  const process = draft.get(input.uuid)
  if (process?.life.state !== 'running' || process.pid !== input.pid) return
  const { uuid, seq, progress, context } = process
  const { wholeStep: step, turn, openCalls } = progress
  if (input.error !== null) draft.emit(uuid, { type: 'checkpoint.failed', step, error: input.error })
  else
    draft.emit(uuid, {
      type: 'checkpoint.written',
      step,
      ranges: closeRangesAt(context?.ranges ?? [[1, seq]], seq),
      turn,
      openCalls,
      ...checkpointState(process),
    })
}

/** Acts on due deadlines. Each action leaves a state without that deadline. */
function handleTick(draft: DecisionDraft, { uuid, now }: InputOf<'tick'>): void {
  const process = draft.get(uuid)
  if (process?.life.state === 'created') return startIfDue(draft, process)
  if (process?.life.state !== 'running') return
  if (process.life.stopping) {
    endWrapUp(draft, process)
    return deliverDueAnswers(draft, uuid)
  }
  const timeout = timeoutAt(process)
  if (timeout !== null && timeout <= now.mono) return handleTimeout(draft, process)
  warnOfLimits(draft, process)
  deliverPending(draft, uuid)
  wakeIfDue(draft, draft.mustGet(uuid))
  freezeIfDue(draft, uuid)
  deliverDueAnswers(draft, uuid)
}

/** Freezes a process whose pause has not drained in time. Runs after the pending signals, which may add or release holds. */
function freezeIfDue(draft: DecisionDraft, uuid: Uuid): void {
  const process = draft.mustGet(uuid)
  if (process.life.state !== 'running' || process.life.stopping) return
  const freeze = freezeAt(process)
  if (freeze === null || freeze > draft.now.mono) return
  draft.emit(uuid, { type: 'process.drained', inFlight: 'frozen: it did not drain in time' })
  draft.addEffect({ type: 'driver.pause', uuid, pid: process.pid, freeze: true })
}

/** Ends or suspends a process whose time limit is reached. */
function handleTimeout(draft: DecisionDraft, process: Process): void {
  const { limits } = process.spec
  if (limitActionOf(limits, 'timeoutMs') === 'terminate') return stopByTimeout(draft, process)
  const used = usedOf(draft, process, 'timeoutMs', draft.now.mono)
  enforceReachedLimit(draft, process, { limit: 'timeoutMs', used, of: limits.timeoutMs ?? 0, scope: process, shouldWait: false })
}

function stopByTimeout(draft: DecisionDraft, process: Process): void {
  const { uuid, pid, life } = process
  if (life.state !== 'running' || !life.attached) return terminate(draft, process, TIMED_OUT_EXIT)
  const graceMs = Math.max(TIMEOUT_GRACE_MS, process.spec.graceMs ?? 0)
  draft.emit(uuid, {
    type: 'process.stopping',
    stopping: { signal: 'SIGTERM', by: 'system', at: draft.now.wall, graceMs, exit: TIMED_OUT_EXIT },
  })
  if (hasChildren(draft, process)) {
    draft.followUps.push({ type: 'stopWithChildren', uuid, signal: 'SIGTERM' })
    return
  }
  draft.addEffect({ type: 'driver.stop', uuid, pid, signal: 'SIGTERM', graceMs })
}

/** The minimum grace of a process whose time limit is reached. */
const TIMEOUT_GRACE_MS = 10_000
