// A full disk under a crew's worktrees: the crew is paused once, no attempt fails, and the user is not asked for a review. After a resume,
// the failed jobs are done.
import { expect, test } from 'vitest'
import { memberOf, taskOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import { endProcess, setCrewPaused } from '../../../../support/crew-world/regular-work.ts'
import { crewSpecOf, CrewWorld } from '../../../../support/crew-world/world.ts'
import type { Job, JobResult } from '../../../../../src/kernel/model/crew/facts.ts'

const FULL = 'git add: fatal: unable to write new index file: No space left on device'

/** Runs until the next job of this type, and answers it: by default, with an error because the disk is full. Returns the job. */
function failJob(world: CrewWorld, type: Job['type'], result: JobResult = { type: 'error', error: FULL }): Job {
  runUntil(world, () => world.jobs.some((job) => job.type === type))
  const job = world.jobs.find((job) => job.type === type)
  if (!job) throw new Error(`no ${type}`)
  world.jobs = world.jobs.filter((otherJob) => otherJob !== job)
  world.submit({ type: 'job_done', job: job.job, result })
  return job
}

test.each<[Job['type'], JobResult | undefined]>([
  ['prepare', undefined],
  ['brief', undefined],
  ['check', undefined],
  ['commit', { type: 'committed', commit: null, dirty: true, output: FULL }],
  ['merge', undefined],
  ['merge', { type: 'left', branch: 'b', reason: FULL }],
  ['land', undefined],
])('the job `%s`, which fails because the disk is full, is done when the crew resumes', (type, result) => {
  const world = startedWorld()
  const job = failJob(world, type, result)
  expect([world.isPaused, world.crew.halted]).toEqual([true, `the disk is full: ${FULL}`])
  expect(world.crew.jobs).toContainEqual(job)
  // Further failures for the same cause add no facts.
  const facts = world.journal.length
  for (const otherJob of world.jobs.splice(0))
    world.submit({ type: 'job_done', job: otherJob.job, result: { type: 'error', error: 'write: EDQUOT: quota exceeded' } })
  expect(world.journal.slice(facts).map((fact) => fact.type)).toEqual([])
  setCrewPaused(world, false)
  expect(world.jobs).toContainEqual(job)
  runUntilTask(world, 'done')
  expect(taskOf(world)).toMatchObject({ attempts: 0, asks: 0 })
})

test('a worker whose start failed because the disk is full is started when the crew resumes', () => {
  const world = new CrewWorld(crewSpecOf())
  world.submit({ type: 'begin' })
  const job = failJob(world, 'spawn')
  expect([world.isPaused, world.crew.halted]).toEqual([true, `the disk is full: ${FULL}`])
  setCrewPaused(world, false)
  runUntil(world, () => memberOf(world, job.member).state === 'on')
})

test('the failed job of a member that has ended pauses the crew only once, and costs its task no attempt', () => {
  const world = startedWorld()
  const job = failJob(world, 'prepare', { type: 'error', error: `worker-1 ended before it had its files: ${FULL}` })
  endProcess(world, world.requireProcess(job.member), 'agent')
  expect(memberOf(world, job.member).state).toBe('gone')
  setCrewPaused(world, false)
  failJob(world, 'prepare', { type: 'error', error: `worker-1 ended before it had its files: ${FULL}` })
  expect(world.isPaused).toBe(false)
  runUntilTask(world, 'done')
  expect(taskOf(world).attempts).toBe(0)
})
