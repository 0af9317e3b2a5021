// The dumb model's other half: holds, turns and what drivers report.
import type { Report } from '../../../src/kernel/reports.ts'
import type { Ending, Proc } from './model.ts'

type HoldOf = Proc['holds'][number]

export class ModelReports {
  /** the dead too */
  readonly all = new Map<string, Proc>()
  /** the monotonic clock in ms */
  now = 0

  lives(p: Proc): boolean {
    return p.state === 'created' || p.state === 'running'
  }

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
    Object.assign(p, { drained: false, midway: false, since: this.now, pausedAt: null })
    this.settle(p)
  }

  stopClock(p: Proc): void {
    if (p.since !== null && p.elapsed !== null) p.elapsed += Math.max(0, this.now - p.since)
    p.since = null
  }

  /** An agent that is ready goes on, begins the next message's turn, or is done. */
  settle(p: Proc): void {
    if (p.state !== 'running' || !p.attached || p.stopping || p.holds.length > 0 || p.activity !== 'ready') return
    if (p.turnOpen) p.activity = 'working'
    else if (p.queue > 0) {
      p.queue -= 1
      p.turn += 1
      Object.assign(p, { turnOpen: true, activity: 'working' })
    } else if (!p.interactive) this.finish(p, { code: 0, reason: 'completed', cause: 'agent' })
  }

  finish(p: Proc, exit: Ending): void {
    if (p.state === 'created') Object.assign(p, { elapsed: 0, attached: false, stopping: null })
    this.stopClock(p)
    this.orphan(p)
    Object.assign(p, { exit: p.stopping ?? exit, stopping: null, state: p.attached ? 'zombie' : 'dead' })
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
    if (!p || p.state !== 'running' || p.pid !== pid || !p.attached) return 'late'
    switch (said.type) {
      case 'up': return this.#up(p)
      case 'model.started': return this.#ask(p, said.step)
      case 'model.finished': return this.#answered(p, said)
      case 'model.failed':
        if (!p.modelOpen || p.step !== said.step) return 'late'
        p.modelOpen = false
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
      case 'compaction.started':
      case 'compaction.failed':
      case 'context.compacted': throw new Error('the generator does not say it yet')
      case 'mcp.servers':
      case 'output':
      case 'note': return 'ok'
    }
  }

  #up(p: Proc): string {
    if (p.activity !== 'starting') return 'late'
    if (p.driver === 'command') {
      p.turn += 1
      Object.assign(p, { turnOpen: true, activity: 'working' })
      return 'ok'
    }
    this.#ready(p)
    return 'ok'
  }

  #ready(p: Proc): void {
    p.activity = 'ready'
    if (p.holds.length > 0) this.drain(p)
    this.settle(p)
  }

  #ask(p: Proc, step: number): string {
    if (p.stopping) return 'stop'
    if (p.holds.length > 0) return 'held'
    if (p.modelOpen || p.calls.length > 0 || step !== (p.whole === p.step ? p.step + 1 : p.step)) return 'INVALID'
    if (step > p.maxSteps) {
      this.finish(p, { code: 1, reason: 'max steps exceeded', cause: 'limit' })
      return 'stop'
    }
    if (p.tokens >= p.budgetTokens) {
      this.addHold(p, { reason: 'budget', root: null, by: 'system' }, false)
      return 'held'
    }
    Object.assign(p, { step, modelOpen: true })
    return 'go'
  }

  #answered(p: Proc, said: Extract<Report, { type: 'model.finished' }>): string {
    if (!p.modelOpen || p.step !== said.step) return 'INVALID'
    p.modelOpen = false
    p.tokens += said.usage.inputTokens + said.usage.outputTokens
    p.calls = said.calls.map(({ callId, effect }) => ({ id: callId, effect }))
    if (p.calls.length === 0) p.whole = p.step
    return 'ok'
  }

  #turnEnded(p: Proc, said: Extract<Report, { type: 'turn.ended' }>): string {
    if (!p.turnOpen || p.turn !== said.turn) return 'late'
    p.modelOpen = false
    this.closeCalls(p, () => true)
    if (said.outcome === 'error' && !p.interactive) {
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
