// The screen of `reeve top` at many sizes: every line fits, no text of an agent controls the terminal, and columns stay where they are.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NeedView } from '../../../../src/api/views/needs.ts'
import type { RowView } from '../../../../src/index.ts'
import { displayWidth } from '../../../../src/cli/print/text.ts'
import { Controller } from '../../../../src/cli/top/controller.ts'
import { ChoiceDialog, ConfirmDialog, TextPage, type Dialog } from '../../../../src/cli/top/dialogs.ts'
import { frameOf } from '../../../../src/cli/top/frame-lines.ts'
import { TopModel } from '../../../../src/cli/top/model.ts'
import { keyLines } from '../../../../src/cli/top/screen-keys.ts'
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

function modelOf(fleet: readonly RowView[], needs: readonly NeedView[] = []): TopModel {
  const model = new TopModel()
  // The lines of a row are kept for the next frame, and another test may have painted them.
  const rows = fleet.map((row) => ({ ...row }))
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
      fc.array(fc.constantFrom('j', ' ', '/', 'x', 'n', 'K', '?', ':', '\r', 't', '\t', 'é'), { maxLength: 6 }),
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
        for (const key of keys)
          controller.onKey({ sequence: key, ...(key === '\r' ? { name: 'return' } : key === '\t' ? { name: 'tab' } : {}) })
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

describe('without an answer from the daemon', () => {
  const later = { wall: AT.wall + 12_000, mono: AT.mono + 12_000 }
  const at = new Date(AT.wall).toTimeString().slice(0, 8)
  const size = { columns: 120, rows: 16 }

  test('the screen states since when, and all clocks stand still', () => {
    const model = modelOf(FLEET, [NEED])
    const before = frameOf(model, size, AT, plain).lines
    const stale = frameOf(model, size, later, plain).lines
    expect(stale[0]).toContain(`no answer since ${at}`)
    expect(stale.at(-2)).toContain(`The daemon does not answer. This is how it was at ${at}.`)
    expect(stale.slice(1, -2)).toEqual(before.slice(1, -2))
    model.onRows({ type: 'alive', cursor: 'a.1', seq: 1, now: new Date(later.wall).toISOString() }, later.mono, later.wall)
    const back = frameOf(model, size, later, plain).lines
    expect([back[0]?.includes(' live '), back[4]?.includes('42m 12s')]).toEqual([true, true])
  })

  const HANG = {
    message: 'the daemon (PID 7) has been hanging since 09:00:00: a signal has stopped it',
    hint: '`kill -CONT 7` continues it.',
  }
  const SILENT = 'The daemon does not answer. This is how it was at'
  test.each([
    ['a moment of silence', { s: 4 }, 'live', ''],
    ['an open connection without a sign of life', { s: 6 }, 'no answer since', SILENT],
    ['the same for long, as it may only be slow', { s: 31 }, 'no answer since', SILENT],
    ['a connection that broke at once', { s: 2, isLinkUp: false }, 'no answer since', SILENT],
    ['a restart that takes long', { s: 29, isLinkUp: false }, 'no answer since', SILENT],
    ['no connection for half a minute', { s: 30, isLinkUp: false }, 'no answer since', 'The daemon has ended or was killed.'],
    [
      'none for a day',
      { s: 90_000, isLinkUp: false },
      'no answer since 2',
      '`reeve daemon start` starts it, and this screen goes on by itself.',
    ],
    [
      'a hanging daemon',
      { s: 100, isLinkUp: false, hang: HANG },
      'no answer since',
      'The daemon (PID 7) has been hanging since 09:00:00: a signal',
    ],
    ['the same with its hint', { s: 12, hang: HANG }, 'no answer since', '`kill -CONT 7` continues it.'],
  ])('after %s, all clocks stand still, and the screen says what is known', (_, { s, ...link }, head, note) => {
    const model = modelOf(FLEET, [NEED])
    const before = frameOf(model, size, AT, plain).lines
    Object.assign(model, link)
    const then = { wall: AT.wall + s * 1_000, mono: AT.mono + s * 1_000 }
    const { lines } = frameOf(model, size, then, plain)
    const wasDate = s > 86_400 ? `${new Date(AT.wall).getFullYear()}-` : ''
    expect(lines[0]).toContain(head.startsWith('no') ? `no answer since ${wasDate}` : head)
    const noteLines = lines.slice(-3, -1).map((line) => line.trim())
    expect(noteLines.join(' ')).toContain(note)
    if (note !== '') expect(lines.slice(1, 7)).toEqual(before.slice(1, 7))
  })

  test('the time of the last answer is right after the machine has slept, when monotonic time stood still', () => {
    const model = modelOf(FLEET, [NEED])
    model.isLinkUp = false
    const [head] = frameOf(model, size, { wall: AT.wall + 3_600_000, mono: AT.mono + 6_000 }, plain).lines
    expect(head).toContain(`no answer since ${at}`)
  })

  test('needs, table and panel are dim, and only the selected row is inverse', () => {
    const model = modelOf(FLEET, [NEED])
    model.togglePeek()
    model.peekContent = { key: model.peekKey, lines: ['\x1b[31mred\x1b[0m'] }
    const codes: Readonly<Record<string, number>> = { dim: 2, inverse: 7 }
    const paint = (name: string, text: string): string => `\x1b[${codes[name] ?? 31}m${text}\x1b[0m`
    const lines = frameOf(model, size, later, { ...plain, paint }).lines.slice(1, -2)
    const others = lines.filter((line) => line !== '' && !line.startsWith('\x1b[2m'))
    expect(others.map((line) => line.startsWith('\x1b[7m▌     12 ▾ ● fix'))).toEqual([true])
    expect(lines).toContain('\x1b[2mred\x1b[0m')
  })
})

test('the part of the screen that has the keys is marked without colours, too', () => {
  const model = modelOf(FLEET, [NEED, { ...NEED, id: 'n2', title: 'second' }])
  model.togglePeek()
  const coloured = { ...plain, paint: (name: string, text: string): string => (name === 'inverse' ? `«${text}` : text) }
  const marks = (): unknown => {
    const { lines } = frameOf(model, { columns: 120, rows: 20 }, AT, coloured)
    return [
      lines
        .find((line) => line.startsWith('«'))
        ?.slice(1, 16)
        .trim(),
      lines.some((line) => line.startsWith('━')),
      lines.at(-1)?.slice(0, 60),
    ]
  }
  expect(marks()).toMatchSnapshot('table')
  model.moveArea(1)
  expect(marks()).toMatchSnapshot('needs')
  model.moveArea(1)
  expect(marks()).toMatchSnapshot('panel')
})

test('a list of choices that does not fit is shown around the selected one', () => {
  const model = modelOf(FLEET)
  const choices = Array.from(
    { length: 9 },
    (_, index) => [`choice-${index + 1}`, { command: `reeve answer ${index + 1}`, run: async () => '' }] as const,
  )
  const dialog = new ChoiceDialog('which?', choices)
  model.dialog = dialog
  for (let key = 0; key < 8; key += 1) dialog.onKey({ name: 'tab', sequence: '\t' })
  const { lines } = frameOf(model, { columns: 60, rows: 12 }, AT, plain)
  expect([lines.some((line) => line.startsWith('> 8 choice-8')), lines.some((line) => line.includes('choice-1'))]).toEqual([true, false])
})

test('a terminal that is too small shows what is needed', () => {
  expect(frameOf(modelOf(FLEET), { columns: 39, rows: 12 }, AT, plain).lines).toEqual(['reeve top needs 40 x 10; q leaves'])
})

describe('a budget that its tree uses up', () => {
  const budget = { limit: 'budgetUsd', used: 4, reserved: 0, of: 10, warnAt: 0.8 } as const
  const [crew, ...others] = FLEET
  const model = modelOf([{ ...crew!, budget }, ...others])
  model.ratesByRoot = new Map([[uuidOf(1), 0.5]])
  model.togglePeek()

  test.each([80, 120])('has the time when it is full in the heading of the panel at %i columns', (columns) => {
    expect(textOf(model, columns).filter((line) => line.startsWith('─'))).toEqual([expect.stringMatching(/^─ fix ─ full in ~12m ─+ /)])
  })

  test('has it in the table on a wide terminal', () => {
    const [, titles, row] = textOf(model, 200)
    const end = titles!.indexOf('FULL IN') + 'FULL IN'.length
    expect(row!.slice(end - 8, end)).toBe('    ~12m')
  })

  test('has none while nothing below it works', () => {
    const idle = modelOf([{ ...crew!, budget, sub: { ...crew!.sub, working: 0 } }, ...others])
    idle.ratesByRoot = model.ratesByRoot
    idle.togglePeek()
    expect(textOf(idle, 200).join('\n')).not.toContain('~12m')
  })
})

test('the last line offers only what is possible for the selected process', () => {
  const keysOf = (fields: Partial<RowView>, isReadOnly = false): string | undefined => {
    const model = modelOf([rowOf(fields)])
    model.isReadOnly = isReadOnly
    const [keys] = textOf(model, 260).at(-1)?.split('   ') ?? []
    return keys?.split(/z replay(?: · )?/)[1]
  }
  expect(keysOf({ step: 3 })).toBe('p pause · m message · f fork · s stop · K kill')
  const why: RowView['why'] = { kind: 'hold:user', text: 'paused', since: BIRTH, can: ['resume'] }
  expect(keysOf({ step: 3, status: 'suspended', why })).toBe('p resume · m message · f fork · s stop · K kill')
  expect(keysOf({ driver: 'command', kind: 'command', forks: 'no' })).toBe('p pause · s stop · K kill')
  expect(keysOf({ step: 3, status: 'failed', endedAt: BIRTH, attention: 3 })).toBe('f fork')
  expect(keysOf({ step: 3 }, true)).toBe('')
})

test('a screen that only reads says so, and shows no keys of answers', () => {
  const model = modelOf(FLEET, [NEED])
  model.isReadOnly = true
  model.selectNeed(0)
  const lines = textOf(model, 100)
  expect(lines[0]).toMatch(/^reeve · read only · /)
  expect(lines.join('\n')).not.toContain('a allow')
})

describe.each([
  [60, false],
  [80, false],
  [120, false],
  [200, false],
  [60, true],
  [120, true],
])('text in columns at %i columns, ASCII only: %s', (columns, ascii) => {
  const style = { ...plain, ascii, ellipsis: ascii ? '..' : '…' }
  /** the lines between the title of the dialog and the last line */
  const dialogText = (dialog: Dialog): string[] => {
    const model = modelOf(FLEET)
    model.dialog = dialog
    const { lines } = frameOf(model, { columns, rows: 200 }, AT, style)
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns)
    return lines.slice(lines.findIndex((line) => /^[─-] title /.test(line)) + 1, -2)
  }
  /** the width of what precedes the text of a line */
  const textColumn = (line: string): number => displayWidth(/^ *(?:\S+(?: \S+)* {2,})?/.exec(line)?.[0] ?? '')

  test('the help has all texts whole, in one column', () => {
    const rows = keyLines(false)
    const lines = dialogText(new TextPage('title', rows))
    expect(new Set(lines.map(textColumn))).toEqual(new Set([13]))
    const texts = lines.map((line) => line.slice(13)).join(' ')
    for (const [, does] of rows) expect(texts).toContain(ascii ? does.replaceAll('…', '..') : does)
    if (ascii) expect(lines.join('')).toMatch(/^[ -~]*$/)
  })

  test('so have the costs of an end, with wide characters', () => {
    const dialog = new ConfirmDialog('title', { command: 'reeve kill', run: async () => '' }, () => 0)
    dialog.stakes = [
      '1 would be killed',
      `  in flight  ${'日本語 '.repeat(40)}`,
      `             ${'e\u0301 '.repeat(150)}`,
      '  kept       step 3',
    ]
    const [title, ...lines] = dialogText(dialog)
    expect([title?.trim(), lines.length > 3]).toEqual(['1 would be killed', true])
    expect(new Set(lines.map(textColumn))).toEqual(new Set([13]))
    expect(lines.join('').match(/日本語/g)).toHaveLength(40)
  })
})

test('the last line separates the keys of a dialog', () => {
  const model = modelOf(FLEET)
  model.dialog = new ConfirmDialog('title', { command: 'reeve kill', run: async () => '' }, () => 0)
  expect(textOf(model, 80).at(-1)).toBe('y yes · Esc no · ↓ ↑ scroll')
  const { lines } = frameOf(model, { columns: 80, rows: 16 }, AT, { ...plain, ascii: true })
  expect(lines.at(-1)?.trimEnd()).toBe('y yes | Esc no | down up scroll')
})

test('a narrow screen has the keys of two answers, a wide one those of four', () => {
  const kinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const
  const options = kinds.map((kind) => ({ id: kind, name: kind, kind }))
  const model = modelOf(FLEET, [{ ...NEED, ask: { options } } as unknown as NeedView])
  model.selectNeed(0)
  expect(textOf(model, 80)[2]).toMatch(/ a allow · d deny +42m 00s$/)
  expect(textOf(model, 120)[2]).toMatch(/ a allow · A always · d deny · D never +42m 00s$/)
})

test.each([60, 80, 200])('at %i columns the head line names the tags and the filter, which hide rows and widen actions', (columns) => {
  const model = modelOf(FLEET)
  model.select(uuidOf(4))
  model.toggleTag()
  model.setFilter('port')
  expect(textOf(model, columns)[0]).toMatch(/^reeve · 1 tagged · filter port /)
  model.setFilter(`port ${'x'.repeat(100)}`)
  expect(textOf(model, columns)[0]).toMatch(/^reeve · 1 tagged · filter port x+…/)
})

test('needs without a line are counted below the names of the others', () => {
  const needs = Array.from({ length: 12 }, (_, index) => ({ ...NEED, id: `n${index}` }))
  const lines = textOf(modelOf(FLEET, needs), 80, 24)
  expect(lines.filter((line) => line.includes('more: n goes'))).toEqual(['  and 8 more: n goes to the next one'])
})
