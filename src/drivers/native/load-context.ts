// Reads a context back from the journal: all of it, or the parts that a compaction has left; both give the same messages.
// Must never hold more of the journal than a page. Tests: test/properties/context.test.ts, test/properties/compaction.test.ts.
import type { FactType, StoredFact } from '../../kernel/facts.ts'
import type { Range } from '../../kernel/types.ts'
import { Context, foldFact } from './context.ts'

/** Facts per page when history is read. */
const PAGE_FACTS = 500

export type History = (afterSeq: number, limit: number, without?: readonly FactType[]) => Promise<readonly StoredFact[]>

/** Many, and nothing to a context. */
const WITHOUT: readonly FactType[] = ['tool.started', 'process.output']

export interface Loaded {
  readonly context: Context
  /** the last fact that there is */
  readonly seq: number
}

/** The parts in order, the last of them to the journal's end; null: all of it. A model call that was open there is over: its answer is lost. */
export async function loadContext(history: History, ranges: readonly Range[] | null): Promise<Loaded> {
  const context = new Context()
  const parts = ranges ?? [[1, Number.MAX_SAFE_INTEGER]]
  let seq = 0
  for (const [index, [first, last]] of parts.entries()) {
    const isOpen = index === parts.length - 1
    seq = await fold(context, history, [first, isOpen ? Number.MAX_SAFE_INTEGER : last])
  }
  context.unanswered()
  return { context, seq }
}

/** Reads on from where it was read to. */
export async function catchUp({ context, seq }: Loaded, history: History): Promise<void> {
  await fold(context, history, [seq + 1, Number.MAX_SAFE_INTEGER])
}

/** Gives the last fact that was read. */
async function fold(context: Context, history: History, [first, last]: Range): Promise<number> {
  let after = first - 1
  while (after < last) {
    const page = await history(after, Math.min(PAGE_FACTS, last - after), WITHOUT)
    if (page.length === 0) break
    for (const { body, seq } of page) foldFact(context, body, seq)
    after = page.at(-1)?.seq ?? after
  }
  return after
}
