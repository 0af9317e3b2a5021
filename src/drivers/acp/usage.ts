// Converts the usage that an agent reports to what the kernel counts. Agents report the total cost of the session, even after a resume; the
// kernel needs the increase, so that nothing is counted twice. Tokens are reported per turn, at its end. Pure.
// Test: test/processes/acp/turns.test.ts.
import type { PromptResult } from './message-schemas.ts'
import type { CallUsage } from '../../kernel/model/usage.ts'

export const NO_USAGE: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

export class CostDeltas {
  #total: number
  #isReported = false
  #isMetered: boolean

  /**
   * `chargedUsd`: the recorded cost of the session so far. `wasMetered`: the gateway counted a part of that cost, so the agent's own total
   * may be lower.
   */
  constructor(chargedUsd: number, wasMetered = false) {
    this.#total = chargedUsd
    this.#isMetered = wasMetered
  }

  /** Sets the total of a reopened session, which contains no new cost. */
  setTotal(total: number): void {
    this.#isReported = true
    this.#isMetered = false
    this.#total = total
  }

  /**
   * Returns the increase to a new total. A lower total means that the agent counts from 0 again, unless the old total was the gateway's.
   */
  increaseTo(total: number): number {
    this.#isReported = true
    const increaseIfLower = this.#isMetered ? 0 : total
    const increase = total >= this.#total ? total - this.#total : increaseIfLower
    this.#total = total
    this.#isMetered = false
    return increase
  }

  /**
   * Returns the tokens of a turn. If `calls` is more than 1, `usage` is that of one model call, so the result is an estimate. The cost is 0
   * if the agent reports costs, because `increaseTo` counts them; else it is null (unknown).
   */
  turnUsage(usage: NonNullable<PromptResult['usage']>, calls = 1): CallUsage {
    return {
      inputTokens: usage.inputTokens * calls,
      outputTokens: usage.outputTokens * calls,
      cacheReadTokens: usage.cachedReadTokens * calls,
      cacheWriteTokens: usage.cachedWriteTokens * calls,
      ...(calls > 1 ? { estimated: true } : {}),
      costUsd: this.#isReported ? 0 : null,
    }
  }
}
