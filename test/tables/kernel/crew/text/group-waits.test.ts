// Tasks that wait for the same thing become one line; pairs, questions and tasks in progress stay separate.
import { expect, test } from 'vitest'
import { groupWaits, type TaskWait } from '../../../../../src/kernel/crew/text/group-waits.ts'
import type { Task } from '../../../../../src/kernel/model/crew/crew.ts'

const makeWait = (id: string, reason: string, question: Task['ask'] = null): TaskWait => ({
  task: { id, title: `T ${id}`, ask: question } as Task,
  line: `${id} "T ${id}" ${reason}`,
})
const WORKER = 'waits for a worker: worker-1 is kept free to review, and 2 may live'

test('three or more tasks become one line at the place of the first', () => {
  expect(
    groupWaits([
      makeWait('a', 'is committed and waits to be merged: x'),
      makeWait('b', WORKER),
      makeWait('c', 'waits for b'),
      makeWait('d', WORKER),
      makeWait('e', WORKER),
      makeWait('f', 'waits for b'),
    ]),
  ).toEqual([
    'a "T a" is committed and waits to be merged: x',
    '3 tasks wait for a worker: worker-1 is kept free to review, and 2 may live (b, d, e)',
    'c "T c" waits for b',
    'f "T f" waits for b',
  ])
})

test('a long group names its first tasks', () => {
  const manyWaits = Array.from({ length: 478 }, (_, n) => makeWait(`t${n}`, WORKER))
  expect(groupWaits(manyWaits)).toEqual([
    '478 tasks wait for a worker: worker-1 is kept free to review, and 2 may live (t0, t1, t2, t3, t4 and 473 more)',
  ])
})

test('each question keeps its own line', () => {
  const waitsWithAsk = ['a', 'b', 'c'].map((id) =>
    makeWait(id, 'waits for the user: it is a question (reeve answer)', { id: `${id}.1`, for: 'human' }),
  )
  expect(groupWaits(waitsWithAsk)).toEqual(waitsWithAsk.map(({ line }) => line))
  expect(groupWaits([])).toEqual([])
})
