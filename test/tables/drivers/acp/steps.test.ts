// The step to which the text of an ACP agent belongs, in any order of updates, by the message id that the agent sends with it.
import { expect, test } from 'vitest'
import { Steps } from '../../../../src/drivers/acp/steps.ts'
import { readUpdate } from '../../../../src/drivers/acp/message-schemas.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'

type Line = `${string}:${string}` | 'begins' | 'is over'

/** `m1:text` is a piece of message m1, `:text` of a message without an id; the tool call of the first step begins and ends. */
function playUpdates(...lines: readonly Line[]): { steps: string[]; lateText: string; result: string } {
  const reports: Report[] = []
  let lateText = ''
  const steps = new Steps({
    step: 0,
    model: () => 'm',
    report: (report) => reports.push(report),
    showLive: () => undefined,
    onLateText: (text) => {
      lateText += text
    },
    terminalText: () => '',
  })
  const updateCall = (status: string): void => {
    const received = readUpdate({ sessionId: 's', update: { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', status } })
    if (received?.update.sessionUpdate === 'tool_call') steps.handleCall(received.update)
    if (status === 'in_progress') steps.flush()
  }
  steps.beginTurn()
  for (const line of lines) {
    const [messageId = '', text = ''] = line.split(/:(.*)/)
    if (line === 'begins') updateCall('in_progress')
    else if (line === 'is over') updateCall('completed')
    else steps.addText({ type: 'text', text, messageId: messageId || null })
  }
  steps.endTurn('stop')
  const texts = reports.flatMap((report) =>
    report.type === 'model.finished'
      ? [report.message.map((part) => (part.type === 'tool-call' ? '[call]' : part.type === 'text' ? part.text : '')).join('|')]
      : [],
  )
  return { steps: texts, lateText, result: steps.lastText }
}

test.each<[string, readonly Line[], ReturnType<typeof playUpdates>]>([
  [
    'in order',
    ['m1:Nex', 'm1:t.', 'begins', 'is over', 'm2:do', 'm2:ne'],
    { steps: ['Next.|[call]', 'done'], lateText: '', result: 'done' },
  ],
  [
    'in order, without message ids',
    [':Nex', ':t.', 'begins', 'is over', ':do', ':ne'],
    { steps: ['Next.|[call]', 'done'], lateText: '', result: 'done' },
  ],
  [
    'the rest of a message after its call has begun',
    ['m1:Nex', 'begins', 'm1:t.', 'is over', 'm2:done'],
    { steps: ['Nex|[call]', 'done'], lateText: 't.', result: 'done' },
  ],
  [
    'the rest of a message and the next message while the call runs',
    ['m1:Nex', 'begins', 'm1:t.', 'm2:do', 'is over', 'm2:ne'],
    { steps: ['Nex|[call]', 'done'], lateText: 't.', result: 'done' },
  ],
  ['two messages without a call between them', ['m1:do', 'm1:ne', 'm2:again'], { steps: ['done', 'again'], lateText: '', result: 'again' }],
  [
    'two messages while a call runs',
    ['m1:Next.', 'begins', 'm2:done', 'm3:again', 'is over'],
    { steps: ['Next.|[call]', 'done', 'again'], lateText: '', result: 'again' },
  ],
  [
    'text without a message id belongs to the next message',
    [':warning: ', 'm1:done'],
    { steps: ['warning: done'], lateText: '', result: 'warning: done' },
  ],
  [
    'all messages with one id',
    ['m1:Next.', 'begins', 'is over', 'm1:done'],
    { steps: ['Next.|[call]', 'done'], lateText: '', result: 'done' },
  ],
  [
    'without ids the texts cannot be separated',
    [':Nex', 'begins', ':t.', 'is over', ':done'],
    { steps: ['Nex|[call]', 't.done'], lateText: '', result: 't.done' },
  ],
])('each piece of text belongs to the step of its message: %s', (_, lines, expected) => {
  expect(playUpdates(...lines)).toEqual(expected)
})

test('the end of a message is appended to its beginning while its call is not recorded', () => {
  const reports: Report[] = []
  const steps = new Steps({
    step: 0,
    model: () => 'm',
    report: (report) => reports.push(report),
    showLive: () => undefined,
    onLateText: () => undefined,
    terminalText: () => '',
  })
  steps.addText({ type: 'text', text: 'Nex', messageId: 'm1' })
  const received = readUpdate({ sessionId: 's', update: { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', status: 'pending' } })
  if (received?.update.sessionUpdate === 'tool_call') steps.handleCall(received.update)
  steps.addText({ type: 'text', text: 't.', messageId: 'm1' })
  steps.endTurn('stop')
  expect(reports.find(({ type }) => type === 'model.finished')).toMatchObject({
    message: [{ type: 'text', text: 'Next.' }, { type: 'tool-call' }],
  })
})
