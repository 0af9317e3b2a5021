// Builds a context from the journal: from all of it, or from the parts that a compaction kept. Both give the same messages.
// Must never keep more than one page of the journal in memory.
// Tests: test/properties/context.test.ts, test/properties/compaction.test.ts.
import type { FactMark, PageFilter, StoredFact } from '../../../kernel/model/facts.ts'
import { Context, foldFact } from './context.ts'
import type { Range } from '../../../kernel/model/context.ts'

/** The facts per page of the journal. */
const PAGE_FACTS = 500

/** Reads a page of the journal: at most `limit` facts after the fact `afterSeq`. */
export type ReadPage = (afterSeq: number, limit: number, filter: PageFilter) => Promise<readonly (StoredFact | FactMark)[]>

/** Leaves out frequent facts that a context does not need. Of the facts in `marks`, a context needs only the position, not the body. */
const CONTEXT_FILTER: PageFilter = { without: ['tool.started', 'process.output'], marks: ['model.started', 'process.working'] }

export interface LoadedContext {
  readonly context: Context
  /** the sequence number of the last fact that was read */
  readonly seq: number
}

/**
 * Builds the context from these ranges of the journal; the last range is read to the end of the journal. Null for the whole journal. A
 * model call without an end counts as failed, because its answer is lost.
 */
export async function loadContext(readPage: ReadPage, ranges: readonly Range[] | null): Promise<LoadedContext> {
  const context = new Context()
  const rangesToRead = ranges ?? [[1, Number.MAX_SAFE_INTEGER]]
  let seq = 0
  for (const [index, [first, last]] of rangesToRead.entries()) {
    const isLast = index === rangesToRead.length - 1
    seq = await fold(context, readPage, [first, isLast ? Number.MAX_SAFE_INTEGER : last])
  }
  context.failCall()
  return { context, seq }
}

/** Reads the facts that the journal got since the context was read. */
export async function readNewFacts({ context, seq }: LoadedContext, readPage: ReadPage): Promise<void> {
  await fold(context, readPage, [seq + 1, Number.MAX_SAFE_INTEGER])
}

/** Folds a range of facts into the context. Returns the sequence number of the last fact that was read. */
async function fold(context: Context, readPage: ReadPage, [first, last]: Range): Promise<number> {
  let afterSeq = first - 1
  while (afterSeq < last) {
    const page = await readPage(afterSeq, Math.min(PAGE_FACTS, last - afterSeq), CONTEXT_FILTER)
    if (page.length === 0) break
    for (const fact of page) foldFact(context, fact)
    afterSeq = page.at(-1)?.seq ?? afterSeq
  }
  return afterSeq
}
