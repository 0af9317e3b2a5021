// The fold computes the next state of a process from a fact. Only the fold makes new rows of the process table. The daemon and the readers
// of journals share it, so their results cannot differ. `FOLD` has a rule for every fact type but the first facts and those of crews.
// Test: test/properties/fold.test.ts.
import { addEarlierTime, stopClock } from './fold-clock.ts'
import {
  closeCall,
  countDaemonDeath,
  keepAskTimes,
  markAskedCalls,
  markUnbegunCalls,
  releaseReserve,
  reserveCall,
  withFirstTime,
} from './fold-progress.ts'
import { KernelError } from '../model/errors.ts'
import { INTERRUPTED_EXIT } from '../model/exit.ts'
import { isRecordedWithNote, isSameHold } from '../model/holds.ts'
import { withoutPendingRestart, addChild, dropChild, recordChildRestart, clearGroup, nextIncarnation } from './fold-supervision.ts'
import { newLife, transition } from './lifecycle.ts'
import { assistantText } from './assistant-text.ts'
import { chargeCall, addMeasurement, addUsage, type Usage } from '../model/usage.ts'
import { rangesAfterCompaction } from '../model/context.ts'
import { NO_SIGNALS, resetSignals, isNotice, isSignalMessage, rememberSignal, rememberEscalation } from '../model/signals.ts'
import { foldComposeFact } from '../compose/run-row.ts'
import { addTotals, totalUsage } from '../model/usage-totals.ts'
import { amountsText, isHomeBudget, reachedText } from './limits.ts'
import { idleActivity, applyCrewFact, isCrewFact, usageBeforeTurn, markWaiting } from './fold-crew.ts'
import type { CrewFactType } from '../model/crew/facts.ts'
import type { AssistantPart, Fact, FactBody, FactType, BodyOf } from '../model/facts.ts'
import type { ContextState } from '../model/context.ts'
import type { ExitStatus, Hold, Life, Process, Progress } from '../model/process.ts'
import { unbegunCalls } from './unbegun-calls.ts'
import { isAnswerDue, type PendingAsk } from '../model/asks.ts'
import { truncate } from '../util/truncate.ts'

type FactRule<T extends FactType> = (process: Process, body: BodyOf<T>, fact: Fact) => Process
type Running = Extract<Life, { state: 'running' }>

const unchanged = (process: Process): Process => process

/** For each type of fact, the process after the fact `f` with the body `b`; `p` is the process before it. */
const FOLD: { readonly [T in Exclude<FactType, 'process.spawned' | 'process.forked' | CrewFactType>]: FactRule<T> } = {
  'process.started': (p, b, f) => ({
    ...withoutPendingRestart(p),
    life: transition(p.life, { type: 'start', attached: b.attached }),
    ...meteringFields(b),
    ...endCompaction(p),
    ...withoutAsks(p),
    // Without a driver, the marks of calls that have not begun stay.
    progress: b.attached ? markAskedCalls(p.progress, []) : p.progress,
    containment: b.containment,
    clock: {
      ...p.clock,
      startedAt: b.attached ? f.at : null,
      elapsedMs: 0,
      since: b.mono,
      sinceAt: f.at,
      pausedAt: null,
      exitedAt: null,
      pausedMono: null,
    },
  }),
  'process.attached': (p, b, f) => ({
    ...changeRunning(p, { attached: true, drained: false, midway: false }),
    ...meteringFields(b),
    ...endCompaction(p),
    // The driver runs the open calls of the last incarnation. The asks of that incarnation are closed: the driver asks again where it must.
    progress: markAskedCalls(p.progress, []),
    containment: b.containment,
    clock: { ...p.clock, startedAt: p.clock.startedAt ?? f.at },
  }),
  'process.handle': (p, b) => ({ ...(b.sessionId === undefined ? p : withSession(p, b.sessionId)), handle: b.handle }),
  'process.ready': (p, b) => ({
    ...changeRunning(p, { activity: idleActivity(p) }),
    ...endCompaction(p),
    ...withoutAsks(p),
    ...(b.outcome === undefined ? {} : { queue: p.queue.filter(({ id }) => !isNotice(id)) }),
    progress: { ...p.progress, turnOpen: b.turn === p.progress.turn && b.outcome === undefined && p.progress.turnOpen },
  }),
  'process.working': (p, b) => ({
    ...changeRunning(p, { activity: 'working' }),
    progress: { ...p.progress, turn: b.turn, turnOpen: true, ...(b.turn > p.progress.turn ? usageBeforeTurn(p) : {}) },
    usage: b.turn > p.progress.turn ? { ...p.usage, turns: p.usage.turns + 1 } : p.usage,
  }),
  'process.waiting': (p, b) => ({
    ...(p.spec.crew ? markWaiting(p) : changeRunning(p, { activity: 'waiting' })),
    ...(b.ask ? withAsks(p, [...(p.asks ?? []), withFirstTime(p.progress, b.ask)]) : { note: b.question }),
  }),
  // An answer is stored with its ask if the process is held, or if the user may take it back for a time.
  'process.answered': (p, { id, option, text, by, delivery }) => {
    const answer = { option, text, by, ...(delivery ? { delivery } : {}) }
    return changeAsks(withoutSnooze(p), (ask) => (ask.id !== id ? [ask] : isHeld(p) || delivery ? [{ ...ask, answer }] : []))
  },
  'process.delivered': (p, { id }) => changeAsks(p, (ask) => (ask.id === id ? [] : [ask])),
  'process.unanswered': (p, { id }) => reopenAsk(p, id),
  'process.unasked': (p, b) => changeAsks(p, (ask) => (ask.id === b.id ? [] : [ask])),
  'process.stopping': (p, b) => changeRunning(b.stopping.wrapUp ? p : dropWrapUpMessage(p), { stopping: b.stopping }),
  'process.exited': (p, b, f) => ({
    ...markSettled(withoutWants(withoutLiveness(p)), b),
    // Unread signal messages and notices do not carry over to the next incarnation.
    queue: p.queue.filter(({ id }) => !isSignalMessage(id) && !isNotice(id)),
    ...withoutAsks(p),
    note: clearHoldNote(p, b.exit.code === 0 && p.life.state === 'running' ? p.life.holds : []).note,
    life: transition(p.life, { type: 'terminate', exit: b.exit }),
    clock: { ...stopClock(p.clock, b.mono), elapsedMs: b.elapsedMs ?? stopClock(p.clock, b.mono).elapsedMs, exitedAt: f.at },
    ...(b.holds ? { keeps: b.holds } : {}),
    progress: endProgress(p, b.exit),
  }),
  'process.reaped': (p, b) => ({ ...markSettled(p, b), life: transition(p.life, { type: 'reap' }), handle: null }),
  'process.reparented': (p, b) => ({ ...markSettled(p, b), parent: b.parent, ...(b.payer === undefined ? {} : { payer: b.payer }) }),
  'process.resumed': (p, b, f) => ({
    ...withoutResidentMemory(withoutMetering(nextIncarnation(b.rerun ? withoutSession(p) : p, b, f.seq))),
    pid: b.pid,
    life: newLife(),
    ...(b.endsTurn ? { progress: { ...p.progress, turnOpen: false } } : {}),
    ...(b.spec ? { spec: b.spec, specSeq: f.seq, ...(p.warned ? { warned: [] } : {}) } : {}),
    signals: resetSignals(p.signals),
    handle: null,
    note: null,
    // A resumed process has work again, so it is no longer retired.
    retiredAt: null,
    resumedFromStep: b.fromStep,
    clock: {
      ...p.clock,
      ...addEarlierTime(p.clock),
      startedAt: null,
      exitedAt: null,
      pausedAt: null,
      elapsedMs: 0,
      since: null,
      sinceAt: null,
      pausedMono: null,
    },
  }),
  'process.rehydrated': (p, b) => ({
    ...changeRunning(withoutResidentMemory(withoutMetering(withoutLiveness(p))), {
      activity: 'starting',
      attached: false,
      drained: true,
      midway: false,
    }),
    progress: keepAskTimes(mayHaveBegunCall(p) ? countDaemonDeath(p.progress) : markUnbegunCalls(p.progress, unbegunCalls(p)), p.asks),
    pid: b.pid,
    handle: null,
    containment: null,
    ...withoutAsks(p),
    signals: {
      ...p.signals,
      // A deadline by the clock of the last daemon means nothing to this one: such signals are due at once.
      pending: p.signals.pending.map((pending) => (pending.dueMono === null ? pending : { ...pending, dueMono: 0 })),
    },
    clock: { ...p.clock, since: null, sinceAt: null, pausedMono: null },
  }),
  'process.held': (p, b, f) => addHold(withoutLiveness(p), b.hold, b.mono, f.at),
  'process.released': (p, b, f) => releaseHolds(p, b.holds, b.mono, f.at),
  'process.drained': (p, b) => changeRunning(p, { drained: true, midway: b.inFlight !== null }),
  'process.frozen': (p, b) => changeRunning(p, { drained: true, midway: b.inFlight !== null }),
  'signal.sent': (p, { type: _, graceMs: _grace, ...sent }, f) => ({ ...p, signals: rememberSignal(p.signals, { ...sent, at: f.at }) }),
  'signal.escalated': (p, b) => ({ ...recordEscalation(p, b.afterMs), signals: rememberEscalation(p.signals, b.from, b.afterMs) }),
  'signal.pended': (p, b) => ({
    ...p,
    signals: { ...p.signals, pending: [...p.signals.pending.filter(({ signal }) => signal !== b.pending.signal), b.pending] },
  }),
  'signal.unpended': (p, b) => ({
    ...p,
    signals: { ...p.signals, pending: p.signals.pending.filter(({ signal }) => signal !== b.signal) },
  }),
  'signal.masked': (p, b) => ({ ...p, signals: { ...p.signals, mask: b.mask } }),
  'signal.handled': (p, b) => ({ ...p, signals: { ...p.signals, handlers: { ...p.signals.handlers, [b.signal]: b.handler } } }),
  'process.queue': (p, b, f) => ({
    ...p,
    queue: [...p.queue, { id: b.id, from: b.from, seq: f.seq, ...(b.urgent ? { urgent: true } : {}) }],
  }),
  'process.incoming': (p, b) => ({ ...p, queue: p.queue.filter(({ id }) => id !== b.id) }),
  'message.taken': (p, b) => ({ ...p, queue: p.queue.filter(({ id }) => id !== b.id) }),
  'process.pinned': (p, b) => ({ ...p, pinned: b.pinned }),
  'process.seen': (p, _, f) => ({ ...p, seenAt: f.at }),
  'process.snoozed': (p, { until }, f) => ({ ...withoutSnooze(p), ...(until === null ? {} : { snooze: { at: f.at, until } }) }),
  'process.described': (p, b, f) => ({ ...p, spec: b.spec, specSeq: f.seq }),
  'process.retired': (p, _, f) => ({ ...p, retiredAt: p.retiredAt ?? f.at }),
  'process.output': unchanged,
  'process.error': (p, b) => ({ ...p, note: shorten(b.message) }),
  'process.note': (p, b) => ({ ...p, note: shorten(b.text) }),
  'model.started': (p, b) => ({
    ...p,
    progress: reserveCall({ ...releaseReserve(p.progress), step: b.step, modelOpen: true, attempt: b.attempt }, b),
    usage: b.step > p.progress.step ? { ...p.usage, steps: p.usage.steps + 1 } : p.usage,
  }),
  'model.finished': (p, b) => ({
    // For a metered process, `call.finished` records whether the provider refuses the key or the account.
    ...(p.metered ? p : withoutRefusal(p)),
    progress: {
      ...releaseReserve(p.progress),
      modelOpen: false,
      attempt: 0,
      wholeStep: completesStep(b) ? b.step : p.progress.wholeStep,
      lastText: lastTextOf(b.message) ?? p.progress.lastText,
    },
    usage: chargeCall(p.usage, b.usage),
  }),
  'usage.reported': (p, b) => ({
    ...p,
    usage: { ...addUsage(p.usage, b.usage), ...(b.contextTokens === undefined ? {} : { contextTokens: b.contextTokens }) },
    ...(b.window === undefined ? {} : { context: { ...contextOf(p), window: b.window } }),
  }),
  'usage.measured': (p, { measured }) => ({ ...p, usage: addMeasurement(p.usage, measured) }),
  'model.failed': (p, b) => ({
    ...p,
    progress: { ...releaseReserve(p.progress), modelOpen: false },
    usage: b.usage ? chargeCall(p.usage, b.usage) : p.usage,
    ...(b.retryInMs === null && b.status !== null ? { refused: b.status } : {}),
  }),
  'tool.started': (p, b) => ({
    ...p,
    progress: { ...p.progress, openCalls: [...p.progress.openCalls, { callId: b.callId, name: b.name, effect: b.effect }] },
    usage: { ...p.usage, toolCalls: p.usage.toolCalls + 1 },
  }),
  'tool.finished': (p, b) => ({ ...p, progress: closeCall(p.progress, b.callId) }),
  'context.window': (p, { tokens, answer = 0 }) => ({
    ...p,
    context: { ...contextOf(p), window: tokens, ...(answer === (p.context?.answer ?? 0) ? {} : { answer }) },
  }),
  'compaction.started': (p, b) => ({
    ...p,
    context: { ...contextOf(p), compacting: true },
    progress: reserveCall(releaseReserve(p.progress), b),
  }),
  'compaction.failed': (p, b) => ({
    ...p,
    ...endCompaction(p),
    progress: releaseReserve(p.progress),
    note: shorten(`compaction failed: ${b.error}`),
    usage: b.usage ? addUsage(p.usage, b.usage) : p.usage,
  }),
  // The compaction clears the note, which may be about a full context.
  'context.compacted': (p, b, f) => ({
    ...p,
    note: null,
    progress: releaseReserve(p.progress),
    context: {
      ...contextOf(p),
      compactedStep: b.step,
      compacting: false,
      ranges: rangesAfterCompaction(
        b.ranges,
        p.queue.map(({ seq }) => seq),
        f.seq,
      ),
    },
    usage: { ...addUsage(p.usage, b.usage), contextTokens: b.after },
  }),
  'limit.warned': (p, b) => ({
    ...p,
    note: b.limit === 'context' ? `context: ${Math.floor((100 * b.used) / b.of)} % are used` : amountsText(b.limit, b.used, b.of),
    ...(b.limit === 'context' || isHomeBudget(b.limit) ? {} : { warned: [...(p.warned ?? []), b.limit] }),
  }),
  'limit.reached': (p, b) => ({
    ...p,
    note: reachedText({ ...b, whose: b.scope === p.uuid ? null : b.scope.slice(-8) }),
    ...(b.ask && b.action !== 'terminate' ? { wants: b.ask } : {}),
  }),
  'process.limited': (p, b, f) => ({ ...p, spec: b.spec, specSeq: f.seq, ...(p.warned ? { warned: [] } : {}) }),
  'call.started': (p, { call, model, reserve }) => ({ ...p, calls: [...(p.calls ?? []), { call, model, reserve }] }),
  'call.finished': (p, b) => ({
    ...(b.status !== null && (isRefusal(b.status) || b.account) ? { ...p, refused: b.status } : withoutRefusal(p)),
    calls: (p.calls ?? []).filter(({ call }) => call !== b.call),
    usage: { ...addUsage(p.usage, b.usage), ...(b.contextTokens === undefined ? {} : { contextTokens: b.contextTokens }) },
  }),
  'capability.refused': (p, b) => ({ ...p, note: shorten(`refused: ${b.detail}`) }),
  'mcp.servers': unchanged,
  'process.raw': unchanged,
  'checkpoint.written': (p, b, f) => ({ ...p, checkpoint: { step: b.step, seq: f.seq, at: f.at } }),
  'checkpoint.failed': (p, b) => ({ ...p, note: shorten(`checkpoint failed: ${b.error}`) }),
  'worktree.made': (p, { dir, branch, base }) => ({ ...p, files: { dir, branch, base, recordedStep: null, commit: null } }),
  'files.recorded': (p, { step, commit }) => (p.files ? { ...p, files: { ...p.files, recordedStep: step, commit } } : p),
  'files.failed': (p, b) => ({ ...p, note: shorten(`files of step ${b.step} not recorded: ${b.error}`) }),
  'child.spent': (p, { spent }) => ({ ...p, below: addTotals(p.below, spent) }),
  'message.sent': (p) => ({ ...p, usage: { ...p.usage, messagesSent: p.usage.messagesSent + 1 } }),
  'restart.due': (p, { startAt: at, dueMono }) => (p.restart ? { ...p, restart: { ...p.restart, at, dueMono } } : p),
  'supervisor.added': addChild,
  'supervisor.removed': dropChild,
  'supervisor.restarting': recordChildRestart,
  'supervisor.restarted': clearGroup,
  'supervisor.held': unchanged,
  'supervisor.escalated': unchanged,
  'compose.starting': foldComposeFact,
  'compose.started': foldComposeFact,
  'compose.retrying': foldComposeFact,
  'compose.completed': foldComposeFact,
  'compose.failed': foldComposeFact,
  'compose.blocked': foldComposeFact,
  'compose.cancelled': foldComposeFact,
  'compose.again': foldComposeFact,
  'compose.resumed': foldComposeFact,
  'compose.finished': foldComposeFact,
  'child.spawned': unchanged,
  'child.exited': unchanged,
  'child.suspended': unchanged,
  'child.resumed': unchanged,
  'liveness.changed': (p, { word, since, evidence }) =>
    word === 'alive' ? withoutLiveness(p) : { ...p, liveness: { word, since, evidence } },
  'liveness.looping': unchanged,
  'liveness.breaker': unchanged,
}

/** Facts that show no work of the agent. They do not change the time of its last activity. */
const PASSIVE_FACTS: ReadonlySet<FactType> = new Set<FactType>([
  'process.held',
  'process.released',
  'process.queue',
  'child.spent',
  'process.limited',
  'usage.measured',
  'signal.sent',
  'signal.pended',
  'signal.unpended',
  'signal.masked',
  'signal.handled',
  'signal.escalated',
  'process.drained',
  'process.frozen',
  'process.reparented',
  'checkpoint.written',
  'checkpoint.failed',
  'process.pinned',
  'process.seen',
  'process.snoozed',
  'process.described',
  'process.retired',
  'worktree.made',
  'files.recorded',
  'files.failed',
  'child.exited',
  'child.suspended',
  'child.resumed',
  'process.rehydrated',
  'liveness.changed',
  'liveness.looping',
  'liveness.breaker',
])

/** The process after a fact. Errors: INTERNAL for a fact that is out of order, or that the state of the process does not allow. */
export function fold(process: Process | undefined, fact: Fact): Process {
  const { body } = fact
  // A reader may have folded the origin's facts first; a fork's first fact replaces all that state.
  if (body.type === 'process.forked') return createForked(process, fact, body)
  if (fact.seq !== (process?.seq ?? 0) + 1)
    throw new KernelError('INTERNAL', `fact ${fact.seq} of ${fact.uuid} follows ${process?.seq ?? 0}`)
  if (body.type === 'process.spawned') {
    if (process) throw new KernelError('INTERNAL', `${fact.uuid} is spawned twice`)
    return createSpawned(fact, body)
  }
  if (!process) throw new KernelError('INTERNAL', `${fact.uuid} begins with ${body.type}`)
  const next = isCrewFact(body) ? applyCrewFact(process, fact, body) : ruleOf(body.type)(process, body, fact)
  const lastActivityAt = PASSIVE_FACTS.has(body.type) ? next.clock.lastActivityAt : fact.at
  const used = next.usage === process.usage ? {} : { usedAt: fact.at }
  return { ...next, seq: fact.seq, clock: { ...next.clock, updatedAt: fact.at, lastActivityAt, ...used } }
}

function ruleOf(type: keyof typeof FOLD): (process: Process, body: FactBody, fact: Fact) => Process {
  return FOLD[type] as (process: Process, body: FactBody, fact: Fact) => Process
}

/** The state after a fork's first fact: the work of its origin, with zero usage. */
function createForked(before: Process | undefined, fact: Fact, body: BodyOf<'process.forked'>): Process {
  const { origin, state } = body
  if (fact.seq !== origin.seq + 1 || (before && before.seq !== origin.seq))
    throw new KernelError('INTERNAL', `fact ${fact.seq} of ${fact.uuid} follows ${origin.seq} of its origin`)
  const { turn, turnOpen, lastText, queue, context, contextTokens, sessionId } = state
  const spawned = createSpawned(fact, body)
  return {
    ...spawned,
    progress: { ...spawned.progress, step: origin.step, wholeStep: origin.step, turn, turnOpen, lastText },
    usage: { ...NO_USAGE, contextTokens },
    queue,
    ...(context === null ? {} : { context }),
    ...(sessionId === null ? {} : { forkOf: sessionId }),
    originUuid: origin.uuid,
    originStep: origin.step,
    originSeq: origin.seq,
  }
}

/** Clears the liveness problem, because the process is alive, or does not run. */
function withoutLiveness(process: Process): Process {
  if (process.liveness === undefined) return process
  const { liveness: _, ...rest } = process
  return rest
}

/** Stores the reported session, which replaces the one that a fork had to branch from. */
function withSession(process: Process, sessionId: string): Process {
  return { ...withoutSession(process), sessionId }
}

function withoutSession({ forkOf: _, ...process }: Process): Process {
  return { ...process, sessionId: null }
}

function createSpawned(fact: Fact, body: Pick<BodyOf<'process.spawned'>, 'pid' | 'spec' | 'parentUuid' | 'depth'>): Process {
  return {
    uuid: fact.uuid,
    pid: body.pid,
    parent: body.parentUuid,
    parentUuid: body.parentUuid,
    depth: body.depth,
    spec: body.spec,
    specSeq: fact.seq,
    life: newLife(),
    signals: NO_SIGNALS,
    progress: { step: 0, modelOpen: false, attempt: 0, openCalls: [], wholeStep: 0, turn: 0, turnOpen: false, lastText: null },
    usage: NO_USAGE,
    queue: [],
    clock: {
      createdAt: fact.at,
      startedAt: null,
      pausedAt: null,
      exitedAt: null,
      updatedAt: fact.at,
      lastActivityAt: fact.at,
      elapsedMs: 0,
      since: null,
      sinceAt: null,
      pausedMono: null,
    },
    containment: null,
    handle: null,
    checkpoint: null,
    sessionId: null,
    note: null,
    originUuid: null,
    originStep: null,
    originSeq: null,
    resumedFromStep: null,
    retiredAt: null,
    pinned: false,
    seq: fact.seq,
  }
}

export const NO_USAGE: Usage = {
  steps: 0,
  turns: 0,
  messagesSent: 0,
  toolCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  contextTokens: 0,
  costUsd: 0,
  unpriced: false,
  estimated: false,
}

function changeRunning(process: Process, change: Partial<Omit<Running, 'state'>>): Process {
  if (process.life.state !== 'running') throw new KernelError('INTERNAL', `${process.uuid} is ${process.life.state}, not running`)
  return { ...process, life: { ...process.life, ...change } }
}

function addHold(process: Process, hold: Hold, mono: number, at: number): Process {
  if (process.life.state !== 'running') throw new KernelError('INTERNAL', `a hold on ${process.uuid}, which is ${process.life.state}`)
  const isFirst = process.life.holds.length === 0
  const next = changeRunning(process, { holds: [...process.life.holds, hold], ...(isFirst ? { drained: !process.life.attached } : {}) })
  return isFirst ? { ...next, clock: { ...stopClock(process.clock, mono), pausedAt: at, pausedMono: mono } } : next
}

function releaseHolds(before: Process, released: readonly Hold[], mono: number, at: number): Process {
  const process = clearHoldNote(released.some(({ reason }) => reason === 'budget') ? withoutWants(before) : before, released)
  if (process.life.state !== 'running') throw new KernelError('INTERNAL', `a release on ${process.uuid}, which is ${process.life.state}`)
  const holds = process.life.holds.filter((hold) => !released.some((other) => isSameHold(hold, other)))
  if (holds.length > 0) return changeRunning(process, { holds })
  // The driver gets the stored answers that are due, so their asks are closed.
  const withoutAnswered = process.asks ? changeAsks(process, (ask) => (isAnswerDue(ask, mono) ? [] : [ask])) : process
  return {
    ...changeRunning(withoutAnswered, { holds, drained: false, midway: false }),
    clock: { ...process.clock, pausedAt: null, pausedMono: null, since: mono, sinceAt: at },
  }
}

/** Clears the note if it was recorded with one of these holds, which have ended. */
function clearHoldNote(process: Process, ended: readonly Hold[]): Process {
  return ended.some(({ reason }) => isRecordedWithNote(reason)) ? { ...process, note: null } : process
}

function isHeld({ life }: Process): boolean {
  return life.state === 'running' && life.holds.length > 0
}

/** Drops the asks, because their agent no longer waits. A crew keeps its asks. */
function withoutAsks({ asks, spec }: Process): { readonly asks?: readonly PendingAsk[] } {
  return asks && asks.length > 0 && spec.crew === undefined ? { asks: [] } : {}
}

/** Drops the answer to an ask. The ask keeps its time, but counts as not seen and not put off. */
function reopenAsk(process: Process, id: string): Process {
  const asks = (process.asks ?? []).map((ask): PendingAsk => {
    if (ask.id !== id) return ask
    const { answer: _, ...open } = ask
    return open
  })
  const at = asks.find((ask) => ask.id === id)?.at
  const { seenAt, ...rest } = withoutSnooze(process)
  return {
    ...changeRunning(rest, { activity: 'waiting' }),
    ...withAsks(process, asks),
    ...(seenAt === undefined ? {} : { seenAt: at === undefined ? seenAt : Math.min(seenAt, at - 1) }),
  }
}

/** Changes the asks. An agent works again when no ask is open, and no stored answer waits for its delivery time. */
function changeAsks(process: Process, change: (ask: PendingAsk) => readonly PendingAsk[]): Process {
  const asks = (process.asks ?? []).flatMap(change)
  const isAnswered =
    process.life.state === 'running' &&
    process.life.activity === 'waiting' &&
    asks.every(({ answer }) => answer !== undefined && answer.delivery === undefined)
  return {
    ...process,
    ...(isAnswered ? changeRunning(process, { activity: process.spec.crew ? 'ready' : 'working' }) : {}),
    ...withAsks(process, asks),
  }
}

/** The asks, and the open calls that wait for their answers. */
function withAsks(
  { progress }: Process,
  asks: readonly PendingAsk[],
): Pick<Process, 'progress'> & { readonly asks: readonly PendingAsk[] } {
  return { asks, progress: markAskedCalls(progress, asks) }
}

function withoutSnooze(process: Process): Process {
  if (process.snooze === undefined) return process
  const { snooze: _, ...rest } = process
  return rest
}

/** Clears the recorded refusal of the provider. */
function withoutRefusal(process: Process): Process {
  if (process.refused === undefined) return process
  const { refused: _, ...rest } = process
  return rest
}

/** True for an HTTP status with which providers refuse a key or an account. */
function isRefusal(status: number): boolean {
  return status === 401 || status === 402 || status === 403
}

/** Clears the call that waited for room in a budget. */
function withoutWants(process: Process): Process {
  if (process.wants === undefined) return process
  const { wants: _, ...rest } = process
  return rest
}

/** Drops the current memory of a process whose programs have ended. */
function withoutResidentMemory(process: Process): Process {
  if (process.usage.rssBytes === undefined) return process
  const { rssBytes: _, ...usage } = process.usage
  return { ...process, usage }
}

/** Marks the usage of a process and its ended descendants as counted by its payer. */
function markSettled(process: Process, { settled: isSettled }: { readonly settled?: true }): Process {
  return isSettled ? { ...process, settled: totalUsage(process) } : process
}

function meteringFields({ metered, direct }: Pick<Process, 'metered' | 'direct'>): Pick<Process, 'metered' | 'direct'> {
  return { ...(metered ? { metered } : {}), ...(direct === undefined ? {} : { direct }) }
}

/** Clears how model calls are metered, because each start records it anew. Open gateway calls stay. */
function withoutMetering(process: Process): Process {
  if (process.metered === undefined && process.direct === undefined && process.calls === undefined) return process
  const { metered: _, direct: _direct, calls = [], ...rest } = process
  return calls.length === 0 ? rest : { ...rest, calls }
}

/** True for a message without tool calls, which completes its step. */
function completesStep({ message }: BodyOf<'model.finished'>): boolean {
  return !message.some((part) => part.type === 'tool-call')
}

/** The progress of a process that ends. The next incarnation and the user learn which of its open calls had not begun. */
function endProgress(process: Process, { reason, cause }: ExitStatus): Progress {
  const progress = markUnbegunCalls(process.progress, unbegunCalls(process))
  return reason === INTERRUPTED_EXIT.reason && cause === INTERRUPTED_EXIT.cause ? countDaemonDeath(progress) : progress
}

/** True when an open call may have begun. It has not in a drained process, which waits before its next call. */
function mayHaveBegunCall({ life }: Process): boolean {
  return life.state === 'running' && (!life.drained || life.midway)
}

function contextOf(process: Process): ContextState {
  return process.context ?? { window: null, ranges: null, compactedStep: null, compacting: false }
}

/** Ends an open compaction whose driver is gone. */
function endCompaction({ context }: Process): { readonly context?: ContextState } {
  return context?.compacting === true ? { context: { ...context, compacting: false } } : {}
}

/** Drops the wrap-up message: the process is being ended and has no time to read it. */
function dropWrapUpMessage(process: Process): Process {
  const { life, queue } = process
  const message = life.state === 'running' ? life.stopping?.wrapUp?.message : undefined
  return message === undefined ? process : { ...process, queue: queue.filter(({ id }) => id !== message) }
}

/** Adds the SIGKILL to the reason of the exit. The cause does not change. */
function recordEscalation(process: Process, afterMs: number): Process {
  const { life } = process
  if (life.state !== 'running' || !life.stopping) return process
  const { exit } = life.stopping
  const extended = exit.signal === undefined ? exit : { ...exit, reason: `${exit.reason}; SIGKILL after ${afterMs} ms` }
  return changeRunning(process, { stopping: { ...life.stopping, exit: extended, escalatedMs: afterMs } })
}

const MAX_NOTE_CHARS = 500

function shorten(text: string): string {
  return truncate(text, MAX_NOTE_CHARS, '…')
}

function lastTextOf(message: readonly AssistantPart[]): string | null {
  const text = assistantText(message)
  return text === '' ? null : shorten(text)
}
