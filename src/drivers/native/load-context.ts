// Reads a context back from the journal: all of it, or the parts that a compaction has left; both give the same messages.
// Must never hold more of the journal than a page. Tests: test/properties/context.test.ts, test/properties/compaction.test.ts.
import type { FactMark, Skim, StoredFact } from '../../kernel/facts.ts'
import type { Range } from '../../kernel/types.ts'
import { Context, foldFact } from './context.ts'

/** Facts per page when history is read. */
const PAGE_FACTS = 500

export type Pages = (afterSeq: number, limit: number, skim: Skim) => Promise<readonly (StoredFact | FactMark)[]>

/** What a context does not need of its journal: there are many of each. */
const SKIM: Skim = { without: ['tool.started', 'process.output'], marks: ['model.started', 'process.working'] }

export interface Loaded {
  readonly context: Context
  /** the last fact that there is */
  readonly seq: number
}

/** The parts in order, the last of them to the journal's end; null: all of it. A model call that was open there is over: its answer is lost. */
export async function loadContext(pages: Pages, ranges: readonly Range[] | null): Promise<Loaded> {
  const context = new Context()
  const parts = ranges ?? [[1, Number.MAX_SAFE_INTEGER]]
  let seq = 0
  for (const [index, [first, last]] of parts.entries()) {
    const isOpen = index === parts.length - 1
    seq = await fold(context, pages, [first, isOpen ? Number.MAX_SAFE_INTEGER : last])
  }
  context.unanswered()
  return { context, seq }
}

/** Reads on from where it was read to. */
export async function catchUp({ context, seq }: Loaded, pages: Pages): Promise<void> {
  await fold(context, pages, [seq + 1, Number.MAX_SAFE_INTEGER])
}

/** Gives the last fact that was read. */
async function fold(context: Context, pages: Pages, [first, last]: Range): Promise<number> {
  let after = first - 1
  while (after < last) {
    const page = await pages(after, Math.min(PAGE_FACTS, last - after), SKIM)
    if (page.length === 0) break
    for (const fact of page) foldFact(context, fact)
    after = page.at(-1)?.seq ?? after
  }
  return after
}
