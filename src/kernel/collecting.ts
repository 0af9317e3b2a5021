// Collection: which of the ended processes go, and by which rule. Pure: it sees rows oldest first and remembers two sums.
// Who lives, is suspended or is pinned never comes here; a row that cannot be read, or has no time of death, is passed over
// with a warning. Tests: test/tables/collecting.test.ts, test/properties/collecting.test.ts.
import type { Uuid } from './types.ts'

/** 0 switches a rule off. */
export interface GcRules {
  readonly retentionMs: number
  readonly maxEntries: number
  readonly maxBytes: number
}

export type GcRule = 'retention_days' | 'max_entries' | 'max_bytes'

/** An ended process that is not pinned. `bytes` is an estimate of what its removal gives back; null: nobody knows. */
export interface Ended {
  readonly uuid: Uuid
  readonly exitedAt: number | null
  readonly bytes: number | null
  /** why it cannot be judged */
  readonly warning: string | null
}

/** Before anything is collected: how many may go at all, and how large the store is. */
export interface Before {
  readonly entries: number
  readonly bytes: number
}

export type Verdict =
  | { readonly verdict: 'collect'; readonly rule: GcRule }
  | { readonly verdict: 'skip'; readonly warning: string }
  | { readonly verdict: 'keep' }

export function isOff({ retentionMs, maxEntries, maxBytes }: GcRules): boolean {
  return retentionMs === 0 && maxEntries === 0 && maxBytes === 0
}

/** Judges rows one after the other, the oldest first; each that is collected counts for those after it. */
export class Collecting {
  readonly #rules: GcRules
  readonly #now: number
  #entries: number
  #bytes: number

  constructor(rules: GcRules, before: Before, now: number) {
    this.#rules = rules
    this.#now = now
    this.#entries = before.entries
    this.#bytes = before.bytes
  }

  /** The first rule that is hit, in the order of the configuration. After a `keep` all younger ones are kept, too. */
  judge({ exitedAt, bytes, warning }: Ended): Verdict {
    if (warning !== null) return { verdict: 'skip', warning }
    if (exitedAt === null) return { verdict: 'skip', warning: 'it has no time of death' }
    const rule = this.#ruleOf(exitedAt)
    if (rule === null) return { verdict: 'keep' }
    this.#entries -= 1
    this.#bytes -= bytes ?? 0
    return { verdict: 'collect', rule }
  }

  #ruleOf(exitedAt: number): GcRule | null {
    const { retentionMs, maxEntries, maxBytes } = this.#rules
    if (retentionMs > 0 && this.#now - exitedAt > retentionMs) return 'retention_days'
    if (maxEntries > 0 && this.#entries > maxEntries) return 'max_entries'
    if (maxBytes > 0 && this.#bytes > maxBytes) return 'max_bytes'
    return null
  }
}
