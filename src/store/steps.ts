// Where a step begins in a journal: found by halving, so that it takes a few blocks however long the journal is.
// It rests on one rule of the kernel: the steps of `model.started` never fall. Test: test/tables/store-fork.test.ts.
import { codeOf } from './codes.ts'
import { readPart } from './journal.ts'
import { spansOf } from './lines.ts'
import type { Span } from './lines.ts'
import { blockOf, readBlock } from './places.ts'
import type { Finder, Part } from './places.ts'
import type { StepBounds } from './store.ts'

const STARTED = codeOf('model.started')

interface Start {
  readonly seq: number
  readonly step: number
}

export function findStep(finder: Finder, own: Span, step: number): StepBounds | null {
  const spans = spansOf(own, 1, own.upto)
  const first = firstStart(finder, spans, step, 1)
  if (first?.step !== step) return null
  return { first: first.seq, next: firstStart(finder, spans, step + 1, first.seq + 1)?.seq ?? null }
}

/** The first start, from the fact `from` on, of a step that is not before `step`. */
function firstStart(finder: Finder, spans: readonly Span[], step: number, from: number): Start | null {
  let found: Start | null = null
  let [low, high] = [from, (spans.at(-1)?.upto ?? 0) + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const start = nextStart(finder, spans, middle, high)
    if (start !== null && start.step < step) {
      low = start.seq + 1
      continue
    }
    found = start ?? found
    high = middle
  }
  return found
}

/** The first start from `seq` on, before `end`. */
function nextStart(finder: Finder, spans: readonly Span[], seq: number, end: number): Start | null {
  for (const span of spans) {
    if (span.upto < seq || span.link.base >= end - 1) continue
    const last = Math.min(span.upto, end - 1)
    for (let block = Math.max(0, blockOf(seq, span.link)); block <= blockOf(last, span.link); block++) {
      const entry = readBlock(finder, span, block).find((one) => one.code === STARTED && one.seq >= seq)
      if (entry === undefined) continue
      return entry.seq < end ? startAt(finder, { link: span.link, entries: [entry] }) : null
    }
  }
  return null
}

function startAt({ sql }: Finder, part: Part): Start | null {
  const [fact] = readPart(sql, part)
  return fact?.body.type === 'model.started' ? { seq: fact.seq, step: fact.body.step } : null
}
