// Handles the reports of drivers; `REPORTS` has a handler for every report. A native agent requests its model calls here; an external agent
// reports calls that have begun. A report of an old incarnation or turn is answered with `late` and changes nothing.
// Test: test/tables/kernel/decide/reports.test.ts.
import { KernelError } from '../model/errors.ts'
import { COMPLETED_EXIT, failedExit, naturalExit } from '../model/exit.ts'
import { recordFailedCompaction, grantCompaction, recordCompaction, warnOfNearlyFullContext } from './compaction.ts'
import { withdrawAsk, recordAsk } from './asks/asks.ts'
import { chargeGatewayCall, grantGatewayCall, uncountedUsage, recordContextSize, recordMeteringGaps } from './limits/gateway-calls.ts'
import { isExternal, takesMessages } from '../model/capabilities.ts'
import { supervisesChildren } from './children.ts'
import { beginGrantedCall, requestCall, enforceLimitsAfterUsage } from './limits/enforce-limits.ts'
import { findExhaustedLimit } from '../state/limits.ts'
import { recordMeasurement } from './limits/measurement.ts'
import { freezeDrained } from './holds/release-holds.ts'
import { deliverUrgent, isDone, startNextTurn } from './turns.ts'
import { holdForRateLimit } from './limits/rate-limits.ts'
import { enforceReachedLimit } from './limits/limit-reached.ts'
import { holdForAccount } from './limits/refused-keys.ts'
import { terminate } from './release.ts'
import { closeToolCall, closeModelCall } from './close-open-calls.ts'
import { isEnding, isSuspended } from '../model/status.ts'
import type { InputOf } from '../model/inputs.ts'
import type { ReplyValue } from '../model/effects.ts'
import type { Ack, CallGrant, Report, ReportOf } from '../model/reports.ts'
import type { Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'

type ReportHandler<T extends Report['type']> = (draft: DecisionDraft, process: Process, report: ReportOf<T>) => Ack | CallGrant

/** A checkpoint is due after this many steps. */
export const CHECKPOINT_STEPS = 5
/** A checkpoint is due after the first step that ends this many ms after the last checkpoint. */
export const CHECKPOINT_MS = 30_000

const REPORTS: { readonly [T in Report['type']]: ReportHandler<T> } = {
  up: handleUp,
  'model.started': handleModelStarted,
  'model.finished': handleModelFinished,
  'model.failed': handleModelFailed,
  'tool.finished': handleToolFinished,
  'compaction.started': grantCompaction,
  'compaction.failed': recordFailedCompaction,
  'context.compacted': recordCompaction,
  'call.started': grantGatewayCall,
  'call.finished': chargeGatewayCall,
  refused: (draft, process, { what, detail, callId }) =>
    recordFact(draft, process, { type: 'capability.refused', what, detail, ...(callId === undefined ? {} : { callId }) }),
  'mcp.servers': (draft, process, { servers }) => recordFact(draft, process, { type: 'mcp.servers', servers }),
  'turn.ended': handleTurnEnd,
  output: (draft, process, { stream, text }) => (text === '' ? 'ok' : recordFact(draft, process, { type: 'process.output', stream, text })),
  raw: (draft, process, { raw, left }) => recordFact(draft, process, { type: 'process.raw', raw, ...(left === undefined ? {} : { left }) }),
  waiting: recordAsk,
  unasked: withdrawAsk,
  usage: handleUsage,
  measured: recordMeasurement,
  session: (draft, process, { sessionId }) =>
    sessionId === process.sessionId ? 'ok' : recordFact(draft, process, { type: 'process.handle', handle: process.handle, sessionId }),
  drained: handleDrained,
  frozen: (draft, process, { inFlight }) =>
    isSuspended(process) ? recordFact(draft, process, { type: 'process.frozen', inFlight }) : 'ok',
  escalated: (draft, process, { from, afterMs }) =>
    mayEscalate(process) ? recordFact(draft, process, { type: 'signal.escalated', from, to: 'SIGKILL', afterMs }) : 'late',
  note: (draft, process, { text }) => recordFact(draft, process, { type: 'process.note', text }),
  'worktree.made': recordFact,
  'files.recorded': recordFact,
  'files.failed': recordFact,
  exited: (draft, process, report) => {
    terminate(draft, process, naturalExit(report))
    return 'ok'
  },
}

/** Applies a report, and answers it. Errors: INVALID for a report out of order. */
export function applyReport(draft: DecisionDraft, input: InputOf<'report'>): void {
  const process = draft.get(input.uuid)
  const isLate = !process || process.pid !== input.pid || !isAccepted(process, input.report)
  const handler = REPORTS[input.report.type] as ReportHandler<Report['type']>
  const ack = isLate ? 'late' : handler(draft, process, input.report)
  draft.addEffect({ type: 'reply', to: input.reply, value: typeof ack === 'string' ? { type: 'ack', ack } : replyOf(ack) })
}

/** True for a process with a driver. After its exit only resource measurements are accepted. */
function isAccepted({ life }: Process, { type }: Report): boolean {
  return life.state === 'running' ? life.attached : life.state === 'zombie' && type === 'measured'
}

function replyOf(grant: CallGrant): ReplyValue {
  if (grant.ack === 'go') return { type: 'ack', ...grant }
  return { type: 'ack', ack: grant.ack, ...(grant.reason === null ? {} : { reason: grant.reason }) }
}

function recordFact(draft: DecisionDraft, process: Process, body: Parameters<DecisionDraft['emit']>[1]): Ack {
  draft.emit(process.uuid, body)
  return 'ok'
}

/** Records that the agent has reached a boundary. A metered agent is frozen, because it would give up a call that waits at the gateway. */
function handleDrained(draft: DecisionDraft, process: Process): Ack {
  if (!isDraining(process)) return 'ok'
  const { uuid, pid, metered } = process
  draft.emit(uuid, { type: 'process.drained', inFlight: null })
  if (metered) draft.addEffect({ type: 'driver.pause', uuid, pid, freeze: true })
  return 'ok'
}

/** True for a stop that has not escalated yet. */
function mayEscalate({ life }: Process): boolean {
  return life.state === 'running' && life.stopping !== null && life.stopping.escalatedMs === undefined
}

function isDraining(process: Process): boolean {
  return process.life.state === 'running' && process.life.holds.length > 0 && !process.life.drained
}

function handleUp(draft: DecisionDraft, process: Process, report: ReportOf<'up'>): Ack {
  const { uuid, life } = process
  if (life.state !== 'running' || life.activity !== 'starting') return 'late'
  if (report.handle || report.sessionId !== undefined) {
    draft.emit(uuid, {
      type: 'process.handle',
      handle: report.handle ?? null,
      ...(report.sessionId === undefined ? {} : { sessionId: report.sessionId }),
    })
  }
  if (supervisesChildren(process)) return handleSupervisorUp(draft, process)
  if (!takesMessages(process.spec)) return beginCommand(draft, process)
  const { window = null, answer = 0 } = process.context ?? {}
  if (report.window !== undefined && (report.window !== window || (report.answer ?? 0) !== answer)) {
    draft.emit(uuid, { type: 'context.window', tokens: report.window, ...(report.answer ? { answer: report.answer } : {}) })
    warnOfNearlyFullContext(draft, process)
  }
  // A new session knows nothing of the open turn of an earlier session.
  const isTurnLost = isExternal(process.spec) && process.progress.turnOpen && process.sessionId === null && process.forkOf === undefined
  draft.emit(uuid, { type: 'process.ready', turn: process.progress.turn, ...(isTurnLost ? { outcome: 'interrupted' } : {}) })
  freezeDrained(draft, draft.mustGet(uuid))
  startNextTurn(draft, uuid)
  return 'ok'
}

function handleSupervisorUp(draft: DecisionDraft, process: Process): Ack {
  draft.emit(process.uuid, { type: 'process.ready', turn: 0 })
  draft.followUps.push({ type: 'supervisorReady', uuid: process.uuid })
  return 'ok'
}

/** Begins the turn of a command that takes no messages: the command line has its intent, and a queued message if there is one. */
function beginCommand(draft: DecisionDraft, { uuid, progress, queue }: Process): Ack {
  const turn = progress.turn + 1
  const message = queue[0] ?? null
  if (message) draft.emit(uuid, { type: 'process.incoming', id: message.id, from: message.from, turn, queuedAt: message.seq })
  draft.emit(uuid, { type: 'process.working', turn, message: message?.id ?? null })
  return 'ok'
}

/** Grants or refuses a model call of a native agent, which begins only here. Errors: INVALID for a wrong step. */
function handleModelStarted(draft: DecisionDraft, process: Process, report: ReportOf<'model.started'>): Ack | CallGrant {
  if (isExternal(process.spec)) return recordModelCall(draft, process, report)
  const { life, progress } = process
  if (life.state !== 'running' || isEnding(process)) return 'stop'
  if (life.holds.length > 0) return 'held'
  const next = progress.wholeStep === progress.step ? progress.step + 1 : progress.step
  if (progress.modelOpen || progress.openCalls.length > 0 || report.step !== next) {
    throw new KernelError('INVALID', `step ${report.step} cannot begin: step ${progress.step} is open`)
  }
  if (process.context?.compacting === true)
    throw new KernelError('INVALID', `step ${report.step} cannot begin: the context is being compacted`)
  const grant = requestCall(draft, process, { isNewStep: report.step > progress.step, estimate: report.ask })
  if ('ack' in grant) return grant
  if (deliverUrgent(draft, process)) return 'held'
  const { step, attempt, model } = report
  draft.emit(process.uuid, { type: 'model.started', step, attempt, model, ...(grant.reserve ? { reserve: grant.reserve } : {}) })
  return beginGrantedCall(draft, process, grant)
}

/** Records a model call that an external agent has already begun, and closes the calls that it left open before. */
function recordModelCall(draft: DecisionDraft, process: Process, { step, attempt, model }: ReportOf<'model.started'>): Ack {
  const { uuid } = process
  closeModelCall(draft, uuid)
  for (const call of process.progress.openCalls) closeToolCall(draft, uuid, call)
  const { progress } = draft.mustGet(uuid)
  const next = progress.wholeStep === progress.step ? progress.step + 1 : progress.step
  if (step !== next) throw new KernelError('INVALID', `step ${step} cannot begin: the next one is ${next}`)
  const reached = step > progress.step ? findExhaustedLimit(draft, draft.mustGet(uuid), 'step', draft.now.mono) : null
  if (reached && enforceReachedLimit(draft, draft.mustGet(uuid), reached) === 'stop') return 'stop'
  draft.emit(uuid, { type: 'model.started', step, attempt, model })
  enforceLimitsAfterUsage(draft, uuid)
  return 'ok'
}

/** Records the end of a model call, and opens the tool calls that it requested. */
function handleModelFinished(draft: DecisionDraft, process: Process, report: ReportOf<'model.finished'>): Ack {
  const { uuid, progress } = process
  if (!progress.modelOpen || progress.step !== report.step) throw new KernelError('INVALID', `no model call of step ${report.step} is open`)
  const { type, step, message, usage, finish, durationMs, firstTokenMs } = report
  const firstToken = firstTokenMs === undefined ? {} : { firstTokenMs }
  draft.emit(uuid, { type, step, message, usage: uncountedUsage(process, usage), finish, durationMs, ...firstToken })
  recordContextSize(draft, process, usage)
  for (const call of report.calls) draft.emit(uuid, { type: 'tool.started', step, ...call })
  recordMeteringGaps(draft, process, uncountedUsage(process, usage))
  warnOfNearlyFullContext(draft, process)
  checkpointIfDue(draft, process)
  enforceLimitsAfterUsage(draft, uuid)
  return 'ok'
}

function handleUsage(draft: DecisionDraft, process: Process, { usage, contextTokens, window }: ReportOf<'usage'>): Ack {
  const context = { ...(contextTokens === undefined ? {} : { contextTokens }), ...(window === undefined ? {} : { window }) }
  draft.emit(process.uuid, { type: 'usage.reported', usage: uncountedUsage(process, usage), ...context })
  recordMeteringGaps(draft, process, uncountedUsage(process, usage))
  warnOfNearlyFullContext(draft, process)
  enforceLimitsAfterUsage(draft, process.uuid)
  return 'ok'
}

function handleModelFailed(draft: DecisionDraft, process: Process, { resumeAt, account, ...report }: ReportOf<'model.failed'>): Ack {
  if (!process.progress.modelOpen || process.progress.step !== report.step) return 'late'
  draft.emit(process.uuid, report.usage ? { ...report, usage: uncountedUsage(process, report.usage) } : report)
  enforceLimitsAfterUsage(draft, process.uuid)
  if (account) return holdForAccount(draft, draft.mustGet(process.uuid), report.error)
  return resumeAt === undefined ? 'ok' : holdForRateLimit(draft, draft.mustGet(process.uuid), resumeAt)
}

function handleToolFinished(draft: DecisionDraft, process: Process, report: ReportOf<'tool.finished'>): Ack {
  const { uuid, progress } = process
  const call = progress.openCalls.find((open) => open.callId === report.callId)
  if (!call) return 'late'
  draft.emit(uuid, { ...report, step: progress.step, name: call.name })
  checkpointIfDue(draft, process)
  return 'ok'
}

/** Requests a checkpoint if a step has ended and one is due. */
function checkpointIfDue(draft: DecisionDraft, before: Process): void {
  const after = draft.mustGet(before.uuid)
  if (after.progress.wholeStep === before.progress.wholeStep) return
  const { checkpoint, clock, progress } = after
  const since = draft.now.wall - (checkpoint?.at ?? clock.startedAt ?? clock.createdAt)
  if (progress.wholeStep - (checkpoint?.step ?? 0) < CHECKPOINT_STEPS && since < CHECKPOINT_MS) return
  draft.addEffect({ type: 'checkpoint', uuid: after.uuid, pid: after.pid })
}

/** Ends the turn, or keeps it open for a rate limit or a refused key. A failed turn ends a process that is not interactive. */
function handleTurnEnd(draft: DecisionDraft, process: Process, report: ReportOf<'turn.ended'>): Ack {
  const { uuid, progress, spec } = process
  if (!progress.turnOpen || progress.turn !== report.turn) return 'late'
  closeModelCall(draft, uuid)
  for (const call of progress.openCalls) closeToolCall(draft, uuid, call)
  const isRefused =
    report.outcome === 'error' &&
    report.resumeAt === undefined &&
    isExternal(spec) &&
    takesMessages(spec) &&
    (report.account || (process.metered && process.refused !== undefined))
  // For a refused key, the hold's note has the error.
  if (report.outcome === 'error' && !isRefused) draft.emit(uuid, { type: 'process.error', message: report.error ?? 'the turn failed' })
  if (report.outcome === 'error' && report.resumeAt !== undefined) {
    // The turn stays open, and continues after the rate limit.
    draft.emit(uuid, { type: 'process.ready', turn: progress.turn })
    return holdForRateLimit(draft, draft.mustGet(uuid), report.resumeAt)
  }
  if (isRefused) {
    // The turn stays open, and continues with a valid key.
    draft.emit(uuid, { type: 'process.ready', turn: progress.turn })
    return holdForAccount(draft, draft.mustGet(uuid), report.error ?? 'the turn failed')
  }
  if (report.outcome === 'error' && !spec.interactive && takesMessages(spec)) {
    terminate(draft, draft.mustGet(uuid), {
      ...failedExit(report.error ?? 'the turn failed'),
      ...(process.refused === undefined ? {} : { status: process.refused }),
    })
    return 'ok'
  }
  const { turn, outcome, result, error } = report
  const after = draft.emit(uuid, {
    type: 'process.ready',
    turn,
    outcome,
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
  })
  if (outcome === 'ok' && isSuspended(after) && isDone(after)) {
    terminate(draft, after, COMPLETED_EXIT)
    return 'ok'
  }
  freezeDrained(draft, after)
  startNextTurn(draft, uuid)
  return 'ok'
}
