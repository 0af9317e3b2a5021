// Reviews without a verdict: the next review goes to a worker that was not asked yet. The question to the user names the real reason.
import { expect, test } from 'vitest'
import { describeWaits } from '../../../../../src/kernel/crew/text/describe-waits.ts'
import { beginTurn, canBeginTurn, endTurn, playAct } from '../../../../support/crew-world/regular-work.ts'
import { USER, taskOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId } from '../../../../../src/kernel/model/crew/words.ts'

/** The reviewer reads all messages and calls no tool, until it loses the review. */
function reviewSilently(world: CrewWorld, id: MemberId): void {
  const { unreviewed } = taskOf(world)
  for (let step = 0; taskOf(world).unreviewed === unreviewed; step += 1) {
    expect(step).toBeLessThan(50)
    const proc = world.requireProcess(id)
    if (!canBeginTurn(world, proc)) playAct(world)
    else {
      beginTurn(world, proc)
      proc.plan = []
      endTurn(world, proc, 'ok')
    }
  }
}

const reviewersOf = ({ journal }: CrewWorld): MemberId[] => journal.flatMap((fact) => (fact.type === 'task.review' ? [fact.member] : []))

test('a review without a verdict goes to another worker, and at last to the user', () => {
  const world = runUntilTask(startedWorld({ maxWorkers: 4, staff: [{ role: 'generic', count: 4 }] }), 'in_review')
  reviewSilently(world, 'worker-2')
  expect(taskOf(world)).toMatchObject({ state: 'in_review', reviewer: 'worker-3' })
  reviewSilently(world, 'worker-3')
  expect(taskOf(world)).toMatchObject({ state: 'in_review', reviewer: 'worker-4' })
  reviewSilently(world, 'worker-4')
  expect(taskOf(world)).toMatchObject({ state: 'waiting', unreviewed: 3 })
  const lastAsk = world.journal.findLast((fact) => fact.type === 'task.asked')
  expect(lastAsk?.question).toBe(
    'one "the first" waits for a review: worker-2, worker-3 and worker-4 gave no verdict; the last reason: worker-4 ended its turn without a report after 2 reminders. worker-1 implemented it. To deny, write what is missing.',
  )
  expect(describeWaits(world.crew, world.spec)).toContain(
    'one "the first" waits for the user: no reviewer gave a verdict (reeve crew approve, reeve crew deny)',
  )
})

test('every worker is asked once, even if that exceeds the maximum of attempts', () => {
  const world = runUntilTask(startedWorld({ maxAttempts: 1, maxWorkers: 4, staff: [{ role: 'generic', count: 4 }] }), 'in_review')
  for (const id of ['worker-2', 'worker-3'] as const) reviewSilently(world, id)
  runUntil(world, () => taskOf(world).state === 'done')
  expect(reviewersOf(world)).toEqual(['worker-2', 'worker-3', 'worker-4'])
})

test('the only possible reviewer is asked again, as often as a task may be attempted', () => {
  const world = runUntilTask(startedWorld({ maxWorkers: 2 }), 'in_review')
  for (let time = 0; time < 3; time += 1) reviewSilently(world, 'worker-2')
  expect(reviewersOf(world)).toEqual(['worker-2', 'worker-2', 'worker-2'])
  expect(taskOf(world)).toMatchObject({ state: 'waiting', ask: { for: 'review' } })
})

test('a verdict clears the list of silent reviewers', () => {
  const world = runUntilTask(startedWorld({ maxWorkers: 3, staff: [{ role: 'generic', count: 3 }] }), 'in_review')
  reviewSilently(world, 'worker-2')
  expect(taskOf(world).silent).toMatchObject({ members: ['worker-2'] })
  runUntil(world, () => taskOf(world).verdict !== null)
  expect(taskOf(world).silent).toBeNull()
})

test('a stopped reviewer with an open brief job delays no commit', () => {
  const world = runUntilTask(startedWorld({ maxWorkers: 4, staff: [{ role: 'generic', count: 4 }] }), 'in_review')
  const oldBrief = world.jobs.find((job) => job.type === 'brief' && job.member === 'worker-2')
  expect(oldBrief).toBeDefined()
  world.jobs = world.jobs.filter((job) => job !== oldBrief)
  world.submit({ type: 'stop_worker', member: 'worker-2', reason: 'later' }, USER)
  runUntil(world, () => taskOf(world).state === 'done')
  expect(world.crew.jobs).toContainEqual(oldBrief)
})
