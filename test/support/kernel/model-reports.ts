// The dumb model's other half: holds, turns and what drivers report.
import type { Report } from '../../../src/kernel/reports.ts'
import { ModelLedger } from './model-ledger.ts'
import type { Ending, Proc } from './model.ts'

export const COMPLETED: Ending = { code: 0, reason: 'completed', cause: 'agent' }

type HoldOf = Proc['holds'][number]

/** A fact that no journal of these tests has. */
export const FAR = 1_000_000

export abstract class ModelReports extends ModelLedger {
  /** the monotonic clock in ms */
  now = 0

  /** Living ancestors, nearest first; what lies above one that has ended does not count. */
  ancestors(p: Proc): Proc[] {
    const found: Proc[] = []
    for (let uuid = p.parent; uuid !== null; ) {
      const one = this.all.get(uuid)
      if (!one || !this.lives(one)) break
      found.push(one)
      uuid = one.parent
    }
    return found
  }

  addHold(p: Proc, hold: HoldOf, freeze: boolean): void {
    const first = p.holds.length === 0
    const known = p.holds.some((h) => h.reason === hold.reason && h.root === hold.root && h.by === hold.by)
    if (known && !freeze) return
    if (first) {
      this.stopClock(p)
      p.pausedAt = this.now
      p.drained = !p.attached
    }
    if (!known) p.holds.push(hold)
    if (p.attached && (first || freeze) && p.activity === 'ready') this.drain(p)
  }

  /** Nothing of it is in flight; one that is drained already stays as it is. */
  drain(p: Proc): void {
    if (!p.drained) Object.assign(p, { drained: true, midway: false })
  }

  /** Removes holds, and a pause that still waits; with the last one the process goes on. */
  drop(p: Proc, which: (hold: HoldOf) => boolean): void {
    if (!this.lives(p)) return
    p.pending = p.pending.filter((one) => one.signal !== 'SIGPAUSE' || !which({ reason: one.root === null ? 'user' : 'subtree', root: one.root, by: one.by }))
    if (p.state !== 'running' || p.holds.length === 0) return
    p.holds = p.holds.filter((hold) => !which(hold))
    if (p.holds.length > 0) return
    p.asks = p.asks.filter((ask) => !ask.answered)
    Object.assign(p, { drained: false, midway: false, since: this.now, pausedAt: null })
    this.settle(p)
  }

  elapsedOf(p: Proc): number {
    return (p.elapsed ?? 0) + (p.since === null ? 0 : Math.max(0, this.now - p.since))
  }

  stopClock(p: Proc): void {
    if (p.since !== null && p.elapsed !== null) p.elapsed += Math.max(0, this.now - p.since)
    p.since = null
  }

  /** An agent that is ready goes on, begins the next message's turn, or is done. */
  settle(p: Proc): void {
    if (p.state !== 'running' || !p.attached || p.holds.length > 0 || p.activity !== 'ready' || !p.talks) return
    if (p.stopping) return this.#settleLast(p)
    if (p.turnOpen) {
      if (p.external && p.queue.some(({ urgent }) => urgent)) p.queue.shift()
      p.activity = 'working'
    } else if (p.queue.length > 0) {
      p.queue.shift()
      p.turn += 1
      Object.assign(p, { turnOpen: true, activity: 'working' })
    } else if (!p.interactive) this.finish(p, COMPLETED)
  }

  /** It reads it before its next model call, and all that waits already. */
  tell(p: Proc, id: string, from: string): void {
    p.queue.push({ what: 'other', urgent: true, id, from })
  }

  /** It wraps up no more: what it has not read of that is void. */
  cutShort(p: Proc): void {
    if (p.wrap !== null) p.queue = p.queue.filter(({ what }) => what !== 'wrap')
    p.wrap = null
  }

  /** What was said of its signals ends with it. */
  forget(p: Proc): void {
    p.queue = p.queue.filter(({ what }) => what !== 'wrap' && what !== 'signal')
    p.wrap = null
  }

  /** It reads that it is to wrap up, in a turn of its own; it ends with the turn in which it has. */
  #settleLast(p: Proc): void {
    if (p.wrap === null) return
    const at = p.queue.findIndex(({ what }) => what === 'wrap')
    if (at < 0) return this.finish(p, COMPLETED)
    p.queue.splice(at, 1)
    p.turn += 1
    Object.assign(p, { turnOpen: true, activity: 'working' })
  }

  finish(p: Proc, exit: Ending): void {
    if (p.state === 'created') Object.assign(p, { elapsed: 0, attached: false, stopping: null, compacting: false })
    this.stopClock(p)
    this.orphan(p)
    this.leave(p)
    this.forget(p)
    Object.assign(p, { exit: p.stopping ?? exit, stopping: null, asks: [], state: p.attached ? 'zombie' : 'dead' })
  }

  orphan(p: Proc): void {
    for (const one of this.all.values()) if (one.parent === p.uuid && one.state !== 'dead') one.parent = null
  }

  closeCalls(p: Proc, which: (call: Proc['calls'][number]) => boolean): void {
    const before = p.calls.length
    p.calls = p.calls.filter((call) => !which(call))
    if (before > 0 && before !== p.calls.length && p.calls.length === 0 && !p.modelOpen) p.whole = p.step
  }

  /** The acknowledgement, or INVALID. */
  report(uuid: string, pid: number, said: Report): string {
    const p = this.all.get(uuid)
    // What it has used counts also when it has ended.
    if (p?.state === 'zombie' && p.pid === pid && said.type === 'measured') return 'ok'
    if (!p || p.state !== 'running' || p.pid !== pid || !p.attached) return 'late'
    switch (said.type) {
      case 'up': return this.#up(p, said)
      case 'model.started': return this.#ask(p, said.step)
      case 'model.finished': return this.#answered(p, said)
      case 'model.failed':
        if (!p.modelOpen || p.step !== said.step) return 'late'
        p.modelOpen = false
        this.spent(p)
        return 'ok'
      case 'tool.finished':
        if (!p.calls.some((call) => call.id === said.callId)) return 'late'
        this.closeCalls(p, (call) => call.id === said.callId)
        return 'ok'
      case 'turn.ended': return this.#turnEnded(p, said)
      case 'drained':
        if (p.holds.length > 0) this.drain(p)
        return 'ok'
      case 'frozen':
        if (p.holds.length > 0) Object.assign(p, { drained: true, midway: said.inFlight !== null })
        return 'ok'
      case 'exited':
        this.finish(p, exitOf(said.code))
        return 'ok'
      case 'waiting': return this.#waits(p, said.ask)
      case 'unasked':
        if (!p.asks.some((ask) => ask.id === said.id)) return 'late'
        p.asks = p.asks.filter((ask) => ask.id !== said.id)
        this.worksAgain(p)
        return 'ok'
      case 'session':
        Object.assign(p, { session: true, forkOf: false })
        return 'ok'
      case 'usage':
        p.tokens += said.usage.inputTokens + said.usage.outputTokens
        p.context = said.contextTokens ?? p.context
        p.window = said.window ?? p.window
        this.spent(p)
        return 'ok'
      // Its agents have no gateway.
      case 'call.started':
      case 'call.finished': return 'late'
      case 'measured':
        this.spent(p)
        return 'ok'
      case 'escalated': return this.#escalated(p, said)
      case 'compaction.started': return this.#compact(p, said.step)
      case 'compaction.failed': return this.#uncompacted(p, said)
      case 'context.compacted': return this.#compacted(p, said)
      case 'mcp.servers':
      case 'worktree.made':
      case 'files.recorded':
      case 'files.failed':
      case 'output':
      case 'refused':
      case 'note': return 'ok'
    }
  }

  /** Once for each end; it says so where a signal is its cause. */
  #escalated(p: Proc, { afterMs }: Extract<Report, { type: 'escalated' }>): string {
    if (!p.stopping || p.stopping.escalated) return 'late'
    p.stopping = { ...p.stopping, escalated: true, reason: p.stopping.signal ? `${p.stopping.reason}; SIGKILL after ${afterMs} ms` : p.stopping.reason }
    return 'ok'
  }

  #waits(p: Proc, { id, options }: Extract<Report, { type: 'waiting' }>['ask']): string {
    if ((p.activity !== 'working' && p.activity !== 'waiting') || p.asks.some((ask) => ask.id === id)) return 'late'
    p.asks.push({ id, options: options.map((option) => option.id), answered: false })
    p.activity = 'waiting'
    return 'ok'
  }

  worksAgain(p: Proc): void {
    if (p.activity === 'waiting' && p.asks.every((ask) => ask.answered)) p.activity = 'working'
  }

  #up(p: Proc, { window, sessionId }: Extract<Report, { type: 'up' }>): string {
    if (p.activity !== 'starting') return 'late'
    const began = p.session
    const canFork = p.forkOf
    if (sessionId !== undefined) Object.assign(p, { session: true, forkOf: false })
    if (window !== undefined && p.talks) p.window = window
    if (!p.talks) {
      p.turn += 1
      p.queue.shift()
      Object.assign(p, { turnOpen: true, activity: 'working' })
      return 'ok'
    }
    if (p.external && !began && !canFork) p.turnOpen = false
    this.#ready(p)
    return 'ok'
  }

  #ready(p: Proc): void {
    Object.assign(p, { activity: 'ready', compacting: false, asks: [] })
    if (p.holds.length > 0) this.drain(p)
    this.settle(p)
  }

  #ask(p: Proc, step: number): string {
    if (p.external) return this.#seen(p, step)
    if (p.stopping && p.wrap === null) return 'stop'
    if (p.holds.length > 0) return 'held'
    if (p.modelOpen || p.calls.length > 0 || p.compacting || step !== (p.whole === p.step ? p.step + 1 : p.step)) return 'INVALID'
    const refused = this.noRoom(p, step > p.step)
    if (refused !== null) return refused
    if (p.queue.some(({ urgent }) => urgent) && p.activity === 'working') {
      p.queue.splice(0, p.queue.findLastIndex(({ urgent }) => urgent) + 1)
      return 'held'
    }
    Object.assign(p, { step, taken: p.taken + (step > p.step ? 1 : 0), modelOpen: true })
    return 'go'
  }

  /** It has happened already. */
  #seen(p: Proc, step: number): string {
    const whole = p.calls.length > 0 && !p.modelOpen ? p.step : p.whole
    if (step !== (whole === p.step ? p.step + 1 : p.step)) return 'INVALID'
    p.modelOpen = false
    this.closeCalls(p, () => true)
    if (step > p.step && this.accounts(p).some((one) => this.used(one).taken >= one.maxSteps)) return this.noRoom(p, true) ?? 'ok'
    Object.assign(p, { step, taken: p.taken + (step > p.step ? 1 : 0), modelOpen: true })
    this.spent(p)
    return 'ok'
  }

  /** One that wraps up is not held: it is done. */
  #hold(p: Proc, reason: string): string {
    if (p.stopping) {
      this.finish(p, p.stopping)
      return 'stop'
    }
    this.addHold(p, { reason, root: null, by: 'system' }, false)
    return 'held'
  }

  /** Between two steps, once after each. */
  #compact(p: Proc, step: number): string {
    if (p.driver !== 'native') return 'INVALID'
    if (p.stopping && p.wrap === null) return 'stop'
    if (p.holds.length > 0) return 'held'
    if (p.modelOpen || p.calls.length > 0 || p.compacting || step !== p.whole) return 'INVALID'
    if (p.compactedStep === step) return this.#hold(p, 'context-full')
    const refused = this.noRoom(p, true)
    if (refused !== null) return refused
    p.compacting = true
    return 'go'
  }

  #uncompacted(p: Proc, said: Extract<Report, { type: 'compaction.failed' }>): string {
    if (!p.compacting || said.step !== p.whole) return 'late'
    p.compacting = false
    p.tokens += (said.usage?.inputTokens ?? 0) + (said.usage?.outputTokens ?? 0)
    if (said.retryInMs !== null) return 'ok'
    return p.stopping && p.wrap === null ? 'stop' : this.#hold(p, 'context-full')
  }

  #compacted(p: Proc, said: Extract<Report, { type: 'context.compacted' }>): string {
    if (!p.compacting || said.step !== p.whole) return 'late'
    if (said.ranges.some(([first, last], i) => first < 1 || last < first || first <= (said.ranges[i - 1]?.[1] ?? 0) || last >= FAR)) return 'INVALID'
    p.tokens += said.usage.inputTokens + said.usage.outputTokens
    Object.assign(p, { compacting: false, compactedStep: said.step, context: said.after })
    return 'ok'
  }

  #answered(p: Proc, said: Extract<Report, { type: 'model.finished' }>): string {
    if (!p.modelOpen || p.step !== said.step) return 'INVALID'
    p.modelOpen = false
    const tokens = said.usage.inputTokens + said.usage.outputTokens
    if (tokens > 0) p.context = tokens
    p.tokens += tokens
    p.calls = said.calls.map(({ callId, effect }) => ({ id: callId, effect }))
    if (p.calls.length === 0) p.whole = p.step
    this.spent(p)
    return 'ok'
  }

  /** A question to the model whose end nobody has seen costs what the last one showed. */
  charge(p: Proc): void {
    if ((p.modelOpen || p.compacting) && p.driver === 'native' && p.tokens > 0) p.tokens += p.context
  }

  #turnEnded(p: Proc, said: Extract<Report, { type: 'turn.ended' }>): string {
    if (!p.turnOpen || p.turn !== said.turn) return 'late'
    if (p.modelOpen) this.charge(p)
    p.modelOpen = false
    this.closeCalls(p, () => true)
    if (said.outcome === 'error' && !p.interactive && p.talks) {
      this.finish(p, { code: 1, reason: 'the turn failed', cause: 'agent' })
      return 'ok'
    }
    p.turnOpen = false
    this.#ready(p)
    return 'ok'
  }
}

function exitOf(code: number | null): Ending {
  if (code === 0) return { code: 0, reason: 'completed', cause: 'agent' }
  return code === null ? { code: 1, reason: 'unexpected exit', cause: 'agent' } : { code, reason: `exit code ${code}`, cause: 'agent' }
}
