// The context of a process: its size, the ranges of the journal that it is made of, and its checkpoints. The ranges are ordered and
// disjoint, and the last range grows with the journal. The fold and every reader of a context share this module, so that all agree.
// Test: test/tables/kernel/model/context.test.ts.

/** The part of the journal that the model is shown. */
export interface ContextState {
  /** size of the model's context in tokens; null when unknown */
  readonly window: number | null
  /** tokens of the window that are kept free for an answer */
  readonly answer?: number
  /** the ranges of the context, oldest first; the last one extends to the newest fact. Null: the whole journal */
  readonly ranges: readonly Range[] | null
  /** the step after which the context was last compacted; null: never */
  readonly compactedStep: number | null
  /** whether a model call that summarizes the context is open */
  readonly compacting: boolean
}

export interface Checkpoint {
  readonly step: number
  /** the fact that records the checkpoint */
  readonly seq: number
  /** wall time in ms */
  readonly at: number
}

/** True when the ranges are ordered and disjoint within a journal of `seq` facts. */
export function areValidRanges(ranges: readonly Range[], seq: number): boolean {
  let end = 0
  return ranges.every(([first, last]) => {
    const follows = Number.isSafeInteger(first) && Number.isSafeInteger(last) && first > end && first <= last && last <= seq
    end = last
    return follows
  })
}

/** The ranges after a compaction: the kept ranges, the facts of queued messages, and everything from the compaction on. */
export function rangesAfterCompaction(kept: readonly Range[], queued: readonly number[], compactedSeq: number): readonly Range[] {
  return joinRanges([...kept, ...queued.map((seq): Range => [seq, seq]), [compactedSeq, compactedSeq]])
}

/** Sorts the ranges, and merges those that touch or overlap. */
export function joinRanges(ranges: readonly Range[]): readonly Range[] {
  const result: [number, number][] = []
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = result.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else result.push([first, last])
  }
  return result
}

/** The ranges as of fact `seq`: the last range ends there. */
export function closeRangesAt(ranges: readonly Range[], seq: number): readonly Range[] {
  return ranges.map(([first, last], index): Range => [first, index === ranges.length - 1 ? seq : last])
}

/** The first and the last fact of a part of the journal, both included. */
export type Range = readonly [first: number, last: number]
