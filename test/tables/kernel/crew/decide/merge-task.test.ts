// Approved commits that cannot be merged at once. No task counts as done before its commit is on the branch of the crew, and no commit is
// lost.
import { expect, test } from 'vitest'
import { describeWaits } from '../../../../../src/kernel/crew/text/describe-waits.ts'
import { USER, taskOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { Job, JobResult } from '../../../../../src/kernel/model/crew/facts.ts'

const TASKS = [
  { id: 'one', title: 'the first', text: 'Do it.' },
  { id: 'two', title: 'the second', text: 'Then this.', needs: ['one'] },
]

/** Answers the open merge with this result; by default, the merge of the first task in a new world. */
function answerMerge(result: JobResult, world = runUntilTask(startedWorld({}, TASKS), 'merging')): CrewWorld {
  answerJob(world, 'merge', result)
  return world
}

/** Answers the open job of this type. */
function answerJob(world: CrewWorld, type: Job['type'], result: JobResult): void {
  const job = world.jobs.find((job) => job.type === type)
  if (!job) throw new Error(`there is no ${type}`)
  world.jobs = world.jobs.filter((otherJob) => otherJob !== job)
  world.submit({ type: 'job_done', job: job.job, result })
}

test('a commit that git cannot merge stays on a branch of its own, and dependents continue', () => {
  const world = answerMerge({ type: 'left', branch: 'reeve/crew.one', reason: 'this git cannot merge' })
  expect(taskOf(world)).toMatchObject({
    state: 'done',
    merged: null,
    reason: 'not merged: this git cannot merge; it is on branch reeve/crew.one',
  })
  expect(world.acts).toContainEqual({
    type: 'notify',
    text: 'one "the first" is not merged: this git cannot merge; it is on branch reeve/crew.one',
  })
  runUntil(world, () => world.outcome !== null)
  expect(taskOf(world, 'two').state).toBe('done')
})

const OCCUPIED = { type: 'occupied', reason: 'reeve/crew is checked out in /src' } as const

test("a task waits while the crew's branch is checked out; it is reported once and merged later", () => {
  const world = answerMerge(OCCUPIED)
  const noticeCount = (): number => world.acts.filter(({ type }) => type === 'notify').length
  expect([taskOf(world).state, noticeCount(), world.jobs.map((job) => [job.type, 'patient' in job])]).toEqual([
    'merging',
    1,
    [['merge', true]],
  ])
  expect(describeWaits(world.crew, world.spec)).toEqual([
    'one "the first" is committed and waits to be merged: reeve/crew is checked out in /src',
    'two "the second" waits for one',
  ])
  answerMerge({ type: 'candidate', candidate: 'c', head: 'h' }, world)
  expect(describeWaits(world.crew, world.spec), 'the branch is free again').toEqual([
    'two "the second" waits for one',
    'land of one is in progress',
  ])
  answerJob(world, 'land', OCCUPIED)
  expect([taskOf(world).state, noticeCount()], 'again, between the candidate and its landing').toEqual(['merging', 1])
  runUntil(world, () => world.outcome !== null)
  expect([taskOf(world).merged, taskOf(world, 'two').state]).toEqual([`m-${taskOf(world).commit}`, 'done'])
})

test('an ending crew does not wait for a checked-out branch', () => {
  const world = answerMerge(OCCUPIED)
  world.submit({ type: 'complete_crew', outcome: 'cancelled', summary: 'enough' }, USER)
  expect(world.outcome).toBe(null)
  answerMerge(OCCUPIED, world)
  expect([taskOf(world).state, taskOf(world).reason, world.outcome]).toEqual([
    'failed',
    `${taskOf(world).commit} is not merged: reeve/crew is checked out in /src; it is on branch reeve/crew.one`,
    'cancelled',
  ])
})

test('a branch that was moved meanwhile gets a new candidate', () => {
  const world = answerMerge({ type: 'candidate', candidate: 'c', head: 'h' })
  answerJob(world, 'land', { type: 'moved' })
  expect(world.jobs.map(({ type }) => type)).toEqual(['merge'])
  runUntil(world, () => world.outcome !== null)
  expect(taskOf(world).state).toBe('done')
})

test('a branch that is moved repeatedly is reported once, and the merge waits', () => {
  const world = answerMerge({ type: 'candidate', candidate: 'c', head: 'h' })
  const noticeTexts = (): readonly string[] => world.acts.flatMap((act) => (act.type === 'notify' ? [act.text] : []))
  const openMerges = (): unknown => world.jobs.map((job) => [job.type, 'patient' in job])
  for (let moves = 1; moves < 5; moves += 1) {
    answerJob(world, 'land', { type: 'moved', by: 'T (commit: wip)' })
    expect([openMerges(), noticeTexts()], `after ${moves}`).toEqual([[['merge', false]], []])
    answerMerge({ type: 'candidate', candidate: 'c', head: `h${moves}` }, world)
  }
  answerJob(world, 'land', { type: 'moved', by: 'T (commit: wip)' })
  const reason =
    'one "the first" is committed and waits to be merged: T (commit: wip) moves reeve/crew repeatedly; leave the branch alone until the task has landed'
  expect([openMerges(), noticeTexts()]).toEqual([[['merge', true]], [reason]])
  expect(describeWaits(world.crew, world.spec)).toEqual([reason, 'two "the second" waits for one'])
  answerMerge({ type: 'candidate', candidate: 'c', head: 'h9' }, world)
  answerJob(world, 'land', { type: 'moved', by: 'T (commit: wip)' })
  expect([openMerges(), noticeTexts().length], 'and once more').toEqual([[['merge', true]], 1])
  expect(world.foldJournal()).toEqual(world.crew)
  runUntil(world, () => world.outcome !== null)
  expect([taskOf(world).state, taskOf(world, 'two').state]).toEqual(['done', 'done'])
})

test('a worker that changed nothing has not resolved a conflict', () => {
  const world = answerMerge({ type: 'conflict', files: ['a.ts'], branch: 'reeve/crew.one' })
  runUntilTask(world, 'committing', 'task-3')
  runUntil(world, () => world.jobs.some(({ type, ...job }) => type === 'commit' && 'task' in job && job.task === 'task-3'))
  const commit = world.jobs.find(({ type }) => type === 'commit')
  world.jobs = world.jobs.filter((job) => job !== commit)
  world.submit({ type: 'job_done', job: commit?.job ?? 0, result: { type: 'committed', commit: null, dirty: false } })
  expect(taskOf(world, 'task-3')).toMatchObject({ state: 'done', commit: null })
  answerMerge({ type: 'conflict', files: ['a.ts'], branch: 'reeve/crew.one' }, world)
  expect(taskOf(world)).toMatchObject({
    state: 'failed',
    reason: expect.stringMatching(
      /could not be merged: task-3 did not resolve its conflict in a.ts; it is on branch reeve\/crew\.one$/,
    ) as string,
  })
})

test.each<[string, JobResult, string]>([
  ['has the commit', { type: 'merged', merged: 'm' }, 'done'],
  ['does not have the commit', { type: 'conflict', files: ['a.ts'] }, 'failed'],
])('if the user reports a conflict as resolved, a merge checks whether the branch %s', (_, result, state) => {
  const world = answerMerge({ type: 'conflict', files: ['a.ts'], branch: 'reeve/crew.one' })
  world.submit({ type: 'mark_task_done', task: 'task-3', reason: 'I have merged it myself' }, USER)
  answerMerge(result, world)
  expect(taskOf(world).state).toBe(state)
})

test('the reason of a failed merge names the commit by its short id', () => {
  const world = startedWorld({ reviews: false })
  runUntil(world, () => world.jobs.some(({ type }) => type === 'commit'))
  answerJob(world, 'commit', { type: 'committed', commit: 'c'.repeat(40), dirty: false })
  runUntil(world, () => world.jobs.some(({ type }) => type === 'merge'))
  answerJob(world, 'merge', { type: 'error', error: 'a lock is in the way' })
  expect(taskOf(world)).toMatchObject({
    state: 'failed',
    reason: 'cccccccccc could not be merged: a lock is in the way; it is on branch reeve/crew.one',
  })
})
