// The part of the simple model for holds, turns and the reports of drivers.
import type { Report } from '../../../src/kernel/model/reports.ts'
import { ModelLedger } from './model-ledger.ts'
import type { Ending, Proc } from './model.ts'

export const COMPLETED: Ending = { code: 0, reason: 'completed', cause: 'agent' }

type HoldOf = Proc['holds'][number]

/** A fact number that no journal of these tests reaches. */
export const BEYOND_ALL_FACTS = 1_000_000

export abstract class ModelReports extends ModelLedger {
  /** the monotonic clock in ms */
  now = 0

  /** Returns the living ancestors, nearest first, up to the first ended one. */
  ancestors(p: Proc): Proc[] {
    const found: Proc[] = []
    for (let uuid = p.parent; uuid !== null;) {
      const proc = this.all.get(uuid)
      if (!proc || !this.isLiving(proc)) break
      found.push(proc)
      uuid = proc.parent
    }
    return found
  }

  addHold(p: Proc, hold: HoldOf, freeze: boolean): void {
    const isFirst = p.holds.length === 0
    const isKnown = p.holds.some((h) => h.reason === hold.reason && h.root === hold.root && h.by === hold.by)
    if (isKnown && !freeze) return
    if (isFirst) {
      this.stopClock(p)
      p.pausedAt = this.now
      p.drained = !p.attached
    }
    if (!isKnown) p.holds.push(hold)
    if (p.attached && (isFirst || freeze) && p.activity === 'ready') this.drain(p)
  }

  /** Marks the process as drained: nothing of it is in flight. */
  drain(p: Proc): void {
    if (!p.drained) Object.assign(p, { drained: true, midway: false })
  }

  /** Removes holds and pending pauses. If no hold is left, the process continues. */
  release(p: Proc, matches: (hold: HoldOf) => boolean): void {
    if (!this.isLiving(p)) return
    p.pending = p.pending.filter(
      (pendingSignal) =>
        pendingSignal.signal !== 'SIGPAUSE' ||
        !matches({ reason: pendingSignal.root === null ? 'user' : 'subtree', root: pendingSignal.root, by: pendingSignal.by }),
    )
    if (p.state !== 'running' || p.holds.length === 0) return
    p.holds = p.holds.filter((hold) => !matches(hold))
    if (p.holds.length > 0) return
    p.asks = p.asks.filter(({ answered, due }) => !answered || (due !== null && due > this.now))
    this.continueIfAnswered(p)
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

  /** A ready agent continues, begins the turn of the next message, or completes. */
  settle(p: Proc): void {
    if (p.state !== 'running' || !p.attached || p.holds.length > 0 || p.activity !== 'ready' || !p.talks) return
    if (p.stopping) return this.#queueWrapUp(p)
    if (p.turnOpen) {
      if (p.external && p.queue.some(({ urgent }) => urgent)) p.queue.shift()
      p.activity = 'working'
    } else if (p.queue.length > 0) {
      p.queue.shift()
      p.turn += 1
      Object.assign(p, { turnOpen: true, activity: 'working' })
    } else if (!p.interactive) this.exit(p, COMPLETED)
  }

  /** Queues an urgent message. The process reads it, with all earlier ones, before its next model call. */
  queueUrgent(p: Proc, id: string, from: string): void {
    p.queue.push({ what: 'other', urgent: true, id, from })
  }

  /** Cancels the wrap-up, and drops unread messages about it. */
  cancelWrapUp(p: Proc): void {
    if (p.wrap !== null) p.queue = p.queue.filter(({ what }) => what !== 'wrap')
    p.wrap = null
  }

  /** Drops the unread notices about signals. */
  dropSignalNotices(p: Proc): void {
    p.queue = p.queue.filter(({ what }) => what !== 'wrap' && what !== 'signal' && what !== 'notice')
    p.wrap = null
  }

  /** Queues the request to wrap up. The process reads it in a turn of its own, and ends with that turn. */
  #queueWrapUp(p: Proc): void {
    if (p.wrap === null) return
    const at = p.queue.findIndex(({ what }) => what === 'wrap')
    if (at < 0) return this.exit(p, COMPLETED)
    p.queue.splice(at, 1)
    p.turn += 1
    Object.assign(p, { turnOpen: true, activity: 'working' })
  }

  exit(p: Proc, exit: Ending): void {
    if (p.state === 'created') Object.assign(p, { elapsed: 0, attached: false, stopping: null, compacting: false })
    this.keepHeldCalls(p)
    this.stopClock(p)
    this.orphan(p)
    this.settleAtExit(p)
    this.dropSignalNotices(p)
    Object.assign(p, { exit: p.stopping ?? exit, stopping: null, asks: [], state: p.attached ? 'zombie' : 'dead' })
  }

  /** A drained native process has not begun its open calls. They stay open for the next incarnation. */
  keepHeldCalls(p: Proc): void {
    if (p.state === 'running' && !p.external && p.attached && p.drained && !p.midway) for (const call of p.calls) call.unbegun = true
  }

  orphan(p: Proc): void {
    for (const proc of this.all.values()) if (proc.parent === p.uuid && proc.state !== 'dead') proc.parent = null
  }

  closeCalls(p: Proc, matches: (call: Proc['calls'][number]) => boolean): void {
    const before = p.calls.length
    p.calls = p.calls.filter((call) => !matches(call))
    if (before > 0 && before !== p.calls.length && p.calls.length === 0 && !p.modelOpen) p.whole = p.step
  }

  /** Returns the acknowledgement, or INVALID. */
  report(uuid: string, pid: number, body: Report): string {
    const p = this.all.get(uuid)
    // Resource usage also counts after the end.
    if (p?.state === 'zombie' && p.pid === pid && body.type === 'measured') return 'ok'
    if (!p || p.state !== 'running' || p.pid !== pid || !p.attached) return 'late'
    switch (body.type) {
      case 'up':
        return this.#reportUp(p, body)
      case 'model.started':
        return this.#requestStep(p, body.step)
      case 'model.finished':
        return this.#reportAnswer(p, body)
      case 'model.failed':
        if (!p.modelOpen || p.step !== body.step) return 'late'
        p.modelOpen = false
        this.holdIfOverBudget(p)
        return 'ok'
      case 'tool.finished':
        if (!p.calls.some((call) => call.id === body.callId)) return 'late'
        this.closeCalls(p, (call) => call.id === body.callId)
        return 'ok'
      case 'turn.ended':
        return this.#reportTurnEnded(p, body)
      case 'drained':
        if (p.holds.length > 0) this.drain(p)
        return 'ok'
      case 'frozen':
        if (p.holds.length > 0) Object.assign(p, { drained: true, midway: body.inFlight !== null })
        return 'ok'
      case 'exited':
        this.exit(p, exitOf(body.code))
        return 'ok'
      case 'waiting':
        return this.#reportWaiting(p, body.ask)
      case 'unasked':
        if (!p.asks.some((ask) => ask.id === body.id)) return 'late'
        p.asks = p.asks.filter((ask) => ask.id !== body.id)
        this.continueIfAnswered(p)
        return 'ok'
      case 'session':
        Object.assign(p, { session: true, forkOf: false })
        return 'ok'
      case 'usage':
        p.tokens += body.usage.inputTokens + body.usage.outputTokens
        p.context = body.contextTokens ?? p.context
        p.window = body.window ?? p.window
        this.holdIfOverBudget(p)
        return 'ok'
      // Agents of this model have no gateway.
      case 'call.started':
      case 'call.finished':
        return 'late'
      case 'measured':
        this.holdIfOverBudget(p)
        return 'ok'
      case 'escalated':
        return this.#reportEscalated(p, body)
      case 'compaction.started':
        return this.#startCompaction(p, body.step)
      case 'compaction.failed':
        return this.#reportFailedCompaction(p, body)
      case 'context.compacted':
        return this.#reportCompaction(p, body)
      case 'mcp.servers':
      case 'worktree.made':
      case 'files.recorded':
      case 'files.failed':
      case 'output':
      case 'refused':
      case 'note':
        return 'ok'
      case 'raw':
        return 'ok'
    }
  }

  /** Records the escalation to SIGKILL once. The reason of the exit names it if a signal caused the stop. */
  #reportEscalated(p: Proc, { afterMs }: Extract<Report, { type: 'escalated' }>): string {
    if (!p.stopping || p.stopping.escalated) return 'late'
    p.stopping = {
      ...p.stopping,
      escalated: true,
      reason: p.stopping.signal ? `${p.stopping.reason}; SIGKILL after ${afterMs} ms` : p.stopping.reason,
    }
    return 'ok'
  }

  #reportWaiting(p: Proc, { id, options }: Extract<Report, { type: 'waiting' }>['ask']): string {
    if ((p.activity !== 'working' && p.activity !== 'waiting') || p.asks.some((ask) => ask.id === id)) return 'late'
    p.asks.push({ id, options: options.map((option) => option.id), answered: false, due: null })
    p.activity = 'waiting'
    return 'ok'
  }

  continueIfAnswered(p: Proc): void {
    if (p.activity === 'waiting' && p.asks.every(({ answered, due }) => answered && due === null)) p.activity = 'working'
  }

  #reportUp(p: Proc, { window, sessionId }: Extract<Report, { type: 'up' }>): string {
    if (p.activity !== 'starting') return 'late'
    const hadSession = p.session
    const mustFork = p.forkOf
    if (sessionId !== undefined) Object.assign(p, { session: true, forkOf: false })
    if (window !== undefined && p.talks) p.window = window
    if (!p.talks) {
      p.turn += 1
      p.queue.shift()
      Object.assign(p, { turnOpen: true, activity: 'working' })
      return 'ok'
    }
    if (p.external && !hadSession && !mustFork) p.turnOpen = false
    this.#reportReady(p)
    return 'ok'
  }

  #reportReady(p: Proc): void {
    Object.assign(p, { activity: 'ready', compacting: false, asks: [] })
    if (p.holds.length > 0) this.drain(p)
    this.settle(p)
  }

  #requestStep(p: Proc, step: number): string {
    if (p.external) return this.#reportSeenStep(p, step)
    if (p.stopping && p.wrap === null) return 'stop'
    if (p.holds.length > 0) return 'held'
    if (p.modelOpen || p.calls.length > 0 || p.compacting || step !== (p.whole === p.step ? p.step + 1 : p.step)) return 'INVALID'
    const refused = this.applyUsedUpLimit(p, step > p.step)
    if (refused !== null) return refused
    if (p.queue.some(({ urgent }) => urgent) && p.activity === 'working') {
      p.queue.splice(0, p.queue.findLastIndex(({ urgent }) => urgent) + 1)
      return 'held'
    }
    Object.assign(p, { step, steps: p.steps + (step > p.step ? 1 : 0), modelOpen: true })
    return 'go'
  }

  /** Returns the acknowledgement of a step that is reported after it has happened. */
  #reportSeenStep(p: Proc, step: number): string {
    const lastStep = p.calls.length > 0 && !p.modelOpen ? p.step : p.whole
    if (step !== (lastStep === p.step ? p.step + 1 : p.step)) return 'INVALID'
    p.modelOpen = false
    this.closeCalls(p, () => true)
    if (step > p.step && this.accounts(p).some((proc) => this.usageOf(proc).steps >= proc.maxSteps))
      return this.applyUsedUpLimit(p, true) ?? 'ok'
    Object.assign(p, { step, steps: p.steps + (step > p.step ? 1 : 0), modelOpen: true })
    this.holdIfOverBudget(p)
    return 'ok'
  }

  /** Holds the process. A process that wraps up ends instead. */
  #reportHold(p: Proc, reason: string): string {
    if (p.stopping) {
      this.exit(p, p.stopping)
      return 'stop'
    }
    this.addHold(p, { reason, root: null, by: 'system' }, false)
    return 'held'
  }

  /** Compacts between two steps, at most once after each. */
  #startCompaction(p: Proc, step: number): string {
    if (p.driver !== 'native') return 'INVALID'
    if (p.stopping && p.wrap === null) return 'stop'
    if (p.holds.length > 0) return 'held'
    if (p.modelOpen || p.calls.length > 0 || p.compacting || step !== p.whole) return 'INVALID'
    if (p.compactedStep === step) return this.#reportHold(p, 'context-full')
    const refused = this.applyUsedUpLimit(p, true)
    if (refused !== null) return refused
    p.compacting = true
    return 'go'
  }

  #reportFailedCompaction(p: Proc, body: Extract<Report, { type: 'compaction.failed' }>): string {
    if (!p.compacting || body.step !== p.whole) return 'late'
    p.compacting = false
    p.tokens += (body.usage?.inputTokens ?? 0) + (body.usage?.outputTokens ?? 0)
    if (body.retryInMs !== null) return 'ok'
    return p.stopping && p.wrap === null ? 'stop' : this.#reportHold(p, 'context-full')
  }

  #reportCompaction(p: Proc, body: Extract<Report, { type: 'context.compacted' }>): string {
    if (!p.compacting || body.step !== p.whole) return 'late'
    if (
      body.ranges.some(
        ([first, last], i) => first < 1 || last < first || first <= (body.ranges[i - 1]?.[1] ?? 0) || last >= BEYOND_ALL_FACTS,
      )
    )
      return 'INVALID'
    p.tokens += body.usage.inputTokens + body.usage.outputTokens
    Object.assign(p, { compacting: false, compactedStep: body.step, context: body.after })
    return 'ok'
  }

  #reportAnswer(p: Proc, body: Extract<Report, { type: 'model.finished' }>): string {
    if (!p.modelOpen || p.step !== body.step) return 'INVALID'
    p.modelOpen = false
    const tokens = body.usage.inputTokens + body.usage.outputTokens
    if (tokens > 0) p.context = tokens
    p.tokens += tokens
    p.calls = body.calls.map(({ callId, effect }) => ({ id: callId, effect, cuts: 0 }))
    if (p.calls.length === 0) p.whole = p.step
    this.holdIfOverBudget(p)
    return 'ok'
  }

  /** A model call with an unknown end costs its last reported usage. */
  charge(p: Proc): void {
    if ((p.modelOpen || p.compacting) && p.driver === 'native' && p.tokens > 0) p.tokens += p.context
  }

  #reportTurnEnded(p: Proc, body: Extract<Report, { type: 'turn.ended' }>): string {
    if (!p.turnOpen || p.turn !== body.turn) return 'late'
    if (p.modelOpen) this.charge(p)
    p.modelOpen = false
    this.closeCalls(p, () => true)
    if (body.outcome === 'error' && !p.interactive && p.talks) {
      this.exit(p, { code: 1, reason: 'the turn failed', cause: 'agent' })
      return 'ok'
    }
    p.turnOpen = false
    p.queue = p.queue.filter(({ what }) => what !== 'notice')
    // Holds do not matter: the turn is complete.
    if (body.outcome === 'ok' && p.holds.length > 0 && p.talks && !p.interactive && p.queue.length === 0) {
      Object.assign(p, { compacting: false, asks: [] })
      this.exit(p, COMPLETED)
      return 'ok'
    }
    this.#reportReady(p)
    return 'ok'
  }
}

function exitOf(code: number | null): Ending {
  if (code === 0) return { code: 0, reason: 'completed', cause: 'agent' }
  return code === null ? { code: 1, reason: 'unexpected exit', cause: 'agent' } : { code, reason: `exit code ${code}`, cause: 'agent' }
}
