// A commit that is good and could not be merged: nothing is called done that is not on some branch, and nothing is thrown away that is.
import { expect, test } from 'vitest'
import { PERSON, taskOf, until, untilTask, up } from '../support/crew-world/story.ts'
import type { JobResult } from '../../src/crew/types.ts'
import type { World } from '../support/crew-world/world.ts'

const TASKS = [{ id: 'one', title: 'the first', text: 'Do it.' }, { id: 'two', title: 'the second', text: 'Then this.', needs: ['one'] }]

/** The merge of the first task comes to this. */
function mergedAs(result: JobResult): World {
  const world = untilTask(up({}, TASKS), 'merging')
  const merge = world.jobs.find(({ type }) => type === 'merge')
  world.jobs = world.jobs.filter((job) => job !== merge)
  world.say({ type: 'job_done', job: merge?.job ?? 0, result })
  return world
}

test('one that git leaves, as somebody looks at the crew\'s branch, is done on a branch of its own, and what needs it goes on', () => {
  const world = mergedAs({ type: 'left', branch: 'reeve/crew.one', reason: 'reeve/crew is checked out in /src' })
  expect(taskOf(world)).toMatchObject({ state: 'done', merged: null, reason: 'not merged: reeve/crew is checked out in /src; it is on branch reeve/crew.one' })
  expect(world.acts).toContainEqual({ type: 'notify', text: 'one "the first" is not merged: reeve/crew is checked out in /src; it is on branch reeve/crew.one' })
  until(world, () => world.ended !== null)
  expect(taskOf(world, 'two').state).toBe('done')
})

test('a conflict is not resolved by who changed nothing', () => {
  const world = mergedAs({ type: 'conflict', files: ['a.ts'], branch: 'reeve/crew.one' })
  untilTask(world, 'committing', 'task-3')
  until(world, () => world.jobs.some(({ type, ...job }) => type === 'commit' && 'task' in job && job.task === 'task-3'))
  const commit = world.jobs.find(({ type }) => type === 'commit')
  world.jobs = world.jobs.filter((job) => job !== commit)
  world.say({ type: 'job_done', job: commit?.job ?? 0, result: { type: 'committed', commit: null, dirty: false } })
  expect(taskOf(world, 'task-3')).toMatchObject({ state: 'done', commit: null })
  expect(taskOf(world)).toMatchObject({ state: 'failed', reason: expect.stringMatching(/could not be merged: task-3 changed nothing; it is on branch reeve\/crew\.one$/) as string })
})

test('a person who says that it is resolved is believed', () => {
  const world = mergedAs({ type: 'conflict', files: ['a.ts'], branch: 'reeve/crew.one' })
  world.say({ type: 'mark_task_done', task: 'task-3', reason: 'I have merged it myself' }, PERSON)
  expect(taskOf(world)).toMatchObject({ state: 'done' })
})
