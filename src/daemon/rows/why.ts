// Explains in one sentence what a process waits for, or what it is busy with. The sentence comes with data: since when, until when, on
// which process or task, and which commands end the wait. Must use facts only, and never guess: where nothing is known, the sentence
// states that. Depends on no clock, so that the same state always has the same sentence. Pure.
// Test: test/tables/daemon/rows/why.test.ts.
import { openAsks } from '../../kernel/decide/asks/asks.ts'
import { composeRunOf, composeSpecOf } from '../../kernel/compose/run-row.ts'
import { describeWaits } from '../../kernel/crew/text/describe-waits.ts'
import { hasSurvivors } from '../../kernel/decide/release.ts'
import { isPlainCommand, takesMessages } from '../../kernel/model/capabilities.ts'
import { agentUuidIn } from '../../kernel/model/ids.ts'
import { payerOf } from '../../kernel/state/accounts.ts'
import { isHomeBudget, reachedText, readReachedText, type NotedLimit } from '../../kernel/state/limits.ts'
import { stateText } from '../../kernel/crew/state/phases.ts'
import { asksText, livenessText, reportedTaskText, storedAnswerText } from './wait-texts.ts'
import { doingOf, statusSince, type Work } from './doing.ts'
import { isoTime, localTime } from '../views/format-times.ts'
import { crewNote, memberRecord } from '../views/member-view.ts'
import { runNote } from '../views/run-note.ts'
import type { DoingView, WhyView } from '../../api/views/heartbeat.ts'
import type { RowLookup } from '../views/row-lookup.ts'
import type { Hold, Life, Process, Stopping } from '../../kernel/model/process.ts'
import type { Sender, Uuid } from '../../kernel/model/ids.ts'
import type { HoldReason } from '../../kernel/model/words.ts'

export interface WhyContext extends RowLookup {
  /** what the tracker knows about the process; absent: nothing */
  readonly work?: Work | undefined
}

/** The other processes that the sentence may name. */
export function uuidsInWhy(process: Process, context: WhyContext): readonly Uuid[] {
  const { life, parent } = process
  if (life.state === 'created') return parent === null ? [] : [parent]
  if (life.state !== 'running') return []
  const senders = [...life.holds, ...(life.stopping ? [life.stopping] : [])].map(({ by }) => agentUuidIn(by))
  const roots = life.holds.map(({ root }) => root ?? null)
  return [...new Set([...senders, ...roots, budgetOwner(process, context)])].filter((uuid) => uuid !== null)
}

type Running = Process & { readonly life: Extract<Life, { state: 'running' }> }

/** Why the process does not go on, or what it does; null for an ended process. */
export function whyOf(process: Process, context: WhyContext): WhyView | null {
  switch (process.life.state) {
    case 'created':
      return whyNotStarted(process)
    case 'running':
      return whyRunning(process as Running, context)
    case 'zombie':
      return whyZombie(process)
    case 'dead':
      return null
  }
}

function whyNotStarted({ restart, parent, clock }: Process): WhyView {
  if (!restart) return { kind: 'start', text: 'has not started yet', since: isoTime(clock.createdAt) }
  const { attempt, cause, at, dueMono } = restart
  const what = attempt > 0 ? `restart ${attempt}` : 'a restart'
  const common: Pick<WhyView, 'kind' | 'since' | 'can'> = { kind: 'restart', since: isoTime(clock.updatedAt), can: ['stop'] }
  if (at === null)
    return { ...common, text: `waits until its supervisor starts ${what}: ${cause}`, ...(parent === null ? {} : { on: parent }) }
  if (dueMono === null) return { ...common, text: `${what} begins now: ${cause}` }
  return { ...common, text: `waits for ${what} at ${secondsText(at)}: ${cause}`, until: isoTime(at) }
}

function whyZombie(process: Process): WhyView {
  const since = isoTime(process.clock.exitedAt ?? process.clock.updatedAt)
  return hasSurvivors(process)
    ? { kind: 'guardian', text: process.note ?? '', since, can: ['kill'] }
    : { kind: 'guardian', text: 'has ended, and waits until its programs are gone', since }
}

function whyRunning(process: Running, context: WhyContext): WhyView {
  const { life } = process
  if (life.stopping) return whyStopping(life.stopping, context)
  const hold = urgentHold(life.holds)
  if (hold) return life.drained || !life.attached ? whyHeld(process, hold, context) : whyDraining(process, hold, context)
  return whyAsking(process, context) ?? whyParent(process, context) ?? whyUnheld(process, context)
}

function whyStopping({ signal, by, at, graceMs, wrapUp, escalatedMs }: Stopping, context: WhyContext): WhyView {
  const end = signal === 'SIGKILL' || escalatedMs !== undefined ? null : at + graceMs
  const text = wrapUp
    ? `may finish its work after ${signal} by ${senderText(by, context)}`
    : `ends: ${signal} by ${senderText(by, context)}`
  return {
    kind: 'stop',
    text: end === null ? text : `${text}; is killed at ${secondsText(end)} if it has not ended`,
    since: isoTime(at),
    ...(end === null ? {} : { until: isoTime(end) }),
    can: ['kill'],
  }
}

function urgentHold(holds: readonly Hold[]): Hold | undefined {
  return holds.toSorted((a, b) => HOLD_ORDER.indexOf(a.reason) - HOLD_ORDER.indexOf(b.reason))[0]
}

function whyDraining(process: Running, hold: Hold, context: WhyContext): WhyView {
  const { text, can = [] } = whyHeld(process, hold, context)
  const doing = doingOf(process, context.work)
  const rest = doing === null ? 'it has not reached a boundary yet' : `${doingText(doing)} must end first`
  return { kind: 'drain', text: `${text}; ${rest}`, since: isoTime(hold.at), can }
}

function whyHeld(process: Running, hold: Hold, context: WhyContext): WhyView {
  const others = process.life.holds.length - 1
  const { text, ...why } = HOLD_WHY[hold.reason](process, hold, context)
  const until = hold.until === undefined ? {} : { until: isoTime(hold.until) }
  return {
    since: isoTime(hold.at),
    ...until,
    can: ['resume'],
    ...why,
    text: others === 0 ? text : `${text} (and ${others} more ${others === 1 ? 'hold' : 'holds'})`,
  }
}

type HeldWhy = Pick<WhyView, 'kind' | 'text'> & Partial<WhyView>

/** The explanation of each hold. The order counts: of several holds the first explains the pause, because the user can do most about it. */
const HOLD_WHY: { readonly [R in HoldReason]: (process: Running, hold: Hold, context: WhyContext) => HeldWhy } = {
  credentials: ({ note }) => ({ kind: 'credentials', text: withCause('waits for a key that works', note) }),
  budget: whyBudget,
  'context-full': () => ({ kind: 'hold:context-full', text: 'its context is full', can: ['resume', 'stop'] }),
  loop: ({ note }) => ({
    kind: 'hold:loop',
    text: withCause('paused because it repeats the same calls', note),
    can: ['resume', 'send', 'stop'],
  }),
  breaker: ({ note }) => ({
    kind: 'hold:breaker',
    text: withCause('paused because its tools keep failing', note),
    can: ['resume', 'send', 'stop'],
  }),
  supervisor: ({ note, parent }) => ({
    kind: 'hold:supervisor',
    text: withCause('its supervisor does not start it again', note),
    ...(parent === null ? {} : { on: parent }),
  }),
  'disk-full': () => ({ kind: 'disk', text: 'the disk is full; it continues when there is room', can: ['doctor'] }),
  'rate-limit': (_, { at, until, wake }) => ({
    kind: 'rate-limit',
    text: `rate limit${until === undefined ? ', whose end is not known' : ` until ${localTime(until, at)}`}${wake ? ', then it continues' : '; a resume continues it'}`,
  }),
  user: (_, { by }, context) => ({ kind: 'hold:user', text: `paused by ${senderText(by, context)}` }),
  subtree: ({ uuid }, { by, root }, context) =>
    root === undefined || root === uuid
      ? { kind: 'hold:subtree', text: `paused${root === uuid ? '' : ' with its tree'} by ${senderText(by, context)}` }
      : { kind: 'hold:subtree', text: `paused with ${processText(root, context)} by ${senderText(by, context)}`, on: root },
  'daemon-crash': () => ({ kind: 'hold:daemon-crash', text: 'the daemon was killed while it worked' }),
  'daemon-shutdown': () => ({ kind: 'hold:daemon-shutdown', text: 'the daemon was stopped while it worked' }),
}

const HOLD_ORDER = Object.keys(HOLD_WHY)

/** A budget that is used up, as it was when the call was refused: its use by other processes changes all the time. */
function whyBudget(process: Running, _: Hold, context: WhyContext): HeldWhy {
  const reached = context.work?.reached
  if (!reached) return whyNotedBudget(process, context)
  const { limit, used, of, scope, action } = reached
  const isShared = isHomeBudget(limit) || scope === process.uuid
  const on = isShared ? {} : { on: scope }
  if (action === 'wait') {
    const owner = isHomeBudget(limit) ? 'the budget of the home' : isShared ? 'its budget' : `the budget of ${processText(scope, context)}`
    return { kind: 'budget-room', text: `waits for room in ${owner}, which open calls reserve`, can: [], limit, ...on }
  }
  const text = isShared
    ? reachedText({ limit, used, of, whose: null, ask: process.wants })
    : `the budget of ${processText(scope, context)} is used up`
  return { kind: 'hold:budget', text, limit, ...on }
}

/** After a restart of the daemon only the recorded note is known. It names the owner of the budget by the end of its UUID. */
function whyNotedBudget(process: Running, context: WhyContext): HeldWhy {
  const noted = notedLimit(process)
  const owner = budgetOwner(process, context)
  if (noted === null || (noted.whose !== null && owner === null))
    return { kind: 'hold:budget', text: withCause('paused for a budget', process.note) }
  const { limit, amounts } = noted
  if (owner !== null)
    return { kind: 'hold:budget', text: `paused for the budget of ${processText(owner, context)}: ${amounts}`, limit, on: owner }
  return { kind: 'hold:budget', text: `paused for ${isHomeBudget(limit) ? 'the budget of the home' : 'a budget'}: ${amounts}`, limit }
}

function notedLimit({ life, note }: Process): NotedLimit | null {
  if (life.state !== 'running' || note === null || !life.holds.some(({ reason }) => reason === 'budget')) return null
  return readReachedText(note)
}

/** The process whose budget holds this one. Null: the budget is its own or the home's, or its owner is not known. */
function budgetOwner(process: Process, { work, row }: WhyContext): Uuid | null {
  const noted = work?.reached ? null : notedLimit(process)
  if (noted === null) return work?.reached?.scope ?? null
  if (noted.whose === null) return null
  for (let uuid = payerOf(process); uuid !== null;) {
    if (uuid.endsWith(noted.whose)) return uuid
    const payer = row?.(uuid)
    uuid = payer === undefined ? null : payerOf(payer)
  }
  return null
}

function whyAsking(process: Running, { work }: WhyContext): WhyView | null {
  const text = asksText(process)
  const [first] = openAsks(process)
  if (text !== null && first)
    return { kind: 'ask', text, since: isoTime(first.at), can: [process.spec.driver === 'crew' ? 'crew' : 'answer'] }
  if (process.life.activity !== 'waiting') return null
  const next = storedAnswerText(process)
  if (next)
    return { kind: 'ask', text: next.text, since: isoTime(statusSince(process, work)), until: isoTime(next.at), can: ['interrupt', 'stop'] }
  return { kind: 'ask', text: withCause('waits for the user', process.note), since: isoTime(statusSince(process, work)), can: ['answer'] }
}

/** A process that runs no program of its own waits for its members, nodes or children. */
function whyParent(process: Running, context: WhyContext): WhyView | null {
  const since = isoTime(statusSince(process, context.work))
  switch (process.spec.driver) {
    case 'crew': {
      const [first, ...others] = process.crew ? describeWaits(process.crew, process.spec.crew) : []
      const progress = crewNote(process)
      if (first === undefined) return { kind: 'task', text: progress === null ? 'has no tasks' : `its members work; ${progress}`, since }
      return { kind: 'task', text: `${first}${others.length > 0 ? ` (and ${others.length} more)` : ''}`, since, can: ['crew'] }
    }
    case 'compose':
      return { kind: 'node', text: [runNote(process), waitingNodeText(process)].filter((text) => text !== null).join('; '), since }
    case 'supervisor':
      return whySupervising(process, since, context)
    default:
      return null
  }
}

/** The first node of a run that waits for others, such as `test waits for docs`; null: none does. */
function waitingNodeText(process: Running): string | null {
  const { nodes } = composeRunOf(process)
  const spec = composeSpecOf(process)
  for (const node of nodes) {
    if (node.state !== 'waiting') continue
    const needs = spec.nodes.find(({ name }) => name === node.name)?.needs ?? []
    const open = needs.filter((name) => nodes.find((other) => other.name === name)?.state !== 'completed')
    if (open.length > 0) return `${node.name} waits for ${open.join(', ')}`
  }
  return null
}

function whySupervising({ supervision }: Running, since: string, { row }: WhyContext): WhyView {
  const children = supervision?.children ?? []
  const waiting = children.find(({ uuid }) => row?.(uuid)?.restart)
  const next = waiting && row?.(waiting.uuid)?.restart
  if (waiting && next) {
    const when = next.at === null ? 'when its group has ended' : `at ${secondsText(next.at)}`
    return { kind: 'child', text: `starts ${waiting.id} again ${when}: ${next.cause}`, since, on: waiting.uuid }
  }
  const living = children.filter(({ uuid }) => row?.(uuid)?.life.state === 'running').length
  return { kind: 'child', text: children.length === 0 ? 'has no children' : `${living} of ${children.length} children run`, since }
}

function whyUnheld(process: Running, context: WhyContext): WhyView {
  const { life, clock } = process
  if (life.activity === 'starting')
    return { kind: 'start', text: 'starts', since: isoTime(clock.startedAt ?? clock.createdAt), can: ['kill'] }
  return life.activity === 'ready' ? whyReady(process, context) : whyWorking(process, context)
}

function whyReady(process: Running, context: WhyContext): WhyView {
  const { spec, queue } = process
  const since = isoTime(statusSince(process, context.work))
  const member = memberRecord(process, context)
  if (member && spec.member && queue.length === 0) {
    const on = { on: member.task ?? spec.member.crew }
    if (member.role !== 'coordinator' && member.phase === 'idle') return { kind: 'task', text: 'waits for a task', since, ...on }
    const task =
      member.phase === 'awaiting_review' ? context.row?.(spec.member.crew)?.crew?.tasks.find(({ id }) => id === member.task) : undefined
    if (task) return { kind: 'slot', text: reportedTaskText(task), since, ...on }
    if (member.task !== null)
      return { kind: 'task', text: `${stateText(member.phase)} ${member.task}, between two turns`, since, ...on, can: ['send'] }
  }
  if (queue.length > 0)
    return { kind: 'queue', text: `${queue.length} queued ${queue.length === 1 ? 'message' : 'messages'} will begin a turn`, since }
  if (takesMessages(spec)) return { kind: 'message', text: 'waits for a message', since, can: ['send', 'stop'] }
  return { kind: 'work', text: 'has no turn, and takes no messages', since, can: ['stop'] }
}

function whyWorking(process: Running, { work }: WhyContext): WhyView {
  const doing = doingOf(process, work)
  const problem = livenessText(process)
  const tail = problem === null ? '' : `; ${problem}`
  const can: WhyView['can'] = ['interrupt', 'stop']
  if (doing === null) {
    const since = isoTime(statusSince(process, work))
    const text = isPlainCommand(process.spec) ? 'its program runs' : 'works, but no open call is known'
    return { kind: 'work', text: text + tail, since, can: isPlainCommand(process.spec) ? ['stop'] : can }
  }
  const { since, until, what } = doing
  if (what === 'retry' && work?.retry) {
    const { attempt, status, error, until: at } = work.retry
    const cause = `${status === null ? '' : `HTTP ${status}: `}${error.split('\n', 1)[0]}`
    return {
      kind: 'retry',
      text: `repeats the model call at ${secondsText(at)} (attempt ${attempt} failed): ${cause}`,
      since,
      ...(until ? { until } : {}),
      can,
    }
  }
  return { kind: what === 'tool' ? 'tool' : 'model', text: doingText(doing) + tail, since, can }
}

function doingText({ what, name = '', input = '', out, more = 0 }: DoingView): string {
  switch (what) {
    case 'tool':
      return `${name} ${input}`.trim() + (more > 0 ? ` (and ${more} more)` : '')
    case 'model':
      return out === undefined ? 'waits for the model' : `the model answers, ${out} tokens so far`
    case 'compaction':
      return 'compacts its context'
    case 'retry':
      return 'the repeated model call'
  }
}

function withCause(text: string, cause: string | null): string {
  return cause === null ? text : `${text}: ${cause}`
}

function senderText(by: Sender, context: WhyContext): string {
  const uuid = agentUuidIn(by)
  return uuid === null ? (by === 'user' ? 'the user' : by === 'system' ? 'reeve' : 'the coordinator') : processText(uuid, context)
}

/** The name of a process, or its PID, or the end of its UUID if it has ended. */
function processText(uuid: Uuid, { row }: WhyContext): string {
  const process = row?.(uuid)
  return process === undefined ? uuid.slice(-8) : (process.spec.name ?? `PID ${process.pid}`)
}

/** Formats a time (wall ms) as the local time of day with seconds. */
function secondsText(at: number): string {
  return isoTime(at).slice(11, 19)
}
