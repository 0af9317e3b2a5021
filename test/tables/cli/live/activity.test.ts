// What a followed process does at this moment, by its row, and the last line that its tool call has printed.
import { describe, expect, test } from 'vitest'
import { activityText } from '../../../../src/cli/live/activity.ts'
import { LastOutputLines } from '../../../../src/cli/live/last-output-lines.ts'
import { toFact } from '../../../../src/cli/follow/event-to-fact.ts'
import type { EventView } from '../../../../src/api/views/daemon.ts'
import type { DoingView } from '../../../../src/api/views/heartbeat.ts'
import type { RowView } from '../../../../src/api/views/rows.ts'
import { factEvent } from '../../../support/daemon/process-view.ts'
import { BIRTH, rowOf } from '../../../support/faces/rows.ts'

const NOW = Date.parse(BIRTH) + 12_000

describe('the activity of a process', () => {
  const toolCall: DoingView = { step: 1, what: 'tool', name: 'bash', input: 'make a and all that goes with it', since: BIRTH, callId: 'a' }
  const modelCall: DoingView = { step: 1, what: 'model', name: 'm', since: BIRTH }
  const held: Partial<RowView> = { status: 'suspended', why: { kind: 'hold:user', text: 'paused by the user', since: BIRTH } }

  test.each([
    [80, {}, '', ''],
    [80, { doing: modelCall }, '', 'calls the model 12s'],
    [80, { doing: { ...modelCall, out: 340 } }, '', 'answers, 340 tokens so far, 12s'],
    [80, { doing: { ...modelCall, what: 'retry', until: new Date(NOW + 5_000).toISOString() } }, '', 'repeats the call in 5s, after 12s'],
    [80, { doing: { ...modelCall, what: 'compaction' } }, '', 'compacts the context 12s'],
    [80, { doing: toolCall }, '', 'bash make a and all that goes with it 12s'],
    [24, { doing: toolCall }, '', 'bash make a and all… 12s'],
    [80, { doing: { ...toolCall, more: 1 } }, '', 'bash make a and all that goes with it 12s (+1)'],
    [80, { doing: toolCall }, 'two', 'bash make a and all that goes with it 12s: two'],
    [30, { doing: toolCall }, 'a long line of output', 'bash make a … 12s: a long lin…'],
    [80, { doing: toolCall, why: { kind: 'ask', text: 'asks: run\x1b[2J it?', since: BIRTH } }, '', 'asks: run it?'],
    [80, held, '', 'paused by the user'],
  ] as const)('is shown in $0 columns as "$3"', (columns, row, printed, text) => {
    expect(activityText(rowOf(row as Partial<RowView>), { now: NOW, printed }, columns, '…')).toBe(text)
  })
})

describe('the last line of a tool call', () => {
  const output = (callId: string, text: string): EventView => ({
    ...{ version: 1, seq: 0, uuid: '', pid: 5, at: '' },
    type: 'live.tool-output',
    callId,
    text,
  })
  const finished = factEvent(4, {
    ...{ type: 'tool.finished', step: 1, callId: 'a', name: 'bash', outcome: 'ok', content: '', durationMs: 1 },
  })
  test.each([
    [[], ''],
    [[output('a', 'one\n\x1b[31mtw'), output('a', 'o\n')], 'two'],
    [[output('b', 'other\n')], ''],
    [[output('a', 'one\n'), finished], ''],
    [[output('a', 'one\n'), factEvent(5, { type: 'process.ready', turn: 1 })], ''],
  ] as const)('is what it printed last, without control characters (case %#)', (events, line) => {
    const tracker = new LastOutputLines()
    for (const event of events) tracker.onEvent(event, toFact(event))
    expect(tracker.lastLine('a')).toBe(line)
  })
})
