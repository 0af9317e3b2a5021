// Plans a commit for SQLite, whose index of facts is in blocks. The open block is in the row of its process.
// Test: test/tables/store/write/refusals.test.ts, test/properties/store.test.ts.
import type { StoredFact } from '../../kernel/model/facts.ts'
import { BLOCK_FACTS, addEntry, blockOf, firstCursor } from '../journal/fact-index.ts'
import { Planner } from './commit-plan.ts'
import type { CommitPlan, Draft } from './commit-plan.ts'
import type { Commit } from '../store.ts'

/** A block of the index that is full and can be written. */
type Block = readonly [key: number, block: number, first: number, entries: string]

export interface IndexedPlan extends CommitPlan {
  readonly blocks: readonly Block[]
}

export class IndexedPlanner extends Planner implements IndexedPlan {
  readonly blocks: Block[] = []

  override add(commit: Commit): IndexedPlan {
    super.add(commit)
    return this
  }

  /** Adds the fact to the index. A block that becomes full is written together with the row, so that both always match. */
  override advance(draft: Draft, fact: StoredFact, code: number): void {
    const before = draft.lastCursor
    super.advance(draft, fact, code)
    draft.open = addEntry(draft.open, fact.cursor, before, code)
    if ((draft.seq - draft.base) % BLOCK_FACTS !== 0) return
    this.blocks.push([draft.key, blockOf(draft.seq, draft), firstCursor(draft.open), draft.open])
    draft.open = ''
    draft.mustWriteRow = true
  }
}
