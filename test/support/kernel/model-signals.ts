// The part of the simple model for signals: the processes that they reach, masks, handlers, and default actions. Also begins incarnations,
// because a pause starts a created process, and a process below a paused one begins with its holds.
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { Ending, Proc } from './model.ts'
import { ModelReports } from './model-reports.ts'
import type { Signal } from '../../../src/kernel/model/words.ts'
import type { ProcessSpec } from '../../../src/kernel/model/process-spec.ts'

/** A signal that waits, because the process masks it or another handler holds it back. */
export interface PendingSignal {
  signal: Signal
  by: string
  /** the top of the subtree that was signalled; null: one process was signalled */
  root: string | null
  /** when the signal acts despite the mask, by the monotonic clock in ms; null: never. Only the user's signals have it */
  due: number | null
  /** the grace of a stop, in ms */
  grace: number
}

type Input<T extends InputBody['type']> = Extract<InputBody, { type: T }>

/** The reasons of holds that not even the user can release: they end with their cause. */
const UNTIL_CAUSE_ENDS = ['budget', 'disk-full', 'credentials']
/** The numbers of signals, which are part of the exit code. */
const POSIX: Record<string, number> = { SIGTERM: 15, SIGKILL: 9, SIGINT: 2 }

/** The refusal of a request, with its error code. */
export class Refused extends Error {}

/** Whether a sender may release a hold: the user all holds that do not end with their cause, others only their own. */
export function mayRelease(by: string, hold: { reason: string; by: string }): boolean {
  return by === 'user' ? !UNTIL_CAUSE_ENDS.includes(hold.reason) : hold.by === by
}

/** Whether a running process takes messages: agents do, and interactive commands with a known line format. */
export function takesMessages({ driver, format, interactive, agent }: ProcessSpec): boolean {
  return driver !== 'command' || (format !== undefined && interactive && agent !== 'command')
}

export function refuse(code: string): never {
  throw new Refused(code)
}

function causeOf(by: string): string {
  return by === 'user' ? 'person' : by === 'system' ? 'daemon' : 'parent'
}

export class ModelSignals extends ModelReports {
  invalid(): never {
    return refuse('INVALID')
  }

  living(uuid: string): Proc {
    const p = this.all.get(uuid)
    return p && this.isLiving(p) ? p : refuse('NOT_FOUND')
  }

  /** Whether the sender may signal the process: an agent may signal itself and its descendants. */
  maySignal(by: string, p: Proc): boolean {
    return !by.startsWith('agent:') || by === `agent:${p.uuid}` || this.ancestors(p).some((proc) => by === `agent:${proc.uuid}`)
  }

  beginIncarnation(p: Proc): void {
    this.charge(p)
    Object.assign(p, {
      state: 'running',
      activity: 'starting',
      attached: false,
      drained: true,
      midway: false,
      holds: [],
      stopping: null,
      wrap: null,
      elapsed: 0,
      since: this.now,
      pausedAt: null,
      modelOpen: false,
      compacting: false,
      asks: [],
    })
    this.closeCalls(p, (call) => p.external || (!call.unbegun && (call.effect === 'once' || call.cuts > 1)))
  }

  /** Begins an incarnation with the holds from above and its own. */
  beginHeld(p: Proc, ownHolds: Proc['holds']): void {
    const holds = [...this.subtreeHoldsAbove(p), ...ownHolds]
    this.beginIncarnation(p)
    for (const hold of holds) this.addHold(p, hold, false)
  }

  /** Returns the subtree holds of the ancestors, including those that wait because of a mask. */
  subtreeHoldsAbove(p: Proc): Proc['holds'] {
    return this.ancestors(p).flatMap((proc) => {
      const pendingPauses = proc.pending
        .filter(({ signal, root }) => signal === 'SIGPAUSE' && root !== null)
        .map(({ root, by }) => ({ reason: 'subtree', root, by }))
      return [...(proc.state === 'running' ? proc.holds.filter((h) => h.reason === 'subtree') : []), ...pendingPauses]
    })
  }

  signal({ uuid, signal, by, subtree, freeze, graceMs }: Input<'signal'>): void {
    const p = this.living(uuid)
    if (!this.maySignal(by, p)) refuse('PERMISSION')
    if (signal === 'SIGPAUSE' && p.stopping) refuse('INVALID')
    const root = subtree ? uuid : null
    for (const target of subtree ? this.tree(p) : [p]) {
      this.#revokePending(target, { signal, by, root })
      this.#deliverSignal(target, { signal, by, root, due: null, grace: graceMs ?? 300 }, { freeze, force: false })
    }
  }

  /** Drops pending signals that the new signal revokes: of a pause and a resume, the last counts. */
  #revokePending(p: Proc, { signal, by, root }: Pick<PendingSignal, 'signal' | 'by' | 'root'>): void {
    if (by !== 'user' && signal !== 'SIGKILL' && !p.mask.includes(signal) && p.handlers.get(signal) === 'ignore') return
    const isEnding = signal === 'SIGTERM' || signal === 'SIGKILL' || (signal === 'SIGINT' && !p.interactive)
    p.pending = p.pending.filter((pendingSignal) => {
      if (signal !== 'SIGRESUME')
        return pendingSignal.signal !== 'SIGRESUME' || !(signal === 'SIGPAUSE' || isEnding) || (by !== 'user' && by !== pendingSignal.by)
      return (
        pendingSignal.signal !== 'SIGPAUSE' ||
        !(by === 'user' || by === pendingSignal.by) ||
        (root !== null && root !== p.uuid && pendingSignal.root !== root)
      )
    })
  }

  tree(root: Proc): Proc[] {
    const found = [root]
    for (const p of found) for (const child of this.all.values()) if (child.parent === p.uuid && child.state !== 'dead') found.push(child)
    return found.filter((p) => this.isLiving(p))
  }

  #deliverSignal(p: Proc, waitingSignal: PendingSignal, deliveryOptions: { freeze: boolean; force: boolean }): void {
    if (!this.isLiving(p)) return
    const { signal, by } = waitingSignal
    const isMessage = deliveryOptions.force && signal === 'SIGTERM' && p.handlers.get(signal) === 'message'
    const handler = isMessage
      ? 'message'
      : signal === 'SIGKILL' || deliveryOptions.force
        ? 'default'
        : p.mask.includes(signal)
          ? 'blocked'
          : (p.handlers.get(signal) ?? 'default')
    if (handler === 'blocked' || (handler === 'ignore' && by === 'user')) this.#addPending(p, waitingSignal)
    if (handler === 'message') this.#queueMessage(p, waitingSignal, deliveryOptions.freeze)
    if (handler === 'default') this.#performDefaultAction(p, waitingSignal, deliveryOptions.freeze)
  }

  #addPending(p: Proc, { signal, by, root, grace }: PendingSignal): void {
    const duplicate = p.pending.find((pendingSignal) => pendingSignal.signal === signal)
    const isNarrower = by === 'user' && duplicate?.by === 'user' && duplicate.root !== null && root === null
    if (duplicate && !isNarrower && (duplicate.due !== null || by !== 'user')) return
    p.pending = [
      ...p.pending.filter((pendingSignal) => pendingSignal !== duplicate),
      { signal, by, root, grace, due: by === 'user' ? (duplicate?.due ?? this.now + 10_000) : null },
    ]
  }

  /**
   * Queues the message about a signal. After SIGTERM the process ends within its grace. The agent has all of it but the last 300 ms, or the
   * last half of a short grace, which are for the end of its programs. After SIGRESUME the process continues, too.
   */
  #queueMessage(p: Proc, waitingSignal: PendingSignal, freeze: boolean): void {
    const { signal, by, grace } = waitingSignal
    if (signal === 'SIGTERM') {
      const canRead =
        p.state === 'running' &&
        p.attached &&
        p.holds.length === 0 &&
        p.activity !== 'starting' &&
        grace > 0 &&
        (!p.stopping || p.wrap !== null)
      if (!canRead || (!p.stopping && p.queue.length >= 1_000)) return this.#performDefaultAction(p, waitingSignal, freeze)
      const due = this.now + grace - Math.min(300, grace / 2)
      if (p.wrap !== null) p.wrap = Math.min(p.wrap, due)
      else {
        p.queue.push({ what: 'wrap', urgent: true })
        Object.assign(p, { wrap: due, stopping: { code: 143, reason: `SIGTERM from ${by}`, signal, cause: causeOf(by) } })
        this.settle(p)
      }
      return
    }
    if (p.queue.length < 1_000 && !p.stopping) p.queue.push({ what: 'signal', urgent: true })
    this.settle(p)
    if (signal === 'SIGRESUME') this.#performDefaultAction(p, waitingSignal, freeze)
    if (signal === 'SIGPAUSE' && by === 'user') this.#addPending(p, waitingSignal)
  }

  #performDefaultAction(p: Proc, { signal, by, root }: PendingSignal, freeze: boolean): void {
    if (signal === 'SIGRESUME') {
      this.release(p, (h) => mayRelease(by, h) && (root === null || root === p.uuid || (h.reason === 'subtree' && h.root === root)))
    } else if (signal === 'SIGPAUSE') {
      const hold = { reason: root === null ? 'user' : 'subtree', root, by }
      if (p.state === 'created') this.beginHeld(p, [hold])
      else if (!p.stopping) this.addHold(p, hold, freeze)
    } else if (signal !== 'SIGINT' || p.state !== 'running' || !p.interactive) this.#stopProcess(p, signal, by)
  }

  /** Returns the user's signal to end the process, which the process had masked when the daemon ended. */
  deferredStop(p: Proc): Ending | undefined {
    const waitingSignal = p.pending.find(
      ({ signal, due }) => due !== null && (signal === 'SIGTERM' || (signal === 'SIGINT' && (p.state !== 'running' || !p.interactive))),
    )
    return waitingSignal && this.#endingOf(p, waitingSignal.signal, waitingSignal.by)
  }

  #endingOf(p: Proc, signal: Signal, by: string): Ending {
    const cause = causeOf(by)
    const paused = p.state === 'running' && p.holds.length > 0
    return paused
      ? { code: 1, reason: 'context cancelled while paused', signal, cause }
      : { code: 128 + (POSIX[signal] ?? 0), reason: `${signal} from ${by}`, signal, cause }
  }

  #stopProcess(p: Proc, signal: Signal, by: string): void {
    const exit = this.#endingOf(p, signal, by)
    if (p.state === 'created' || !p.attached) this.exit(p, exit)
    else if (p.stopping) this.cancelWrapUp(p)
    else p.stopping = exit
  }

  deliverReady(p: Proc): void {
    const readySignals = p.pending.filter((pendingSignal) => {
      if (pendingSignal.due !== null && pendingSignal.due <= this.now) return true
      return !p.mask.includes(pendingSignal.signal) && !(p.handlers.get(pendingSignal.signal) === 'ignore' && pendingSignal.by === 'user')
    })
    p.pending = p.pending.filter((pendingSignal) => !readySignals.includes(pendingSignal))
    for (const pendingSignal of readySignals)
      this.#deliverSignal(p, pendingSignal, { freeze: false, force: pendingSignal.due !== null && pendingSignal.due <= this.now })
  }

  mask({ uuid, mask, how: maskChange }: Input<'mask'>): void {
    const p = this.living(uuid)
    if (mask.includes('SIGKILL')) refuse('INVALID')
    p.mask =
      maskChange === 'block'
        ? [...p.mask, ...mask]
        : maskChange === 'unblock'
          ? p.mask.filter((one) => !mask.some((blocked) => blocked === one))
          : [...mask]
    this.deliverReady(p)
  }

  handle({ uuid, signal, handler }: Input<'handle'>): void {
    const p = this.living(uuid)
    if (signal === 'SIGKILL' || (handler === 'message' && !p.talks)) refuse('INVALID')
    p.handlers.set(signal, handler)
    this.deliverReady(p)
  }
}
