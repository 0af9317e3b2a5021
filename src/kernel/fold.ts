// The fold: a process and a fact make the next process. The only place that makes a new value of a process,
// for the running daemon and for the journal's reader alike, so that the two can never differ.
// One row per fact type, exhaustive by type. Test: test/properties/fold.test.ts.
import { earlier, stopClock } from './fold-clock.ts'
import { KernelError } from './errors.ts'
import { sameHold } from './holds.ts'
import { answered, began, childAdded, childRemoved, childRestarting, groupRestarted, reborn } from './fold-supervision.ts'
import { incarnate, transition } from './lifecycle.ts'
import { textOf } from './message.ts'
import { charge, measure, spend, withoutPrograms } from './usage.ts'
import { rangesAfter } from './ranges.ts'
import { NO_SIGNALS, forgotten, isOfSignal, remember, rememberEscalation } from './signals.ts'
import { composed } from './runs.ts'
import { addSpent, spentBy } from './spent.ts'
import { figures, reachedWords } from './limits.ts'
import { atRest, crewAfter, isCrewFact, turnBase, whileAsking } from './fold-crew.ts'
import type { CrewFactType } from '../crew/facts.ts'
import type { AssistantPart, Fact, FactBody, FactType } from './facts.ts'
import type { ContextState } from './ranges.ts'
import type { PendingAsk } from './asking.ts'
import type { CallAsk, Hold, Life, Process, Progress, Usage } from './types.ts'

type BodyOf<T extends FactType> = Extract<FactBody, { type: T }>
type Row<T extends FactType> = (process: Process, body: BodyOf<T>, fact: Fact) => Process
type Running = Extract<Life, { state: 'running' }>

const same = (process: Process): Process => process

const FOLD: { readonly [T in Exclude<FactType, 'process.spawned' | 'process.forked' | CrewFactType>]: Row<T> } = {
  'process.started': (p, b, f) => ({
    ...began(p),
    life: transition(p.life, { type: 'start', attached: b.attached }),
    ...meteredAs(b),
    ...notCompacting(p),
    ...notAsking(p),
    containment: b.containment,
    clock: { ...p.clock, startedAt: b.attached ? f.at : null, elapsedMs: 0, since: b.mono, sinceAt: f.at, pausedAt: null, exitedAt: null, pausedMono: null },
  }),
  'process.attached': (p, b, f) => ({
    ...running(p, { attached: true, drained: false, midway: false }),
    ...meteredAs(b),
    ...notCompacting(p),
    containment: b.containment,
    clock: { ...p.clock, startedAt: p.clock.startedAt ?? f.at },
  }),
  'process.handle': (p, b) => ({ ...(b.sessionId === undefined ? p : inSession(p, b.sessionId)), handle: b.handle }),
  'process.ready': (p, b) => ({
    ...running(p, { activity: atRest(p) }),
    ...notCompacting(p),
    ...notAsking(p),
    progress: { ...p.progress, turnOpen: b.turn === p.progress.turn && b.outcome === undefined && p.progress.turnOpen },
  }),
  'process.working': (p, b) => ({
    ...running(p, { activity: 'working' }),
    progress: { ...p.progress, turn: b.turn, turnOpen: true, ...(b.turn > p.progress.turn ? turnBase(p) : {}) },
    usage: b.turn > p.progress.turn ? { ...p.usage, turns: p.usage.turns + 1 } : p.usage,
  }),
  'process.waiting': (p, b) => ({
    ...(p.spec.crew ? whileAsking(p) : running(p, { activity: 'waiting' })),
    ...(b.ask ? { asks: [...(p.asks ?? []), b.ask] } : { note: b.question }),
  }),
  // Nobody is told before a pause is over: until then the answer stands with its ask.
  'process.answered': (p, { id, option, text, by }) => asked(p, (ask) => (ask.id !== id ? [ask] : isHeld(p) ? [{ ...ask, answer: { option, text, by } }] : [])),
  'process.unasked': (p, b) => asked(p, (ask) => (ask.id === b.id ? [] : [ask])),
  'process.stopping': (p, b) => running(b.stopping.wrapUp ? p : untold(p), { stopping: b.stopping }),
  'process.exited': (p, b, f) => ({
    ...settled(unwanted(unjudged(p)), b),
    // What it has not read of its signals it does not find in another life.
    queue: p.queue.filter(({ id }) => !isOfSignal(id)),
    ...notAsking(p),
    life: transition(p.life, { type: 'terminate', exit: b.exit }),
    clock: { ...stopClock(p.clock, b.mono), elapsedMs: b.elapsedMs ?? stopClock(p.clock, b.mono).elapsedMs, exitedAt: f.at },
    ...(b.holds ? { keeps: b.holds } : {}),
  }),
  'process.reaped': (p, b) => ({ ...settled(p, b), life: transition(p.life, { type: 'reap' }), handle: null }),
  'process.reparented': (p, b) => ({ ...settled(p, b), parent: b.parent, ...(b.payer === undefined ? {} : { payer: b.payer }) }),
  'process.resumed': (p, b, f) => ({
    ...withoutPrograms(unmetered(reborn(b.rerun ? withoutSession(p) : p, b, f.seq))),
    pid: b.pid,
    life: incarnate(),
    ...(b.spec ? { spec: b.spec, specSeq: f.seq, ...(p.warned ? { warned: [] } : {}) } : {}),
    signals: forgotten(p.signals),
    handle: null,
    note: null,
    // Who is let go and comes back all the same has work again.
    retiredAt: null,
    resumedFromStep: b.fromStep,
    clock: { ...p.clock, ...earlier(p.clock), startedAt: null, exitedAt: null, pausedAt: null, elapsedMs: 0, since: null, sinceAt: null, pausedMono: null },
  }),
  'process.rehydrated': (p, b) => ({
    ...running(withoutPrograms(unmetered(unjudged(p))), { activity: 'starting', attached: false, drained: true, midway: false }),
    pid: b.pid,
    handle: null,
    containment: null,
    ...notAsking(p),
    signals: { ...p.signals, pending: p.signals.pending.map((x) => (x.dueMono === null ? x : { ...x, dueMono: 0 })) },
    clock: { ...p.clock, since: null, sinceAt: null, pausedMono: null },
  }),
  'process.held': (p, b, f) => held(unjudged(p), b.hold, b.mono, f.at),
  'process.released': (p, b, f) => released(p, b.holds, b.mono, f.at),
  'process.drained': (p, b) => running(p, { drained: true, midway: b.inFlight !== null }),
  'process.frozen': (p, b) => running(p, { drained: true, midway: b.inFlight !== null }),
  'signal.sent': (p, { type: _, graceMs: _grace, ...sent }, f) => ({ ...p, signals: remember(p.signals, { ...sent, at: f.at }) }),
  'signal.escalated': (p, b) => ({ ...escalated(p, b.afterMs), signals: rememberEscalation(p.signals, b.from, b.afterMs) }),
  'signal.pended': (p, b) => ({ ...p, signals: { ...p.signals, pending: [...p.signals.pending.filter((x) => x.signal !== b.pending.signal), b.pending] } }),
  'signal.unpended': (p, b) => ({ ...p, signals: { ...p.signals, pending: p.signals.pending.filter((x) => x.signal !== b.signal) } }),
  'signal.masked': (p, b) => ({ ...p, signals: { ...p.signals, mask: b.mask } }),
  'signal.handled': (p, b) => ({ ...p, signals: { ...p.signals, handlers: { ...p.signals.handlers, [b.signal]: b.handler } } }),
  'process.queue': (p, b, f) => ({ ...p, queue: [...p.queue, { id: b.id, from: b.from, seq: f.seq, ...(b.urgent ? { urgent: true } : {}) }] }),
  'process.incoming': (p, b) => ({ ...p, queue: p.queue.filter((m) => m.id !== b.id) }),
  'message.taken': (p, b) => ({ ...p, queue: p.queue.filter((m) => m.id !== b.id) }),
  'process.pinned': (p, b) => ({ ...p, pinned: b.pinned }),
  'process.retired': (p, _, f) => ({ ...p, retiredAt: p.retiredAt ?? f.at }),
  'process.output': same,
  'process.error': (p, b) => ({ ...p, note: brief(b.message) }),
  'process.note': (p, b) => ({ ...p, note: brief(b.text) }),
  'model.started': (p, b) => ({
    ...p,
    progress: reserved({ ...unreserved(p.progress), step: b.step, modelOpen: true, attempt: b.attempt }, b),
    usage: b.step > p.progress.step ? { ...p.usage, steps: p.usage.steps + 1 } : p.usage,
  }),
  'model.finished': (p, b) => ({
    ...answered(p),
    progress: { ...unreserved(p.progress), modelOpen: false, attempt: 0, wholeStep: isWhole(b) ? b.step : p.progress.wholeStep, lastText: lastText(b.message) ?? p.progress.lastText },
    usage: charge(p.usage, b.usage),
  }),
  'usage.reported': (p, b) => ({
    ...p,
    usage: { ...spend(p.usage, b.usage), ...(b.contextTokens === undefined ? {} : { contextTokens: b.contextTokens }) },
    ...(b.window === undefined ? {} : { context: { ...contextOf(p), window: b.window } }),
  }),
  'usage.measured': (p, { measured }) => ({ ...p, usage: measure(p.usage, measured) }),
  'model.failed': (p, b) => ({ ...p, progress: { ...unreserved(p.progress), modelOpen: false }, usage: b.usage ? charge(p.usage, b.usage) : p.usage, ...(b.retryInMs === null && b.status !== null ? { refused: b.status } : {}) }),
  'tool.started': (p, b) => ({
    ...p,
    progress: { ...p.progress, openCalls: [...p.progress.openCalls, { callId: b.callId, name: b.name, effect: b.effect }] },
    usage: { ...p.usage, toolCalls: p.usage.toolCalls + 1 },
  }),
  'tool.finished': (p, b) => ({ ...p, progress: closeCall(p.progress, b.callId) }),
  'context.window': (p, b) => ({ ...p, context: { ...contextOf(p), window: b.tokens } }),
  'compaction.started': (p, b) => ({ ...p, context: { ...contextOf(p), compacting: true }, progress: reserved(unreserved(p.progress), b) }),
  'compaction.failed': (p, b) => ({ ...p, ...notCompacting(p), progress: unreserved(p.progress), note: brief(`compaction failed: ${b.error}`), usage: b.usage ? spend(p.usage, b.usage) : p.usage }),
  // What was said of a full context is no longer so.
  'context.compacted': (p, b, f) => ({
    ...p,
    note: null,
    progress: unreserved(p.progress),
    context: { ...contextOf(p), compactedStep: b.step, compacting: false, ranges: rangesAfter(b.ranges, p.queue.map(({ seq }) => seq), f.seq) },
    usage: { ...spend(p.usage, b.usage), contextTokens: b.after },
  }),
  'limit.warned': (p, b) => ({ ...p, note: b.limit === 'context' ? `context: ${Math.floor((100 * b.used) / b.of)} % are used` : figures(b.limit, b.used, b.of), ...(b.limit === 'context' ? {} : { warned: [...(p.warned ?? []), b.limit] }) }),
  'limit.reached': (p, b) => ({ ...p, note: reachedWords({ ...b, whose: b.scope === p.uuid ? null : b.scope.slice(-8) }), ...(b.ask && b.action !== 'terminate' ? { wants: b.ask } : {}) }),
  'process.limited': (p, b, f) => ({ ...p, spec: b.spec, specSeq: f.seq, ...(p.warned ? { warned: [] } : {}) }),
  'call.started': (p, { call, model, reserve }) => ({ ...p, calls: [...(p.calls ?? []), { call, model, reserve }] }),
  'call.finished': (p, b) => ({ ...p, calls: (p.calls ?? []).filter(({ call }) => call !== b.call), usage: { ...spend(p.usage, b.usage), ...(b.contextTokens === undefined ? {} : { contextTokens: b.contextTokens }) } }),
  'capability.refused': (p, b) => ({ ...p, note: brief(`refused: ${b.detail}`) }),
  'mcp.servers': same,
  'checkpoint.written': (p, b, f) => ({ ...p, checkpoint: { step: b.step, seq: f.seq, at: f.at } }),
  'checkpoint.failed': (p, b) => ({ ...p, note: brief(`checkpoint failed: ${b.error}`) }),
  'worktree.made': (p, { dir, branch, base }) => ({ ...p, files: { dir, branch, base, recordedStep: null, commit: null } }),
  'files.recorded': (p, { step, commit }) => (p.files ? { ...p, files: { ...p.files, recordedStep: step, commit } } : p),
  'files.failed': (p, b) => ({ ...p, note: brief(`files of step ${b.step} not recorded: ${b.error}`) }),
  'child.spent': (p, { spent }) => ({ ...p, below: addSpent(p.below, spent) }),
  'message.sent': (p) => ({ ...p, usage: { ...p.usage, messagesSent: p.usage.messagesSent + 1 } }),
  'restart.due': (p, { startAt: at, dueMono }) => (p.restart ? { ...p, restart: { ...p.restart, at, dueMono } } : p),
  'supervisor.added': childAdded,
  'supervisor.removed': childRemoved,
  'supervisor.restarting': childRestarting,
  'supervisor.restarted': groupRestarted,
  'supervisor.held': same,
  'supervisor.escalated': same,
  'compose.starting': composed,
  'compose.started': composed,
  'compose.retrying': composed,
  'compose.completed': composed,
  'compose.failed': composed,
  'compose.blocked': composed,
  'compose.cancelled': composed,
  'compose.again': composed,
  'compose.resumed': composed,
  'compose.finished': composed,
  'child.spawned': same,
  'child.exited': same,
  'child.suspended': same,
  'child.resumed': same,
  'liveness.changed': (p, { word, since, evidence }) => (word === 'alive' ? unjudged(p) : { ...p, liveness: { word, since, evidence } }),
  'liveness.looping': same,
  'liveness.breaker': same,
}

/** Facts that are not the agent's own doing do not count as its activity. */
const PASSIVE: ReadonlySet<FactType> = new Set<FactType>([
  'process.held', 'process.released', 'process.queue', 'child.spent', 'process.limited', 'usage.measured', 'signal.sent', 'signal.pended', 'signal.escalated', 'process.reparented', 'checkpoint.written',
  'checkpoint.failed', 'process.pinned', 'process.retired', 'worktree.made', 'files.recorded', 'files.failed', 'child.exited', 'child.suspended', 'child.resumed', 'process.rehydrated',
  'liveness.changed', 'liveness.looping', 'liveness.breaker',
])

/** The process after a fact. Errors: INTERNAL for a fact out of order or one that cannot follow. */
export function fold(process: Process | undefined, fact: Fact): Process {
  const { body } = fact
  // It stands for all before it, where its origin's facts were read first and where they were not.
  if (body.type === 'process.forked') return forked(process, fact, body)
  if (fact.seq !== (process?.seq ?? 0) + 1) throw new KernelError('INTERNAL', `fact ${fact.seq} of ${fact.uuid} follows ${process?.seq ?? 0}`)
  if (body.type === 'process.spawned') {
    if (process) throw new KernelError('INTERNAL', `${fact.uuid} is spawned twice`)
    return spawned(fact, body)
  }
  if (!process) throw new KernelError('INTERNAL', `${fact.uuid} begins with ${body.type}`)
  const next = isCrewFact(body) ? crewAfter(process, fact, body) : rowOf(body.type)(process, body, fact)
  const lastActivityAt = PASSIVE.has(body.type) ? next.clock.lastActivityAt : fact.at
  return { ...next, seq: fact.seq, clock: { ...next.clock, updatedAt: fact.at, lastActivityAt } }
}

function rowOf(type: keyof typeof FOLD): (process: Process, body: FactBody, fact: Fact) => Process {
  return FOLD[type] as (process: Process, body: FactBody, fact: Fact) => Process
}

/** It goes on where its origin was, and has used nothing yet. */
function forked(before: Process | undefined, fact: Fact, body: BodyOf<'process.forked'>): Process {
  const { origin, state } = body
  if (fact.seq !== origin.seq + 1 || (before && before.seq !== origin.seq)) throw new KernelError('INTERNAL', `fact ${fact.seq} of ${fact.uuid} follows ${origin.seq} of its origin`)
  const { turn, turnOpen, lastText, queue, context, contextTokens, sessionId } = state
  const born = spawned(fact, body)
  return {
    ...born,
    progress: { ...born.progress, step: origin.step, wholeStep: origin.step, turn, turnOpen, lastText },
    usage: { ...NO_USAGE, contextTokens },
    queue,
    ...(context === null ? {} : { context }),
    ...(sessionId === null ? {} : { forkOf: sessionId }),
    originUuid: origin.uuid, originStep: origin.step, originSeq: origin.seq,
  }
}

/** Nothing is said of it: it is alive, or it does not run. */
function unjudged(process: Process): Process {
  if (process.liveness === undefined) return process
  const { liveness: _, ...rest } = process
  return rest
}

/** A fork has its own from here on. */
function inSession(process: Process, sessionId: string): Process {
  return { ...withoutSession(process), sessionId }
}

function withoutSession({ forkOf: _, ...process }: Process): Process {
  return { ...process, sessionId: null }
}

function spawned(fact: Fact, body: Pick<BodyOf<'process.spawned'>, 'pid' | 'spec' | 'parentUuid' | 'depth'>): Process {
  return {
    uuid: fact.uuid,
    pid: body.pid,
    parent: body.parentUuid,
    parentUuid: body.parentUuid,
    depth: body.depth,
    spec: body.spec,
    specSeq: fact.seq,
    life: incarnate(),
    signals: NO_SIGNALS,
    progress: { step: 0, modelOpen: false, attempt: 0, openCalls: [], wholeStep: 0, turn: 0, turnOpen: false, lastText: null },
    usage: NO_USAGE,
    queue: [],
    clock: {
      createdAt: fact.at, startedAt: null, pausedAt: null, exitedAt: null, updatedAt: fact.at, lastActivityAt: fact.at,
      elapsedMs: 0, since: null, sinceAt: null, pausedMono: null,
    },
    containment: null, handle: null, checkpoint: null, sessionId: null, note: null,
    originUuid: null, originStep: null, originSeq: null, resumedFromStep: null, retiredAt: null, pinned: false,
    seq: fact.seq,
  }
}

export const NO_USAGE: Usage = {
  steps: 0, turns: 0, messagesSent: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0,
  contextTokens: 0, costUsd: 0, unpriced: false, estimated: false,
}

function running(process: Process, change: Partial<Omit<Running, 'state'>>): Process {
  if (process.life.state !== 'running') throw new KernelError('INTERNAL', `${process.uuid} is ${process.life.state}, not running`)
  return { ...process, life: { ...process.life, ...change } }
}

function held(process: Process, hold: Hold, mono: number, at: number): Process {
  if (process.life.state !== 'running') throw new KernelError('INTERNAL', `a hold on ${process.uuid}, which is ${process.life.state}`)
  const first = process.life.holds.length === 0
  const next = running(process, { holds: [...process.life.holds, hold], ...(first ? { drained: !process.life.attached } : {}) })
  return first ? { ...next, clock: { ...stopClock(process.clock, mono), pausedAt: at, pausedMono: mono } } : next
}

function released(before: Process, gone: readonly Hold[], mono: number, at: number): Process {
  const process = gone.some(({ reason }) => reason === 'budget') ? unwanted(before) : before
  if (process.life.state !== 'running') throw new KernelError('INTERNAL', `a release on ${process.uuid}, which is ${process.life.state}`)
  const holds = process.life.holds.filter((hold) => !gone.some((other) => sameHold(hold, other)))
  if (holds.length > 0) return running(process, { holds })
  const told = process.asks ? asked(process, (ask) => (ask.answer ? [] : [ask])) : process
  return { ...running(told, { holds, drained: false, midway: false }), clock: { ...process.clock, pausedAt: null, pausedMono: null, since: mono, sinceAt: at } }
}

function isHeld({ life }: Process): boolean {
  return life.state === 'running' && life.holds.length > 0
}

/** Nobody waits for an answer any more, but for a crew. */
function notAsking({ asks, spec }: Process): { readonly asks?: readonly PendingAsk[] } {
  return asks && asks.length > 0 && spec.crew === undefined ? { asks: [] } : {}
}

/** What becomes of its asks; when none is open any more it works again. */
function asked(process: Process, change: (ask: PendingAsk) => readonly PendingAsk[]): Process {
  const asks = (process.asks ?? []).flatMap(change)
  const answered = process.life.state === 'running' && process.life.activity === 'waiting' && asks.every((ask) => ask.answer)
  return { ...process, ...(answered ? running(process, { activity: process.spec.crew ? 'ready' : 'working' }) : {}), asks }
}

/** It no longer waits for room in a budget. */
function unwanted(process: Process): Process {
  if (process.wants === undefined) return process
  const { wants: _, ...rest } = process
  return rest
}

/** What it and its descendants used is its payer's business from now on. */
function settled(process: Process, { settled: isSettled }: { readonly settled?: true }): Process {
  return isSettled ? { ...process, settled: spentBy(process) } : process
}

function meteredAs({ metered, direct }: Pick<Process, 'metered' | 'direct'>): Pick<Process, 'metered' | 'direct'> {
  return { ...(metered ? { metered } : {}), ...(direct === undefined ? {} : { direct }) }
}

/** Whether its calls go through the gateway is said at each start, and seen at each. */
function unmetered(process: Process): Process {
  if (process.metered === undefined && process.direct === undefined && process.calls === undefined) return process
  const { metered: _, direct: _direct, calls = [], ...rest } = process
  return calls.length === 0 ? rest : { ...rest, calls }
}

function reserved(progress: Progress, { reserve }: { readonly reserve?: CallAsk }): Progress {
  return reserve ? { ...progress, reserve } : progress
}

/** The call has ended: what it used stands in its place. */
function unreserved(progress: Progress): Progress {
  if (progress.reserve === undefined) return progress
  const { reserve: _, ...rest } = progress
  return rest
}

function isWhole({ message }: BodyOf<'model.finished'>): boolean {
  return !message.some((part) => part.type === 'tool-call')
}

function closeCall(progress: Progress, callId: string): Progress {
  const openCalls = progress.openCalls.filter((call) => call.callId !== callId)
  return { ...progress, openCalls, wholeStep: openCalls.length === 0 && !progress.modelOpen ? progress.step : progress.wholeStep }
}

function contextOf(process: Process): ContextState {
  return process.context ?? { window: null, ranges: null, compactedStep: null, compacting: false }
}

/** Nobody waits for a summary any more: what was under way is over, also where its end was never told. */
function notCompacting({ context }: Process): { readonly context?: ContextState } {
  return context?.compacting === true ? { context: { ...context, compacting: false } } : {}
}

/** It is ended: there is no time left to read that it should wrap up. */
function untold(process: Process): Process {
  const { life, queue } = process
  const message = life.state === 'running' ? life.stopping?.wrapUp?.message : undefined
  return message === undefined ? process : { ...process, queue: queue.filter(({ id }) => id !== message) }
}

/** The end says so; the first cause stays. */
function escalated(process: Process, afterMs: number): Process {
  const { life } = process
  if (life.state !== 'running' || !life.stopping) return process
  const { exit } = life.stopping
  const words = exit.signal === undefined ? exit : { ...exit, reason: `${exit.reason}; SIGKILL after ${afterMs} ms` }
  return running(process, { stopping: { ...life.stopping, exit: words, escalatedMs: afterMs } })
}

const BRIEF_CHARS = 500

function brief(text: string): string {
  return text.length > BRIEF_CHARS ? `${text.slice(0, BRIEF_CHARS - 1)}…` : text
}

function lastText(message: readonly AssistantPart[]): string | null {
  const text = textOf(message)
  return text === '' ? null : brief(text)
}
