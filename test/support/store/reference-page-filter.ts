// A simple reference implementation of `without` and `marks` of the store's page filter. Leaves out some facts of a page, or their bodies.
// The last fact of a page always keeps its position, from which a reader continues. Tests compare the store with it.
import type { FactMark, PageFilter, StoredFact } from '../../../src/kernel/model/facts.ts'

export function filterPage(page: readonly StoredFact[], { without, marks }: PageFilter): readonly (StoredFact | FactMark)[] {
  return page.flatMap((fact, index): (StoredFact | FactMark)[] => {
    const {
      seq,
      body: { type },
    } = fact
    if (marks.includes(type) || (without.includes(type) && index === page.length - 1)) return [{ seq, type }]
    return without.includes(type) ? [] : [fact]
  })
}
