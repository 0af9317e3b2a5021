// Finds the first fact of a step by alternating interpolation and bisection: a few reads suffice for a journal of any length. The
// search relies on a rule of the kernel: the step numbers of `model.started` never decrease.
// Test: test/tables/store/journal/lineage.test.ts, test/properties/store.test.ts.
import { codeOf } from './fact-codec.ts'
import { lookUpFacts } from './journal.ts'
import { spansOf } from './lineage.ts'
import type { FactSpan } from './lineage.ts'
import { blockOf, readLastEntries, readBlock } from './fact-index.ts'
import type { IndexReadDeps, EntryRun } from './fact-index.ts'
import type { StepBounds } from '../store.ts'

const STARTED_CODE = codeOf('model.started')
const STARTED_CODES: ReadonlySet<number> = new Set(STARTED_CODE === undefined ? [] : [STARTED_CODE])

interface Start {
  readonly seq: number
  readonly step: number
}

export function findStep(deps: IndexReadDeps, ownFacts: FactSpan, step: number): StepBounds | null {
  const first = findFirstStart(deps, ownFacts, step)
  if (first?.step !== step) return null
  const after = findNextStart(deps, ownFacts, first.seq + 1)
  // The next start may be a retry of the same step.
  return { first: first.seq, next: (after?.step === step ? findFirstStart(deps, ownFacts, step + 1) : after)?.seq ?? null }
}

/** Returns the first start of `step`, or else of the first later step; null without either. */
function findFirstStart(deps: IndexReadDeps, ownFacts: FactSpan, step: number): Start | null {
  let low: Start = { seq: 0, step: 0 }
  let high = findLastStart(deps, ownFacts, Infinity)
  if (high === null || high.step < step) return null
  for (let turn = 0; ; turn++) {
    const start: Start | null = findNextStart(deps, ownFacts, turn % 2 === 0 ? interpolate(low, high, step) : midpoint(low, high))
    // No start was found before `high`, which is a start of the step or of a later one.
    if (start === null) return high
    if (start.step < step) {
      low = start
      continue
    }
    const before = findLastStart(deps, ownFacts, start.seq)
    if (before === null || before.step < step) return start
    high = before
  }
}

/** Returns an interpolated position after `low` and not after `high`. */
function interpolate(low: Start, high: Start, step: number): number {
  const part = (step - low.step) / Math.max(1, high.step - low.step)
  return Math.min(high.seq, Math.max(low.seq + 1, Math.round(low.seq + part * (high.seq - low.seq))))
}

function midpoint(low: Start, high: Start): number {
  return Math.max(low.seq + 1, Math.floor((low.seq + high.seq) / 2))
}

/** Returns the last start before the fact `beforeSeq`. */
function findLastStart(deps: IndexReadDeps, ownFacts: FactSpan, beforeSeq: number): Start | null {
  const [part] = readLastEntries(deps, ownFacts, { limit: 1, codes: STARTED_CODES, beforeSeq })
  return part === undefined ? null : readStart(deps, part)
}

/** Returns the first start at or after the fact `seq`. */
function findNextStart(deps: IndexReadDeps, ownFacts: FactSpan, seq: number): Start | null {
  for (const span of spansOf(ownFacts, seq, ownFacts.upto)) {
    for (let block = Math.max(0, blockOf(seq, span.link)); block <= blockOf(span.upto, span.link); block++) {
      const entry = readBlock(deps, span, block).find((candidate) => candidate.code === STARTED_CODE && candidate.seq >= seq)
      if (entry !== undefined) return readStart(deps, { link: span.link, entries: [entry] })
    }
  }
  return null
}

function readStart({ sql }: IndexReadDeps, part: EntryRun): Start | null {
  const [fact] = lookUpFacts(sql, part)
  return fact?.body.type === 'model.started' ? { seq: fact.seq, step: fact.body.step } : null
}
