// Valid task ids: an id is part of branch and ref names, so an id that git refuses is refused at once.
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { taskIdRule } from '../../../../src/config/crew/tasks.ts'
import { TASK_ID_PATTERN } from '../../../../src/kernel/crew/state/task-ids.ts'
import { startedWorld } from '../../../support/crew-world/prepared-world.ts'

const GOOD = [
  'a',
  'task-1',
  'a.b',
  'x.locks',
  'x.lock.y',
  '0',
  'workers',
  'all-1',
  'worker-x',
  'a-',
  'a_',
  'b'.repeat(40),
  'LIN-123',
  'GH42',
  'A',
  'Workers',
]
const BAD = [
  '',
  '.a',
  '-a',
  'a b',
  'a/b',
  'a..b',
  'a.',
  'x.lock',
  'b'.repeat(41),
  'a\n',
  'é',
  'worker-1',
  'coordinator',
  'coordinator-2',
  'all',
  '#12',
  'Worker-1',
  'COORDINATOR',
  'All',
  'x.Lock',
]

/** Asks git whether the id can be part of a ref. */
function isRef(id: string): boolean {
  try {
    execFileSync('git', ['check-ref-format', `refs/reeve/review/team/${id}`])
    return true
  } catch {
    return false
  }
}

test.each(GOOD)('%j is valid, also for git', (id) => {
  expect([TASK_ID_PATTERN.test(id), taskIdRule.safeParse(id).success, isRef(id)]).toEqual([true, true, true])
})

test.each(BAD)('%j is invalid', (id) => {
  expect([TASK_ID_PATTERN.test(id), taskIdRule.safeParse(id).success]).toEqual([false, false])
})

test('two ids that differ only in case cannot be in one crew', () => {
  const world = startedWorld({}, [{ id: 'LIN-1', title: 't', text: 'x' }])
  for (const id of ['LIN-1', 'lin-1']) {
    world.submit({ type: 'add_task', id, title: 't', text: 'x' }, { type: 'user' })
    expect(world.lastRefusal).toMatchObject({ code: 'CONFLICT', message: 'the crew already has a task "LIN-1"' })
  }
  world.submit(
    {
      type: 'add_tasks',
      tasks: [
        { id: 'TASK-2', title: 't', text: 'x' },
        { title: 'u', text: 'x' },
      ],
    },
    { type: 'user' },
  )
  expect(world.crew.tasks.map(({ id }) => id)).toEqual(['LIN-1', 'TASK-2', 'task-3'])
})

test('the error for an invalid id describes valid ids', () => {
  const world = startedWorld({}, [])
  world.submit({ type: 'add_task', id: 'x.lock', title: 't', text: 'x' }, { type: 'user' })
  expect(world.lastRefusal).toMatchObject({
    code: 'INVALID',
    message: '"x.lock" is not a valid task id',
    hint: expect.stringContaining('a branch name') as string,
  })
})
