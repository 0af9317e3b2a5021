// Closed tasks that are opened again by a command: the dependents that come back, the starting point, and the refusals.
import { describe, expect, test } from 'vitest'
import { senderOfMember, endProcess, playAct } from '../../../../../support/crew-world/regular-work.ts'
import {
  USER,
  refusalCode,
  taskOf,
  transcriptOf,
  runUntil,
  runUntilTask,
  startedWorld,
} from '../../../../../support/crew-world/prepared-world.ts'
import type { Command, NewTask } from '../../../../../../src/kernel/model/crew/commands.ts'
import type { CrewWorld } from '../../../../../support/crew-world/world.ts'

const makeTask = (id: string, neededTasks: readonly string[] = []): NewTask => ({ id, title: id, text: `Write ${id}.`, needs: neededTasks })
const COORDINATOR = senderOfMember({ id: 'coordinator', turn: 0 })

function statesOf({ crew }: CrewWorld): string {
  return crew.tasks.map(({ id, state }) => `${id} ${state}`).join(', ')
}

function submitTo(world: CrewWorld, command: Command): CrewWorld {
  expect(world.submit(command, USER), world.lastRefusal?.message).not.toBeNull()
  return world
}

const failCommand = (id: string): Command => ({ type: 'mark_task_failed', task: id, reason: 'it is too hard' })
const cancelCommand = (id: string): Command => ({ type: 'cancel_task', task: id, reason: 'not now', requeue: false })
const retryCommand = (id: string): Command => ({ type: 'retry_task', task: id })
const reopenCommand = (id: string): Command => ({ type: 'reopen_task', task: id, comments: 'the index is missing' })

/** Returns the messages that gave the task to a worker. */
function assignmentTexts({ acts }: CrewWorld, id: string): readonly string[] {
  return acts.flatMap((act) => (act.type === 'message' && act.text.startsWith(`Task ${id} `) ? [act.text] : []))
}

describe('a retried task', () => {
  const worldOfChain = (): CrewWorld =>
    startedWorld({ stay: true, maxWorkers: 2 }, [
      makeTask('a'),
      makeTask('b', ['a']),
      makeTask('c', ['b']),
      makeTask('d', ['a', 'x']),
      makeTask('x'),
    ])

  test('comes back with the tasks that failed only because of it', () => {
    const world = submitTo(worldOfChain(), failCommand('a'))
    expect(statesOf(world)).toBe('a failed, b failed, c failed, d failed, x implementing')
    expect(world.submit(retryCommand('a'), USER)).toBe('a "a" is back in the queue, with the tasks that need it: b, c, d')
    expect(statesOf(world)).toMatch(/^a (queued|implementing), b queued, c queued, d queued/)
    runUntil(world, () => world.crew.tasks.every(({ state }) => state === 'done'))
    expect(world.foldJournal()).toEqual(world.crew)
  })

  test('does not bring back a dependent that failed for another reason as well', () => {
    const world = submitTo(submitTo(submitTo(worldOfChain(), failCommand('a')), failCommand('x')), retryCommand('a'))
    expect(statesOf(world)).toMatch(/b queued, c queued, d failed, x failed$/)
    submitTo(world, retryCommand('x'))
    expect(statesOf(world)).toMatch(/d queued, x (queued|implementing)$/)
  })

  test('does not bring back a dependent that failed on its own', () => {
    const world = submitTo(submitTo(submitTo(worldOfChain(), failCommand('c')), cancelCommand('a')), retryCommand('a'))
    expect(statesOf(world)).toMatch(/b queued, c failed, d queued/)
  })

  test('counts its attempts from 0, and its worker reads why it failed', () => {
    const world = runUntilTask(startedWorld({ stay: true, maxAttempts: 1 }), 'implementing')
    runUntil(world, () => taskOf(world).prepared)
    const holder = world.requireProcess(taskOf(world).implementer ?? 'worker-1')
    holder.isDirty = true
    runUntil(
      world,
      () =>
        taskOf(world).state === 'in_review' &&
        taskOf(world).briefed &&
        world.requireProcess(taskOf(world).reviewer ?? 'worker-1').reading !== null,
    )
    const reviewer = world.requireProcess(taskOf(world).reviewer ?? 'worker-1')
    world.submit({ type: 'report_review_verdict', verdict: 'DENIED', comments: 'no tests' }, senderOfMember(reviewer))
    expect(taskOf(world)).toMatchObject({ state: 'failed', attempts: 1, denials: 1 })
    runUntil(world, () => taskOf(world).salvaged !== null)
    submitTo(world, retryCommand('one'))
    expect(taskOf(world)).toMatchObject({ attempts: 0, denials: 0, times: { ended: null } })
    runUntilTask(world, 'done')
    const [, again] = assignmentTexts(world, 'one')
    expect(again).toContain(
      'A worker began this task before, and it went back to the queue: its only attempt failed; the last one was denied: no tests',
    )
    expect(again).toContain('A reviewer commented: no tests')
    expect(again).toContain('The uncommitted changes of that attempt are at refs/salvage/')
  })

  test('causes one notice for each of its failures', () => {
    const world = startedWorld({ stay: true })
    for (let round = 0; round < 2; round += 1) {
      submitTo(world, failCommand('one'))
      submitTo(world, retryCommand('one'))
    }
    expect(world.notices.filter((text) => text.startsWith('one "the first" failed'))).toHaveLength(2)
  })

  test('gives another chance to a crew that lost all its workers', () => {
    const world = startedWorld({ stay: true, reviews: false, maxAttempts: 9, staff: [{ role: 'generic', count: 1 }] })
    while (taskOf(world).state !== 'failed') {
      const proc = [...world.procs.values()].find(({ isAlive }) => isAlive)
      if (proc) endProcess(world, proc, 'agent')
      else expect(playAct(world)).toBe(true)
    }
    expect(taskOf(world).reason).toContain('3 workers were lost')
    expect(world.crew.fruitless).toBeGreaterThan(2)
    submitTo(world, retryCommand('one'))
    runUntilTask(world, 'done')
  })

  test('is limited for coordinators, but not for the user', () => {
    const world = startedWorld({ coordinator: 'agent', stay: true })
    for (let round = 0; round < 3; round += 1) {
      submitTo(world, failCommand('one'))
      expect(world.submit(retryCommand('one'), COORDINATOR)).not.toBeNull()
    }
    submitTo(world, failCommand('one'))
    expect(refusalCode(world, retryCommand('one'), COORDINATOR)).toBe('RESOURCE_EXHAUSTED')
    submitTo(world, retryCommand('one'))
  })
})

describe('a reopened task', () => {
  test('continues from the existing work with the comments, and is done a second time', () => {
    const world = runUntilTask(startedWorld({ stay: true }, [makeTask('a'), makeTask('b', ['a'])]), 'done', 'a')
    const { commit } = taskOf(world, 'a')
    expect(transcriptOf(world, () => world.submit(reopenCommand('a'), USER))).toContain('task.reopened a "the index is missing" user')
    expect(taskOf(world, 'a')).toMatchObject({ earlier: { commit, merged: `m-${commit}` }, verdict: null })
    runUntil(world, () => world.crew.tasks.every(({ state }) => state === 'done'))
    const [, again] = assignmentTexts(world, 'a')
    expect(again).toContain(
      `This task was done before (${commit}, which is your starting point), and the user sent it back: the index is missing`,
    )
    const review = world.acts.findLast((act) => act.type === 'message' && act.text.startsWith('Review a '))
    expect(review).toMatchObject({ text: expect.stringContaining('the user sent it back: the index is missing') as string })
    expect(taskOf(world, 'a').commit).not.toBe(commit)
    expect(world.journal.filter(({ type }) => type === 'task.done')).toHaveLength(3)
    expect(world.foldJournal()).toEqual(world.crew)
  })

  test('blocks dependents that have not started', () => {
    const world = runUntilTask(startedWorld({ stay: true, maxWorkers: 2 }, [makeTask('a'), makeTask('b', ['a'])]), 'done', 'a')
    submitTo(submitTo(world, { type: 'cancel_task', task: 'b', reason: 'wait', requeue: false }), reopenCommand('a'))
    submitTo(world, retryCommand('b'))
    expect(taskOf(world, 'b').state).toBe('queued')
    runUntil(world, () => taskOf(world, 'b').state === 'done')
    const doneTasks = world.journal.flatMap((fact) => (fact.type === 'task.done' ? [fact.task] : []))
    expect(doneTasks).toEqual(['a', 'a', 'b'])
  })
})

describe('the crew refuses', () => {
  const newWorld = (): CrewWorld =>
    runUntilTask(
      startedWorld({ stay: true, maxWorkers: 2 }, [
        makeTask('a'),
        makeTask('b', ['a']),
        makeTask('q', ['b']),
        { id: 'h', title: 'h', text: 'Which?', kind: 'human' },
      ]),
      'done',
      'a',
    )

  test.each<[string, (world: CrewWorld) => CrewWorld, Command, string, RegExp]>([
    ['to retry a done task', (world) => world, retryCommand('a'), 'CONFLICT', /reopen/],
    ['to retry a queued task', (world) => world, retryCommand('q'), 'CONFLICT', /queue/],
    ['to retry a task in progress', (world) => runUntilTask(world, 'implementing', 'b'), retryCommand('b'), 'CONFLICT', /requeue/],
    [
      'to retry a task whose needed task has failed',
      (world) => submitTo(world, failCommand('b')),
      retryCommand('q'),
      'CONFLICT',
      /Retry b first/,
    ],
    ['to retry an unknown task', (world) => world, retryCommand('z'), 'NOT_FOUND', /It has a/],
    ['to reopen a failed task', (world) => submitTo(world, failCommand('b')), reopenCommand('b'), 'CONFLICT', /retry/],
    ['to reopen a queued task', (world) => world, reopenCommand('q'), 'CONFLICT', /open/],
    ['to reopen a task without comments', (world) => world, { type: 'reopen_task', task: 'a', comments: ' ' }, 'INVALID', /missing/],
    [
      'to reopen a question',
      (world) => runUntil(world, () => taskOf(world, 'h').state === 'done'),
      reopenCommand('h'),
      'CONFLICT',
      /Add a task/,
    ],
  ])('%s', (_, before, command, code, hint) => {
    const world = before(newWorld())
    const { crew } = world
    expect(refusalCode(world, command)).toBe(code)
    expect(world.lastRefusal?.hint).toMatch(hint)
    expect(world.crew).toBe(crew)
  })

  test('to reopen a task for a coordinator, who is notified when the user does it', () => {
    const world = runUntilTask(startedWorld({ coordinator: 'agent', stay: true, reviews: false }), 'done')
    expect(refusalCode(world, reopenCommand('one'), COORDINATOR)).toBe('PERMISSION')
    submitTo(world, reopenCommand('one'))
    expect(world.acts.findLast((act) => act.type === 'message')).toMatchObject({
      to: 'coordinator',
      from: 'user',
      text: 'The user reopened one "the first": the index is missing',
    })
  })

  test('to retry a task while the crew ends', () => {
    const world = runUntilTask(startedWorld({ maxWorkers: 2 }), 'committing')
    submitTo(world, { type: 'add_task', id: 'two', title: 'two', text: 'x' })
    submitTo(world, { type: 'complete_crew', summary: 'enough', outcome: 'cancelled' })
    expect(refusalCode(world, retryCommand('two'))).toBe('CONFLICT')
    expect(world.lastRefusal?.hint).toContain('`reeve crew up` takes over the done tasks')
  })
})
