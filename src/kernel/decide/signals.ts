// Signals: the processes that a signal reaches (one or a subtree), its delivery, and its default actions. Every
// delivery is a fact with sender, client and root, and this fact is durable before anything acts on the signal.
// Dispositions come from model/signals.ts. Test: test/tables/kernel/decide/signals.test.ts.
import { takesMessages } from '../model/capabilities.ts'
import { hasChildren, supervisesChildren, mayRestart } from './children.ts'
import { KernelError } from '../model/errors.ts'
import { RETIRED_EXIT, signalExit, TIMED_OUT_EXIT } from '../model/exit.ts'
import { isReleasedBy, pauseHold } from '../model/holds.ts'
import { addHold } from './holds/add-hold.ts'
import { releaseHolds } from './holds/release-holds.ts'
import { startNextTurn } from './turns.ts'
import { checkActsOnSelf, checkSignaller } from './authorize.ts'
import { hasSurvivors, terminate } from './release.ts'
import { enqueueMessage, isQueueFull } from './message-queue.ts'
import { startOnHold } from './spawn.ts'
import { DEFER_MS, SIGNAL_TABLE, dispositionOf, signalMessageId } from '../model/signals.ts'
import { heldText } from './resume.ts'
import { isLiving, isSuspended } from '../model/status.ts'
import { livingChildren, livingSubtree } from '../state/tree.ts'
import { MIN_GRACE_MS, endWrapUpEarly, wrapUp } from './graceful-stop.ts'
import type { InputOf } from '../model/inputs.ts'
import type { PendingSignal, SignalState } from '../model/signals.ts'
import type { Process, Stopping } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Sender, Uuid } from '../model/ids.ts'
import type { EndSignal, Signal } from '../model/words.ts'
import type { ProcessSpec } from '../model/process-spec.ts'

/** The delivery of one signal to one process. */
export interface SignalDelivery {
  readonly signal: Signal
  readonly by: Sender
  /** the root of the signalled subtree; null for a single process */
  readonly root: Uuid | null
  readonly graceMs: number | null
  readonly freeze: boolean
  readonly via?: string
}

/** The delivery of a signal that asks a process to end. */
type EndRequest = SignalDelivery & { readonly signal: EndSignal }

/** Sends a signal to a process or its subtree. Errors: NOT_FOUND, PERMISSION, INVALID. */
export function sendSignal(draft: DecisionDraft, input: InputOf<'signal'>): void {
  const target = draft.get(input.uuid)
  if (!target || !isLiving(target)) throw endedError(target, input.uuid)
  checkSignaller(draft, input.by, target, input.subtree)
  if (input.signal === 'SIGPAUSE' && isStopping(target)) throw new KernelError('INVALID', `process ${target.pid} is stopping`)
  const reached = input.subtree ? livingSubtree(draft, target.uuid) : [target]
  const { signal: name, by, graceMs, freeze } = input
  const delivery: SignalDelivery = { signal: name, by, graceMs, freeze, root: input.subtree ? target.uuid : null, ...viaOf(input) }
  const childrenGoOn =
    endsProcess(name, target) && !input.subtree && !supervisesChildren(target) ? livingChildren(draft, target.uuid).length : 0
  // Children come first, so that they get the signal before their supervisor reacts to its own signal and stops them.
  const order = reached.some(supervisesChildren) ? reached.toReversed() : reached
  const held: Process[] = []
  for (const before of order) {
    const { uuid, spec } = before
    dropContradicted(draft, draft.mustGet(uuid), delivery)
    deliverSignal(draft, uuid, { ...delivery, graceMs: graceMs ?? minimumGrace(spec, input.leastGraceMs) })
    if (name === 'SIGRESUME' && isStillHeld(before, draft.mustGet(uuid))) held.push(before)
  }
  const note = held.length > 1 ? `still suspended: ${held.length} processes` : held[0] ? heldText(draft, held[0]) : null
  draft.addEffect({
    type: 'reply',
    to: input.reply,
    value: { type: 'done', uuid: target.uuid, affected: reached.length - held.length, childrenGoOn, note },
  })
}

/**
 * True when a SIGRESUME released no hold, because its sender may release none of them. A process that deferred the signal counts as
 * reached.
 */
function isStillHeld(before: Process, { life, signals }: Process): boolean {
  if (!isSuspended(before) || before.life.state !== 'running' || life.state !== 'running') return false
  return life.holds.length === before.life.holds.length && !signals.pending.some((pending) => pending.signal === 'SIGRESUME')
}

function endedError(target: Process | undefined, uuid: Uuid): KernelError {
  const message = `process ${target?.pid ?? uuid} has ended`
  if (!target || !hasSurvivors(target)) return new KernelError('NOT_FOUND', message)
  return new KernelError(
    'NOT_FOUND',
    `${message}; ${target.note}`,
    undefined,
    'reeve kills them again every few seconds. If one is frozen or waits for a device, the system cannot end it: free it by hand.',
  )
}

/** The grace for a sender that gives only a minimum: a process that cleans up for longer gets its observed time. Null: no minimum. */
function minimumGrace({ graceMs = 0 }: ProcessSpec, leastMs: number | undefined): number | null {
  return leastMs === undefined ? null : Math.max(leastMs, graceMs)
}

function viaOf({ via }: { readonly via?: string }): { readonly via?: string } {
  return via === undefined ? {} : { via }
}

/** True for a signal that ends the process. A SIGINT ends only the turn of an interactive process. */
function endsProcess(name: Signal, { spec }: Process): boolean {
  return SIGNAL_TABLE[name].mayEnd && (name !== 'SIGINT' || !spec.interactive)
}

function isStopping(process: Process): boolean {
  return process.life.state === 'running' && process.life.stopping !== null
}

/** Ends the turn, or the whole process if it is not interactive. `via`: the rule of the kernel that applied. */
export function interruptBySystem(draft: DecisionDraft, uuid: Uuid, via: string): void {
  deliverSignal(draft, uuid, { signal: 'SIGINT', by: 'system', root: null, graceMs: null, freeze: false, via })
}

/**
 * Drops pending signals that a newer signal contradicts: a pause or a stop drops a pending SIGRESUME, and a SIGRESUME
 * drops a pending pause. An agent's signal never drops one from the user.
 */
function dropContradicted(draft: DecisionDraft, process: Process, delivery: SignalDelivery): void {
  const { signal: name, by } = delivery
  const { uuid, signals } = process
  if (!isLiving(process) || (dispositionOf(signals, name) === 'ignored' && !canOnlyDefer(draft, process, by))) return
  const isDropped = (pending: PendingSignal): boolean => {
    if (name === 'SIGRESUME') return pending.signal === 'SIGPAUSE' && isReleasedBy(delivery, pauseHold(pending, draft.now.wall), uuid)
    return pending.signal === 'SIGRESUME' && (name === 'SIGPAUSE' || endsProcess(name, process)) && (by === 'user' || by === pending.by)
  }
  for (const { signal: dropped } of signals.pending.filter(isDropped)) draft.emit(uuid, { type: 'signal.unpended', signal: dropped })
}

/** Delivers one signal according to mask and handlers. `force`: the signal was deferred, and cannot be deferred again. */
export function deliverSignal(draft: DecisionDraft, uuid: Uuid, delivery: SignalDelivery, force = false): void {
  const process = draft.mustGet(uuid)
  if (!isLiving(process)) return
  const { signal: name, by, root, graceMs } = delivery
  const disposition = dispositionOf(process.signals, name, force)
  draft.emit(uuid, { type: 'signal.sent', signal: name, by, root, disposition, graceMs, ...viaOf(delivery) })
  if (by === 'user' && endsProcess(name, process)) recordUserCause(draft, process)
  switch (disposition) {
    case 'pending':
      return addPending(draft, uuid, delivery)
    case 'ignored':
      return canOnlyDefer(draft, process, by) ? addPending(draft, uuid, delivery) : undefined
    case 'message':
      return deliverAsMessage(draft, process, delivery)
    case 'default':
      return runDefaultAction(draft, uuid, delivery)
  }
}

/**
 * Makes the user the cause of a stop that a supervisor or a rule of the kernel has begun. The process would restart after
 * such a stop, but not after a stop by the user.
 */
function recordUserCause(draft: DecisionDraft, process: Process): void {
  const { uuid, life } = process
  if (life.state !== 'running' || !life.stopping || life.stopping.exit.cause === 'person' || !mayRestart(process)) return
  draft.emit(uuid, { type: 'process.stopping', stopping: { ...life.stopping, exit: { ...life.stopping.exit, cause: 'person' } } })
}

/**
 * The request to the agent in the message about each signal. SIGTERM has another text (graceful-stop.ts), and
 * SIGKILL has no message.
 */
const MESSAGE_TEXTS: Readonly<Record<Signal, string>> = {
  SIGTERM: '',
  SIGKILL: '',
  SIGINT: 'end your current work',
  SIGPAUSE: 'reach a point where you can be paused',
  SIGRESUME: 'you continue',
}

/**
 * Delivers the signal as a message to the agent. SIGTERM also ends the process, after its wrap-up. SIGRESUME also wakes
 * the process, because a suspended agent reads nothing. A SIGPAUSE from the user also stays pending, so that the pause
 * follows a little later.
 */
function deliverAsMessage(draft: DecisionDraft, before: Process, delivery: SignalDelivery): void {
  const { signal: name, by } = delivery
  const { uuid } = before
  const process = draft.mustGet(uuid)
  if (name === 'SIGTERM') {
    const graceMs = graceOf(process, delivery)
    const request: Stopping = { signal: name, by, at: draft.now.wall, graceMs, exit: signalExit(name, by, false) }
    return wrapUp(draft, process, request) ? undefined : runDefaultAction(draft, uuid, delivery)
  }
  // A full queue does not block the signal; a stopping process needs no message.
  if (!isQueueFull(process) && !isStopping(process))
    enqueueMessage(draft, uuid, {
      id: signalMessageId(process.seq),
      from: 'system',
      text: `You received ${name} from ${by}: ${MESSAGE_TEXTS[name]}.`,
      urgent: true,
    })
  startNextTurn(draft, uuid)
  if (name === 'SIGRESUME') runDefaultAction(draft, uuid, delivery)
  if (name === 'SIGPAUSE' && by === 'user') addPending(draft, uuid, delivery)
}

/**
 * Adds a pending signal. A pending signal of the same kind stays, unless the new one comes from the user. That one replaces a signal
 * from another sender; for a single process it also replaces one for a subtree. Signals from the user and from the supervisor always
 * have a deadline.
 */
function addPending(draft: DecisionDraft, uuid: Uuid, { signal: name, by, root, graceMs, via }: SignalDelivery): void {
  const process = draft.mustGet(uuid)
  const known = process.signals.pending.find((pending) => pending.signal === name)
  const needsDeadline = canOnlyDefer(draft, process, by)
  const isStronger = by === 'user' && (known?.by !== 'user' || (known.root !== null && root === null))
  if (known && !isStronger && (known.dueMono !== null || !needsDeadline)) return
  const dueMono = needsDeadline ? (known?.dueMono ?? draft.now.mono + DEFER_MS) : null
  draft.emit(uuid, { type: 'signal.pended', pending: { signal: name, by, root, graceMs, dueMono, ...(via === undefined ? {} : { via }) } })
}

/** True for a sender whose signals the process can defer but not drop: the user, and its supervisor. */
function canOnlyDefer(draft: DecisionDraft, process: Process, by: Sender): boolean {
  return by === 'user' || isFromSupervisor(draft, process, by)
}

/** True for the supervisor of the process, whose group restart or own end cannot wait forever. */
function isFromSupervisor(draft: DecisionDraft, { parentUuid }: Process, by: Sender): boolean {
  const parent = by === `agent:${parentUuid}` && parentUuid !== null ? draft.get(parentUuid) : undefined
  return parent !== undefined && supervisesChildren(parent)
}

/** The default action of each signal. */
const DEFAULT_ACTIONS: Readonly<Record<Signal, (draft: DecisionDraft, process: Process, delivery: SignalDelivery) => void>> = {
  SIGTERM: (draft, process, delivery) => stopProcess(draft, process, { ...delivery, signal: 'SIGTERM' }, graceOf(process, delivery)),
  SIGKILL: (draft, process, delivery) => stopProcess(draft, process, { ...delivery, signal: 'SIGKILL' }, 0),
  SIGINT: interruptProcess,
  SIGPAUSE: pauseProcess,
  SIGRESUME: (draft, process, delivery) => {
    releaseHolds(draft, process.uuid, delivery.by, (hold) => isReleasedBy(delivery, hold, process.uuid))
  },
}

function graceOf({ spec }: Process, { graceMs }: SignalDelivery): number {
  return graceMs ?? Math.max(MIN_GRACE_MS, spec.graceMs ?? 0)
}

function runDefaultAction(draft: DecisionDraft, uuid: Uuid, delivery: SignalDelivery): void {
  DEFAULT_ACTIONS[delivery.signal](draft, draft.mustGet(uuid), delivery)
}

function pauseProcess(draft: DecisionDraft, process: Process, delivery: SignalDelivery): void {
  const added = pauseHold(delivery, draft.now.wall)
  if (process.life.state === 'created') startOnHold(draft, process, added)
  else if (!isStopping(process)) addHold(draft, process.uuid, added, delivery.freeze)
}

function interruptProcess(draft: DecisionDraft, process: Process, delivery: SignalDelivery): void {
  const { life, spec } = process
  if (life.state !== 'running' || !spec.interactive)
    return stopProcess(draft, process, { ...delivery, signal: 'SIGINT' }, graceOf(process, delivery))
  if (life.attached && !life.stopping) draft.addEffect({ type: 'driver.interrupt', uuid: process.uuid, pid: process.pid })
}

/** Records the request to end the process. A second request keeps the recorded exit, and passes its signal and grace to the driver. */
function stopProcess(draft: DecisionDraft, process: Process, { signal: name, by }: EndRequest, graceMs: number): void {
  const { uuid, pid, life, retiredAt } = process
  const isHeld = life.state === 'running' && life.holds.length > 0
  const exit = retiredAt !== null && by !== 'user' ? RETIRED_EXIT : { ...signalExit(name, by, isHeld), ...timeLimitReason(draft, by) }
  if (life.state !== 'running' || (!life.attached && !hasChildren(draft, process))) return terminate(draft, process, exit)
  if (!life.stopping) {
    draft.emit(uuid, { type: 'process.stopping', stopping: { signal: name, by, at: draft.now.wall, graceMs, exit } })
  } else endWrapUpEarly(draft, process)
  if (hasChildren(draft, process)) {
    draft.followUps.push({ type: 'stopWithChildren', uuid, signal: name })
    return
  }
  // A suspended program cannot clean up, so it is killed.
  draft.addEffect({ type: 'driver.stop', uuid, pid, signal: isHeld ? 'SIGKILL' : name, graceMs: isHeld ? 0 : graceMs })
}

/** The exit reason of a child whose supervisor stops it because of the supervisor's time limit or that of an ancestor. Else empty. */
function timeLimitReason(draft: DecisionDraft, by: Sender): { readonly reason?: string } {
  const sender = draft.sendingProcess(by)
  const exit = sender?.life.state === 'running' ? sender.life.stopping?.exit : undefined
  if (!sender || !exit || !supervisesChildren(sender)) return {}
  if (exit.reason === TIMED_OUT_EXIT.reason) return { reason: `${TIME_LIMIT_PREFIX}${sender.spec.name ?? `PID ${sender.pid}`}` }
  return exit.reason.startsWith(TIME_LIMIT_PREFIX) ? { reason: exit.reason } : {}
}

const TIME_LIMIT_PREFIX = 'time limit of '

/** Delivers, in order of arrival, the pending signals that are no longer blocked or whose deadline has come. */
export function deliverPending(draft: DecisionDraft, uuid: Uuid): void {
  const { signals } = draft.mustGet(uuid)
  const isDue = ({ dueMono }: PendingSignal): boolean => dueMono !== null && dueMono <= draft.now.mono
  const deliverable = signals.pending.filter((pending) => isDue(pending) || !mustStayPending(signals, pending))
  for (const { signal: name } of deliverable) draft.emit(uuid, { type: 'signal.unpended', signal: name })
  for (const pending of deliverable) deliverSignal(draft, uuid, { ...pending, freeze: false }, isDue(pending))
}

/** True while a pending signal is blocked, or is ignored but has a deadline. */
function mustStayPending(signals: SignalState, { signal: name, dueMono }: PendingSignal): boolean {
  const disposition = dispositionOf(signals, name)
  return disposition === 'pending' || (disposition === 'ignored' && dueMono !== null)
}

/** Changes the signal mask of a process. Errors: NOT_FOUND, PERMISSION, INVALID. */
export function setMask(draft: DecisionDraft, input: InputOf<'mask'>): void {
  const process = draft.requireLiving(input.uuid)
  checkActsOnSelf(input.by, process, 'mask')
  if (input.mask.some((name) => !SIGNAL_TABLE[name].blockable)) throw new KernelError('INVALID', 'SIGKILL cannot be blocked')
  const { mask: before } = process.signals
  const masks = { set: input.mask, block: [...before, ...input.mask], unblock: before.filter((name) => !input.mask.includes(name)) }
  draft.emit(process.uuid, { type: 'signal.masked', mask: [...new Set(masks[input.how ?? 'set'])] })
  deliverPending(draft, process.uuid)
  draft.replyDone(input.reply, process.uuid)
}

/** Sets the handler of a signal. Errors: NOT_FOUND, PERMISSION, INVALID. */
export function setHandler(draft: DecisionDraft, input: InputOf<'handle'>): void {
  const process = draft.requireLiving(input.uuid)
  checkActsOnSelf(input.by, process, 'handlers')
  if (!SIGNAL_TABLE[input.signal].blockable) throw new KernelError('INVALID', 'SIGKILL cannot be handled')
  if (input.handler === 'message' && !takesMessages(process.spec))
    throw new KernelError(
      'INVALID',
      `process ${process.pid} takes no messages while it runs: a signal can be blocked, ignored or left to its default`,
    )
  draft.emit(process.uuid, { type: 'signal.handled', signal: input.signal, handler: input.handler })
  deliverPending(draft, process.uuid)
  draft.replyDone(input.reply, process.uuid)
}
