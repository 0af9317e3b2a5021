// A model that has not begun to answer is reported once, after a time, and only while its call is open.
import { expect, test } from 'vitest'
import { SlowCallReminder } from '../../../../src/cli/follow/slow-call-reminder.ts'
import type { ProcessView } from '../../../../src/api/views/process.ts'

function startReminder(doing: object | null, isLively = false): { reminder: SlowCallReminder; lines: string[]; wasRead: Promise<void> } {
  const lines: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const out = {
    isLively,
    json: false,
    message: (line: string) => Promise.resolve(void lines.push(line)),
    paintMessage: (_: string, text: string) => text,
  }
  const view = { pid: 5, name: 'docs', status: 'working', doing } as unknown as ProcessView
  const read = (): Promise<ProcessView> => {
    resolve()
    return Promise.resolve(view)
  }
  return { reminder: new SlowCallReminder(out, read, 1), lines, wasRead: promise }
}

const makeCall = (out?: number): object => ({
  what: 'model',
  since: new Date(Date.now() - 75_000).toISOString(),
  ...(out === undefined ? {} : { out }),
})

test('a call without an answer is reported', async () => {
  const { reminder, lines, wasRead } = startReminder(makeCall())
  reminder.onFact('process.working')
  reminder.onFact('model.started')
  await wasRead
  await reminder[Symbol.asyncDispose]()
  expect(lines).toEqual(['  PID 5 (docs) calls the model, which has not answered for 1m 15s'])
})

test.each([
  ['that has begun to answer', makeCall(3)],
  ['that has ended', null],
])('a call %s is not reported', async (_, doing) => {
  const { reminder, lines, wasRead } = startReminder(doing)
  reminder.onFact('model.started')
  await wasRead
  await reminder[Symbol.asyncDispose]()
  expect(lines).toEqual([])
})

test('a call that ends in time is not reported', async () => {
  const { reminder, lines } = startReminder(makeCall())
  reminder.onFact('model.started')
  reminder.onFact('model.finished')
  await reminder[Symbol.asyncDispose]()
  expect(lines).toEqual([])
})

test('a call is not reported on a terminal, which shows it in its last rows', async () => {
  const terminal = startReminder(makeCall(), true)
  const other = startReminder(makeCall())
  for (const { reminder } of [terminal, other]) reminder.onFact('model.started')
  // A timer of the terminal would have rung before this one, which was set later.
  await other.wasRead
  for (const { reminder } of [terminal, other]) await reminder[Symbol.asyncDispose]()
  expect([terminal.lines.length, other.lines.length]).toEqual([0, 1])
})
