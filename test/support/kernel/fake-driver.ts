// A driver that runs nothing and reports as a real one would: turns of steps with tool calls, gates, drains, freezes, ends.
// Where it waits, chance decides how long. It watches over what the kernel promises a driver. For `acp` it is an agent that
// others wrote: it says what has happened, whatever holds there are, and asks people; a command in a conversation does the same, asks
// nobody, and tells its session in a turn.
import { KernelError } from '../../../src/kernel/errors.ts'
import type { Ack, AskedCall, Report } from '../../../src/kernel/reports.ts'
import type { OpenCall, Process } from '../../../src/kernel/types.ts'
import type { Effect } from '../../../src/kernel/effects.ts'
import type { Core } from './daemon-core.ts'
import { talks } from './model-signals.ts'
import type { Pick } from './random.ts'
import type { Schedule } from './schedule.ts'

/** What outlives drivers and daemons: the world in which tools act, and what was acknowledged. */
export interface Outside {
  readonly schedule: Schedule
  readonly pick: Pick
  /** how often each tool call acted */
  readonly acted: Map<string, { effect: string; times: number }>
  /** facts that must be in the journal, in words */
  readonly acknowledged: Set<string>
  broken(rule: string): void
}

/** This driver has nothing more to do. */
class Over extends Error {}

export class FakeDriver {
  readonly #core: Core
  readonly #out: Outside
  readonly #row: Process
  #openCalls: readonly OpenCall[]
  #step: number
  #busy = false
  /** the turn that is on, or was the last */
  #turnOn = 0
  #interrupted = false
  /** what it was answered */
  readonly #answers = new Set<string>()
  /** it was told to pause, and not yet to go on */
  #paused = false
  #frozen = false
  #inFlight: string | null = null
  #gone = false
  #said = 0

  constructor(core: Core, out: Outside, row: Process) {
    this.#core = core
    this.#out = out
    this.#row = row
    this.#openCalls = row.progress.openCalls
    // A call to the model that was cut off is made again; calls of tools that are open belong to the last step.
    this.#step = row.progress.openCalls.length > 0 ? row.progress.step : row.progress.wholeStep
  }

  get #isExternal(): boolean {
    return this.#row.spec.driver === 'acp' || this.#isConversation
  }

  get #isConversation(): boolean {
    return this.#row.spec.driver === 'command' && talks(this.#row.spec)
  }

  get pid(): number {
    return this.#row.pid
  }

  /** Does what an effect asks; what goes wrong with a driver that is over is nobody's business. */
  ask(effect: Effect): void {
    this.#do(effect).catch((error: unknown) => {
      if (!(error instanceof Over)) this.#out.broken(`a driver failed: ${String(error)}`)
    })
  }

  /** The daemon is killed, or the incarnation is released: nothing more of it happens. */
  end(): void {
    this.#gone = true
    this.#out.schedule.drop(this)
  }

  async #do(effect: Effect): Promise<void> {
    switch (effect.type) {
      case 'driver.start': return this.#start()
      // What is put into the turn that is on is read before the next call.
      case 'driver.deliver':
        if (this.#busy && effect.turn === this.#turnOn) return
        return this.#turn(effect.turn)
      case 'driver.proceed': return this.#turn(effect.turn)
      case 'driver.answer':
        // One that was given in the same moment, before the pause, is still told.
        if (this.#paused) this.#out.broken(`an answer reached PID ${this.pid} while it is held`)
        this.#answers.add(effect.id)
        return
      case 'driver.interrupt': this.#interrupted = this.#busy; return
      case 'driver.pause':
        this.#paused = true
        return effect.freeze ? this.#freeze() : undefined
      case 'driver.unpause':
        this.#paused = false
        this.#frozen = false
        return
      case 'driver.stop': return this.#exit()
      default:
    }
  }

  async #start(): Promise<void> {
    await this.#wait()
    if (this.#out.pick(25) === 0) return this.#report({ type: 'exited', code: 1, osSignal: null, error: 'cannot start' }).then(() => {})
    await this.#report({ type: 'up', ...(this.#row.spec.driver === 'acp' && this.#out.pick(3) > 0 ? { sessionId: 's1' } : {}) })
    if (!talks(this.#row.spec)) await this.#command()
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

  /** The program ends at the signal, or a little later. */
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

  /** Now and then the context is summed up before a step; some tries fail, and some drivers try it twice in a row. */
  async #compact(): Promise<void> {
    const step = this.#step
    for (let attempt = 1; ; attempt += 1) {
      const ack = await this.#report({ type: 'compaction.started', step, attempt, model: 'm' })
      if (ack === 'held') return this.#gate()
      if (ack !== 'go') throw new Over()
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
      type: 'context.compacted', step, summary: 'in short', ranges: [[1, 1 + this.#out.pick(seq)]], before: 100, after: 10, durationMs: 1,
      usage: { inputTokens: 5, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 },
    })
    this.#out.acknowledged.add(`compacted ${this.#row.uuid} ${step}`)
    if (this.#out.pick(4) === 0) await this.#compact()
  }

  /** Now and then a person is asked; some questions become void before anybody answers. */
  async #ask(): Promise<void> {
    if (this.#out.pick(3) > 0) return
    const id = `q${(this.#said += 1)}`
    await this.#report({ type: 'waiting', ask: { id, kind: 'question', text: 'which one?', options: [], callId: null, at: 0 } })
    while (!this.#answers.has(id) && !this.#interrupted) {
      await this.#wait()
      if (this.#out.pick(12) > 0 || this.#answers.has(id)) continue
      await this.#report({ type: 'unasked', id }).catch((error: unknown) => { if (error instanceof Over) throw error })
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
      } else throw new Over()
    }
    this.#step += 1
    const calls = Array.from({ length: this.#out.pick(3) }, (_, index): AskedCall => ({
      callId: `${this.#row.uuid}.${this.pid}.${this.#step}.${index}`, name: 'bash', effect: (['once', 'once', 'read', 'idempotent'] as const)[this.#out.pick(4)] ?? 'once',
    }))
    await this.#report({
      type: 'model.finished', step: this.#step, finish: 'stop', durationMs: 1, calls,
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

  /** Waits while it is held, and says once that nothing is in flight. */
  async #gate(): Promise<void> {
    if (!this.#held) return
    await this.#report({ type: 'drained' })
    while (this.#held) await this.#wait()
  }

  /** Lines that are said in one go, without waiting for the last one to be durable: their order is to be kept. */
  async #chatter(): Promise<void> {
    const lines = Array.from({ length: this.#out.pick(4) }, () => {
      this.#said += 1
      return this.#line(this.#said)
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
      if (this.#gone) throw new Over()
      await this.#out.schedule.turn(this)
    } while (this.#frozen && frozenToo)
  }

  /** Some reports are made twice, as by a driver that did not see the first answer. */
  async #report(report: Report): Promise<Ack> {
    if (this.#gone) throw new Over()
    const { uuid } = this.#row
    const { pipeline } = this.#core
    const send = (): Promise<Ack> => pipeline.request({ type: 'report', uuid, pid: this.pid, report }).then((value) => (value.type === 'ack' ? value.ack : 'ok'))
    const said = send()
    const again = report.type !== 'output' && this.#out.pick(40) === 0 ? send().catch(() => null) : null
    try {
      const first = await said
      // A message came in between: the second time it may go on.
      const ack = first === 'held' && (await again) === 'go' ? 'go' : first
      if (this.#gone || (ack === 'late' && report.type !== 'up')) throw new Over()
      return ack
    } catch (error) {
      if (error instanceof KernelError && error.code !== 'INVALID' && error.code !== 'INTERNAL') throw new Over()
      throw error
    }
  }
}
