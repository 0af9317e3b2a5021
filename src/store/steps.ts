// Where a step begins in a journal: found by guessing from the steps around it and by halving in turns, so that it takes a few
// looks however long the journal is. It rests on one rule of the kernel: the steps of `model.started` never fall.
// Test: test/tables/store-fork.test.ts, test/properties/store.test.ts.
import { codeOf } from './codes.ts'
import { readPart } from './journal.ts'
import { spansOf } from './lines.ts'
import type { Span } from './lines.ts'
import { blockOf, lastEntries, readBlock } from './places.ts'
import type { Finder, Part } from './places.ts'
import type { StepBounds } from './store.ts'

const STARTED = codeOf('model.started')
const STARTS: ReadonlySet<number> = new Set(STARTED === undefined ? [] : [STARTED])

interface Start {
  readonly seq: number
  readonly step: number
}

export function findStep(finder: Finder, own: Span, step: number): StepBounds | null {
  const first = firstStart(finder, own, step)
  if (first?.step !== step) return null
  const after = nextStart(finder, own, first.seq + 1)
  // Where a call of the step was tried again, that is not the next step yet.
  return { first: first.seq, next: (after?.step === step ? firstStart(finder, own, step + 1) : after)?.seq ?? null }
}

/** The first start of a step that is not before `step`. */
function firstStart(finder: Finder, own: Span, step: number): Start | null {
  let low: Start = { seq: 0, step: 0 }
  let high = lastStart(finder, own, Infinity)
  if (high === null || high.step < step) return null
  for (let turn = 0; ; turn++) {
    const start: Start | null = nextStart(finder, own, turn % 2 === 0 ? guess(low, high, step) : middle(low, high))
    // `high` is a start that fits, and there is one at or after each place that is looked at.
    if (start === null) return high
    if (start.step < step) {
      low = start
      continue
    }
    const before = lastStart(finder, own, start.seq)
    if (before === null || before.step < step) return start
    high = before
  }
}

/** A place after `low`, and at `high` at the latest. */
function guess(low: Start, high: Start, step: number): number {
  const part = (step - low.step) / Math.max(1, high.step - low.step)
  return Math.min(high.seq, Math.max(low.seq + 1, Math.round(low.seq + part * (high.seq - low.seq))))
}

function middle(low: Start, high: Start): number {
  return Math.max(low.seq + 1, Math.floor((low.seq + high.seq) / 2))
}

/** The last start before a fact. */
function lastStart(finder: Finder, own: Span, beforeSeq: number): Start | null {
  const [part] = lastEntries(finder, own, { limit: 1, codes: STARTS, beforeSeq })
  return part === undefined ? null : startAt(finder, part)
}

/** The first start from a fact on. */
function nextStart(finder: Finder, own: Span, seq: number): Start | null {
  for (const span of spansOf(own, seq, own.upto)) {
    for (let block = Math.max(0, blockOf(seq, span.link)); block <= blockOf(span.upto, span.link); block++) {
      const entry = readBlock(finder, span, block).find((one) => one.code === STARTED && one.seq >= seq)
      if (entry !== undefined) return startAt(finder, { link: span.link, entries: [entry] })
    }
  }
  return null
}

function startAt({ sql }: Finder, part: Part): Start | null {
  const [fact] = readPart(sql, part)
  return fact?.body.type === 'model.started' ? { seq: fact.seq, step: fact.body.step } : null
}
