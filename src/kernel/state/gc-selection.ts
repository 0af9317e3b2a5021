// Decides which ended processes the garbage collection removes, and by which rule. Keeps only two running totals. The
// caller passes the rows of ended, unpinned processes, oldest first. A damaged row, or one without an exit time, is
// skipped with a warning. Tests: test/tables/kernel/state/gc-selection.test.ts, test/properties/gc-selection.test.ts.
import type { Uuid } from '../model/ids.ts'

/** The limits of the rules; 0 disables a rule. */
export interface GcRules {
  readonly retentionMs: number
  readonly maxEntries: number
  readonly maxBytes: number
}

export const GC_RULES = ['retention_days', 'max_entries', 'max_bytes'] as const
export type GcRule = (typeof GC_RULES)[number]

/** An ended process that is not pinned. */
export interface CollectionCandidate {
  readonly uuid: Uuid
  /** wall time in ms; null: unknown */
  readonly exitedAt: number | null
  /** estimate of the space that its removal frees; null: unknown */
  readonly bytes: number | null
  /** why the process cannot be judged; null: it can */
  readonly warning: string | null
}

/** The totals before the collection. */
export interface StoreTotals {
  /** number of ended, unpinned processes */
  readonly entries: number
  /** size of the store */
  readonly bytes: number
}

export type CollectionDecision =
  | { readonly verdict: 'collect'; readonly rule: GcRule }
  | { readonly verdict: 'skip'; readonly warning: string }
  | { readonly verdict: 'keep' }

export function isGcOff({ retentionMs, maxEntries, maxBytes }: GcRules): boolean {
  return retentionMs === 0 && maxEntries === 0 && maxBytes === 0
}

/** Judges rows one by one, oldest first. Each collected row lowers the totals for the following rows. */
export class GcSelector {
  readonly #rules: GcRules
  readonly #now: number
  #entries: number
  #bytes: number

  constructor(rules: GcRules, before: StoreTotals, now: number) {
    this.#rules = rules
    this.#now = now
    this.#entries = before.entries
    this.#bytes = before.bytes
  }

  /** Decides about one row by the first rule that applies. After a `keep` all younger rows would be kept, too. */
  judge({ exitedAt, bytes, warning }: CollectionCandidate): CollectionDecision {
    if (warning !== null) return { verdict: 'skip', warning }
    if (exitedAt === null) return { verdict: 'skip', warning: 'it has no exit time' }
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
