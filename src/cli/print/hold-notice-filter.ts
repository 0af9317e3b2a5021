// Drops facts that the notice of a hold already contains: a failed model call, and the note with its cause. The user thus reads about a
// refused key once, with the command that helps. Used for the text output of an agent's activity and of logs.
// Test: test/tables/cli/print/hold-notice-filter.test.ts.
import { isRepeatedByNote, isFinalModelFailure } from '../../api/text/log-lines.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import { isRecordedWithNote } from '../../kernel/model/holds.ts'

export class HoldNoticeFilter {
  /** the last failed model call: it is withheld until the next fact shows its consequence */
  #failedCall: FactBody | null = null
  /** whether the notice of the previous fact already contains the text of the next note */
  #isNoticeExpected = false

  /** Takes the next fact, and returns the facts to show now, in order. */
  visibleFacts(fact: FactBody): readonly FactBody[] {
    const isInNotice = this.#isNoticeExpected && fact.type === 'process.note'
    this.#isNoticeExpected = hasNoticeWithNote(fact)
    if (this.#isNoticeExpected && fact.type === 'process.held') return [fact]
    if (isInNotice) return isRepeatedByNote(this.#failedCall ?? fact, fact) ? this.#forgetFailedCall([]) : [...this.flush()]
    const withheld = this.flush()
    if (!isFinalModelFailure(fact)) return [...withheld, fact]
    this.#failedCall = fact
    return withheld
  }

  /** Returns the withheld facts when no more facts follow. */
  flush(): readonly FactBody[] {
    return this.#forgetFailedCall(this.#failedCall === null ? [] : [this.#failedCall])
  }

  #forgetFailedCall(facts: readonly FactBody[]): readonly FactBody[] {
    this.#failedCall = null
    return facts
  }
}

/** Whether the notice of the fact contains the note that follows. This is so for some holds, and for the evidence that precedes them. */
function hasNoticeWithNote(fact: FactBody): boolean {
  if (fact.type === 'process.held') return isRecordedWithNote(fact.hold.reason)
  return (fact.type === 'liveness.looping' || fact.type === 'liveness.breaker') && fact.told === undefined
}
