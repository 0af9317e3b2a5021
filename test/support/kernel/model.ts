// A dumb model of the kernel: plain objects that are changed in place, no facts, no effects, no code of the kernel.
// It says of each input what is answered and what each process is afterwards. Written from the rules, not from the sources.
import type { InputBody } from '../../../src/kernel/inputs.ts'
import type { Signal } from '../../../src/kernel/types.ts'
import { ModelReports } from './model-reports.ts'

interface Waiting { signal: Signal; by: string; root: string | null; due: number | null }
export interface Ending { code: number; reason: string; cause: string; signal?: string; escalated?: true }

export interface Proc {
  uuid: string
  pid: number
  state: 'created' | 'running' | 'zombie' | 'dead'
  parent: string | null
  lineage: string | null
  driver: string
  /** an agent that others wrote */
  external: boolean
  session: boolean
  /** a session of another one waits to be forked */
  forkOf: boolean
  pinned: boolean
  origin: string | null
  asks: { id: string; options: string[]; answered: boolean }[]
  interactive: boolean
  name: string | null
  maxSteps: number
  timeoutMs: number
  budgetTokens: number
  activity: string
  attached: boolean
  /** attached once in this incarnation */
  began: boolean
  /** there is one; and where in the queue it waits */
  hasIntent: boolean
  intentAt: number | null
  drained: boolean
  /** frozen with something in flight */
  midway: boolean
  holds: { reason: string; root: string | null; by: string }[]
  stopping: Ending | null
  exit: Ending | null
  mask: string[]
  handlers: Map<string, string>
  pending: Waiting[]
  turn: number
  turnOpen: boolean
  queue: number
  /** so many of them are to be read before the next model call */
  urgent: number
  step: number
  /** those of its own */
  taken: number
  whole: number
  modelOpen: boolean
  calls: { id: string; effect: string }[]
  tokens: number
  /** tokens of the context, and what it may hold */
  context: number
  window: number | null
  /** a summary is being made */
  compacting: boolean
  compactedStep: number | null
  /** null: only bounds are known */
  elapsed: number | null
  since: number | null
  pausedAt: number | null
}

type Input<T extends InputBody['type']> = Extract<InputBody, { type: T }>

const NEEDS_CAUSE_GONE = ['budget', 'disk-full', 'credentials']
const POSIX: Record<string, number> = { SIGTERM: 15, SIGKILL: 9, SIGINT: 2 }
export const INTERRUPTED: Ending = { code: 1, reason: 'interrupted', cause: 'daemon' }
export const COMPLETED: Ending = { code: 0, reason: 'completed', cause: 'agent' }

/** Why a request is refused. */
class Refused extends Error {}

export class Model extends ModelReports {
  lastPid = 0
  readonly max: number

  constructor(max: number) {
    super()
    this.max = max
  }

  /** What a request is answered, in a word; null for what is no request. */
  apply(input: InputBody): string | null {
    try {
      const answer = this.#decide(input)
      return 'reply' in input ? (answer ?? 'done') : null
    } catch (error) {
      if (error instanceof Refused) return `refused ${error.message}`
      throw error
    }
  }

  active(): number {
    return [...this.all.values()].filter((p) => this.lives(p) && !(p.state === 'running' && p.holds.length > 0)).length
  }

  #decide(input: InputBody): string | null {
    switch (input.type) {
      case 'spawn': this.#spawn(input); return null
      case 'start': this.#start(input); return null
      case 'signal': this.#signal(input); return null
      case 'resume': this.#resume(input); return null
      case 'send': this.#send(input); return null
      case 'answer': this.#answer(input); return null
      case 'mask': this.#mask(input); return null
      case 'handle': this.#handle(input); return null
      case 'hold': this.#each(input.uuid, (p) => this.#systemHold(p, input.reason)); return null
      case 'release': this.#each(input.uuid, (p) => this.drop(p, (h) => h.reason === input.reason && h.by === 'system')); return null
      case 'report': {
        const answer = this.report(input.uuid, input.pid, input.report)
        return answer === 'INVALID' ? refuse('INVALID') : `ack ${answer}`
      }
      case 'released': this.#released(input); return null
      case 'tick': this.#tick(input.uuid); return null
      case 'boot': this.#boot(input); return null
      case 'fork': this.#fork(input); return null
      case 'pin': (this.all.get(input.uuid) ?? refuse('NOT_FOUND')).pinned = input.pinned; return null
      case 'checkpoint': return null
    }
  }

  #living(uuid: string): Proc {
    const p = this.all.get(uuid)
    return p && this.lives(p) ? p : refuse('NOT_FOUND')
  }

  #each(uuid: string | null, act: (p: Proc) => void): void {
    for (const p of [...this.all.values()]) if (uuid === null || p.uuid === uuid) act(p)
  }

  #spawn({ uuid, parent, spec }: Input<'spawn'>): void {
    const above = parent === null ? null : this.#living(parent)
    if (above?.stopping) refuse('INVALID')
    this.#room()
    this.#free(spec.name)
    const there = this.all.get(uuid)
    if (there && there.state !== 'dead') refuse('CONFLICT')
    this.#born(uuid, spec, parent)
  }

  /** What it was at that place, with nothing used. */
  #fork({ uuid, origin, at, spec: given, message }: Input<'fork'>): void {
    const from = this.all.get(origin.uuid) ?? refuse('NOT_FOUND')
    const spec = given ?? { ...origin.spec, name: null }
    if (from.driver === 'command' && !from.external) refuse('NOT_RESUMABLE')
    if (from.external && !from.session && !from.forkOf) refuse('NOT_RESUMABLE')
    this.#room()
    this.#free(spec.name)
    const there = this.all.get(uuid)
    if (there && there.state !== 'dead') refuse('CONFLICT')
    const { state, step } = at
    const lineage = from.lineage === null ? undefined : this.all.get(from.lineage)
    const p = this.#born(uuid, spec, from.lineage)
    const intentAt = state.queue.findIndex(({ id }) => id === 'intent')
    Object.assign(p, {
      parent: lineage && this.lives(lineage) ? lineage.uuid : null, origin: from.uuid, forkOf: from.external,
      turn: state.turn, turnOpen: state.turnOpen, queue: state.queue.length,
      urgent: state.queue.findLastIndex(({ urgent }) => urgent) + 1, intentAt: intentAt < 0 ? null : intentAt,
      step, whole: step, context: state.contextTokens, window: state.context?.window ?? null, compactedStep: state.context?.compactedStep ?? null,
    })
    if (message) this.#tell(p)
  }

  #born(uuid: string, spec: Input<'spawn'>['spec'], parent: string | null): Proc {
    this.lastPid += 1
    const p: Proc = {
      uuid, pid: this.lastPid, state: 'created', parent, lineage: parent, driver: spec.driver, external: spec.driver === 'acp' || spec.format !== undefined, session: false, forkOf: false, pinned: false, origin: null, asks: [], interactive: spec.interactive, name: spec.name,
      maxSteps: spec.limits.maxSteps ?? Infinity, timeoutMs: spec.limits.timeoutMs ?? Infinity, budgetTokens: spec.limits.budgetTokens ?? Infinity,
      activity: 'starting', attached: false, began: false, hasIntent: spec.intent !== '', intentAt: spec.driver !== 'command' && spec.intent !== '' ? 0 : null, drained: false, midway: false, holds: [], stopping: null, exit: null, mask: [], handlers: new Map(), pending: [],
      turn: 0, turnOpen: false, queue: spec.driver !== 'command' && spec.intent !== '' ? 1 : 0, urgent: 0,
      step: 0, taken: 0, whole: 0, modelOpen: false, calls: [], tokens: 0, context: 0, window: null, compacting: false, compactedStep: null, elapsed: 0, since: null, pausedAt: null,
    }
    this.all.set(uuid, p)
    return p
  }

  #room(): void {
    if (this.active() >= this.max) refuse('RESOURCE_EXHAUSTED')
  }

  #free(name: string | null): void {
    if (name !== null && [...this.all.values()].some((p) => p.state !== 'dead' && p.name === name)) refuse('CONFLICT')
  }

  #start({ uuid, pid, missingKeys }: Input<'start'>): void {
    const p = this.all.get(uuid)
    if (!p || p.pid !== pid) return
    if (p.state !== 'created' && (p.state !== 'running' || p.attached || p.stopping || p.holds.length > 0)) return
    const keys = { reason: 'credentials', root: null, by: 'system' }
    if (missingKeys.length > 0) {
      if (p.state === 'created') this.#beginHeld(p, [keys])
      else this.addHold(p, keys, false)
    } else if (p.state === 'created' && this.#above(p).length > 0) this.#beginHeld(p, [])
    else this.#attach(p)
  }

  #attach(p: Proc): void {
    if (p.state === 'created') this.#begin(p)
    this.charge(p)
    Object.assign(p, { attached: true, began: true, drained: false, midway: false, modelOpen: false, compacting: false })
  }

  #begin(p: Proc): void {
    this.charge(p)
    Object.assign(p, { state: 'running', activity: 'starting', attached: false, drained: true, midway: false, holds: [], stopping: null, elapsed: 0, since: this.now, pausedAt: null, modelOpen: false, compacting: false, asks: [] })
    this.closeCalls(p, (call) => p.external || call.effect === 'once')
  }

  #beginHeld(p: Proc, own: Proc['holds']): void {
    const holds = [...this.#above(p), ...own]
    this.#begin(p)
    for (const hold of holds) this.addHold(p, hold, false)
  }

  /** The subtree holds above it. */
  #above(p: Proc): Proc['holds'] {
    return this.ancestors(p).flatMap((one) => (one.state === 'running' ? one.holds.filter((h) => h.reason === 'subtree') : []))
  }

  #systemHold(p: Proc, reason: string): void {
    const hold = { reason, root: null, by: 'system' }
    if (p.state === 'created') this.#beginHeld(p, [hold])
    else if (p.state === 'running' && !p.stopping) this.addHold(p, hold, false)
  }

  #signal({ uuid, signal, by, subtree, freeze }: Input<'signal'>): void {
    const p = this.#living(uuid)
    if (by.startsWith('agent:') && by !== `agent:${uuid}` && !this.ancestors(p).some((one) => by === `agent:${one.uuid}`)) refuse('PERMISSION')
    if (signal === 'SIGPAUSE' && p.stopping) refuse('INVALID')
    const root = subtree ? uuid : null
    for (const one of subtree ? this.#tree(p) : [p]) this.#deliver(one, { signal, by, root, due: null }, { freeze, force: false })
  }

  #tree(root: Proc): Proc[] {
    const found = [root]
    for (const p of found) for (const one of this.all.values()) if (one.parent === p.uuid && one.state !== 'dead') found.push(one)
    return found.filter((p) => this.lives(p))
  }

  #deliver(p: Proc, sent: Waiting, how: { freeze: boolean; force: boolean }): void {
    if (!this.lives(p)) return
    const { signal, by } = sent
    const handler = signal === 'SIGKILL' || how.force ? 'default' : p.mask.includes(signal) ? 'blocked' : (p.handlers.get(signal) ?? 'default')
    if (handler === 'blocked' || (handler === 'ignore' && by === 'user')) this.#pend(p, sent)
    if (handler === 'message') {
      p.queue = Math.min(1_000, p.queue + 1)
      this.settle(p)
    }
    if (handler === 'default' || (handler === 'message' && signal === 'SIGTERM')) this.#act(p, sent, how.freeze)
  }

  #pend(p: Proc, { signal, by, root }: Waiting): void {
    const known = p.pending.find((one) => one.signal === signal)
    if (known && (known.due !== null || by !== 'user')) return
    p.pending = [...p.pending.filter((one) => one !== known), { signal, by, root, due: by === 'user' ? this.now + 10_000 : null }]
  }

  #act(p: Proc, { signal, by, root }: Waiting, freeze: boolean): void {
    if (signal === 'SIGRESUME') {
      this.drop(p, (h) => may(by, h) && (root === null || root === p.uuid || (h.reason === 'subtree' && h.root === root)))
    } else if (signal === 'SIGPAUSE') {
      const hold = { reason: root === null ? 'user' : 'subtree', root, by }
      if (p.state === 'created') this.#beginHeld(p, [hold])
      else if (!p.stopping) this.addHold(p, hold, freeze)
    } else if (signal !== 'SIGINT' || p.state !== 'running' || !p.interactive) this.#stop(p, signal, by)
  }

  #stop(p: Proc, signal: Signal, by: string): void {
    const cause = by === 'user' ? 'person' : by === 'system' ? 'daemon' : 'parent'
    const paused = p.state === 'running' && p.holds.length > 0
    const exit: Ending = paused ? { code: 1, reason: 'context cancelled while paused', signal, cause } : { code: 128 + (POSIX[signal] ?? 0), reason: `${signal} from ${by}`, signal, cause }
    if (p.state === 'created' || !p.attached) this.finish(p, exit)
    else p.stopping ??= exit
  }

  #arrive(p: Proc): void {
    const ready = p.pending.filter((one) => {
      if (one.due !== null && one.due <= this.now) return true
      return !p.mask.includes(one.signal) && !(p.handlers.get(one.signal) === 'ignore' && one.by === 'user')
    })
    p.pending = p.pending.filter((one) => !ready.includes(one))
    for (const one of ready) this.#deliver(p, one, { freeze: false, force: one.due !== null && one.due <= this.now })
  }

  #resume(input: Input<'resume'>): void {
    const p = this.all.get(input.uuid) ?? refuse('NOT_FOUND')
    if (p.stopping && p.state === 'running') refuse('INVALID')
    if (input.message && p.driver === 'command') this.#tellable(p, input.rerun)
    if (!this.lives(p)) return this.#again(p, input)
    const suspended = p.state === 'running' && p.holds.length > 0
    if (input.spec || (input.message && !suspended)) refuse('INVALID')
    if (input.message) this.#tell(p)
    const above = this.ancestors(p)
    this.drop(p, (h) => may(input.by, h))
    if (suspended && input.by === 'user' && !input.only) for (const one of above) this.drop(one, (h) => h.reason === 'user' || h.reason === 'subtree')
    if (input.subtree) for (const one of this.#tree(p)) if (one !== p) this.drop(one, (h) => h.reason === 'subtree' && h.root === p.uuid && may(input.by, h))
  }

  #again(p: Proc, input: Input<'resume'>): void {
    if (p.exit?.cause === 'person' && input.by !== 'user') refuse('PERMISSION')
    if (this.#onlyAnew(p) && !input.rerun) refuse('NOT_RESUMABLE')
    if (p.state === 'zombie') refuse('CONFLICT')
    this.#room()
    const name = input.spec ? input.spec.name : p.name
    this.#free(name)
    this.lastPid += 1
    const lineage = p.lineage === null ? undefined : this.all.get(p.lineage)
    Object.assign(p, {
      pid: this.lastPid, state: 'created', name, parent: lineage && this.lives(lineage) ? lineage.uuid : null, exit: null, stopping: null, holds: [],
      attached: false, began: false, mask: [], handlers: new Map(), pending: [], elapsed: 0, since: null, pausedAt: null,
    })
    const anew = input.rerun && p.driver !== 'native'
    if (anew) Object.assign(p, { session: false, forkOf: false })
    // Told again what it is for, unless that still waits.
    if (anew && p.driver === 'acp' && p.hasIntent && p.intentAt === null) {
      p.intentAt = p.queue
      p.queue += 1
    }
    if (input.message) this.#tell(p)
  }

  /** With a resume: it is read before the next model call, and so is all that waits already. */
  #tell(p: Proc): void {
    p.queue += 1
    p.urgent = p.queue
  }

  /** Nothing that it could go on from. */
  #onlyAnew(p: Proc): boolean {
    if (p.driver === 'native' || (p.external && (p.session || p.forkOf))) return false
    return p.driver === 'command' || p.turn > 0
  }

  /** A command hears of a message at its next start only, if that goes on with its session. */
  #tellable(p: Proc, rerun: boolean): void {
    const runs = p.state === 'running' && p.attached
    if (!p.external || runs || rerun || this.#onlyAnew(p) || p.queue > 0) refuse('INVALID')
  }

  #answer({ uuid, by, id, option, text }: Input<'answer'>): void {
    const p = this.#living(uuid)
    if (by.startsWith('agent:')) refuse('PERMISSION')
    if (p.stopping) refuse('INVALID')
    const open = p.asks.filter((ask) => !ask.answered)
    const ask = (id === null ? open.length === 1 && open[0] : open.find((one) => one.id === id)) || refuse('INVALID')
    if (ask.options.length === 0 ? option !== null || text === null : option === null || !ask.options.includes(option)) refuse('INVALID')
    if (p.holds.length > 0) ask.answered = true
    else p.asks = p.asks.filter((one) => one !== ask)
    this.worksAgain(p)
  }

  #send({ uuid }: Input<'send'>): void {
    const p = this.#living(uuid)
    if (p.driver === 'command') refuse('INVALID')
    p.queue += 1
    this.settle(p)
  }

  #mask({ uuid, mask, how }: Input<'mask'>): void {
    const p = this.#living(uuid)
    if (mask.includes('SIGKILL')) refuse('INVALID')
    p.mask = how === 'block' ? [...p.mask, ...mask] : how === 'unblock' ? p.mask.filter((one) => !mask.some((other) => other === one)) : [...mask]
    this.#arrive(p)
  }

  #handle({ uuid, signal, handler }: Input<'handle'>): void {
    const p = this.#living(uuid)
    if (signal === 'SIGKILL' || (handler === 'message' && p.driver === 'command')) refuse('INVALID')
    p.handlers.set(signal, handler)
    this.#arrive(p)
  }

  #released({ uuid, pid, survivors }: Input<'released'>): void {
    const p = this.all.get(uuid)
    if (p?.state === 'zombie' && p.pid === pid && survivors.length === 0) p.state = 'dead'
  }

  #tick(uuid: string): void {
    const p = this.all.get(uuid)
    if (p?.state !== 'running' || p.stopping) return
    if (p.since !== null && this.now - p.since + (p.elapsed ?? 0) >= p.timeoutMs) {
      const exit = { code: 1, reason: 'timed out', cause: 'limit' }
      if (p.attached) p.stopping = exit
      else this.finish(p, exit)
      return
    }
    this.#arrive(p)
    if (p.state !== 'running' || p.stopping) return
    if (p.holds.some((h) => h.reason !== 'daemon-shutdown') && !p.drained && p.pausedAt !== null && this.now >= p.pausedAt + 120_000) Object.assign(p, { drained: true, midway: true })
  }

  #boot({ uuid, survivors }: Input<'boot'>): void {
    const p = this.all.get(uuid)
    if (!p || p.state === 'dead') return
    if (p.state === 'running' && !p.stopping && p.holds.length > 0 && (!this.#onlyAnew(p) || !p.began)) {
      this.lastPid += 1
      if (!p.drained || p.midway || p.external) this.closeCalls(p, (call) => p.external || call.effect === 'once')
      Object.assign(p, { pid: this.lastPid, attached: false, activity: 'starting', drained: true, midway: false, since: null, pausedAt: null, asks: [] })
      p.pending = p.pending.map((one) => ({ ...one, due: one.due === null ? null : 0 }))
      return
    }
    if (this.lives(p)) {
      p.asks = []
      if (p.state === 'created') p.compacting = false
      if (p.since !== null) p.elapsed = null
      p.since = null
      this.orphan(p)
      Object.assign(p, { exit: p.stopping ?? INTERRUPTED, stopping: null, state: 'zombie' })
    }
    if (survivors.length === 0) p.state = 'dead'
  }
}

function may(by: string, hold: { reason: string; by: string }): boolean {
  return by === 'user' ? !NEEDS_CAUSE_GONE.includes(hold.reason) : hold.by === by
}

function refuse(code: string): never {
  throw new Refused(code)
}
