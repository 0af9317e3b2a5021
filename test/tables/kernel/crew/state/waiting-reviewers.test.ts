// Workers whose own task waits review other tasks meanwhile, and learn afterwards what became of their own task. A question to
// the user about a review becomes obsolete when a worker can review: the question is withdrawn.
import { describe, expect, test } from 'vitest'
import {
  beginTurn,
  senderOfMember,
  canBeginTurn,
  performJob,
  endProcess,
  continueTurn,
  setMemberHeld,
  playAct,
  nextJobOfEachMember,
} from '../../../../support/crew-world/regular-work.ts'
import {
  memberOf,
  USER,
  taskOf,
  transcriptOf,
  runUntil,
  runUntilTask,
  startedWorld,
} from '../../../../support/crew-world/prepared-world.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId, ReviewVerdict } from '../../../../../src/kernel/model/crew/words.ts'

const makeTasks = (...ids: readonly string[]) => ids.map((id) => ({ id, title: id, text: 'Do it.' }))

/** Plays one possible event that is not a verdict. Returns false if there is none. */
function playWithoutVerdict(world: CrewWorld): boolean {
  const [job] = nextJobOfEachMember(world)
  const proc = [...world.procs.values()].find(
    (member) =>
      member.isAlive && !member.isLeaving && member.plan[0] !== 'verdict' && (member.reading !== null || canBeginTurn(world, member)),
  )
  if (job) performJob(world, job)
  else if (proc?.reading) continueTurn(world, proc)
  else if (proc) beginTurn(world, proc)
  return job !== undefined || proc !== undefined
}

/** A world in which two workers have reported, and each reviews the other's task. */
function worldWithCrossReviews(changes: Parameters<typeof startedWorld>[0] = {}): CrewWorld {
  const world = startedWorld({ maxWorkers: 2, ...changes }, makeTasks('one', 'two'))
  while (playWithoutVerdict(world));
  expect(['one', 'two'].map((id) => taskOf(world, id).state)).toEqual(['in_review', 'in_review'])
  return world
}

/** The reviewer, which has read the review request, gives its verdict. */
function giveVerdict(world: CrewWorld, id: MemberId, verdict: ReviewVerdict): void {
  const proc = world.requireProcess(id)
  expect(proc.plan.shift()).toBe('verdict')
  world.submit({ type: 'report_review_verdict', verdict, comments: 'a test is missing' }, senderOfMember(proc))
}

describe('a worker that reviews while its own task waits', () => {
  test('returns to its own task, which is then committed', () => {
    const world = worldWithCrossReviews()
    expect(memberOf(world, 'worker-1')).toMatchObject({ phase: 'reviewing', task: 'two', own: 'one' })
    giveVerdict(world, 'worker-2', 'APPROVED')
    expect([taskOf(world).state, memberOf(world, 'worker-1').phase], 'it commits when it has given its verdict').toEqual([
      'approved',
      'reviewing',
    ])
    expect(memberOf(world, 'worker-2')).toMatchObject({ phase: 'awaiting_review', task: 'two', own: null })
    giveVerdict(world, 'worker-1', 'APPROVED')
    expect(taskOf(world).state).toBe('committing')
    runUntil(world, () => world.outcome !== null)
    expect(world.outcome).toBe('completed')
  })

  test('gets the denial of its own task after its review', () => {
    const world = worldWithCrossReviews()
    giveVerdict(world, 'worker-2', 'DENIED')
    expect(memberOf(world, 'worker-1')).toMatchObject({ phase: 'reviewing', task: 'two', own: 'one', unheard: true })
    expect(world.requireProcess('worker-1').queue).toEqual([])
    giveVerdict(world, 'worker-1', 'APPROVED')
    expect(memberOf(world, 'worker-1')).toMatchObject({ phase: 'addressing_feedback', task: 'one', own: null })
    runUntil(world, () => world.requireProcess('worker-1').queue.length > 0)
    expect(world.requireProcess('worker-1').queue.map(({ text }) => text)).toEqual([expect.stringContaining('sent one "one" back:')])
    expect(memberOf(world, 'worker-1').unheard).toBeUndefined()
    runUntil(world, () => world.outcome !== null)
    expect(taskOf(world)).toMatchObject({ state: 'done', attempts: 1 })
  })

  test('is lost, and both tasks continue with other workers', () => {
    const world = worldWithCrossReviews({ maxWorkers: 3 })
    endProcess(world, world.requireProcess('worker-1'), 'agent')
    expect(taskOf(world, 'two').reviewer).not.toBe('worker-1')
    expect(taskOf(world, 'one')).toMatchObject({ attempts: 1 })
    runUntil(world, () => world.outcome !== null)
    expect(world.outcome).toBe('completed')
  })

  test('is replaced, and its successor gets both tasks', () => {
    const world = worldWithCrossReviews({ maxWorkers: 3 })
    world.submit({ type: 'replace_worker', member: 'worker-1', summary: 'half of it' }, USER)
    expect(memberOf(world, 'worker-3')).toMatchObject({ phase: 'reviewing', task: 'two', own: 'one' })
    runUntil(world, () => world.outcome !== null)
    expect(world.crew.tasks.map(({ state }) => state)).toEqual(['done', 'done'])
  })

  test('gives its verdict when its own task is cancelled, and its files are reset', () => {
    const world = worldWithCrossReviews({ stay: true })
    world.submit({ type: 'cancel_task', task: 'one', reason: 'r', requeue: false }, USER)
    expect(memberOf(world, 'worker-1')).toMatchObject({ phase: 'reviewing', task: 'two', own: null, cleanup: 'one' })
    giveVerdict(world, 'worker-1', 'APPROVED')
    runUntil(world, () => memberOf(world, 'worker-1').cleanup === null && world.jobs.length === 0)
    runUntil(world, () => taskOf(world, 'two').state === 'done')
  })
})

describe('a question that becomes obsolete', () => {
  /** Returns a world in which the user is asked for a review: its only worker has reported, and no other one can be started. */
  function worldWithQuestion(): CrewWorld {
    const world = startedWorld({ maxWorkers: 1, staff: [{ role: 'generic', count: 1 }], stay: true })
    runUntilTask(world, 'waiting')
    expect(taskOf(world).ask).toEqual({ id: 'one.1', for: 'review' })
    return world
  }

  test('is withdrawn when a new worker can review', () => {
    const world = worldWithQuestion()
    Object.assign(world, { spec: { ...world.spec, maxWorkers: 2 } })
    expect(
      transcriptOf(world, () => {
        world.submit({ type: 'spawn_worker', role: 'generic' }, USER)
        while (memberOf(world, 'worker-2').state !== 'on') playAct(world)
      }),
    ).toContain('-> unask one.1')
    expect(taskOf(world)).toMatchObject({ state: 'in_review', reviewer: 'worker-2', ask: null })
    expect([...world.openQuestions.keys()]).toEqual([])
    runUntilTask(world, 'done')
  })

  test('is no longer open when a review is assigned in a crew with a coordinator agent', () => {
    const world = startedWorld({ coordinator: 'agent', maxWorkers: 2, staff: [{ role: 'generic', count: 1 }] })
    runUntil(world, () => memberOf(world, 'coordinator').state === 'on')
    world.submit({ type: 'assign_task', task: 'one', member: 'worker-1' }, USER)
    const coordinatorEndsTurn = (): void => {
      const proc = world.requireProcess('coordinator')
      if (proc.reading) proc.plan = []
    }
    runUntil(world, () => {
      coordinatorEndsTurn()
      return taskOf(world).state === 'waiting' || world.crew.stalls > 3
    })
    world.submit({ type: 'spawn_worker', role: 'generic' }, USER)
    runUntil(world, () => {
      coordinatorEndsTurn()
      return memberOf(world, 'worker-2').state === 'on'
    })
    expect(world.submit({ type: 'assign_review', task: 'one', member: 'worker-2' }, USER)).not.toBeNull()
    expect(taskOf(world)).toMatchObject({ state: 'in_review', ask: null })
    expect([...world.openQuestions.keys()]).toEqual([])
  })
})

test('a question of the gate does not delay the review of another task', () => {
  const world = startedWorld({ gate: 'human', maxWorkers: 2, stay: true }, makeTasks('one', 'two'))
  runUntil(world, () => world.crew.tasks.every(({ state }) => state === 'waiting'))
  expect(world.crew.tasks.map(({ verdict, ask }) => [verdict, ask?.for])).toEqual([
    ['APPROVED', 'gate'],
    ['APPROVED', 'gate'],
  ])
})

test('the user is not asked for a review while the only other worker is paused; it reviews when it resumes', () => {
  const world = startedWorld({ maxWorkers: 2 })
  runUntilTask(world, 'implementing')
  setMemberHeld(world, world.requireProcess('worker-2'), true)
  runUntilTask(world, 'awaiting_review')
  expect(taskOf(world).ask).toBeNull()
  setMemberHeld(world, world.requireProcess('worker-2'), false)
  expect(taskOf(world)).toMatchObject({ state: 'in_review', reviewer: 'worker-2' })
})
