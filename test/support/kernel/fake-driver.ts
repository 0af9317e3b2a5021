// A driver that runs no programs and reports like a real one: turns, steps, tool calls, drains, freezes and exits, after random
// waits. It checks the kernel's guarantees to drivers. For `acp` it plays an external agent, which reports steps that have already
// happened, even while it is held, and asks the user. A command in a conversation does the same without questions, and reports its
// session within a turn.
import { KernelError } from '../../../src/kernel/model/errors.ts'
import type { Ack, RequestedCall, Report } from '../../../src/kernel/model/reports.ts'
import type { OpenCall, Process } from '../../../src/kernel/model/process.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { Core } from './daemon-core.ts'
import { takesMessages } from './model-signals.ts'
import type { PickNumber } from './random-inputs.ts'
import type { Scheduler } from './scheduler.ts'

/** What outlives drivers and daemons: the effects of tools, and acknowledged facts. */
export interface SurvivingState {
  readonly schedule: Scheduler
  readonly pick: PickNumber
  /** how often each tool call had its effect */
  readonly toolEffects: Map<string, { effect: string; times: number }>
  /** acknowledged facts, as text, which must be in the journal */
  readonly acknowledged: Set<string>
  reportViolation(rule: string): void
}

/** Thrown when this driver has ended. */
class DriverEnded extends Error {}

export class FakeDriver {
  readonly #core: Core
  readonly #outside: SurvivingState
  readonly #row: Process
  #openCalls: readonly OpenCall[]
  #step: number
  #isBusy = false
  /** the current turn, or the last one */
  #turn = 0
  #isInterrupted = false
  /** ids of answers that it received */
  readonly #answers = new Set<string>()
  /** the kernel has paused the process and not yet resumed it */
  #isPaused = false
  #isFrozen = false
  #inFlight: string | null = null
  #hasEnded = false
  #questions = 0

  constructor(core: Core, outside: SurvivingState, row: Process) {
    this.#core = core
    this.#outside = outside
    this.#row = row
    this.#openCalls = row.progress.openCalls
    // An interrupted model call is repeated; open tool calls belong to the last step.
    this.#step = row.progress.openCalls.length > 0 ? row.progress.step : row.progress.wholeStep
  }

  get #isExternal(): boolean {
    return this.#row.spec.driver === 'acp' || this.#isConversation
  }

  get #isConversation(): boolean {
    return this.#row.spec.driver === 'command' && takesMessages(this.#row.spec)
  }

  get pid(): number {
    return this.#row.pid
  }

  /** Performs an effect; errors of an ended driver are ignored. */
  performEffect(effect: Effect): void {
    this.#performEffect(effect).catch((error: unknown) => {
      if (!(error instanceof DriverEnded)) this.#outside.reportViolation(`a driver failed: ${String(error)}`)
    })
  }

  /** Ends the driver, as at the death of the daemon or the release of the incarnation. */
  end(): void {
    this.#hasEnded = true
    this.#outside.schedule.drop(this)
  }

  async #performEffect(effect: Effect): Promise<void> {
    switch (effect.type) {
      case 'driver.start':
        return this.#runStart()
      // A message within a turn is read before the next call.
      case 'driver.deliver':
        if (this.#isBusy && effect.turn === this.#turn) return
        return this.#runTurn(effect.turn)
      case 'driver.proceed':
        return this.#runTurn(effect.turn)
      case 'driver.answer':
        // An answer that was given just before the pause is still delivered.
        if (this.#isPaused) this.#outside.reportViolation(`an answer reached PID ${this.pid} while it is held`)
        this.#answers.add(effect.id)
        return
      case 'driver.interrupt':
        this.#isInterrupted = this.#isBusy
        return
      case 'driver.pause':
        this.#isPaused = true
        return effect.freeze ? this.#reportFreeze() : undefined
      case 'driver.unpause':
        this.#isPaused = false
        this.#isFrozen = false
        return
      case 'driver.stop':
        return this.#reportExit()
      default:
    }
  }

  async #runStart(): Promise<void> {
    await this.#waitForSchedule()
    if (this.#outside.pick(25) === 0)
      return this.#reportToKernel({ type: 'exited', code: 1, osSignal: null, error: 'cannot start' }).then(() => {})
    await this.#reportToKernel({ type: 'up', ...(this.#row.spec.driver === 'acp' && this.#outside.pick(3) > 0 ? { sessionId: 's1' } : {}) })
    if (!takesMessages(this.#row.spec)) await this.#runCommand()
  }

  async #runCommand(): Promise<void> {
    for (let line = this.#outside.pick(4); line > 0; line -= 1) {
      await this.#waitForSchedule()
      await this.#reportLines()
    }
    await this.#reportToKernel({ type: 'exited', code: this.#outside.pick(2), osSignal: null })
  }

  async #reportFreeze(): Promise<void> {
    await this.#waitForSchedule(false)
    if (!this.#isHeld) return
    this.#isFrozen = true
    await this.#reportToKernel({ type: 'frozen', inFlight: this.#inFlight })
  }

  /** Plays the end of a program that got a signal: at once, or a little later. */
  async #reportExit(): Promise<void> {
    await this.#waitForSchedule(false)
    await this.#reportToKernel({ type: 'exited', code: null, osSignal: 'SIGTERM' })
  }

  async #runTurn(turn: number): Promise<void> {
    if (this.#isBusy) this.#outside.reportViolation(`two turns at once in PID ${this.pid}`)
    this.#isBusy = true
    this.#turn = turn
    this.#isInterrupted = false
    await this.#waitForSchedule()
    if (this.#isConversation && this.#outside.pick(3) > 0) await this.#reportToKernel({ type: 'session', sessionId: 's1' })
    const openCalls = this.#openCalls
    this.#openCalls = []
    await this.#runCalls(openCalls)
    for (let stepsLeft = this.#outside.pick(4); stepsLeft > 0 && !this.#isInterrupted; stepsLeft -= 1) await this.#runStep()
    await this.#reportLines()
    this.#isBusy = false
    const outcome = this.#isInterrupted ? 'interrupted' : this.#outside.pick(15) === 0 ? 'error' : 'ok'
    await this.#reportToKernel({ type: 'turn.ended', turn, outcome })
    if (this.#outside.pick(20) === 0) await this.#reportToKernel({ type: 'exited', code: 3, osSignal: null })
  }

  /** Compacts the context before a step. An attempt may fail and be repeated. Sometimes another compaction follows. */
  async #compact(): Promise<void> {
    const step = this.#step
    for (let attempt = 1; ; attempt += 1) {
      const ack = await this.#reportToKernel({ type: 'compaction.started', step, attempt, model: 'm' })
      if (ack === 'held') return this.#waitWhileHeld()
      if (ack !== 'go') throw new DriverEnded()
      this.#inFlight = 'a summary'
      await this.#waitForSchedule()
      this.#inFlight = null
      const outcome = this.#isInterrupted ? 1 : this.#outside.pick(6)
      if (outcome > 1) break
      await this.#reportToKernel({
        type: 'compaction.failed',
        step,
        attempt,
        error: 'overloaded',
        status: 529,
        retryInMs: outcome === 0 ? null : 1,
      })
      if (outcome === 0) return this.#waitWhileHeld()
      if (this.#isInterrupted) return
    }
    const seq = this.#core.table.get(this.#row.uuid)?.seq ?? 1
    await this.#reportToKernel({
      type: 'context.compacted',
      step,
      summary: 'in short',
      ranges: [[1, 1 + this.#outside.pick(seq)]],
      before: 100,
      after: 10,
      durationMs: 1,
      usage: { inputTokens: 5, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 },
    })
    this.#outside.acknowledged.add(`compacted ${this.#row.uuid} ${step}`)
    if (this.#outside.pick(4) === 0) await this.#compact()
  }

  /** Sometimes asks the user; some questions are withdrawn before an answer. */
  async #askSometimes(): Promise<void> {
    if (this.#outside.pick(3) > 0) return
    const id = `q${(this.#questions += 1)}`
    await this.#reportToKernel({ type: 'waiting', ask: { id, kind: 'question', text: 'which one?', options: [], callId: null, at: 0 } })
    while (!this.#answers.has(id) && !this.#isInterrupted) {
      await this.#waitForSchedule()
      if (this.#outside.pick(12) > 0 || this.#answers.has(id)) continue
      await this.#reportToKernel({ type: 'unasked', id }).catch((error: unknown) => {
        if (error instanceof DriverEnded) throw error
      })
      return
    }
  }

  async #runStep(): Promise<void> {
    if (this.#row.spec.driver === 'acp') await this.#askSometimes()
    else if (!this.#isExternal && this.#outside.pick(4) === 0) await this.#compact()
    if (this.#isInterrupted) return
    for (let attempt = 1; ; attempt += 1) {
      const ack = await this.#reportToKernel({ type: 'model.started', step: this.#step + 1, attempt, model: 'm' })
      if (ack === 'held') {
        await this.#waitWhileHeld()
        attempt -= 1
      } else if (ack === (this.#isExternal ? 'ok' : 'go')) {
        this.#inFlight = 'a model call'
        await this.#waitForSchedule()
        this.#inFlight = null
        if (this.#outside.pick(8) > 0) break
        await this.#reportToKernel({ type: 'model.failed', step: this.#step + 1, attempt, error: 'overloaded', status: 529, retryInMs: 1 })
        if (this.#isInterrupted) return
      } else throw new DriverEnded()
    }
    this.#step += 1
    const calls = Array.from({ length: this.#outside.pick(3) }, (_, index): RequestedCall => ({
      callId: `${this.#row.uuid}.${this.pid}.${this.#step}.${index}`,
      name: 'bash',
      effect: (['once', 'once', 'read', 'idempotent'] as const)[this.#outside.pick(4)] ?? 'once',
    }))
    await this.#reportToKernel({
      type: 'model.finished',
      step: this.#step,
      finish: 'stop',
      durationMs: 1,
      calls,
      message: calls.map(({ callId, name }) => ({ type: 'tool-call' as const, callId, name, input: {} })),
      usage: { inputTokens: 5, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 },
    })
    this.#outside.acknowledged.add(`model ${this.#row.uuid} ${this.#step}`)
    await this.#runCalls(calls)
  }

  async #runCalls(calls: readonly OpenCall[]): Promise<void> {
    for (const { callId, effect } of calls) {
      if (!this.#isExternal) await this.#waitWhileHeld()
      if (this.#isInterrupted) return
      this.#inFlight = callId
      const record = this.#outside.toolEffects.get(callId) ?? { effect, times: 0 }
      this.#outside.toolEffects.set(callId, { effect, times: record.times + 1 })
      if (effect === 'once' && record.times > 0) this.#outside.reportViolation(`the call ${callId} acted twice`)
      for (let turnsLeft = this.#outside.pick(6); turnsLeft >= 0; turnsLeft -= 1) await this.#waitForSchedule()
      this.#inFlight = null
      await this.#reportToKernel({ type: 'tool.finished', callId, outcome: 'ok', content: 'done', durationMs: 1 })
      this.#outside.acknowledged.add(`tool ${callId}`)
    }
  }

  /** Waits while the process is held, and reports once that it has drained. */
  async #waitWhileHeld(): Promise<void> {
    if (!this.#isHeld) return
    await this.#reportToKernel({ type: 'drained' })
    while (this.#isHeld) await this.#waitForSchedule()
  }

  /** Reports several lines without waiting for each commit; the journal must keep their order. */
  async #reportLines(): Promise<void> {
    const lines = Array.from({ length: this.#outside.pick(4) }, () => {
      this.#questions += 1
      return this.#reportLine(this.#questions)
    })
    await Promise.all(lines)
    if (this.#outside.pick(30) === 0) await this.#reportToKernel({ type: 'up' })
  }

  async #reportLine(line: number): Promise<void> {
    await this.#reportToKernel({ type: 'output', stream: 'stdout', text: `${line}` })
    this.#outside.acknowledged.add(`line ${this.#row.uuid} ${this.pid} ${line}`)
  }

  get #isHeld(): boolean {
    const row = this.#core.table.get(this.#row.uuid)
    return row?.life.state === 'running' && row.pid === this.pid && row.life.holds.length > 0
  }

  async #waitForSchedule(waitsWhileFrozen = true): Promise<void> {
    do {
      if (this.#hasEnded) throw new DriverEnded()
      await this.#outside.schedule.waitForTurn(this)
    } while (this.#isFrozen && waitsWhileFrozen)
  }

  /** Makes some reports twice, as a driver does that missed the first acknowledgement. */
  async #reportToKernel(report: Report): Promise<Ack> {
    if (this.#hasEnded) throw new DriverEnded()
    const { uuid } = this.#row
    const { pipeline } = this.#core
    const send = (): Promise<Ack> =>
      pipeline.request({ type: 'report', uuid, pid: this.pid, report }).then((value) => (value.type === 'ack' ? value.ack : 'ok'))
    const pending = send()
    const repeated = report.type !== 'output' && this.#outside.pick(40) === 0 ? send().catch(() => null) : null
    try {
      const firstAck = await pending
      // If a message has come in between, the second report may be accepted.
      const ack = firstAck === 'held' && (await repeated) === 'go' ? 'go' : firstAck
      if (this.#hasEnded || (ack === 'late' && report.type !== 'up')) throw new DriverEnded()
      return ack
    } catch (error) {
      if (error instanceof KernelError && error.code !== 'INVALID' && error.code !== 'INTERNAL') throw new DriverEnded()
      throw error
    }
  }
}
