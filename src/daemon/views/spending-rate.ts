// Measures how fast processes spend now: USD and tokens in slots of ten seconds of the last hour, by tree, from the facts of each commit.
// Kept in memory, so it covers only the time since the daemon started. Bounded: idle trees have no slots. Must never delay a commit.
// Test: test/tables/daemon/views/spending-rate.test.ts.
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'

const SLOT_MS = 10_000
const MINUTE_MS = 60_000
/** The slots of one hour. */
const SLOTS = 360
/** The greatest number of trees; the ones that have spent nothing for the longest time are dropped. */
const MAX_TREES = 1_000
/** The number of minutes whose sums are returned. */
const SUM_MINUTES = 30
/** The periods for which rates are returned, in minutes. */
export const RATE_MINUTES = [1, 5, 60] as const

interface Slot {
  /** the number of the slot: its monotonic time divided by its length */
  readonly slot: number
  usd: number
  tokens: number
}

export interface SpendingRateDeps {
  get(uuid: Uuid): Process | undefined
  /** the monotonic time, in ms */
  now(): number
}

/** What was spent per minute in a period. */
export interface Rate {
  readonly minutes: number
  readonly costUsd: number
  readonly tokens: number
}

export class SpendingRate {
  readonly #deps: SpendingRateDeps
  readonly #began: number
  readonly #all: Slot[] = []
  /** the trees by their roots; the one that spent last is the last */
  readonly #trees = new Map<Uuid, Slot[]>()

  constructor(deps: SpendingRateDeps) {
    this.#deps = deps
    this.#began = deps.now()
  }

  onFacts(facts: readonly StoredFact[]): void {
    for (const { uuid, body } of facts) {
      if (!('usage' in body) || !body.usage) continue
      const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd } = body.usage
      this.#add(uuid, costUsd ?? 0, inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens)
    }
  }

  /** The rates of all processes. */
  total(): readonly Rate[] {
    return this.#ratesOf(this.#all)
  }

  /** USD of each of the last 30 minutes, the oldest first. */
  totalByMinute(): readonly number[] {
    return this.#byMinute(this.#all)
  }

  /** The trees that have spent in the last hour: their roots, their rates, and USD of each of the last 30 minutes. */
  trees(): readonly (readonly [root: Uuid, rates: readonly Rate[], usdByMinute: readonly number[]])[] {
    for (const [root, slots] of this.#trees) if (slots.every(({ slot }) => slot <= this.#currentSlot() - SLOTS)) this.#trees.delete(root)
    return [...this.#trees].map(([root, slots]) => [root, this.#ratesOf(slots), this.#byMinute(slots)] as const)
  }

  #add(uuid: Uuid, usd: number, tokens: number): void {
    if (usd === 0 && tokens === 0) return
    const root = this.#rootOf(uuid)
    const slots = this.#trees.get(root) ?? []
    this.#trees.delete(root)
    this.#trees.set(root, slots)
    for (const each of [slots, this.#all]) {
      const last = each.at(-1)
      if (last?.slot === this.#currentSlot()) {
        last.usd += usd
        last.tokens += tokens
      } else {
        each.push({ slot: this.#currentSlot(), usd, tokens })
        while ((each[0]?.slot ?? Infinity) <= this.#currentSlot() - SLOTS) each.shift()
      }
    }
    const oldest = this.#trees.size > MAX_TREES ? this.#trees.keys().next().value : undefined
    if (oldest !== undefined) this.#trees.delete(oldest)
  }

  #rootOf(uuid: Uuid): Uuid {
    let root = uuid
    for (let process = this.#deps.get(uuid); process?.parentUuid; process = this.#deps.get(process.parentUuid)) root = process.parentUuid
    return root
  }

  #ratesOf(slots: readonly Slot[]): Rate[] {
    const coveredMs = this.#deps.now() - this.#began
    return RATE_MINUTES.map((minutes) => {
      const first = this.#currentSlot() - (minutes * MINUTE_MS) / SLOT_MS
      const counted = slots.filter(({ slot }) => slot > first)
      // Just after the start, the time since then counts, but at least a minute.
      const divisor = Math.min(minutes, Math.max(1, coveredMs / MINUTE_MS))
      const sum = (key: 'usd' | 'tokens'): number => counted.reduce((total, slot) => total + slot[key], 0)
      return { minutes, costUsd: sum('usd') / divisor, tokens: sum('tokens') / divisor }
    })
  }

  #byMinute(slots: readonly Slot[]): number[] {
    const sums = Array.from({ length: SUM_MINUTES }, () => 0)
    for (const { slot, usd } of slots) {
      const index = SUM_MINUTES - 1 - Math.floor((this.#currentSlot() - slot) / (MINUTE_MS / SLOT_MS))
      if (index >= 0) sums[index] = (sums[index] ?? 0) + usd
    }
    return sums
  }

  #currentSlot(): number {
    return Math.floor(this.#deps.now() / SLOT_MS)
  }
}
