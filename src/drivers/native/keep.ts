// What of a context stays when it is compacted: the first message, and the newest ones, by the facts that made them.
// Owns that nothing is cut apart (an answer stays with its results) and that a message nobody has answered stays in any case.
// Pure. Test: test/properties/compaction.test.ts.
import { joined } from '../../kernel/ranges.ts'
import type { Range } from '../../kernel/types.ts'
import { messageBytes } from './context.ts'
import type { Context } from './context.ts'

export interface Room {
  /** the newest messages may take so much */
  readonly keepBytes: number
  /** the last step stays also beyond that, but not beyond this */
  readonly mostBytes: number
  /** the last fact of the journal */
  readonly seq: number
}

export interface Kept {
  readonly ranges: readonly Range[]
  /** of the messages that stay */
  readonly bytes: number
}

/** What stays; null if that is all of it, or all but a summary. */
export function chooseKept(context: Context, room: Room): Kept | null {
  const { messages, origins } = context
  const sizes = messages.map(messageBytes)
  const hasFirst = messages[0]?.role === 'user' && (origins[0]?.facts.length ?? 0) > 0
  const cut = cutOf(context, sizes, room)
  if (cut < messages.length && origins[cut]?.start === null) return null
  const lost = origins.slice(hasFirst ? 1 : 0, cut)
  if (!lost.some(({ facts }) => facts.length > 0)) return null
  const first = hasFirst && cut > 0 ? origins[0]?.facts ?? [] : []
  const bytes = sum(sizes.slice(cut)) + (first.length > 0 ? sizes[0] ?? 0 : 0)
  return { ranges: joined([...parts([...first, context.workingSeq]), ...tail(context, cut, room.seq)]), bytes }
}

/** The index of the first of the newest messages that stay; their number if none does. */
function cutOf({ messages, origins }: Context, sizes: readonly number[], { keepBytes, mostBytes }: Room): number {
  const unread = messages.findLastIndex(({ role }) => role !== 'user') + 1
  const step = messages.findLastIndex(({ role }, index) => role === 'assistant' && origins[index]?.start !== null)
  const isApart = unread === messages.length || origins[unread]?.start !== null
  let cut = step >= 0 && (!isApart || sum(sizes.slice(step)) <= mostBytes) ? step : unread
  let bytes = sum(sizes.slice(cut))
  for (let index = cut - 1; index >= 0; index -= 1) {
    bytes += sizes[index] ?? 0
    if (bytes > keepBytes) break
    if (origins[index]?.start !== null) cut = index
  }
  return cut
}

/** All facts from the cut on, and the texts of its messages that were queued before it. */
function tail({ origins }: Context, cut: number, seq: number): readonly Range[] {
  const start = origins[cut]?.start ?? null
  if (start === null) return []
  return [...parts(origins.slice(cut).flatMap(({ facts }) => facts).filter((fact) => fact < start)), [start, seq]]
}

function parts(facts: readonly (number | null)[]): readonly Range[] {
  return facts.flatMap((fact): Range[] => (fact === null ? [] : [[fact, fact]]))
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0)
}
