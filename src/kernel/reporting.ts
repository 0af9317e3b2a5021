// What drivers report, and what it means: one row per report, exhaustive by type.
// Owns the steps: a model call is asked for here, so that holds, limits and stops are decided in one place.
// A report of an old incarnation or turn is answered `late` and changes nothing. Test: test/tables/reporting.test.ts.
import { KernelError } from './errors.ts'
import { failed, naturalExit } from './exit.ts'
import { compactionFailed, compactionStarted, contextCompacted, warnOfContext } from './compacting.ts'
import { unasked, waiting } from './asking.ts'
import { begun, callFinished, callStarted, counted, noteContext, warnOfCount } from './calls.ts'
import { isExternal, takesMessages } from './capabilities.ts'
import { keepsChildren } from './children.ts'
import { askForCall, spentMore } from './budgets.ts'
import { noRoomFor } from './limits.ts'
import { measured } from './measuring.ts'
import { deliverUrgent, freezeDrained, settle } from './pausing.ts'
import { holdByRate } from './rate-limits.ts'
import { reach } from './reaching.ts'
import { terminate } from './release.ts'
import { closeCall, closeModelCall } from './closing.ts'
import { isEnding, isSuspended } from './status.ts'
import type { InputOf } from './inputs.ts'
import type { ReplyValue } from './effects.ts'
import type { Ack, Permit, Report } from './reports.ts'
import type { Process } from './types.ts'
import type { Work } from './work.ts'

type ReportOf<T extends Report['type']> = Extract<Report, { type: T }>
type Row<T extends Report['type']> = (work: Work, process: Process, report: ReportOf<T>) => Ack | Permit

/** Whichever comes first makes a checkpoint due. */
export const CHECKPOINT_STEPS = 5
export const CHECKPOINT_MS = 30_000

const REPORTS: { readonly [T in Report['type']]: Row<T> } = {
  up,
  'model.started': modelStarted,
  'model.finished': modelFinished,
  'model.failed': modelFailed,
  'tool.finished': toolFinished,
  'compaction.started': compactionStarted,
  'compaction.failed': compactionFailed,
  'context.compacted': contextCompacted,
  'call.started': callStarted,
  'call.finished': callFinished,
  refused: (work, process, { what, detail, callId }) => said(work, process, { type: 'capability.refused', what, detail, ...(callId === undefined ? {} : { callId }) }),
  'mcp.servers': (work, process, { servers }) => said(work, process, { type: 'mcp.servers', servers }),
  'turn.ended': turnEnded,
  output: (work, process, { stream, text }) => said(work, process, { type: 'process.output', stream, text }),
  waiting,
  unasked,
  usage: usageReported,
  measured,
  session: (work, process, { sessionId }) => (sessionId === process.sessionId ? 'ok' : said(work, process, { type: 'process.handle', handle: process.handle, sessionId })),
  drained,
  frozen: (work, process, { inFlight }) => (isSuspended(process) ? said(work, process, { type: 'process.frozen', inFlight }) : 'ok'),
  escalated: (work, process, { from, afterMs }) => (mayEscalate(process) ? said(work, process, { type: 'signal.escalated', from, to: 'SIGKILL', afterMs }) : 'late'),
  note: (work, process, { text }) => said(work, process, { type: 'process.note', text }),
  'worktree.made': said,
  'files.recorded': said,
  'files.failed': said,
  exited: (work, process, report) => {
    terminate(work, process, naturalExit(report))
    return 'ok'
  },
}

export function report(work: Work, input: InputOf<'report'>): void {
  const process = work.get(input.uuid)
  const late = !process || process.pid !== input.pid || !isHeard(process, input.report)
  const row = REPORTS[input.report.type] as Row<Report['type']>
  const ack = late ? 'late' : row(work, process, input.report as never)
  work.effect({ type: 'reply', to: input.reply, value: typeof ack === 'string' ? { type: 'ack', ack } : answerOf(ack) })
}

/** Of one that has ended only what it has used still counts. */
function isHeard({ life }: Process, { type }: Report): boolean {
  return life.state === 'running' ? life.attached : life.state === 'zombie' && type === 'measured'
}

function answerOf(permit: Permit): ReplyValue {
  if (permit.ack === 'go') return { type: 'ack', ...permit }
  return { type: 'ack', ack: permit.ack, ...(permit.reason === null ? {} : { reason: permit.reason }) }
}

function said(work: Work, process: Process, body: Parameters<Work['emit']>[1]): Ack {
  work.emit(process.uuid, body)
  return 'ok'
}

/** What waits at the gateway is frozen there: its client would give up on the request, and goes on with it when it is thawed. */
function drained(work: Work, process: Process): Ack {
  if (!isPausing(process)) return 'ok'
  const { uuid, pid, metered } = process
  work.emit(uuid, { type: 'process.drained', inFlight: null })
  if (metered) work.effect({ type: 'driver.pause', uuid, pid, freeze: true })
  return 'ok'
}

/** Said once for each end. */
function mayEscalate({ life }: Process): boolean {
  return life.state === 'running' && life.stopping !== null && life.stopping.escalatedMs === undefined
}

function isPausing(process: Process): boolean {
  return process.life.state === 'running' && process.life.holds.length > 0 && !process.life.drained
}

function up(work: Work, process: Process, report: ReportOf<'up'>): Ack {
  const { uuid, life } = process
  if (life.state !== 'running' || life.activity !== 'starting') return 'late'
  if (report.handle || report.sessionId !== undefined) {
    work.emit(uuid, { type: 'process.handle', handle: report.handle ?? null, ...(report.sessionId === undefined ? {} : { sessionId: report.sessionId }) })
  }
  if (keepsChildren(process)) return familyUp(work, process)
  if (!takesMessages(process.spec)) return beginCommand(work, process)
  if (report.window !== undefined && report.window !== (process.context?.window ?? null)) {
    work.emit(uuid, { type: 'context.window', tokens: report.window })
    warnOfContext(work, process)
  }
  // A session that begins knows nothing of a turn that an earlier one left open.
  const lost = isExternal(process.spec) && process.progress.turnOpen && process.sessionId === null && process.forkOf === undefined
  work.emit(uuid, { type: 'process.ready', turn: process.progress.turn, ...(lost ? { outcome: 'interrupted' } : {}) })
  freezeDrained(work, work.need(uuid))
  settle(work, uuid)
  return 'ok'
}

function familyUp(work: Work, process: Process): Ack {
  work.emit(process.uuid, { type: 'process.ready', turn: 0 })
  work.news.push({ type: 'up', uuid: process.uuid })
  return 'ok'
}

/** It was told by its command line what to do. */
function beginCommand(work: Work, { uuid, progress, queue }: Process): Ack {
  const turn = progress.turn + 1
  const message = queue[0] ?? null
  if (message) work.emit(uuid, { type: 'process.incoming', id: message.id, from: message.from, turn, queuedAt: message.seq })
  work.emit(uuid, { type: 'process.working', turn, message: message?.id ?? null })
  return 'ok'
}

/** The only place where a model call may begin. */
function modelStarted(work: Work, process: Process, report: ReportOf<'model.started'>): Ack | Permit {
  if (isExternal(process.spec)) return modelObserved(work, process, report)
  const { life, progress } = process
  if (life.state !== 'running' || isEnding(process)) return 'stop'
  if (life.holds.length > 0) return 'held'
  const next = progress.wholeStep === progress.step ? progress.step + 1 : progress.step
  if (progress.modelOpen || progress.openCalls.length > 0 || report.step !== next) {
    throw new KernelError('INVALID', `step ${report.step} cannot begin: step ${progress.step} is open`)
  }
  if (process.context?.compacting === true) throw new KernelError('INVALID', `step ${report.step} cannot begin: the context is being compacted`)
  const permit = askForCall(work, process, { isNewStep: report.step > progress.step, ask: report.ask })
  if ('ack' in permit) return permit
  if (deliverUrgent(work, process)) return 'held'
  const { step, attempt, model } = report
  work.emit(process.uuid, { type: 'model.started', step, attempt, model, ...(permit.reserve ? { reserve: permit.reserve } : {}) })
  return begun(work, process, permit)
}

/** It has begun, whatever anybody wanted: what the agent left open before it is closed. */
function modelObserved(work: Work, process: Process, { step, attempt, model }: ReportOf<'model.started'>): Ack {
  const { uuid } = process
  closeModelCall(work, uuid)
  for (const call of process.progress.openCalls) closeCall(work, uuid, call)
  const { progress } = work.need(uuid)
  const next = progress.wholeStep === progress.step ? progress.step + 1 : progress.step
  if (step !== next) throw new KernelError('INVALID', `step ${step} cannot begin: the next one is ${next}`)
  const reached = step > progress.step ? noRoomFor(work, work.need(uuid), 'step', work.now.mono) : null
  if (reached && reach(work, work.need(uuid), reached) === 'stop') return 'stop'
  work.emit(uuid, { type: 'model.started', step, attempt, model })
  spentMore(work, uuid)
  return 'ok'
}

function modelFinished(work: Work, process: Process, report: ReportOf<'model.finished'>): Ack {
  const { uuid, progress } = process
  if (!progress.modelOpen || progress.step !== report.step) throw new KernelError('INVALID', `no model call of step ${report.step} is open`)
  const { step, message, usage, finish, durationMs } = report
  work.emit(uuid, { type: 'model.finished', step, message, usage: counted(process, usage), finish, durationMs })
  noteContext(work, process, usage)
  for (const call of report.calls) work.emit(uuid, { type: 'tool.started', step, ...call })
  warnOfCount(work, process, counted(process, usage))
  warnOfContext(work, process)
  checkpointIfDue(work, process)
  spentMore(work, uuid)
  return 'ok'
}

function usageReported(work: Work, process: Process, { usage, contextTokens, window }: ReportOf<'usage'>): Ack {
  const context = { ...(contextTokens === undefined ? {} : { contextTokens }), ...(window === undefined ? {} : { window }) }
  work.emit(process.uuid, { type: 'usage.reported', usage: counted(process, usage), ...context })
  warnOfCount(work, process, counted(process, usage))
  warnOfContext(work, process)
  spentMore(work, process.uuid)
  return 'ok'
}

function modelFailed(work: Work, process: Process, { resumeAt, ...report }: ReportOf<'model.failed'>): Ack {
  if (!process.progress.modelOpen || process.progress.step !== report.step) return 'late'
  work.emit(process.uuid, report.usage ? { ...report, usage: counted(process, report.usage) } : report)
  spentMore(work, process.uuid)
  return resumeAt === undefined ? 'ok' : holdByRate(work, work.need(process.uuid), resumeAt)
}

function toolFinished(work: Work, process: Process, report: ReportOf<'tool.finished'>): Ack {
  const { uuid, progress } = process
  const call = progress.openCalls.find((open) => open.callId === report.callId)
  if (!call) return 'late'
  const { callId, outcome, content, durationMs, images } = report
  work.emit(uuid, { type: 'tool.finished', step: progress.step, callId, name: call.name, outcome, content, durationMs, ...(images ? { images } : {}) })
  checkpointIfDue(work, process)
  return 'ok'
}

function checkpointIfDue(work: Work, before: Process): void {
  const after = work.need(before.uuid)
  if (after.progress.wholeStep === before.progress.wholeStep) return
  const { checkpoint, clock, progress } = after
  const since = work.now.wall - (checkpoint?.at ?? clock.startedAt ?? clock.createdAt)
  if (progress.wholeStep - (checkpoint?.step ?? 0) < CHECKPOINT_STEPS && since < CHECKPOINT_MS) return
  work.effect({ type: 'checkpoint', uuid: after.uuid, pid: after.pid })
}

function turnEnded(work: Work, process: Process, report: ReportOf<'turn.ended'>): Ack {
  const { uuid, progress, spec } = process
  if (!progress.turnOpen || progress.turn !== report.turn) return 'late'
  closeModelCall(work, uuid)
  for (const call of progress.openCalls) closeCall(work, uuid, call)
  if (report.outcome === 'error') work.emit(uuid, { type: 'process.error', message: report.error ?? 'the turn failed' })
  if (report.outcome === 'error' && report.resumeAt !== undefined) {
    // The turn is not over: it goes on when the limit is.
    work.emit(uuid, { type: 'process.ready', turn: progress.turn })
    return holdByRate(work, work.need(uuid), report.resumeAt)
  }
  if (report.outcome === 'error' && !spec.interactive && takesMessages(spec)) {
    terminate(work, work.need(uuid), { ...failed(report.error ?? 'the turn failed'), ...(process.refused === undefined ? {} : { status: process.refused }) })
    return 'ok'
  }
  const { turn, outcome, result, error } = report
  work.emit(uuid, { type: 'process.ready', turn, outcome, ...(result === undefined ? {} : { result }), ...(error === undefined ? {} : { error }) })
  freezeDrained(work, work.need(uuid))
  settle(work, uuid)
  return 'ok'
}
