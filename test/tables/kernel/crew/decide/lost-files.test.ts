// Workers whose files cannot be opened or prepared: they leave without a failed attempt, and their reported files are taken over.
import { expect, test } from 'vitest'
import {
  beginTurn,
  performJob,
  endTurn,
  endProcess,
  continueTurn,
  playAct,
  nextJobOfEachMember,
} from '../../../../support/crew-world/regular-work.ts'
import { memberOf, USER, taskOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { Job, JobResult } from '../../../../../src/kernel/model/crew/facts.ts'

const GONE = 'the worktree /w/1 is gone'

/** Runs until there is a job of this type. Returns the job. */
function runUntilJob(world: CrewWorld, type: Job['type']): Job {
  const findJob = (): Job | undefined => nextJobOfEachMember(world).find((job) => job.type === type)
  runUntil(world, () => findJob() !== undefined)
  const job = findJob()
  if (!job) throw new Error(`no job ${type}`)
  return job
}

function failJob(
  world: CrewWorld,
  { job }: Job,
  fields: Omit<Extract<JobResult, { type: 'error' }>, 'type' | 'error'> = {},
  error = GONE,
): void {
  world.jobs = world.jobs.filter((otherJob) => otherJob.job !== job)
  world.submit({ type: 'job_done', job, result: { type: 'error', error, ...fields } })
}

test('files that cannot be prepared are not a failed attempt: the worker leaves, and another continues', () => {
  const world = startedWorld({ maxWorkers: 3 })
  failJob(world, runUntilJob(world, 'prepare'))
  expect(memberOf(world, 'worker-1')).toMatchObject({
    state: 'leaving',
    leave: { how: 'lost', reason: `the files of worker-1 cannot be used: ${GONE}` },
  })
  expect(taskOf(world)).toMatchObject({ state: 'implementing', implementer: 'worker-2', attempts: 0 })
  runUntil(world, () => world.outcome !== null)
  expect(world.outcome).toBe('completed')
  expect(memberOf(world, 'worker-1')).toMatchObject({ state: 'gone', leave: { how: 'lost', reason: expect.stringContaining(GONE) } })
})

test('a task fails after three workers that could not start it, with the last reason', () => {
  const world = startedWorld({ maxWorkers: 4 })
  for (const message of ['one', 'two', 'its disk is read-only']) failJob(world, runUntilJob(world, 'prepare'), {}, message)
  expect(taskOf(world)).toMatchObject({
    state: 'failed',
    attempts: 0,
    reason: expect.stringMatching(
      /^3 workers were lost before it was done; the last reason: the files of worker-\d cannot be used: its disk is read-only$/,
    ),
  })
})

test('a task that no worker could start fails at once, and no worker leaves', () => {
  const world = startedWorld()
  failJob(world, runUntilJob(world, 'prepare'), { of: 'task' }, 'the tasks that it depends on conflict in a.txt')
  expect(taskOf(world)).toMatchObject({
    state: 'failed',
    attempts: 0,
    reason: 'its files could not be prepared: the tasks that it depends on conflict in a.txt',
  })
  expect(world.crew.members.map(({ leave }) => leave?.how === 'lost')).toEqual([false, false])
})

test('a worker that is lost before it has read its instructions has made no attempt', () => {
  const world = runUntilTask(startedWorld({ maxAttempts: 1 }), 'implementing')
  endProcess(world, world.requireProcess('worker-1'), 'agent')
  expect(taskOf(world)).toMatchObject({ state: 'implementing', implementer: 'worker-2', attempts: 0 })
})

test('if the reviewer finds no files, the implementer leaves, and another worker takes over the reported files', () => {
  const world = startedWorld({ maxWorkers: 3 })
  failJob(world, runUntilJob(world, 'brief'), { lost: 'worker-1' })
  expect(memberOf(world, 'worker-1')).toMatchObject({ state: 'leaving', leave: { how: 'lost' } })
  expect(memberOf(world, 'worker-2')).toMatchObject({ state: 'on' })
  expect(taskOf(world)).toMatchObject({ state: 'implementing', implementer: 'worker-2', attempts: 0, unreviewed: 0, keeps: 'salvage' })
  expect(runUntilJob(world, 'prepare')).toMatchObject({ member: 'worker-2', keeps: 'salvage' })
  runUntil(world, () => world.outcome !== null)
  expect(taskOf(world)).toMatchObject({ state: 'done', attempts: 0 })
})

test('without salvaged files, the task starts from scratch', () => {
  const world = startedWorld({ maxWorkers: 3 })
  const job = runUntilJob(world, 'brief')
  world.requireProcess('worker-1').isDirty = false
  failJob(world, job, { lost: 'worker-1' })
  const nextPrepare = runUntilJob(world, 'prepare')
  expect([nextPrepare, taskOf(world).keeps]).toEqual([expect.not.objectContaining({ keeps: expect.anything() as unknown }), null])
})

test('if the files are gone before the commit, another worker continues with the reviewed files', () => {
  const world = startedWorld({ maxWorkers: 3 })
  failJob(world, runUntilJob(world, 'commit'), { lost: 'worker-1' })
  expect(memberOf(world, 'worker-1')).toMatchObject({ state: 'leaving', leave: { how: 'lost' } })
  expect(world.requireProcess('worker-1').isMasked).toBe(false)
  expect(runUntilJob(world, 'prepare')).toMatchObject({ member: 'worker-2', keeps: 'review' })
  runUntil(world, () => world.outcome !== null)
  expect(taskOf(world)).toMatchObject({ state: 'done', attempts: 0 })
})

test('an idle worker whose files cannot be reset gets no more tasks', () => {
  const world = runUntilTask(startedWorld({ stay: true }), 'implementing')
  runUntil(world, () => taskOf(world).prepared)
  world.submit({ type: 'cancel_task', task: 'one', reason: 'r', requeue: false }, USER)
  failJob(world, runUntilJob(world, 'reset'), { lost: 'worker-1' })
  world.submit({ type: 'add_task', id: 'two', title: 'two', text: 't' }, USER)
  expect(taskOf(world, 'two').implementer).toBe('worker-2')
})

test('a worker that is lost after a turn has made an attempt', () => {
  const world = runUntilTask(startedWorld({ maxAttempts: 1 }), 'implementing')
  const proc = world.requireProcess('worker-1')
  while (proc.queue.length === 0 || proc.reading) playAct(world)
  beginTurn(world, proc)
  continueTurn(world, proc)
  endProcess(world, proc, 'agent')
  for (const job of nextJobOfEachMember(world)) performJob(world, job)
  expect(taskOf(world)).toMatchObject({ state: 'failed', attempts: 1, reason: expect.stringContaining('its only attempt failed') })
})

test('a turn that fails after its report does not count for the next task', () => {
  const world = runUntilTask(
    startedWorld(
      { reviews: false, maxWorkers: 1, maxAttempts: 1, git: null, staff: [{ role: 'generic', count: 1 }] },
      ['one', 'two'].map((id) => ({ id, title: id, text: 't' })),
    ),
    'implementing',
  )
  runUntil(world, () => taskOf(world).state === 'done')
  endTurn(world, world.requireProcess('worker-1'), 'error')
  expect(taskOf(world, 'two')).toMatchObject({ state: 'implementing', attempts: 0 })
  runUntil(world, () => taskOf(world, 'two').state === 'done')
})

test('a task fails after three workers whose reported files cannot be opened', () => {
  const world = startedWorld({ maxWorkers: 3, reviews: false })
  for (let lossCount = 1; lossCount <= 3; lossCount += 1) {
    const job = runUntilJob(world, 'commit')
    failJob(world, job, { lost: job.type === 'commit' ? job.member : 'worker-1' })
  }
  expect(taskOf(world)).toMatchObject({
    state: 'failed',
    attempts: 0,
    reason: expect.stringMatching(/^3 workers were lost before it was done; the last reason: the files of worker-\d cannot be used/),
  })
})
