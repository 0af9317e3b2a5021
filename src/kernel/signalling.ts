// Signals: who may send one, where it goes (one process or a subtree), and what each does by default.
// Owns delivery; dispositions come from signals.ts. Every delivery is a fact with its sender, origin and root,
// and the wish is durable before anything acts on it. Test: test/tables/signalling.test.ts.
import { takesMessages } from './capabilities.ts'
import { hasChildren, keepsChildren, mayComeBack } from './children.ts'
import { KernelError } from './errors.ts'
import { RETIRED, signalExit } from './exit.ts'
import { mayRelease } from './holds.ts'
import { hold } from './holding.ts'
import { pauseHold, release, settle } from './pausing.ts'
import { checkOwn, checkSignaller } from './permitting.ts'
import { terminate } from './release.ts'
import { beginHeld, enqueue, isQueueFull } from './spawning.ts'
import { DEFER_MS, SIGNALS, disposition, messageOf } from './signals.ts'
import { isLiving } from './status.ts'
import { livingChildren, livingSubtree } from './tree.ts'
import { KILL_GRACE_MS, cutShort, wrapUp } from './wrapping-up.ts'
import type { InputOf } from './inputs.ts'
import type { PendingSignal, SignalState } from './signals.ts'
import type { Hold, Process, ProcessSpec, Sender, Signal, Stopping, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** One signal on its way to one process. */
export interface Delivery {
  readonly signal: Signal
  readonly by: Sender
  /** the process whose subtree was meant; null for a single one */
  readonly root: Uuid | null
  readonly graceMs: number | null
  readonly freeze: boolean
  readonly via?: string
}

export function signal(work: Work, input: InputOf<'signal'>): void {
  const target = work.get(input.uuid)
  if (!target || !isLiving(target)) throw new KernelError('NOT_FOUND', `process ${target?.pid ?? input.uuid} has ended`)
  checkSignaller(work, input.by, target, input.subtree)
  if (input.signal === 'SIGPAUSE' && isStopping(target)) throw new KernelError('INVALID', `process ${target.pid} is stopping`)
  const reached = input.subtree ? livingSubtree(work, target.uuid) : [target]
  const { signal: name, by, graceMs, freeze } = input
  const delivery: Delivery = { signal: name, by, graceMs, freeze, root: input.subtree ? target.uuid : null, ...viaOf(input) }
  const goOn = ends(name, target) && !input.subtree && !keepsChildren(target) ? livingChildren(work, target.uuid).length : 0
  // What a supervisor keeps has heard of it before its supervisor would stop it by itself.
  const order = reached.some(keepsChildren) ? reached.toReversed() : reached
  for (const { uuid, spec } of order) deliver(work, uuid, { ...delivery, graceMs: graceMs ?? patience(spec, input.leastGraceMs) })
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid: target.uuid, affected: reached.length, childrenGoOn: goOn, note: null } })
}

/** A sender that only asks for patience leaves what cleans up for longer its own time. */
function patience({ graceMs = 0 }: ProcessSpec, leastMs: number | undefined): number | null {
  return leastMs === undefined ? null : Math.max(leastMs, graceMs)
}

function viaOf({ via }: { readonly via?: string }): { readonly via?: string } {
  return via === undefined ? {} : { via }
}

/** Who takes messages only ends its turn by SIGINT. */
function ends(name: Signal, { spec }: Process): boolean {
  return name === 'SIGTERM' || name === 'SIGKILL' || (name === 'SIGINT' && !spec.interactive)
}

function isStopping(process: Process): boolean {
  return process.life.state === 'running' && process.life.stopping !== null
}

/** Ends its turn, or all of it where it takes no messages; `via` says by which of our own rules. */
export function interruptBySystem(work: Work, uuid: Uuid, via: string): void {
  deliver(work, uuid, { signal: 'SIGINT', by: 'system', root: null, graceMs: null, freeze: false, via })
}

/** Delivers one signal as the receiver's mask and handlers say; `force` for one whose deferral is over. */
export function deliver(work: Work, uuid: Uuid, delivery: Delivery, force = false): void {
  const process = work.need(uuid)
  if (!isLiving(process)) return
  const { signal: name, by, root, graceMs } = delivery
  const how = disposition(process.signals, name, force)
  work.emit(uuid, { type: 'signal.sent', signal: name, by, root, disposition: how, graceMs, ...viaOf(delivery) })
  if (by === 'user' && ends(name, process)) endForGood(work, process)
  switch (how) {
    case 'pending':
      return pend(work, uuid, delivery)
    case 'ignored':
      return by === 'user' || isOfSupervisor(work, process, by) ? pend(work, uuid, delivery) : undefined
    case 'message':
      return message(work, process, delivery)
    case 'default':
      return act(work, uuid, delivery)
  }
}

/** It is being ended already, by its supervisor or by a rule of ours, which would bring it back: a person's word is the last one. */
function endForGood(work: Work, process: Process): void {
  const { uuid, life } = process
  if (life.state !== 'running' || !life.stopping || life.stopping.exit.cause === 'person' || !mayComeBack(process)) return
  work.emit(uuid, { type: 'process.stopping', stopping: { ...life.stopping, exit: { ...life.stopping.exit, cause: 'person' } } })
}

/** What the agent is told; the signal itself goes on where the message could not stand for it. */
const WORDS: Readonly<Record<Signal, string>> = {
  SIGTERM: '',
  SIGKILL: '',
  SIGINT: 'end what you are doing',
  SIGPAUSE: 'come to a place where you can be paused',
  SIGRESUME: 'you go on',
}

/**
 * The message is its next input. SIGTERM ends it all the same, when it had time to wrap up; who is suspended reads nothing,
 * so that SIGRESUME wakes it; and what a person wants paused is paused, a little later.
 */
function message(work: Work, before: Process, delivery: Delivery): void {
  const { signal: name, by } = delivery
  const { uuid } = before
  const process = work.need(uuid)
  if (name === 'SIGTERM') {
    const graceMs = graceOf(process, delivery)
    const wish: Stopping = { signal: name, by, at: work.now.wall, graceMs, exit: signalExit(name, by, false) }
    return wrapUp(work, process, wish) ? undefined : act(work, uuid, delivery)
  }
  // A queue that is full keeps no signal from its process; who stops has nothing more to hear.
  if (!isQueueFull(process) && !isStopping(process)) enqueue(work, uuid, { id: messageOf(process.seq), from: 'system', text: `You received ${name} from ${by}: ${WORDS[name]}.`, urgent: true })
  settle(work, uuid)
  if (name === 'SIGRESUME') act(work, uuid, delivery)
  if (name === 'SIGPAUSE' && by === 'user') pend(work, uuid, delivery)
}

/** A set: the first of a kind waits, but a person's before all others; none can put off what a person sent. */
function pend(work: Work, uuid: Uuid, { signal: name, by, root, graceMs, via }: Delivery): void {
  const process = work.need(uuid)
  const known = process.signals.pending.find((waits) => waits.signal === name)
  const insists = by === 'user' || isOfSupervisor(work, process, by)
  const isPersons = by === 'user' && known?.by !== 'user'
  if (known && !isPersons && (known.dueMono !== null || !insists)) return
  const dueMono = insists ? (known?.dueMono ?? work.now.mono + DEFER_MS) : null
  work.emit(uuid, { type: 'signal.pended', pending: { signal: name, by, root, graceMs, dueMono, ...(via === undefined ? {} : { via }) } })
}

/** A group that is restarted, or a supervisor that ends, cannot wait for ever. */
function isOfSupervisor(work: Work, { parentUuid }: Process, by: Sender): boolean {
  const parent = by === `agent:${parentUuid}` && parentUuid !== null ? work.get(parentUuid) : undefined
  return parent !== undefined && keepsChildren(parent)
}

/** The default actions. */
const ACTIONS: Readonly<Record<Signal, (work: Work, process: Process, delivery: Delivery) => void>> = {
  SIGTERM: (work, process, delivery) => stop(work, process, delivery, graceOf(process, delivery)),
  SIGKILL: (work, process, delivery) => stop(work, process, delivery, 0),
  SIGINT: interrupt,
  SIGPAUSE: pause,
  SIGRESUME: (work, process, delivery) => {
    release(work, process.uuid, delivery.by, (held) => isMeant(held, process.uuid, delivery))
  },
}

/** Below the root of a subtree only what was paused with it goes on. */
function isMeant(held: Hold, uuid: Uuid, { by, root }: Delivery): boolean {
  const below = root !== null && root !== uuid
  return mayRelease(by, held) && (!below || (held.reason === 'subtree' && held.root === root))
}

function graceOf({ spec }: Process, { graceMs }: Delivery): number {
  return graceMs ?? Math.max(KILL_GRACE_MS, spec.graceMs ?? 0)
}

function act(work: Work, uuid: Uuid, delivery: Delivery): void {
  ACTIONS[delivery.signal](work, work.need(uuid), delivery)
}

function pause(work: Work, process: Process, delivery: Delivery): void {
  const added = pauseHold(delivery, work.now.wall)
  if (process.life.state === 'created') beginHeld(work, process, added)
  else if (!isStopping(process)) hold(work, process.uuid, added, delivery.freeze)
}

function interrupt(work: Work, process: Process, delivery: Delivery): void {
  const { life, spec } = process
  if (life.state !== 'running' || !spec.interactive) return stop(work, process, delivery, graceOf(process, delivery))
  if (life.attached && !life.stopping) work.effect({ type: 'driver.interrupt', uuid: process.uuid, pid: process.pid })
}

/** The wish to end. A second one only shortens the patience: the first cause stays. */
function stop(work: Work, process: Process, { signal: name, by }: Delivery, graceMs: number): void {
  const { uuid, pid, life, retiredAt } = process
  const suspended = life.state === 'running' && life.holds.length > 0
  const exit = retiredAt !== null && by !== 'user' ? RETIRED : signalExit(name, by, suspended)
  if (life.state !== 'running' || (!life.attached && !hasChildren(work, process))) return terminate(work, process, exit)
  if (!life.stopping) {
    work.emit(uuid, { type: 'process.stopping', stopping: { signal: name, by, at: work.now.wall, graceMs, exit } })
  } else cutShort(work, process)
  if (hasChildren(work, process)) {
    work.news.push({ type: 'stopping', uuid, signal: name })
    return
  }
  const ladder = suspended ? 'SIGKILL' : (name as 'SIGTERM' | 'SIGKILL' | 'SIGINT')
  work.effect({ type: 'driver.stop', uuid, pid, signal: ladder, graceMs: suspended ? 0 : graceMs })
}

/** What waits and is not blocked any more, or whose deferral is over, is delivered now, in the order in which it came. */
export function deliverPending(work: Work, uuid: Uuid): void {
  const { signals } = work.need(uuid)
  const isDue = ({ dueMono }: PendingSignal): boolean => dueMono !== null && dueMono <= work.now.mono
  const arriving = signals.pending.filter((pending) => isDue(pending) || !waitsOn(signals, pending))
  for (const { signal: name } of arriving) work.emit(uuid, { type: 'signal.unpended', signal: name })
  for (const pending of arriving) deliver(work, uuid, { ...pending, freeze: false }, isDue(pending))
}

/** Blocked still; or sent by a person or a supervisor and ignored, which puts it off and no more. */
function waitsOn(signals: SignalState, { signal: name, dueMono }: PendingSignal): boolean {
  const how = disposition(signals, name)
  return how === 'pending' || (how === 'ignored' && dueMono !== null)
}

export function mask(work: Work, input: InputOf<'mask'>): void {
  const process = living(work, input.uuid)
  checkOwn(input.by, process, 'the mask')
  if (input.mask.some((name) => !SIGNALS[name].blockable)) throw new KernelError('INVALID', 'SIGKILL cannot be blocked')
  const { mask: before } = process.signals
  const masks = { set: input.mask, block: [...before, ...input.mask], unblock: before.filter((name) => !input.mask.includes(name)) }
  work.emit(process.uuid, { type: 'signal.masked', mask: [...new Set(masks[input.how ?? 'set'])] })
  deliverPending(work, process.uuid)
  done(work, input.reply, process.uuid)
}

export function handle(work: Work, input: InputOf<'handle'>): void {
  const process = living(work, input.uuid)
  checkOwn(input.by, process, 'the handlers')
  if (!SIGNALS[input.signal].blockable) throw new KernelError('INVALID', 'SIGKILL cannot be handled')
  if (input.handler === 'message' && !takesMessages(process.spec)) throw new KernelError('INVALID', `process ${process.pid} takes no messages while it runs: a signal can be blocked, ignored or left to its default`)
  work.emit(process.uuid, { type: 'signal.handled', signal: input.signal, handler: input.handler })
  deliverPending(work, process.uuid)
  done(work, input.reply, process.uuid)
}

function living(work: Work, uuid: Uuid): Process {
  const process = work.get(uuid)
  if (!process || !isLiving(process)) throw new KernelError('NOT_FOUND', `process ${process?.pid ?? uuid} has ended`)
  return process
}

function done(work: Work, to: number, uuid: Uuid): void {
  work.effect({ type: 'reply', to, value: { type: 'done', uuid, affected: 1, childrenGoOn: 0, note: null } })
}
