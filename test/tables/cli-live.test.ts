// The bottom of a terminal while a process is followed: what is drawn there never changes what is written above it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Bottom } from '../../src/cli/live/bottom.ts'
import { Doing } from '../../src/cli/live/doing.ts'
import { childRows, elapsedNow, stateRow, type Look } from '../../src/cli/live/rows.ts'
import { fitted } from '../../src/cli/live/watch.ts'
import { factOf } from '../../src/cli/facts.ts'
import { safe, width } from '../../src/cli/text.ts'
import type { EventView } from '../../src/api/views.ts'
import { factEvent, processView } from '../support/fake-daemon.ts'
import { Vt } from '../support/vt.ts'

describe('the bottom', () => {
  const make = (columns = 20, height = 24): { vt: Vt; bottom: Bottom; out: (text: string) => void } => {
    const vt = new Vt(columns, height)
    const bottom = new Bottom({ columns, write: (text) => vt.write(text) })
    return { vt, bottom, out: (text) => vt.write(bottom.around(text)) }
  }

  test('stays below all that is written', () => {
    const { vt, bottom, out } = make()
    bottom.show({ lines: ['one', 'two'] })
    out('hello\n')
    out('wor')
    expect(vt.lines).toEqual(['hello', 'wor', 'one', 'two'])
    out('ld\nnext\n')
    bottom.show({ lines: ['three'] })
    expect(vt.lines).toEqual(['hello', 'world', 'next', 'three'])
    bottom[Symbol.dispose]()
    expect(vt.lines).toEqual(['hello', 'world', 'next', ''])
  })

  test('lets a line that filled its row go on, or end', () => {
    for (const [rest, lines] of [['x', ['0123456789', 'x', 'b']], ['\nx', ['0123456789', 'x', 'b']], ['\n\nx', ['0123456789', '', 'x', 'b']]] as const) {
      const { vt, bottom, out } = make(10)
      bottom.show({ lines: ['b'] })
      out('0123456789')
      out(rest)
      expect(vt.lines, rest).toEqual(lines)
    }
  })

  test.each([
    ['a wide character that did not fit', ['abcd漢', 'x'], ['abcd', '漢x', 'b']],
    ['a tab', ['a\t', 'x'], ['a   x', 'b']],
    ['an accent of its own', ['ae', '\u0301x'], ['ae\u0301x', 'b']],
    ['several rows', ['abcdefgh', 'ij', 'k'], ['abcde', 'fghij', 'k', 'b']],
  ])('goes on in the middle of a line behind %s', (_, texts, lines) => {
    const { vt, bottom, out } = make(5)
    bottom.show({ lines: ['b'] })
    for (const each of texts) out(each)
    expect(vt.lines).toEqual(lines)
  })

  test('puts the cursor where the line is typed', () => {
    const { vt, bottom, out } = make()
    bottom.show({ lines: ['row', '> ab', '  cd'], cursor: { line: 1, column: 3 } })
    expect([vt.row, vt.column]).toEqual([1, 3])
    out('text\n')
    expect([vt.lines, vt.row, vt.column]).toEqual([['text', 'row', '> ab', '  cd'], 2, 3])
  })

  test('does not lend its place to the colours of a program', () => {
    const written: string[] = []
    const bottom = new Bottom({ columns: 20, write: (text) => { written.push(text) } })
    bottom.show({ lines: ['b'] })
    expect(bottom.around('\x1b[31mred')).toMatch(/\x1b\[31mred\x1b\[0m\nb/)
    expect(bottom.around(' more')).toMatch(/\x1b\[31m more\x1b\[0m/)
    expect(bottom.around('\x1b[0m plain')).toMatch(/\x1b\[31m\x1b\[0m plain\nb/)
  })

  // Text as agents write it, in any pieces; bottom lines of any number. No tabs: behind a row that is full no two terminals agree.
  const text = fc.array(fc.oneof(fc.constantFrom('\n', '漢', '漢字漢字漢', '🙂', 'e\u0301', ' ', '\x1b[31m', '\x1b[0m'), fc.string({ maxLength: 12 }).map((each) => safe(each).replaceAll('\t', ' '))), { maxLength: 5 }).map((parts) => parts.join(''))
  const line = fc.stringMatching(/^[a-z ]{0,8}$/)
  const step = fc.oneof(
    text.map((out) => ({ out })),
    fc.tuple(fc.array(line, { maxLength: 3 }), fc.nat({ max: 2 })).map(([lines, at]) => ({ lines, at })),
  )

  test('changes nothing of what is above it, whatever is written and drawn', () => {
    fc.assert(fc.property(fc.array(step, { maxLength: 12 }), fc.integer({ min: 9, max: 16 }), (steps, columns) => {
      const { vt, bottom, out } = make(columns, 12)
      const alone = new Vt(columns, 12)
      for (const each of steps) {
        if ('out' in each) {
          out(each.out)
          alone.write(each.out)
        } else bottom.show({ lines: each.lines, ...(each.at < each.lines.length ? { cursor: { line: each.at, column: 1 } } : {}) })
      }
      bottom[Symbol.dispose]()
      expect(trimmed(vt.lines)).toEqual(trimmed(alone.lines))
    }))
  })

  /** Empty rows at the end are no difference: a row that was filled may have been wrapped already. */
  function trimmed(lines: readonly string[]): string[] {
    return lines.slice(0, lines.findLastIndex((each) => each !== '') + 1)
  }
})

const look: Look = { columns: 80, ascii: false, ellipsis: '…', pauseMark: '⏸', paintWords: (_, text) => text }
const nothing = (): string => ''
const usage = (over: object) => ({ ...processView().usage, ...over })

describe('the row of a process', () => {
  const row = (over: object, doing: (columns: number) => string = nothing, columns = 80): string => stateRow({ view: processView(over), at: 0 }, doing, 0, { ...look, columns })
  const all = { step: 3, elapsedMs: 250_000, queueCount: 1, usage: usage({ inputTokens: 4000, cacheReadTokens: 6000, outputTokens: 1234, contextTokens: 34_000, contextWindow: 100_000, costUsd: 0.04 }) }
  const npm = (columns: number): string => 'bash npm test 12s'.slice(0, columns)

  test.each([
    [{}, nothing, 80, '● working  4s  step 2  2.0k in (40% cached)  300 out  $0.0123'],
    [all, npm, 120, '● working  4m 10s  step 3  10.0k in (60% cached)  1.2k out  context 34%  $0.0400  1 queued  bash npm test 12s'],
    [all, npm, 80, '● working  4m 10s  step 3  context 34%  $0.0400  1 queued  bash npm test 12s'],
    [all, npm, 40, '● working  4m 10s  bash npm test 12s'],
    [all, npm, 20, '● working  bash npm'],
    [{ status: 'suspended', step: 0, usage: usage({ inputTokens: 0, cacheReadTokens: 0, outputTokens: 0, costUsd: 0 }) }, nothing, 80, '⏸ suspended  4s'],
    [{ status: 'pending', queueCount: 1, step: 0, elapsedMs: 0, usage: usage({ inputTokens: 0, cacheReadTokens: 0, outputTokens: 0, costUsd: 0 }) }, nothing, 80, '● pending  0s'],
    [{ limits: { budgetUsd: 2 }, step: 0, usage: usage({ inputTokens: 0, cacheReadTokens: 0, outputTokens: 0, costUsd: 0 }) }, nothing, 80, '● working  4s  $0.00 of $2'],
  ])('%# says what matters most in its columns', (over, doing, columns, text) => {
    expect(row(over, doing, columns)).toBe(text)
  })

  test('is never as wide as the terminal, which would wrap it', () => {
    for (let columns = 1; columns < 130; columns++) expect(width(row(all, npm, columns))).toBeLessThan(Math.max(2, columns))
  })

  test('has a mark of ASCII where there is nothing else', () => {
    expect(stateRow({ view: processView(), at: 0 }, nothing, 0, { ...look, ascii: true })).toMatch(/^\* working/)
  })

  test('has a clock that stands still while it is suspended', () => {
    expect(elapsedNow({ view: processView(), at: 1000 }, 3000)).toBe(6000)
    expect(elapsedNow({ view: processView({ status: 'suspended' }), at: 1000 }, 3000)).toBe(4000)
    expect(elapsedNow({ view: processView({ state: 'dead' }), at: 1000 }, 3000)).toBe(4000)
  })
})

describe('the rows of children', () => {
  const child = (pid: number, over: object = {}) => ({ view: processView({ pid, name: `c${pid}`, ...over }), at: 0 })

  test('line up, with nothing raw of theirs', () => {
    const rows = childRows([child(6, { name: '漢字', note: 'a\x1b[2J\nb' }), child(12, { status: 'suspended', step: 0, usage: usage({ costUsd: 0 }) })], 2, 0, look)
    expect(rows).toEqual(['  PID 6 漢字  working      4s  step 2  $0.0123  a b', '  PID 12 c12  ⏸ suspended  4s'])
  })

  test('are eight at most, and say how many more there are', () => {
    const rows = childRows(Array.from({ length: 8 }, (_, i) => child(i + 1)), 10, 0, look)
    expect([rows.length, rows.at(-1)]).toEqual([9, '  +2 more'])
  })
})

describe('what a process does', () => {
  const live = (type: string, fields: object): EventView => ({ version: 1, seq: 0, uuid: '', pid: 5, at: '', type, ...fields })
  const asked = factEvent(1, { type: 'model.started', step: 1, attempt: 1, model: 'm' })
  const call = (callId: string): EventView => factEvent(3, { type: 'tool.started', step: 1, callId, name: 'bash', effect: 'once' })
  const answered = factEvent(2, { type: 'model.finished', step: 1, message: ['a', 'b'].map((callId) => ({ type: 'tool-call', callId, name: 'bash', input: { command: `make\x1b[2J ${callId} and all that goes with it` } })) })
  const done = factEvent(4, { type: 'tool.finished', step: 1, callId: 'a', name: 'bash', outcome: 'ok', content: '', durationMs: 1 })

  const after = (columns: number, ...events: EventView[]): string => {
    const doing = new Doing()
    for (const event of events) doing.event(event, factOf(event), 0)
    return doing.text(12_000, columns, '…')
  }

  test.each([
    [80, [], ''],
    [80, [asked], 'asks the model 12s'],
    [80, [asked, live('live.reasoning', { step: 1, text: 'x' })], 'thinks 12s'],
    [80, [asked, live('live.text', { step: 1, text: 'x' })], 'writes 12s'],
    [80, [asked, factEvent(2, { type: 'model.failed', step: 1, attempt: 1, error: 'x', status: 529, retryInMs: 5000 })], 'waits 5s to ask again 12s'],
    [80, [asked, answered], ''],
    [80, [asked, answered, call('a')], 'bash make a and all that goes with it 12s'],
    [24, [asked, answered, call('a')], 'bash make a and all… 12s'],
    [80, [asked, answered, call('a'), call('b')], 'bash make a and all that goes with it 12s (+1)'],
    [80, [asked, answered, call('a'), call('b'), done], 'bash make b and all that goes with it 12s'],
    [80, [asked, answered, call('a'), live('live.tool-output', { callId: 'a', text: 'one\n\x1b[31mtw' }), live('live.tool-output', { callId: 'a', text: 'o\n' })], 'bash make a and all that goes with it 12s: two'],
    [80, [live('live.tool-output', { callId: 'a', text: 'early' }), asked, answered, call('a')], 'bash make a and all that goes with it 12s: early'],
    [30, [asked, answered, call('a'), live('live.tool-output', { callId: 'a', text: 'a long line of output' })], 'bash make a … 12s: a long lin…'],
    [80, [factEvent(1, { type: 'compaction.started', step: 1, attempt: 1, model: 'm' })], 'sums up the context 12s'],
    [80, [asked, factEvent(2, { type: 'process.ready', turn: 1 })], ''],
  ])('in %d columns %# is told', (columns, events, text) => {
    expect(after(columns, ...events)).toBe(text)
  })
})

describe('a table that does not fit', () => {
  const lines = ['T', 'a', 'b', 'c', 'd']
  test.each([
    [4, 'first', ['T', 'a', 'b', 'c', 'd']],
    [3, 'first', ['T', 'a', 'b', '+2 more']],
    [3, 'last', ['T', '+2 more', 'c', 'd']],
    [1, 'first', ['T', '+4 more']],
  ] as const)('in %d rows keeps the %s', (room, keep, shown) => {
    expect(fitted(lines, room, keep)).toEqual(shown)
  })
})
