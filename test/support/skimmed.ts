// What a page is to whoever skims it, done the dumb way: the store is held against this.
import type { FactMark, Skim, StoredFact } from '../../src/kernel/facts.ts'

export function skimmed(page: readonly StoredFact[], { without, marks }: Skim): readonly (StoredFact | FactMark)[] {
  return page.flatMap((fact, index): (StoredFact | FactMark)[] => {
    const { seq, body: { type } } = fact
    if (marks.includes(type) || (without.includes(type) && index === page.length - 1)) return [{ seq, type }]
    return without.includes(type) ? [] : [fact]
  })
}
