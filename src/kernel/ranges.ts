// Parts of a journal: which of its facts make the context. Owns how they are kept: in order, apart from each other, and the
// last one open at its end. Used by the fold and by whoever reads a context back, so that the two cannot differ.
// Test: test/tables/compacting.test.ts.
import type { Range } from './types.ts'

/** What of the journal the model is shown. */
export interface ContextState {
  /** tokens that the model's context can hold; null if nobody knows */
  readonly window: number | null
  /** the parts of the journal that make the context, oldest first; the last one goes on to the newest fact. Null: all of it */
  readonly ranges: readonly Range[] | null
  /** the step after which it was compacted last; null: never */
  readonly compactedStep: number | null
  /** a call that sums it up is under way */
  readonly compacting: boolean
}

export interface Checkpoint {
  readonly step: number
  /** the fact that holds it */
  readonly seq: number
  readonly at: number
}

/** True for parts that a journal of `seq` facts can have: in order, and none twice. */
export function areRanges(ranges: readonly Range[], seq: number): boolean {
  let end = 0
  return ranges.every(([first, last]) => {
    const follows = Number.isSafeInteger(first) && Number.isSafeInteger(last) && first > end && first <= last && last <= seq
    end = last
    return follows
  })
}

/** The parts after a compaction: what is kept, the texts of messages that still wait, and all from the compaction on. */
export function rangesAfter(kept: readonly Range[], waiting: readonly number[], compactedSeq: number): readonly Range[] {
  return joined([...kept, ...waiting.map((seq): Range => [seq, seq]), [compactedSeq, compactedSeq]])
}

/** In order; those that touch or overlap are one. */
export function joined(ranges: readonly Range[]): readonly Range[] {
  const result: [number, number][] = []
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = result.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else result.push([first, last])
  }
  return result
}

/** The parts as they are at the fact `seq`: the last one goes on to it. */
export function upTo(ranges: readonly Range[], seq: number): readonly Range[] {
  return ranges.map(([first, last], index): Range => [first, index === ranges.length - 1 ? seq : last])
}
