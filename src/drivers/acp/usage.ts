// What an agent's work costs. Agents tell the session's total, also after a resume; the kernel is told what came on top,
// so that nothing is added twice. Tokens come with the end of a turn, for that turn. Pure. Test: test/processes/acp.test.ts.
import type { CallUsage } from '../../kernel/types.ts'
import type { Prompted } from './wire.ts'

export const NO_USAGE: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

export class Costs {
  #total: number
  #isTold = false
  #isMetered: boolean

  /** `charged`: what this session has cost before, as it was recorded; `wasMetered`: a part of that by another's count than its own */
  constructor(charged: number, wasMetered = false) {
    this.#total = charged
    this.#isMetered = wasMetered
  }

  /** The total of a session that was only just opened again: nothing of it is new. */
  opened(total: number): void {
    this.#isTold = true
    this.#isMetered = false
    this.#total = total
  }

  /** What is new in a total. One that fell was counted anew from nothing, unless it is compared with another's count. */
  delta(total: number): number {
    this.#isTold = true
    const fell = this.#isMetered ? 0 : total
    const delta = total >= this.#total ? total - this.#total : fell
    this.#total = total
    this.#isMetered = false
    return delta
  }

  /**
   * The tokens of a turn; with `calls`, what was told is one of so many calls of the model, and the turn is an estimate.
   * Their price is unknown, unless the agent tells it by itself.
   */
  tokens(told: NonNullable<Prompted['usage']>, calls = 1): CallUsage {
    return {
      inputTokens: told.inputTokens * calls,
      outputTokens: told.outputTokens * calls,
      cacheReadTokens: told.cachedReadTokens * calls,
      cacheWriteTokens: told.cachedWriteTokens * calls,
      ...(calls > 1 ? { estimated: true } : {}),
      costUsd: this.#isTold ? 0 : null,
    }
  }
}
