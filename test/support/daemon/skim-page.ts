// A simple reference implementation of reading a page of facts without some of their bodies. The store is compared with it.
import type { FactMark, PageFilter, StoredFact } from '../../../src/kernel/model/facts.ts'

export function skimPage(page: readonly StoredFact[], { without, marks }: PageFilter): readonly (StoredFact | FactMark)[] {
  return page.flatMap((fact, index): (StoredFact | FactMark)[] => {
    const {
      seq,
      body: { type },
    } = fact
    if (marks.includes(type) || (without.includes(type) && index === page.length - 1)) return [{ seq, type }]
    return without.includes(type) ? [] : [fact]
  })
}
