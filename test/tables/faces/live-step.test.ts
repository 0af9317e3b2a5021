// What the open step has written so far.
import { expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import { NOTHING_LIVE, withLiveEvent, type LiveStep } from '../../../src/faces/live-step.ts'

const after = (...events: readonly object[]): LiveStep =>
  events.reduce<LiveStep>((live, event) => withLiveEvent(live, event as EventView), NOTHING_LIVE)
const text = (step: number, piece: string, more: object = {}): object => ({ type: 'live.text', step, text: piece, ...more })
const output = (callId: string, piece: string): object => ({ type: 'live.tool-output', callId, text: piece })

test.each<[string, readonly object[], Partial<LiveStep>]>([
  ['nothing', [], { step: 0, text: '' }],
  ['pieces of a text', [text(1, 'a'), text(1, 'b')], { step: 1, text: 'ab' }],
  ['a whole text in place of pieces', [text(1, 'a'), text(1, 'abc', { whole: true }), text(1, 'd')], { text: 'abcd' }],
  ['a new step', [text(1, 'a'), { type: 'live.reasoning', step: 2, text: 'r' }, text(2, 'b')], { step: 2, text: 'b', reasoning: 'r' }],
  ['a first attempt that is stored late', [text(1, 'a'), { type: 'step.started', step: 1, attempt: 1 }], { text: 'a' }],
  ['a second attempt', [text(1, 'a'), { type: 'step.started', step: 1, attempt: 2 }, text(1, 'b')], { text: 'b' }],
  ['lost pieces', [text(1, 'a'), { type: 'live.gap', lost: 3 }], { text: 'a', hasGaps: true }],
  ['a text whose beginning was missed', [{ type: 'live.gap', lost: 3, step: 4 }, text(4, 'a')], { step: 4, text: 'a', hasGaps: true }],
  ['a step after one with lost pieces', [{ type: 'live.gap', lost: 3, step: 4 }, text(5, 'a')], { text: 'a', hasGaps: false }],
  [
    'a whole text after lost pieces',
    [text(1, 'a'), { type: 'live.gap', lost: 3 }, text(1, 'abc', { whole: true })],
    { text: 'abc', hasGaps: false },
  ],
  [
    'a second attempt after lost pieces',
    [{ type: 'live.gap', lost: 3, step: 1 }, { type: 'step.started', step: 1, attempt: 2 }, text(1, 'b')],
    { text: 'b', hasGaps: false },
  ],
  [
    'outputs of calls',
    [output('x', '1'), output('y', '2'), output('x', '3')],
    {
      outputs: new Map([
        ['y', '2'],
        ['x', '13'],
      ]),
    },
  ],
  ['an event that does not count', [text(1, 'a'), { type: 'tool.finished', callId: 'x' }], { text: 'a' }],
])('shows %s', (_, events, expected) => {
  expect(after(...events)).toMatchObject(expected)
})

test('keeps the end of a long text, and of the newest calls', () => {
  const live = after(text(1, 'x'.repeat(30_000)), text(1, 'end'), ...Array.from({ length: 25 }, (_, index) => output(`${index}`, 'o')))
  expect(live.text).toHaveLength(20_000)
  expect(live.text.endsWith('xend')).toBe(true)
  expect([...live.outputs.keys()]).toEqual(Array.from({ length: 20 }, (_, index) => `${index + 5}`))
})
