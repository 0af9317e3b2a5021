// A kernel whose processes spend the budgets of the home, for the tests of these budgets. The test gives the time and the day.
import type { ReplyValue } from '../../../src/kernel/model/effects.ts'
import type { InputBody } from '../../../src/kernel/model/inputs.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Report } from '../../../src/kernel/model/reports.ts'
import type { HomeBudgets } from '../../../src/kernel/model/home.ts'
import { World, kernelSpec } from './world.ts'

const RATES = { perInputToken: 0, perOutputToken: 1e-4 }
export const DAY_MS = 86_400_000

/** A kernel with a calendar and budgets; each token of an answer costs $0.0001. */
export class HomeBudgetWorld {
  readonly world = new World()

  /** Gives the kernel an input, and returns the value of its reply; null without a reply. */
  input(body: InputBody): ReplyValue | null {
    const answer = this.world.step(body).effects.find(({ type }) => type === 'reply')
    return answer?.type === 'reply' ? answer.value : null
  }

  setDay(day: number, budgets: HomeBudgets): void {
    const end = (day + 1) * DAY_MS
    this.input({ type: 'home', uuid: null, calendar: { dailyUsd: { number: day, end }, monthlyUsd: { number: 1, end } }, budgets })
  }

  /** Spawns a process, and starts its driver. */
  start(uuid: string, driver: 'native' | 'acp' = 'native'): void {
    const spec = kernelSpec({ driver, interactive: true, intent: 'work' })
    this.input({ type: 'spawn', reply: 1, by: 'user', uuid, spec, parent: null })
    this.startDriver(uuid, driver)
  }

  /** Starts the driver of a process, after its spawn or its resume. */
  startDriver(uuid: string, driver: 'native' | 'acp' = 'native'): void {
    this.input({
      type: 'start',
      uuid,
      pid: this.row(uuid).pid,
      containment: { kind: 'group', path: null, marker: uuid },
      missingKeys: [],
    })
    this.report(uuid, { type: 'up', ...(driver === 'acp' ? { sessionId: uuid } : {}) })
  }

  row(uuid: string): Process {
    const row = this.world.overlay.get(uuid)
    if (!row) throw new Error(`${uuid} is not in the table`)
    return row
  }

  report(uuid: string, report: Report): ReplyValue | null {
    return this.input({ type: 'report', reply: 1, uuid, pid: this.row(uuid).pid, report })
  }

  /** Asks for a call with an answer of at most this number of tokens, of $0.0001 each. */
  requestCall(uuid: string, maxOutputTokens: number): ReplyValue | null {
    const step = this.row(uuid).progress.wholeStep + 1
    return this.report(uuid, { type: 'model.started', step, attempt: 1, model: 'm', ask: { inputTokens: 0, maxOutputTokens, usd: RATES } })
  }

  /** Finishes the open call with this cost, and the tool call that it asked for, so that the next step may begin. */
  finishCall(uuid: string, costUsd: number): void {
    const usage = { inputTokens: 0, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd }
    const { step } = this.row(uuid).progress
    const call = { callId: 'c', name: 'ls', input: {}, effect: 'read' } as const
    this.report(uuid, { type: 'model.finished', step, message: [], usage, finish: 'tool-calls', durationMs: 1, calls: [call] })
    this.report(uuid, { type: 'tool.finished', callId: 'c', outcome: 'ok', content: '', durationMs: 1 })
  }

  /** The reason and the end of each hold of a running process; of any other process, its state. */
  holds(uuid: string): unknown {
    const { life } = this.row(uuid)
    return life.state === 'running' ? life.holds.map(({ reason, until }) => [reason, until ?? null]) : life.state
  }
}
