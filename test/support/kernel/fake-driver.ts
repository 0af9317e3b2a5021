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
import type { Pick } from './random.ts'
import type { Schedule } from './schedule.ts'

/** State that outlives drivers and daemons: the effects of tools, and acknowledged facts. */
export interface Outside {
  readonly schedule: Schedule
  readonly pick: Pick
  /** how often each tool call had its effect */
  readonly acted: Map<string, { effect: string; times: number }>
  /** acknowledged facts, as text, which must be in the journal */
  readonly acknowledged: Set<string>
  broken(rule: string): void
}

/** Thrown when this driver has ended. */
class DriverEnded extends Error {}

export class FakeDriver {
  readonly #core: Core
  readonly #out: Outside
  readonly #row: Process
  #openCalls: readonly OpenCall[]
  #step: number
  #busy = false
  /** the present turn, or the last one */
  #turnOn = 0
  #interrupted = false
  /** ids of answers that it received */
  readonly #answers = new Set<string>()
  /** the kernel has paused the process and not yet resumed it */
  #paused = false
  #frozen = false
  #inFlight: string | null = null
  #gone = false
  #questions = 0

  constructor(core: Core, out: Outside, row: Process) {
    this.#core = core
    this.#out = out
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
  ask(effect: Effect): void {
    this.#do(effect).catch((error: unknown) => {
      if (!(error instanceof DriverEnded)) this.#out.broken(`a driver failed: ${String(error)}`)
    })
  }

  /** Ends the driver, as at the death of the daemon or the release of the incarnation. */
  end(): void {
    this.#gone = true
    this.#out.schedule.drop(this)
  }

  async #do(effect: Effect): Promise<void> {
    switch (effect.type) {
      case 'driver.start':
        return this.#start()
      // A message within a turn is read before the next call.
      case 'driver.deliver':
        if (this.#busy && effect.turn === this.#turnOn) return
        return this.#turn(effect.turn)
      case 'driver.proceed':
        return this.#turn(effect.turn)
      case 'driver.answer':
        // An answer that was given just before the pause is still delivered.
        if (this.#paused) this.#out.broken(`an answer reached PID ${this.pid} while it is held`)
        this.#answers.add(effect.id)
        return
      case 'driver.interrupt':
        this.#interrupted = this.#busy
        return
      case 'driver.pause':
        this.#paused = true
        return effect.freeze ? this.#freeze() : undefined
      case 'driver.unpause':
        this.#paused = false
        this.#frozen = false
        return
      case 'driver.stop':
        return this.#exit()
      default:
    }
  }

  async #start(): Promise<void> {
    await this.#wait()
    if (this.#out.pick(25) === 0) return this.#report({ type: 'exited', code: 1, osSignal: null, error: 'cannot start' }).then(() => {})
    await this.#report({ type: 'up', ...(this.#row.spec.driver === 'acp' && this.#out.pick(3) > 0 ? { sessionId: 's1' } : {}) })
    if (!takesMessages(this.#row.spec)) await this.#command()
  }

  async #command(): Promise<void> {
    for (let line = this.#out.pick(4); line > 0; line -= 1) {
      await this.#wait()
      await this.#chatter()
    }
    await this.#report({ type: 'exited', code: this.#out.pick(2), osSignal: null })
  }

  async #freeze(): Promise<void> {
    await this.#wait(false)
    if (!this.#held) return
    this.#frozen = true
    await this.#report({ type: 'frozen', inFlight: this.#inFlight })
  }

  /** Plays the end of a program that got a signal: at once, or a little later. */
  async #exit(): Promise<void> {
    await this.#wait(false)
    await this.#report({ type: 'exited', code: null, osSignal: 'SIGTERM' })
  }

  async #turn(turn: number): Promise<void> {
    if (this.#busy) this.#out.broken(`two turns at once in PID ${this.pid}`)
    this.#busy = true
    this.#turnOn = turn
    this.#interrupted = false
    await this.#wait()
    if (this.#isConversation && this.#out.pick(3) > 0) await this.#report({ type: 'session', sessionId: 's1' })
    const left = this.#openCalls
    this.#openCalls = []
    await this.#calls(left)
    for (let more = this.#out.pick(4); more > 0 && !this.#interrupted; more -= 1) await this.#oneStep()
    await this.#chatter()
    this.#busy = false
    const outcome = this.#interrupted ? 'interrupted' : this.#out.pick(15) === 0 ? 'error' : 'ok'
    await this.#report({ type: 'turn.ended', turn, outcome })
    if (this.#out.pick(20) === 0) await this.#report({ type: 'exited', code: 3, osSignal: null })
  }

  /** Sometimes compacts the context before a step. An attempt may fail, and may be repeated. */
  async #compact(): Promise<void> {
    const step = this.#step
    for (let attempt = 1; ; attempt += 1) {
      const ack = await this.#report({ type: 'compaction.started', step, attempt, model: 'm' })
      if (ack === 'held') return this.#gate()
      if (ack !== 'go') throw new DriverEnded()
      this.#inFlight = 'a summary'
      await this.#wait()
      this.#inFlight = null
      const how = this.#interrupted ? 1 : this.#out.pick(6)
      if (how > 1) break
      await this.#report({ type: 'compaction.failed', step, attempt, error: 'overloaded', status: 529, retryInMs: how === 0 ? null : 1 })
      if (how === 0) return this.#gate()
      if (this.#interrupted) return
    }
    const seq = this.#core.table.get(this.#row.uuid)?.seq ?? 1
    await this.#report({
      type: 'context.compacted',
      step,
      summary: 'in short',
      ranges: [[1, 1 + this.#out.pick(seq)]],
      before: 100,
      after: 10,
      durationMs: 1,
      usage: { inputTokens: 5, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 },
    })
    this.#out.acknowledged.add(`compacted ${this.#row.uuid} ${step}`)
    if (this.#out.pick(4) === 0) await this.#compact()
  }

  /** Sometimes asks the user; some questions are withdrawn before an answer. */
  async #ask(): Promise<void> {
    if (this.#out.pick(3) > 0) return
    const id = `q${(this.#questions += 1)}`
    await this.#report({ type: 'waiting', ask: { id, kind: 'question', text: 'which one?', options: [], callId: null, at: 0 } })
    while (!this.#answers.has(id) && !this.#interrupted) {
      await this.#wait()
      if (this.#out.pick(12) > 0 || this.#answers.has(id)) continue
      await this.#report({ type: 'unasked', id }).catch((error: unknown) => {
        if (error instanceof DriverEnded) throw error
      })
      return
    }
  }

  async #oneStep(): Promise<void> {
    if (this.#row.spec.driver === 'acp') await this.#ask()
    else if (!this.#isExternal && this.#out.pick(4) === 0) await this.#compact()
    if (this.#interrupted) return
    for (let attempt = 1; ; attempt += 1) {
      const ack = await this.#report({ type: 'model.started', step: this.#step + 1, attempt, model: 'm' })
      if (ack === 'held') {
        await this.#gate()
        attempt -= 1
      } else if (ack === (this.#isExternal ? 'ok' : 'go')) {
        this.#inFlight = 'a model call'
        await this.#wait()
        this.#inFlight = null
        if (this.#out.pick(8) > 0) break
        await this.#report({ type: 'model.failed', step: this.#step + 1, attempt, error: 'overloaded', status: 529, retryInMs: 1 })
        if (this.#interrupted) return
      } else throw new DriverEnded()
    }
    this.#step += 1
    const calls = Array.from({ length: this.#out.pick(3) }, (_, index): RequestedCall => ({
      callId: `${this.#row.uuid}.${this.pid}.${this.#step}.${index}`,
      name: 'bash',
      effect: (['once', 'once', 'read', 'idempotent'] as const)[this.#out.pick(4)] ?? 'once',
    }))
    await this.#report({
      type: 'model.finished',
      step: this.#step,
      finish: 'stop',
      durationMs: 1,
      calls,
      message: calls.map(({ callId, name }) => ({ type: 'tool-call' as const, callId, name, input: {} })),
      usage: { inputTokens: 5, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 },
    })
    this.#out.acknowledged.add(`model ${this.#row.uuid} ${this.#step}`)
    await this.#calls(calls)
  }

  async #calls(calls: readonly OpenCall[]): Promise<void> {
    for (const { callId, effect } of calls) {
      if (!this.#isExternal) await this.#gate()
      if (this.#interrupted) return
      this.#inFlight = callId
      const known = this.#out.acted.get(callId) ?? { effect, times: 0 }
      this.#out.acted.set(callId, { effect, times: known.times + 1 })
      if (effect === 'once' && known.times > 0) this.#out.broken(`the call ${callId} acted twice`)
      for (let long = this.#out.pick(6); long >= 0; long -= 1) await this.#wait()
      this.#inFlight = null
      await this.#report({ type: 'tool.finished', callId, outcome: 'ok', content: 'done', durationMs: 1 })
      this.#out.acknowledged.add(`tool ${callId}`)
    }
  }

  /** Waits while the process is held, and reports once that it has drained. */
  async #gate(): Promise<void> {
    if (!this.#held) return
    await this.#report({ type: 'drained' })
    while (this.#held) await this.#wait()
  }

  /** Reports several lines without waiting for each commit; the journal must keep their order. */
  async #chatter(): Promise<void> {
    const lines = Array.from({ length: this.#out.pick(4) }, () => {
      this.#questions += 1
      return this.#line(this.#questions)
    })
    await Promise.all(lines)
    if (this.#out.pick(30) === 0) await this.#report({ type: 'up' })
  }

  async #line(line: number): Promise<void> {
    await this.#report({ type: 'output', stream: 'stdout', text: `${line}` })
    this.#out.acknowledged.add(`line ${this.#row.uuid} ${this.pid} ${line}`)
  }

  get #held(): boolean {
    const row = this.#core.table.get(this.#row.uuid)
    return row?.life.state === 'running' && row.pid === this.pid && row.life.holds.length > 0
  }

  async #wait(frozenToo = true): Promise<void> {
    do {
      if (this.#gone) throw new DriverEnded()
      await this.#out.schedule.turn(this)
    } while (this.#frozen && frozenToo)
  }

  /** Makes some reports twice, as a driver does that missed the first acknowledgement. */
  async #report(report: Report): Promise<Ack> {
    if (this.#gone) throw new DriverEnded()
    const { uuid } = this.#row
    const { pipeline } = this.#core
    const send = (): Promise<Ack> =>
      pipeline.request({ type: 'report', uuid, pid: this.pid, report }).then((value) => (value.type === 'ack' ? value.ack : 'ok'))
    const pending = send()
    const again = report.type !== 'output' && this.#out.pick(40) === 0 ? send().catch(() => null) : null
    try {
      const first = await pending
      // If a message has come in between, the second report may be accepted.
      const ack = first === 'held' && (await again) === 'go' ? 'go' : first
      if (this.#gone || (ack === 'late' && report.type !== 'up')) throw new DriverEnded()
      return ack
    } catch (error) {
      if (error instanceof KernelError && error.code !== 'INVALID' && error.code !== 'INTERNAL') throw new DriverEnded()
      throw error
    }
  }
}
