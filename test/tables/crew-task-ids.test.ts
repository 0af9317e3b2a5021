// What a task may be called: its id is a part of the names of branches and refs, so what git refuses is refused at once.
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { taskIdRule } from '../../src/config/crew-tasks.ts'
import { TASK_ID } from '../../src/crew/tasks.ts'
import { up } from '../support/crew-world/story.ts'

const GOOD = ['a', 'task-1', 'a.b', 'x.locks', 'x.lock.y', '0', 'workers', 'all-1', 'worker-x', 'a-', 'a_', 'b'.repeat(40)]
const BAD = ['', 'A', '.a', '-a', 'a b', 'a/b', 'a..b', 'a.', 'x.lock', 'b'.repeat(41), 'a\n', 'é', 'worker-1', 'coordinator', 'coordinator-2', 'all']

/** By git itself. */
function isRef(id: string): boolean {
  try {
    execFileSync('git', ['check-ref-format', `refs/reeve/review/team/${id}`])
    return true
  } catch {
    return false
  }
}

test.each(GOOD)('%j is one, for git, too', (id) => {
  expect([TASK_ID.test(id), taskIdRule.safeParse(id).success, isRef(id)]).toEqual([true, true, true])
})

test.each(BAD)('%j is none', (id) => {
  expect([TASK_ID.test(id), taskIdRule.safeParse(id).success]).toEqual([false, false])
})

test('a crew says what would be one', () => {
  const world = up({}, [])
  world.say({ type: 'add_task', id: 'x.lock', title: 't', text: 'x' }, { type: 'person' })
  expect(world.refusal).toMatchObject({ code: 'INVALID', message: '"x.lock" is no task id', hint: expect.stringContaining('the name of a branch') as string })
})
