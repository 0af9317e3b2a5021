// Chooses the messages that a compaction keeps, as ranges of their facts: the first message and the newest ones. Must never
// separate an answer from its tool results, or drop a message that has no answer yet.
// Pure. Test: test/properties/compaction.test.ts.
import { joinRanges, type Range } from '../../../kernel/model/context.ts'
import { messageBytes } from './context.ts'
import type { Context } from './context.ts'

/** The limits for the part that a compaction keeps. */
export interface CompactionLimits {
  /** the limit of the newest messages, in bytes */
  readonly keepBytes: number
  /** the limit of the messages since the last step began, in bytes; larger than `keepBytes` */
  readonly maxStepBytes: number
  /** the sequence number of the journal's last fact */
  readonly seq: number
}

/** The part of a context that a compaction keeps. */
export interface KeptPart {
  /** its facts in the journal */
  readonly ranges: readonly Range[]
  /** the size of the kept messages, in bytes */
  readonly bytes: number
}

/** The largest share of the window for the newest messages that are kept. */
const KEPT_SHARE = 0.2
/** The largest share of the window for the messages since the last step began. */
const MAX_STEP_SHARE = 0.5

/** Returns the limits. `window` is in tokens, or null if unknown. `overheadBytes` is the size of the system prompt and the tools. */
export function compactionLimits(
  context: Context,
  { window, overheadBytes, seq }: { readonly window: number | null; readonly overheadBytes: number; readonly seq: number },
): CompactionLimits {
  const windowBytes = window === null ? context.bytes : window / context.tokensPerByte(overheadBytes)
  return { keepBytes: KEPT_SHARE * windowBytes, maxStepBytes: MAX_STEP_SHARE * windowBytes, seq }
}

/** Chooses the part to keep. Null if only an earlier summary, or nothing, could be removed. */
export function chooseKeptPart(context: Context, limits: CompactionLimits): KeptPart | null {
  const { messages, origins } = context
  const sizes = messages.map(messageBytes)
  const keepsFirst = messages[0]?.role === 'user' && (origins[0]?.facts.length ?? 0) > 0
  const cut = cutIndex(context, sizes, limits)
  if (cut < messages.length && origins[cut]?.start === null) return null
  const removed = origins.slice(keepsFirst ? 1 : 0, cut)
  if (!removed.some(({ facts }) => facts.length > 0)) return null
  const firstFacts = keepsFirst && cut > 0 ? (origins[0]?.facts ?? []) : []
  const bytes = sum(sizes.slice(cut)) + (firstFacts.length > 0 ? (sizes[0] ?? 0) : 0)
  return { ranges: joinRanges([...singleFactRanges([...firstFacts, context.turnSeq]), ...rangesFromCut(context, cut, limits.seq)]), bytes }
}

/** The index from which all messages are kept. Equal to the number of messages if none of them is kept. */
function cutIndex({ messages, origins }: Context, sizes: readonly number[], { keepBytes, maxStepBytes }: CompactionLimits): number {
  const firstUnread = messages.findLastIndex(({ role }) => role !== 'user') + 1
  const lastStep = messages.findLastIndex(({ role }, index) => role === 'assistant' && origins[index]?.start !== null)
  // True if a reader can start at the unread messages, without the step before them.
  const canStartAtUnread = firstUnread === messages.length || origins[firstUnread]?.start !== null
  let cut = lastStep >= 0 && (!canStartAtUnread || sum(sizes.slice(lastStep)) <= maxStepBytes) ? lastStep : firstUnread
  let bytes = sum(sizes.slice(cut))
  for (let index = cut - 1; index >= 0; index -= 1) {
    bytes += sizes[index] ?? 0
    if (bytes > keepBytes) break
    if (origins[index]?.start !== null) cut = index
  }
  return cut
}

/** The range of all facts from the cut on, and the earlier facts with the texts of queued messages. */
function rangesFromCut({ origins }: Context, cut: number, seq: number): readonly Range[] {
  const start = origins[cut]?.start ?? null
  if (start === null) return []
  return [
    ...singleFactRanges(
      origins
        .slice(cut)
        .flatMap(({ facts }) => facts)
        .filter((fact) => fact < start),
    ),
    [start, seq],
  ]
}

function singleFactRanges(facts: readonly (number | null)[]): readonly Range[] {
  return facts.flatMap((fact): Range[] => (fact === null ? [] : [[fact, fact]]))
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0)
}
