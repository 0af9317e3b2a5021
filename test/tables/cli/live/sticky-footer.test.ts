// The footer of a terminal while a process is followed: drawing it never changes the output above it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StickyFooter } from '../../../../src/cli/live/sticky-footer.ts'
import { ActivityTracker } from '../../../../src/cli/live/activity.ts'
import { childRows, elapsedNow, stateRow, type RowStyle } from '../../../../src/cli/live/format-rows.ts'
import { fitRows } from '../../../../src/cli/live/ps-watch.ts'
import { toFact } from '../../../../src/cli/follow/event-to-fact.ts'
import { stripControls, displayWidth } from '../../../../src/cli/print/text.ts'
import type { EventView } from '../../../../src/api/views/daemon.ts'
import { factEvent, processView } from '../../../support/daemon/fake-daemon.ts'
import { TerminalEmulator } from '../../../support/daemon/terminal-emulator.ts'

describe('the lines at the bottom', () => {
  const newScreen = (columns = 20, height = 24): { vt: TerminalEmulator; bottom: StickyFooter; output: (text: string) => void } => {
    const vt = new TerminalEmulator(columns, height)
    const bottom = new StickyFooter({ columns, write: (text) => vt.write(text) })
    return { vt, bottom, output: (text) => vt.write(bottom.renderAbove(text)) }
  }

  test('stay below all output', () => {
    const { vt, bottom, output } = newScreen()
    bottom.show({ lines: ['one', 'two'] })
    output('hello\n')
    output('wor')
    expect(vt.lines).toEqual(['hello', 'wor', 'one', 'two'])
    output('ld\nnext\n')
    bottom.show({ lines: ['three'] })
    expect(vt.lines).toEqual(['hello', 'world', 'next', 'three'])
    bottom[Symbol.dispose]()
    expect(vt.lines).toEqual(['hello', 'world', 'next', ''])
  })

  test('let a program continue or end a line that filled its row', () => {
    for (const [rest, lines] of [
      ['x', ['0123456789', 'x', 'b']],
      ['\nx', ['0123456789', 'x', 'b']],
      ['\n\nx', ['0123456789', '', 'x', 'b']],
      ['\x1b[0m\nx', ['0123456789', 'x', 'b']],
    ] as const) {
      const { vt, bottom, output } = newScreen(10)
      bottom.show({ lines: ['b'] })
      output('0123456789')
      output(rest)
      expect(vt.lines, rest).toEqual(lines)
    }
  })

  test('let a line that filled its row end after a chunk with only colours', () => {
    const { vt, bottom, output } = newScreen(10)
    bottom.show({ lines: ['b'] })
    for (const text of ['0123456789', '\x1b[31m', '\nx']) output(text)
    expect(vt.lines).toEqual(['0123456789', 'x', 'b'])
  })

  test.each([
    ['a wide character that did not fit', ['abcd漢', 'x'], ['abcd', '漢x', 'b']],
    ['a tab', ['a\t', 'x'], ['a   x', 'b']],
    ['an accent of its own', ['ae', '\u0301x'], ['ae\u0301x', 'b']],
    ['several rows', ['abcdefgh', 'ij', 'k'], ['abcde', 'fghij', 'k', 'b']],
  ])('let a program continue a line after %s', (_, texts, lines) => {
    const { vt, bottom, output } = newScreen(5)
    bottom.show({ lines: ['b'] })
    for (const text of texts) output(text)
    expect(vt.lines).toEqual(lines)
  })

  test('have the cursor in the input line', () => {
    const { vt, bottom, output } = newScreen()
    bottom.show({ lines: ['row', '> ab', '  cd'], cursor: { line: 1, column: 3 } })
    expect([vt.row, vt.column]).toEqual([1, 3])
    output('text\n')
    expect([vt.lines, vt.row, vt.column]).toEqual([['text', 'row', '> ab', '  cd'], 2, 3])
  })

  test('do not take over the colours of a program', () => {
    const written: string[] = []
    const bottom = new StickyFooter({
      columns: 20,
      write: (text) => {
        written.push(text)
      },
    })
    bottom.show({ lines: ['b'] })
    expect(bottom.renderAbove('\x1b[31mred')).toMatch(/\x1b\[31mred\x1b\[0m\nb/)
    expect(bottom.renderAbove(' more')).toMatch(/\x1b\[31m more\x1b\[0m/)
    expect(bottom.renderAbove('\x1b[0m plain')).toMatch(/\x1b\[31m\x1b\[0m plain\nb/)
  })

  // Text as agents write it, in any pieces, and any number of bottom lines. The text has no tabs, because terminals differ in a tab after a full row.
  const text = fc
    .array(
      fc.oneof(
        fc.constantFrom('\n', '漢', '漢字漢字漢', '🙂', 'e\u0301', ' ', '\x1b[31m', '\x1b[0m'),
        fc.string({ maxLength: 12 }).map((text) => stripControls(text).replaceAll('\t', ' ')),
      ),
      { maxLength: 5 },
    )
    .map((parts) => parts.join(''))
  const line = fc.stringMatching(/^[a-z ]{0,8}$/)
  const step = fc.oneof(
    text.map((output) => ({ out: output })),
    fc.tuple(fc.array(line, { maxLength: 3 }), fc.nat({ max: 2 })).map(([lines, at]) => ({ lines, at })),
  )

  test('never change the output above them', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.integer({ min: 9, max: 16 }), (steps, columns) => {
        const { vt, bottom, output } = newScreen(columns, 12)
        const expectedScreen = new TerminalEmulator(columns, 12)
        for (const step of steps) {
          if ('out' in step) {
            output(step.out)
            expectedScreen.write(step.out)
          } else bottom.show({ lines: step.lines, ...(step.at < step.lines.length ? { cursor: { line: step.at, column: 1 } } : {}) })
        }
        bottom[Symbol.dispose]()
        expect(withoutEmptyEnd(vt.lines)).toEqual(withoutEmptyEnd(expectedScreen.lines))
      }),
    )
  })

  /** Empty rows at the end are ignored: a full row may have been wrapped already. */
  function withoutEmptyEnd(lines: readonly string[]): string[] {
    return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
  }
})

const STYLE: RowStyle = { columns: 80, ascii: false, ellipsis: '…', pauseMark: '⏸', paintMessage: (_, text) => text }
const noActivity = (): string => ''
const usageWith = (changes: object) => ({ ...processView().usage, ...changes })

describe('the row of a process', () => {
  const rowText = (changes: object, activity: (columns: number) => string = noActivity, columns = 80): string =>
    stateRow({ view: processView(changes), receivedAt: 0 }, activity, 0, { ...STYLE, columns })
  const longFields = {
    step: 3,
    elapsedMs: 250_000,
    queueCount: 1,
    usage: usageWith({
      inputTokens: 4000,
      cacheReadTokens: 6000,
      outputTokens: 1234,
      contextTokens: 34_000,
      contextWindow: 100_000,
      costUsd: 0.04,
    }),
  }
  const npmActivity = (columns: number): string => 'bash npm test 12s'.slice(0, columns)

  test.each([
    [{}, noActivity, 80, '● working  4s  step 2  2.0k in (40% cached)  300 out  $0.0123'],
    [
      longFields,
      npmActivity,
      120,
      '● working  4m 10s  step 3  10.0k in (60% cached)  1.2k out  context 34%  $0.0400  1 queued  bash npm test 12s',
    ],
    [longFields, npmActivity, 80, '● working  4m 10s  step 3  context 34%  $0.0400  1 queued  bash npm test 12s'],
    [longFields, npmActivity, 40, '● working  4m 10s  bash npm test 12s'],
    [longFields, npmActivity, 20, '● working  bash npm'],
    [
      { status: 'suspended', step: 0, usage: usageWith({ inputTokens: 0, cacheReadTokens: 0, outputTokens: 0, costUsd: 0 }) },
      noActivity,
      80,
      '⏸ suspended  4s',
    ],
    [
      {
        status: 'pending',
        queueCount: 1,
        step: 0,
        elapsedMs: 0,
        usage: usageWith({ inputTokens: 0, cacheReadTokens: 0, outputTokens: 0, costUsd: 0 }),
      },
      noActivity,
      80,
      '● pending  0s',
    ],
    [
      { limits: { budgetUsd: 2 }, step: 0, usage: usageWith({ inputTokens: 0, cacheReadTokens: 0, outputTokens: 0, costUsd: 0 }) },
      noActivity,
      80,
      '● working  4s  $0.00 of $2',
    ],
  ])('shows the most important parts that fit into $2 columns: $3', (changes, activity, columns, text) => {
    expect(rowText(changes, activity, columns)).toBe(text)
  })

  test('leaves the last column free, because the terminal would wrap it', () => {
    for (let columns = 1; columns < 130; columns++)
      expect(displayWidth(rowText(longFields, npmActivity, columns))).toBeLessThan(Math.max(2, columns))
  })

  test('has an ASCII mark on an ASCII terminal', () => {
    expect(stateRow({ view: processView(), receivedAt: 0 }, noActivity, 0, { ...STYLE, ascii: true })).toMatch(/^\* working/)
  })

  test('has an elapsed time that does not increase while the process is suspended', () => {
    expect(elapsedNow({ view: processView(), receivedAt: 1000 }, 3000)).toBe(6000)
    expect(elapsedNow({ view: processView({ status: 'suspended' }), receivedAt: 1000 }, 3000)).toBe(4000)
    expect(elapsedNow({ view: processView({ state: 'dead' }), receivedAt: 1000 }, 3000)).toBe(4000)
  })
})

describe('the rows of children', () => {
  const makeChild = (pid: number, changes: object = {}) => ({ view: processView({ pid, name: `c${pid}`, ...changes }), receivedAt: 0 })

  test('are aligned, and contain no control characters', () => {
    const rows = childRows(
      [
        makeChild(6, { name: '漢字', note: 'a\x1b[2J\nb' }),
        makeChild(12, { status: 'suspended', step: 0, usage: usageWith({ costUsd: 0 }) }),
      ],
      2,
      0,
      STYLE,
    )
    expect(rows).toEqual(['  PID 6 漢字  working      4s  step 2  $0.0123  a b', '  PID 12 c12  ⏸ suspended  4s'])
  })

  test('are at most eight, and the last row counts the rest', () => {
    const rows = childRows(
      Array.from({ length: 8 }, (_, i) => makeChild(i + 1)),
      10,
      0,
      STYLE,
    )
    expect([rows.length, rows.at(-1)]).toEqual([9, '  +2 more'])
  })
})

describe('the activity of a process', () => {
  const liveEvent = (type: string, fields: object): EventView => ({ version: 1, seq: 0, uuid: '', pid: 5, at: '', type, ...fields })
  const modelStarted = factEvent(1, { type: 'model.started', step: 1, attempt: 1, model: 'm' })
  const callStarted = (callId: string): EventView => factEvent(3, { type: 'tool.started', step: 1, callId, name: 'bash', effect: 'once' })
  const modelFinished = factEvent(2, {
    type: 'model.finished',
    step: 1,
    message: ['a', 'b'].map((callId) => ({
      type: 'tool-call',
      callId,
      name: 'bash',
      input: { command: `make\x1b[2J ${callId} and all that goes with it` },
    })),
  })
  const toolFinished = factEvent(4, {
    type: 'tool.finished',
    step: 1,
    callId: 'a',
    name: 'bash',
    outcome: 'ok',
    content: '',
    durationMs: 1,
  })

  const activityAfter = (columns: number, ...events: EventView[]): string => {
    const tracker = new ActivityTracker()
    for (const event of events) tracker.onEvent(event, toFact(event), 0)
    return tracker.activityText(12_000, columns, '…')
  }

  test.each([
    [80, [], ''],
    [80, [modelStarted], 'calls the model 12s'],
    [80, [modelStarted, liveEvent('live.reasoning', { step: 1, text: 'x' })], 'thinks 12s'],
    [80, [modelStarted, liveEvent('live.text', { step: 1, text: 'x' })], 'writes 12s'],
    [
      80,
      [modelStarted, factEvent(2, { type: 'model.failed', step: 1, attempt: 1, error: 'x', status: 529, retryInMs: 5000 })],
      'waits 5s to retry 12s',
    ],
    [80, [modelStarted, modelFinished], ''],
    [80, [modelStarted, modelFinished, callStarted('a')], 'bash make a and all that goes with it 12s'],
    [24, [modelStarted, modelFinished, callStarted('a')], 'bash make a and all… 12s'],
    [80, [modelStarted, modelFinished, callStarted('a'), callStarted('b')], 'bash make a and all that goes with it 12s (+1)'],
    [80, [modelStarted, modelFinished, callStarted('a'), callStarted('b'), toolFinished], 'bash make b and all that goes with it 12s'],
    [
      80,
      [
        modelStarted,
        modelFinished,
        callStarted('a'),
        liveEvent('live.tool-output', { callId: 'a', text: 'one\n\x1b[31mtw' }),
        liveEvent('live.tool-output', { callId: 'a', text: 'o\n' }),
      ],
      'bash make a and all that goes with it 12s: two',
    ],
    [
      80,
      [liveEvent('live.tool-output', { callId: 'a', text: 'early' }), modelStarted, modelFinished, callStarted('a')],
      'bash make a and all that goes with it 12s: early',
    ],
    [
      30,
      [modelStarted, modelFinished, callStarted('a'), liveEvent('live.tool-output', { callId: 'a', text: 'a long line of output' })],
      'bash make a … 12s: a long lin…',
    ],
    [80, [factEvent(1, { type: 'compaction.started', step: 1, attempt: 1, model: 'm' })], 'compacts the context 12s'],
    [80, [modelStarted, factEvent(2, { type: 'process.ready', turn: 1 })], ''],
  ])('is shown in %d columns (case %#)', (columns, events, text) => {
    expect(activityAfter(columns, ...events)).toBe(text)
  })
})

describe('a table that does not fit', () => {
  const lines = ['T', 'a', 'b', 'c', 'd']
  test.each([
    [4, 'first', ['T', 'a', 'b', 'c', 'd']],
    [3, 'first', ['T', 'a', 'b', '+2 more']],
    [3, 'last', ['T', '+2 more', 'c', 'd']],
    [1, 'first', ['T', '+4 more']],
  ] as const)('keeps in %d rows the %s lines', (maxRows, keptEnd, expected) => {
    expect(fitRows(lines, maxRows, keptEnd)).toEqual(expected)
  })
})
