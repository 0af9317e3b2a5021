// A simple model of the kernel: mutable plain objects, no facts, no effects, no code of the kernel. For each input it gives the
// expected answer and the expected processes. The model was written from the documented rules, not from the kernel's sources.
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import { ModelSignals, Refused, mayRelease, refuse, takesMessages } from './model-signals.ts'
import type { PendingSignal } from './model-signals.ts'

/** A waiting message. `urgent`: the process reads it before the next model call. */
interface Queued {
  what: 'intent' | 'wrap' | 'signal' | 'notice' | 'other'
  urgent: boolean
  id?: string
  from?: string
}

/** Returns the kind of a message that a fork takes over from its origin. */
function kindOf(id: string): Queued['what'] {
  if (id === 'intent') return 'intent'
  return id.startsWith('notice-') ? 'notice' : 'other'
}
export interface Ending {
  code: number
  reason: string
  cause: string
  signal?: string
  escalated?: true
}

export interface Proc {
  uuid: string
  pid: number
  state: 'created' | 'running' | 'zombie' | 'dead'
  parent: string | null
  lineage: string | null
  driver: string
  /** takes messages while it runs */
  talks: boolean
  /** whether it is an external agent */
  external: boolean
  session: boolean
  /** must still fork the session of another process */
  forkOf: boolean
  pinned: boolean
  origin: string | null
  /** `due`: when the agent gets the answer; null: at once, or at the end of the pause */
  asks: { id: string; options: string[]; answered: boolean; due: number | null }[]
  interactive: boolean
  /** its calls need an answer of the user, because it is, or was, below an external agent */
  mustAsk: boolean
  name: string | null
  maxSteps: number
  timeoutMs: number
  budgetTokens: number
  activity: string
  attached: boolean
  /** was attached once in this incarnation */
  began: boolean
  hasIntent: boolean
  drained: boolean
  /** is frozen with work in flight */
  midway: boolean
  holds: { reason: string; root: string | null; by: string }[]
  stopping: Ending | null
  /** the deadline of its wrap-up; null: it does not wrap up */
  wrap: number | null
  exit: Ending | null
  mask: string[]
  handlers: Map<string, string>
  pending: PendingSignal[]
  turn: number
  turnOpen: boolean
  queue: Queued[]
  step: number
  /** the number of its own steps */
  steps: number
  whole: number
  modelOpen: boolean
  /** the open calls; `unbegun`: a hold kept the call back until the incarnation or the daemon ended */
  calls: { id: string; effect: string; cuts: number; unbegun?: true }[]
  tokens: number
  /** the process that pays for this one; null if there is none */
  payer: string | null
  /** the usage of its ended descendants */
  below: { tokens: number; steps: number }
  /** the part of its usage that its payer has already counted */
  settled: { tokens: number; steps: number }
  /** the number of tokens in the context */
  context: number
  /** the largest number of tokens in the context; null: unknown */
  window: number | null
  /** whether a compaction runs */
  compacting: boolean
  compactedStep: number | null
  /** null: only its bounds are known */
  elapsed: number | null
  since: number | null
  pausedAt: number | null
}

type Input<T extends InputBody['type']> = Extract<InputBody, { type: T }>

export const INTERRUPTED: Ending = { code: 1, reason: 'interrupted', cause: 'daemon' }

export class Model extends ModelSignals {
  lastPid = 0
  readonly max: number

  constructor(max: number) {
    super()
    this.max = max
  }

  /** Applies an input. Returns the expected answer to a request, as a code; null for other inputs. */
  apply(input: InputBody): string | null {
    try {
      const answer = this.#withinTable(input)
      return 'reply' in input ? (answer ?? 'done') : null
    } catch (error) {
      if (error instanceof Refused) return `refused ${error.message}`
      throw error
    }
  }

  /** Refuses a request that would resume more processes than the table has room for. */
  #withinTable(input: InputBody): string | null {
    const wakes = input.type === 'signal' ? input.signal === 'SIGRESUME' : ['resume', 'mask', 'handle'].includes(input.type)
    if (!wakes) return this.#decide(input)
    const [before, lastPid, active] = [structuredClone([...this.all]), this.lastPid, this.active()]
    const answer = this.#decide(input)
    if (this.active() <= Math.max(active, this.max)) return answer
    this.all.clear()
    for (const [uuid, p] of before) this.all.set(uuid, p)
    this.lastPid = lastPid
    return refuse('RESOURCE_EXHAUSTED')
  }

  active(): number {
    return [...this.all.values()].filter((p) => this.isLiving(p) && !(p.state === 'running' && p.holds.length > 0)).length
  }

  #decide(input: InputBody): string | null {
    switch (input.type) {
      case 'spawn':
        this.#spawn(input)
        return null
      case 'start':
        this.#start(input)
        return null
      case 'signal':
        this.signal(input)
        return null
      case 'resume':
        this.#resume(input)
        return null
      case 'send':
        this.#send(input)
        return null
      case 'take':
        this.#take(input)
        return null
      case 'answer':
        this.#answer(input)
        return null
      case 'withdrawAnswer':
        this.#withdrawAnswer(input)
        return null
      case 'mask':
        this.mask(input)
        return null
      case 'handle':
        this.handle(input)
        return null
      case 'hold':
        this.#forEach(input.uuid, (p) => this.#systemHold(p, input.reason))
        return null
      case 'release':
        this.#forEach(input.uuid, (p) => this.release(p, (h) => h.reason === input.reason && h.by === 'system'))
        return null
      case 'report': {
        const answer = this.report(input.uuid, input.pid, input.report)
        return answer === 'INVALID' ? refuse('INVALID') : `ack ${answer}`
      }
      case 'released':
        this.#released(input)
        return null
      case 'tick':
        this.#tick(input.uuid)
        return null
      case 'boot':
        this.#boot(input)
        return null
      case 'fork':
        this.#fork(input)
        return null
      case 'pin':
        ;(this.all.get(input.uuid) ?? refuse('NOT_FOUND')).pinned = input.pinned
        return null
      case 'seen':
      case 'snooze':
        if (!this.all.has(input.uuid)) refuse('NOT_FOUND')
        return null
      case 'describe':
        this.#rename(input)
        return null
      case 'crew':
      case 'crewMoved':
      case 'retire':
      case 'removeChild':
      case 'composeNode':
      case 'composeResume':
      case 'checkpoint':
      case 'home':
      case 'liveness':
        return null
      case 'loop':
        this.#loop(input)
        return null
    }
  }

  #forEach(uuid: string | null, act: (p: Proc) => void): void {
    for (const p of [...this.all.values()]) if (uuid === null || p.uuid === uuid) act(p)
  }

  #spawn({ uuid, by, parent, spec }: Input<'spawn'>): void {
    const parentProc = parent === null ? null : this.living(parent)
    if (parentProc?.stopping) refuse('INVALID')
    // A subtree that is being stopped takes no new process.
    if (
      parentProc &&
      [parentProc, ...this.ancestors(parentProc)].some((proc) =>
        proc.pending.some(({ signal, root: tree }) => signal === 'SIGTERM' && tree !== null),
      )
    )
      refuse('INVALID')
    if (by.startsWith('agent:') && !(parentProc && this.maySignal(by, parentProc))) refuse('PERMISSION')
    const mustAsk = this.#mustAsk(spec, parent)
    this.#requireRoom()
    this.#requireFreeName(spec.name)
    const existing = this.all.get(uuid)
    if (existing && existing.state !== 'dead') refuse('CONFLICT')
    this.#createProcess(uuid, spec, parent).mustAsk = mustAsk
  }

  #rename({ uuid, change }: Input<'describe'>): void {
    const p = this.all.get(uuid) ?? refuse('NOT_FOUND')
    if (!('name' in change) || p.name === change.name) return
    this.#requireFreeName(change.name)
    p.name = change.name
  }

  /** Creates a process with the origin's state at the step, but without its usage. */
  #fork({ uuid, by, origin, at, spec: givenSpec, message }: Input<'fork'>): void {
    const originProc = this.all.get(origin.uuid) ?? refuse('NOT_FOUND')
    const spec = givenSpec ?? { ...origin.spec, name: null }
    if (originProc.driver === 'command' && !originProc.external) refuse('NOT_RESUMABLE')
    if (originProc.external && !originProc.session && !originProc.forkOf) refuse('NOT_RESUMABLE')
    const mustAsk = this.#mustAsk(spec, originProc.lineage, by.startsWith('agent:') && originProc.mustAsk)
    this.#requireRoom()
    this.#requireFreeName(spec.name)
    const existing = this.all.get(uuid)
    if (existing && existing.state !== 'dead') refuse('CONFLICT')
    const { state, step } = at
    const lineage = originProc.lineage === null ? undefined : this.all.get(originProc.lineage)
    const payer = originProc.payer === null ? undefined : this.all.get(originProc.payer)
    const p = this.#createProcess(uuid, spec, originProc.lineage)
    Object.assign(p, {
      mustAsk,
      payer: (lineage && this.isLiving(lineage)) || !payer || !this.isLiving(payer) ? originProc.lineage : payer.uuid,
      parent: lineage && this.isLiving(lineage) ? lineage.uuid : null,
      origin: originProc.uuid,
      forkOf: originProc.external,
      turn: state.turn,
      turnOpen: state.turnOpen,
      queue: state.queue.map(({ id, from, urgent }) => ({ what: kindOf(id), urgent: urgent === true, id, from })),
      step,
      whole: step,
      context: state.contextTokens,
      window: state.context?.window ?? null,
      compactedStep: state.context?.compactedStep ?? null,
    })
    if (message) this.queueUrgent(p, message.id, by)
  }

  /** Whether a process must ask: its parent must, or is an external agent. A command cannot ask, so such a parent does not start it. */
  #mustAsk(spec: { driver: string; permissions?: unknown }, lineage: string | null, before = false): boolean {
    const parent = lineage === null ? undefined : this.all.get(lineage)
    const asks = before || spec.permissions !== undefined
    if (!parent || !this.isLiving(parent)) return asks
    if (parent.mustAsk && spec.driver === 'command') refuse('PERMISSION')
    return asks || parent.mustAsk || (spec.driver === 'native' && parent.driver === 'acp')
  }

  #createProcess(uuid: string, spec: Input<'spawn'>['spec'], parent: string | null): Proc {
    this.lastPid += 1
    const p: Proc = {
      uuid,
      pid: this.lastPid,
      state: 'created',
      parent,
      lineage: parent,
      driver: spec.driver,
      talks: takesMessages(spec),
      external: spec.driver === 'acp' || spec.format !== undefined,
      session: false,
      forkOf: false,
      pinned: false,
      origin: null,
      asks: [],
      mustAsk: false,
      interactive: spec.interactive,
      name: spec.name,
      maxSteps: spec.limits.maxSteps ?? Infinity,
      timeoutMs: spec.limits.timeoutMs ?? Infinity,
      budgetTokens: spec.limits.budgetTokens ?? Infinity,
      activity: 'starting',
      attached: false,
      began: false,
      hasIntent: spec.intent !== '',
      drained: false,
      midway: false,
      holds: [],
      stopping: null,
      wrap: null,
      exit: null,
      mask: [],
      handlers: new Map(),
      pending: [],
      turn: 0,
      turnOpen: false,
      queue: takesMessages(spec) && spec.intent !== '' ? [{ what: 'intent', urgent: false }] : [],
      step: 0,
      steps: 0,
      whole: 0,
      modelOpen: false,
      calls: [],
      tokens: 0,
      payer: parent,
      below: { tokens: 0, steps: 0 },
      settled: { tokens: 0, steps: 0 },
      context: 0,
      window: null,
      compacting: false,
      compactedStep: null,
      elapsed: 0,
      since: null,
      pausedAt: null,
    }
    this.all.set(uuid, p)
    return p
  }

  #requireRoom(): void {
    if (this.active() >= this.max) refuse('RESOURCE_EXHAUSTED')
  }

  #requireFreeName(name: string | null): void {
    if (name !== null && [...this.all.values()].some((p) => p.state !== 'dead' && p.name === name)) refuse('CONFLICT')
  }

  #start({ uuid, pid, missingKeys }: Input<'start'>): void {
    const p = this.all.get(uuid)
    if (!p || p.pid !== pid) return
    if (p.state !== 'created' && (p.state !== 'running' || p.attached || p.stopping || p.holds.length > 0)) return
    const keysHold = { reason: 'credentials', root: null, by: 'system' }
    if (missingKeys.length > 0) {
      if (p.state === 'created') this.beginHeld(p, [keysHold])
      else this.addHold(p, keysHold, false)
    } else if (p.state === 'created' && this.subtreeHoldsAbove(p).length > 0) this.beginHeld(p, [])
    else this.#attach(p)
  }

  #attach(p: Proc): void {
    if (p.state === 'created') this.beginIncarnation(p)
    this.charge(p)
    for (const call of p.calls) delete call.unbegun
    Object.assign(p, { attached: true, began: true, drained: false, midway: false, modelOpen: false, compacting: false })
  }

  #systemHold(p: Proc, reason: string): void {
    const hold = { reason, root: null, by: 'system' }
    if (p.state === 'created') this.beginHeld(p, [hold])
    else if (p.state === 'running' && !p.stopping) this.addHold(p, hold, false)
  }

  /** Holds a running process for a loop, or queues a notice for a native agent. */
  #loop({ uuid, pid, evidence }: Input<'loop'>): void {
    const p = this.all.get(uuid)
    if (p?.state !== 'running' || p.pid !== pid || p.holds.length > 0 || p.stopping) return
    if (evidence.told !== undefined && p.driver === 'native') {
      if (p.turnOpen) p.queue.push({ what: 'notice', urgent: true })
    } else if (evidence.told === undefined || evidence.type === 'liveness.breaker')
      this.#systemHold(p, evidence.type === 'liveness.looping' ? 'loop' : 'breaker')
  }

  #resume(input: Input<'resume'>): void {
    const p = this.all.get(input.uuid) ?? refuse('NOT_FOUND')
    if (!(this.isLiving(p) ? this.maySignal(input.by, p) : this.#isAncestor(input.by, p))) refuse('PERMISSION')
    if (p.stopping && p.state === 'running') refuse('INVALID')
    if (input.message && !p.talks) this.#requireDeliverable(p, input.rerun)
    if (!this.isLiving(p)) return this.#resumeDead(p, input)
    const suspended = p.state === 'running' && p.holds.length > 0
    if (input.spec || ((input.message || input.limits) && !suspended)) refuse('INVALID')
    if (input.rerun && suspended) refuse('NOT_RESUMABLE')
    if (input.limits) this.changeLimits(p, input.limits)
    if (input.message) this.queueUrgent(p, input.message.id, input.by)
    const ancestors = this.ancestors(p)
    if (suspended) this.releaseBudgetHolds(p, input)
    this.release(p, (h) => mayRelease(input.by, h))
    if (suspended && input.by === 'user' && !input.only)
      for (const proc of ancestors) this.release(proc, (h) => h.reason === 'user' || h.reason === 'subtree')
    if (input.subtree)
      for (const one of this.all.values())
        if (one !== p && this.isLiving(one))
          this.release(one, (h) => h.reason === 'subtree' && h.root === p.uuid && mayRelease(input.by, h))
  }

  /** Whether one process is an ancestor of another, as far as the table shows. */
  #isAncestor(by: string, p: Proc): boolean {
    if (!by.startsWith('agent:') || by === `agent:${p.uuid}`) return true
    const ancestor = p.lineage === null ? undefined : this.all.get(p.lineage)
    return (
      p.lineage !== null &&
      (by === `agent:${p.lineage}` || (ancestor !== undefined && ancestor.state !== 'dead' && this.#isAncestor(by, ancestor)))
    )
  }

  #resumeDead(p: Proc, input: Input<'resume'>): void {
    if (p.exit?.cause === 'person' && input.by !== 'user') refuse('PERMISSION')
    if (input.rerun ? p.driver === 'native' : this.#mustStartAgain(p)) refuse('NOT_RESUMABLE')
    if (p.state === 'zombie') refuse('CONFLICT')
    this.#requireRoom()
    const name = input.spec ? input.spec.name : p.name
    this.#requireFreeName(name)
    const mustAsk = this.#mustAsk(input.spec ?? { driver: p.driver }, p.lineage, p.mustAsk && (!input.spec || input.by !== 'user'))
    if (input.limits) this.changeLimits(p, input.limits)
    this.lastPid += 1
    const lineage = p.lineage === null ? undefined : this.all.get(p.lineage)
    Object.assign(p, {
      pid: this.lastPid,
      state: 'created',
      mustAsk,
      name,
      parent: lineage && this.isLiving(lineage) ? lineage.uuid : null,
      exit: null,
      stopping: null,
      wrap: null,
      holds: [],
      attached: false,
      began: false,
      mask: [],
      handlers: new Map(),
      pending: [],
      elapsed: 0,
      since: null,
      pausedAt: null,
    })
    this.payAgain(p)
    if (input.rerun) Object.assign(p, { session: false, forkOf: false })
    // The intent is queued again if it does not wait already.
    if (input.rerun && p.talks && p.hasIntent && !p.queue.some(({ what }) => what === 'intent'))
      p.queue.push({ what: 'intent', urgent: false })
    if (input.message) this.queueUrgent(p, input.message.id, input.by)
  }

  /** Whether there is nothing to continue from. */
  #mustStartAgain(p: Proc): boolean {
    if (p.driver === 'native' || (p.external && (p.session || p.forkOf))) return false
    return !p.talks || p.turn > 0
  }

  /** Refuses a message to a command, unless its next start continues its session. */
  #requireDeliverable(p: Proc, rerun: boolean): void {
    const runs = p.state === 'running' && p.attached
    if (!p.external || runs || rerun || this.#mustStartAgain(p) || p.queue.length > 0) refuse('INVALID')
  }

  #answer({ uuid, by, id, option, text, undoMs = 0 }: Input<'answer'>): void {
    const p = this.living(uuid)
    if (by.startsWith('agent:')) refuse('PERMISSION')
    if (p.stopping && p.wrap === null) refuse('INVALID')
    const openAsks = p.asks.filter((ask) => !ask.answered)
    const ask = (id === null ? openAsks.length === 1 && openAsks[0] : openAsks.find((one) => one.id === id)) || refuse('INVALID')
    if (ask.options.length === 0 ? option !== null || text === null : option === null || !ask.options.includes(option)) refuse('INVALID')
    if (p.holds.length > 0 || undoMs > 0) Object.assign(ask, { answered: true, due: undoMs > 0 ? this.now + undoMs : null })
    else p.asks = p.asks.filter((one) => one !== ask)
    this.continueIfAnswered(p)
  }

  #withdrawAnswer({ uuid, by, id }: Input<'withdrawAnswer'>): void {
    const p = this.living(uuid)
    if (by.startsWith('agent:')) refuse('PERMISSION')
    if (p.stopping && p.wrap === null) refuse('INVALID')
    const ask = p.asks.find((one) => one.id === id && one.answered) ?? refuse('CONFLICT')
    Object.assign(ask, { answered: false, due: null })
    p.activity = 'waiting'
  }

  /** Takes messages from the queue; those of a coordinator or of the system may not be taken. */
  #take({ uuid, by, ids }: Input<'take'>): void {
    const p = this.living(uuid)
    if (by.startsWith('agent:') && by !== `agent:${uuid}`) refuse('PERMISSION')
    if (p.queue.some(({ id, from }) => id !== undefined && ids.includes(id) && (from === 'coordinator' || from === 'system')))
      refuse('INVALID')
    p.queue = p.queue.filter(({ id }) => id === undefined || !ids.includes(id))
  }

  #send({ uuid, by, id, urgent }: Input<'send'>): void {
    const p = this.living(uuid)
    if (!p.talks) refuse('INVALID')
    const sender = by.startsWith('agent:') ? this.all.get(by.slice('agent:'.length)) : undefined
    const isParent = sender !== undefined && sender.state !== 'dead' && sender.parent === uuid
    if (!isParent && !this.maySignal(by, p)) refuse('PERMISSION')
    p.queue.push({ what: 'other', urgent: urgent === true, id, from: by })
    this.settle(p)
  }

  #released({ uuid, pid, survivors }: Input<'released'>): void {
    const p = this.all.get(uuid)
    if (p?.state === 'zombie' && p.pid === pid && survivors.length === 0) this.settleAtReap(p)
  }

  #tick(uuid: string): void {
    const p = this.all.get(uuid)
    if (p?.state !== 'running') return
    if (p.stopping) {
      if (p.wrap !== null && this.now >= p.wrap) this.cancelWrapUp(p)
      return this.#deliverDue(p)
    }
    if (p.since !== null && this.now - p.since + (p.elapsed ?? 0) >= p.timeoutMs) {
      const exit = { code: 1, reason: 'timed out', cause: 'limit' }
      if (p.attached) p.stopping = exit
      else this.exit(p, exit)
      return
    }
    this.deliverReady(p)
    if (p.state !== 'running' || p.stopping) return
    if (p.holds.some((h) => h.reason !== 'daemon-shutdown') && !p.drained && p.pausedAt !== null && this.now >= p.pausedAt + 120_000)
      Object.assign(p, { drained: true, midway: true })
    this.#deliverDue(p)
  }

  #deliverDue(p: Proc): void {
    if (p.state !== 'running' || p.holds.length > 0 || (p.stopping && p.wrap === null)) return
    p.asks = p.asks.filter(({ due }) => due === null || due > this.now)
    this.continueIfAnswered(p)
  }

  #boot({ uuid, survivors }: Input<'boot'>): void {
    const p = this.all.get(uuid)
    if (!p || p.state === 'dead') return
    if (p.state === 'running' && !p.stopping && p.holds.length > 0 && (!this.#mustStartAgain(p) || !p.began)) {
      this.lastPid += 1
      this.keepHeldCalls(p)
      if (!p.drained || p.midway || p.external) {
        for (const call of p.calls) call.cuts += 1
        this.closeCalls(p, (call) => p.external || call.effect === 'once' || call.cuts > 1)
      }
      Object.assign(p, {
        pid: this.lastPid,
        attached: false,
        activity: 'starting',
        drained: true,
        midway: false,
        since: null,
        pausedAt: null,
        asks: [],
      })
      p.pending = p.pending.map((pendingSignal) => ({ ...pendingSignal, due: pendingSignal.due === null ? null : 0 }))
      if (survivors.length === 0) this.deliverReady(p)
      return
    }
    if (this.isLiving(p)) {
      p.asks = []
      if (p.state === 'created') p.compacting = false
      if (p.since !== null) p.elapsed = null
      p.since = null
      this.orphan(p)
      this.settleAtExit(p)
      this.dropSignalNotices(p)
      this.keepHeldCalls(p)
      const stopping = p.stopping ?? this.deferredStop(p)
      if (!stopping) for (const call of p.calls) if (!call.unbegun) call.cuts += 1
      Object.assign(p, { exit: stopping ?? INTERRUPTED, stopping: null, state: 'zombie' })
    }
    if (survivors.length === 0) this.settleAtReap(p)
  }
}
