// The list of steps: filters, runs of silent reads, and columns that are read again from a step on.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { STEP_FLAGS } from '../../../src/api/step-flags.ts'
import {
  indexOfStep,
  joinColumns,
  lineOfStep,
  settledStep,
  stepLines,
  timeOfSteps,
  toolsText,
  usageUpTo,
  type StepColumns,
  type StepSelection,
} from '../../../src/faces/step-list.ts'

type Row = { readonly [K in keyof StepColumns]?: StepColumns[K][number] }

const DEFAULTS = {
  step: 0,
  at: 0,
  modelMs: 1_000,
  toolMs: 0,
  humanMs: 0,
  heldMs: 0,
  in: 10,
  cached: 5,
  out: 1,
  usd: 0.01,
  ctx: 100,
  flags: 0,
  tools: ['read'],
  text: '',
}

function columnsOf(...rows: Row[]): StepColumns {
  const whole = rows.map((row, index) => ({ ...DEFAULTS, step: index + 1, ...row }))
  const keys = Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]
  return Object.fromEntries(keys.map((key) => [key, whole.map((row) => row[key])])) as unknown as StepColumns
}

const ALL: StepSelection = { only: new Set(), find: '', unfolded: new Set(), upTo: null }
const shown = (columns: StepColumns, selection: Partial<StepSelection> = {}): string[] =>
  stepLines(columns, { ...ALL, ...selection }).map(({ from, to }) => [...new Set([columns.step[from], columns.step[to]])].join('–'))

const said = { text: 'I look.', tools: [] }

test('three or more silent reads are one line, until it is unfolded; two are not', () => {
  const columns = columnsOf(said, {}, {}, {}, said, {}, {}, said)
  expect(shown(columns)).toEqual(['1', '2–4', '5', '6', '7', '8'])
  expect(shown(columns, { unfolded: new Set([2]) })).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
})

test.each(['open', 'failed', 'writes', 'asked', 'files', 'compacted'] as const)('a step with the flag "%s" ends a run', (flag) => {
  expect(shown(columnsOf({}, {}, {}, { flags: STEP_FLAGS[flag] }, {}, {}))).toEqual(['1–3', '4', '5', '6'])
})

test('the time of a step has its waits for the user, and no held time; an open last step counts up to now', () => {
  const columns = columnsOf(
    { toolMs: 500, humanMs: 180_000, heldMs: 9_000 },
    { flags: STEP_FLAGS.open },
    { at: 10_000, heldMs: 2_000, flags: STEP_FLAGS.open },
  )
  const timeOf = (from: number, to: number): number => timeOfSteps(columns, { from, to }, 20_000)
  expect([timeOf(0, 0), timeOf(1, 1), timeOf(2, 2), timeOf(0, 2)]).toEqual([181_500, 1_000, 8_000, 190_500])
})

test('the dearest steps come first, without folds; those of unknown cost are last', () => {
  const columns = columnsOf({ usd: 0.1 }, {}, { usd: null }, { usd: 0.4 }, { usd: 0.1 })
  expect(shown(columns, { isByCost: true })).toEqual(['4', '1', '5', '2', '3'])
  expect(shown(columns, { isByCost: true, only: new Set(['dear']) })).toEqual(['4', '1', '5'])
  const lines = stepLines(columns, { ...ALL, isByCost: true })
  expect([4, 1, 3, 9].map((step) => lineOfStep(columns, lines, step, true))).toEqual([0, 1, 4, -1])
})

test('a filter leaves the steps of its kinds, without folds', () => {
  const columns = columnsOf(
    said,
    { flags: STEP_FLAGS.files },
    { flags: STEP_FLAGS.failed, tools: ['Bash!'] },
    { toolMs: 29_001 },
    { usd: 0.0501 },
    {},
    {},
    {},
  )
  const only = (...kinds: ('text' | 'edits' | 'failed' | 'slow' | 'dear')[]): string[] => shown(columns, { only: new Set(kinds) })
  expect(only('text')).toEqual(['1'])
  expect(only('edits')).toEqual(['2'])
  expect(only('failed')).toEqual(['3'])
  expect(only('slow')).toEqual(['4'])
  expect(only('dear')).toEqual(['5'])
  expect(only('text', 'dear')).toEqual(['1', '5'])
  expect(shown(columns, { find: 'LOOK' })).toEqual(['1'])
  expect(shown(columns, { find: 'bash' })).toEqual(['3'])
  expect(shown(columns, { find: 'nothing' })).toEqual([])
  expect(shown(columns, { upTo: 2 })).toEqual(['1', '2'])
})

test('the text of tools counts repetitions, marks failed and open calls, and names at most three tools', () => {
  expect(toolsText([])).toBe('')
  expect(toolsText(['read', 'read', 'bash!', 'grep?'])).toBe('read ×2, bash failed, grep …')
  expect(toolsText(['a', 'b', 'c', 'd', 'e'])).toBe('a, b, c +2')
})

test('steps are read again after the last one that can no longer change', () => {
  expect(settledStep(columnsOf())).toBe(0)
  expect(settledStep(columnsOf({}, {}))).toBe(0)
  expect(settledStep(columnsOf({}, {}, {}, {}))).toBe(2)
  expect(settledStep(columnsOf({}, { flags: STEP_FLAGS.open }, {}, {}, {}))).toBe(1)
  const long = columnsOf({ flags: STEP_FLAGS.open }, ...Array.from({ length: 80 }, () => ({})))
  expect(settledStep(long)).toBe(79)
})

test('columns that are read again replace those from their first step on', () => {
  const known = columnsOf({}, {}, { text: 'old' })
  const joined = joinColumns(known, columnsOf({ step: 3, text: 'new' }, { step: 4 }))
  expect(joined.step).toEqual([1, 2, 3, 4])
  expect(joined.text).toEqual(['', '', 'new', ''])
  expect(joinColumns(known, columnsOf())).toBe(known)
})

test('the usage up to a step is the sum of its known values; the context is the last known one', () => {
  const columns = columnsOf({}, { usd: null, ctx: null, toolMs: 500 }, {})
  expect(usageUpTo(columns, 2)).toEqual({ usd: 0.01, input: 20, cached: 10, output: 2, context: 100, activeMs: 2_500 })
  expect(usageUpTo(columns, 0)).toEqual({ usd: null, input: 0, cached: 0, output: 0, context: null, activeMs: 0 })
})

test('each step of any history has exactly one line, in order, and is found in it', () => {
  const row = fc.record({ flags: fc.constantFrom(0, 0, 0, ...Object.values(STEP_FLAGS)), text: fc.constantFrom('', '', 'said') })
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), fc.array(fc.nat(40)), (rows, unfolded) => {
      const columns = columnsOf(...rows)
      const lines = stepLines(columns, { ...ALL, unfolded: new Set(unfolded) })
      const indices = lines.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, offset) => from + offset))
      expect(indices).toEqual(rows.map((_, index) => index))
      for (const [index, step] of columns.step.entries()) {
        const line = lines[lineOfStep(columns, lines, step)]
        expect(line && line.from <= index && index <= line.to).toBe(true)
        expect(indexOfStep(columns, step)).toBe(index)
      }
    }),
  )
})
