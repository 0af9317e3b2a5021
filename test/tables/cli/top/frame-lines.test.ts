// The screen of `reeve top` at many sizes: every line fits, no text of an agent controls the terminal, and columns stay where they are.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NeedView } from '../../../../src/api/views/needs.ts'
import type { RowView } from '../../../../src/index.ts'
import { displayWidth } from '../../../../src/cli/print/text.ts'
import { Controller } from '../../../../src/cli/top/controller.ts'
import { frameOf } from '../../../../src/cli/top/frame-lines.ts'
import { TopModel } from '../../../../src/cli/top/model.ts'
import { BIRTH, rowOf } from '../../../support/faces/rows.ts'

const SUMS = { live: 4, working: 3, asking: 1, held: 1, failed: 1, todayUsd: 18.42, reservedUsd: 0 }
const AT = { wall: Date.parse(BIRTH) + 42 * 60_000, mono: 10_000 }
const plain = { ascii: false, ellipsis: '…', pauseMark: '⏸', paint: (_: string, text: string) => text }
const uuidOf = (index: number): string => `01a20000-0000-7000-8000-${String(index).padStart(12, '0')}`

const FLEET: readonly RowView[] = [
  rowOf({
    uuid: uuidOf(1),
    pid: 12,
    name: 'fix',
    kind: 'crew',
    sub: { usd: 6.2, live: 4, working: 2, asking: 1, held: 1, failed: 0, reservedUsd: 0 },
  }),
  rowOf({
    uuid: uuidOf(2),
    pid: 14,
    parent: uuidOf(1),
    name: 'fix.worker-1',
    agent: 'claude',
    step: 57,
    ctx: { used: 61_000, window: 100_000, compactsAt: null },
    cost: { usd: 2.1, unpriced: false, estimated: false },
    sub: { usd: 2.1, live: 1, working: 1, asking: 0, held: 0, failed: 0, reservedUsd: 0 },
    budget: { limit: 'budgetUsd', used: 2.1, reserved: 0, of: 5, warnAt: 0.8 },
    why: { kind: 'tool', text: 'edit src/lexer.ts', since: BIRTH },
  }),
  rowOf({
    uuid: uuidOf(3),
    pid: 15,
    parent: uuidOf(1),
    name: 'fix.worker-2',
    agent: 'claude',
    asks: 1,
    attention: 6,
    status: 'waiting',
    why: { kind: 'ask', text: 'asks: bash git push --force origin HEAD', since: BIRTH },
  }),
  rowOf({
    uuid: uuidOf(4),
    pid: 21,
    name: 'port',
    status: 'suspended',
    runsSince: null,
    elapsedMs: 3_600_000,
    why: { kind: 'hold:budget', text: 'budget $5 is used up', since: BIRTH },
  }),
]
const NEED = {
  id: 'n',
  uuid: uuidOf(3),
  pid: 15,
  name: 'fix.worker-2',
  root: uuidOf(1),
  rootName: 'fix',
  kind: 'command',
  at: BIRTH,
  title: 'bash: git push --force origin HEAD',
  snoozedUntil: null,
  ask: {
    options: [
      { id: '1', name: 'Allow', kind: 'allow_once' },
      { id: '2', name: 'Deny', kind: 'reject_once' },
    ],
  },
} as unknown as NeedView

function modelOf(rows: readonly RowView[], needs: readonly NeedView[] = []): TopModel {
  const model = new TopModel()
  model.onRows({ type: 'reset', cursor: 'a.1', seq: 1, now: new Date(AT.wall).toISOString(), rows, sums: SUMS, needs }, AT.mono, AT.wall)
  return model
}

const textOf = (model: TopModel, columns: number, rows = 16): string[] =>
  frameOf(model, { columns, rows }, AT, plain).lines.map((line) => line.replace(/\d\d:\d\d:\d\d/, 'HH:MM:SS').trimEnd())

test.each([60, 80, 100, 120, 160, 200])('the screen at %i columns', (columns) => {
  const model = modelOf(FLEET, [NEED])
  model.selectNeed(0)
  model.peekContent = {
    key: model.peekKey,
    lines: ['PID 15 (fix.worker-2) of fix: command, 42m', '  bash: git push --force origin HEAD'],
  }
  expect(textOf(model, columns).join('\n')).toMatchSnapshot()
})

test('at each size all lines fit, also with a panel, a dialog and hostile text', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 80 }),
    fc.constantFrom('\x1b[2J\x1b]52;c;YQ==\x07x', '‮gnp.exe', '日本語のとても長い名前です', 'e\u0301'.repeat(40)),
  )
  const row = fc.record({
    name: fc.option(text),
    about: text,
    agent: text,
    model: fc.option(text),
    branch: fc.option(text),
    why: text,
    step: fc.nat(99_999),
    depth: fc.nat(3),
  })
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 12 }),
      fc.integer({ min: 1, max: 220 }),
      fc.integer({ min: 1, max: 60 }),
      text,
      fc.array(fc.constantFrom('j', ' ', '/', 'x', 'n', 'K', '?', ':', '\r', 't', 'é'), { maxLength: 6 }),
      (rows, columns, height, title, keys) => {
        const made = rows.map(({ why, depth, ...fields }, index) =>
          rowOf({
            ...fields,
            uuid: uuidOf(index + 1),
            pid: index + 1,
            parent: depth < index ? uuidOf(index - depth) : null,
            why: { kind: 'tool', text: why, since: BIRTH },
          }),
        )
        const model = modelOf(made, made.length === 0 ? [] : [{ ...NEED, uuid: uuidOf(1), title, name: title }])
        const controller = new Controller(model, () => AT.mono)
        for (const key of keys) controller.onKey({ sequence: key, ...(key === '\r' ? { name: 'return' } : {}) })
        const { lines, cursor } = frameOf(model, { columns, rows: height }, AT, plain)
        expect(lines.length).toBeLessThanOrEqual(height)
        for (const line of lines) {
          expect(displayWidth(line)).toBeLessThanOrEqual(columns)
          expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/)
        }
        if (cursor) expect([cursor.line < height, cursor.column < columns]).toEqual([true, true])
      },
    ),
  )
})

test('a notice that is wider than the screen has more lines, so that a link is whole', () => {
  const link = `http://127.0.0.1:7338/p/${uuidOf(1)}#k=EmJcUGRp206R03kKddJ73A`
  const model = modelOf(FLEET)
  model.notice = { text: `${link} works once, for a minute`, isError: false }
  const lines = textOf(model, 60)
  expect(lines.slice(-3, -1).join('')).toContain(link)
  model.notice = { text: 'x'.repeat(1_000), isError: true }
  expect(textOf(model, 60).filter((line) => line.includes('xxx'))).toHaveLength(3)
})

test('no column moves while figures change', () => {
  const before = textOf(modelOf(FLEET), 120)
  const changed = FLEET.map((row) => ({
    ...row,
    step: row.step * 100 + 3,
    elapsedMs: row.elapsedMs + 80_000_000,
    about: 'another',
    why: null,
  }))
  const after = textOf(modelOf(changed), 120)
  expect(after[1]).toBe(before[1])
  expect(after.slice(2, 6).map((line) => line.slice(0, 30))).toEqual(before.slice(2, 6).map((line) => line.slice(0, 30)))
})

test('without an answer from the daemon, the head line states how old the figures are', () => {
  const model = modelOf(FLEET)
  expect(frameOf(model, { columns: 80, rows: 12 }, { ...AT, mono: AT.mono + 12_000 }, plain).lines[0]).toContain('no answer for 12s')
})

test('a terminal that is too small shows what is needed', () => {
  expect(frameOf(modelOf(FLEET), { columns: 39, rows: 12 }, AT, plain).lines).toEqual(['reeve top needs 40 x 10; q leaves'])
})
