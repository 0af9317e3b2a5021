// Which step a text of an ACP agent belongs to, in whatever order it comes: by the message that the agent names with it.
import { expect, test } from 'vitest'
import { Steps } from '../../src/drivers/acp/steps.ts'
import { readUpdate } from '../../src/drivers/acp/wire.ts'
import type { Report } from '../../src/kernel/reports.ts'

type Line = `${string}:${string}` | 'begins' | 'is over'

/** `m1:text` is a piece of message m1, `:text` of one without a name; the tool call of the first step begins and is over. */
function played(...lines: readonly Line[]): { steps: string[]; late: string; result: string } {
  const reports: Report[] = []
  let late = ''
  const steps = new Steps({ step: 0, model: () => 'm', tell: (report) => reports.push(report), live: () => undefined, late: (text) => { late += text }, terminal: () => '' })
  const call = (status: string): void => {
    const told = readUpdate({ sessionId: 's', update: { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', status } })
    if (told?.update.sessionUpdate === 'tool_call') steps.call(told.update)
    if (status === 'in_progress') steps.flush()
  }
  steps.begin()
  for (const line of lines) {
    const [messageId = '', text = ''] = line.split(/:(.*)/)
    if (line === 'begins') call('in_progress')
    else if (line === 'is over') call('completed')
    else steps.text({ type: 'text', text, messageId: messageId || null })
  }
  steps.end('stop')
  const words = reports.flatMap((report) => (report.type === 'model.finished' ? [report.message.map((part) => (part.type === 'tool-call' ? '[call]' : part.type === 'text' ? part.text : '')).join('|')] : []))
  return { steps: words, late, result: steps.lastText }
}

test.each<[string, readonly Line[], ReturnType<typeof played>]>([
  ['in order', ['m1:Nex', 'm1:t.', 'begins', 'is over', 'm2:do', 'm2:ne'], { steps: ['Next.|[call]', 'done'], late: '', result: 'done' }],
  ['in order, without names', [':Nex', ':t.', 'begins', 'is over', ':do', ':ne'], { steps: ['Next.|[call]', 'done'], late: '', result: 'done' }],
  ['the rest of a message after its call has begun', ['m1:Nex', 'begins', 'm1:t.', 'is over', 'm2:done'], { steps: ['Nex|[call]', 'done'], late: 't.', result: 'done' }],
  ['the same, and the next message comes early as well', ['m1:Nex', 'begins', 'm1:t.', 'm2:do', 'is over', 'm2:ne'], { steps: ['Nex|[call]', 'done'], late: 't.', result: 'done' }],
  ['two messages without a call between', ['m1:do', 'm1:ne', 'm2:again'], { steps: ['done', 'again'], late: '', result: 'again' }],
  ['the same while a call runs', ['m1:Next.', 'begins', 'm2:done', 'm3:again', 'is over'], { steps: ['Next.|[call]', 'done', 'again'], late: '', result: 'again' }],
  ['what has no name belongs to what follows', [':warning: ', 'm1:done'], { steps: ['warning: done'], late: '', result: 'warning: done' }],
  ['all messages have one name', ['m1:Next.', 'begins', 'is over', 'm1:done'], { steps: ['Next.|[call]', 'done'], late: '', result: 'done' }],
  ['without names nobody can tell', [':Nex', 'begins', ':t.', 'is over', ':done'], { steps: ['Nex|[call]', 't.done'], late: '', result: 't.done' }],
])('%s', (_, lines, expected) => {
  expect(played(...lines)).toEqual(expected)
})

test('the rest of a message whose call is not recorded yet is put to its beginning', () => {
  const reports: Report[] = []
  const steps = new Steps({ step: 0, model: () => 'm', tell: (report) => reports.push(report), live: () => undefined, late: () => undefined, terminal: () => '' })
  steps.text({ type: 'text', text: 'Nex', messageId: 'm1' })
  const told = readUpdate({ sessionId: 's', update: { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', status: 'pending' } })
  if (told?.update.sessionUpdate === 'tool_call') steps.call(told.update)
  steps.text({ type: 'text', text: 't.', messageId: 'm1' })
  steps.end('stop')
  expect(reports.find(({ type }) => type === 'model.finished')).toMatchObject({ message: [{ type: 'text', text: 'Next.' }, { type: 'tool-call' }] })
})
