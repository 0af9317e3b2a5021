// Tasks for a certain agent or model: eligible workers, workers that make room or are retired, and refusals.
import { describe, expect, test } from 'vitest'
import { describeWaits } from '../../../../../src/kernel/crew/text/describe-waits.ts'
import { addTasks } from '../../../../support/crew-world/regular-work.ts'
import {
  memberOf,
  USER,
  refusalCode,
  taskOf,
  transcriptOf,
  runUntil,
  runUntilTask,
  startedWorld,
} from '../../../../support/crew-world/prepared-world.ts'
import { tasksRule, toFileTasks } from '../../../../../src/config/crew/tasks.ts'
import type { NewTask } from '../../../../../src/kernel/model/crew/commands.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId } from '../../../../../src/kernel/model/crew/words.ts'

const BIG = { model: 'acme/big' }
const makeTask = (id: string, changes: Partial<NewTask> = {}): NewTask => ({ id, title: `the ${id}`, text: 'Do it.', ...changes })
const agentOfTask = (world: CrewWorld, id: string): object | undefined =>
  memberOf(world, taskOf(world, id).implementers.at(-1) as MemberId).who
const hasEnded = (world: CrewWorld): boolean => world.crew.ending?.ended === true

describe('a task for a certain model', () => {
  test('gets a dedicated worker, which is retired when no such task is left', () => {
    const world = startedWorld({}, [makeTask('one', BIG), makeTask('two'), makeTask('three', BIG)])
    runUntil(world, () => hasEnded(world))
    expect(world.crew.tasks.map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    expect(['one', 'two', 'three'].map((id) => agentOfTask(world, id))).toEqual([BIG, undefined, BIG])
    expect(world.crew.members.filter(({ who }) => who).length).toBe(1)
    expect(world.foldJournal()).toEqual(world.crew)
  })

  test('is given to no other worker, not even one with the same model and another agent', () => {
    const world = startedWorld({ maxWorkers: 5 }, [
      makeTask('one', BIG),
      makeTask('two', { ...BIG, agent: 'other' }),
      makeTask('three', { agent: 'other' }),
    ])
    runUntil(world, () => hasEnded(world))
    expect(['one', 'two', 'three'].map((id) => agentOfTask(world, id))).toEqual([BIG, { ...BIG, agent: 'other' }, { agent: 'other' }])
  })

  test('makes room for its worker in a full crew, and other tasks get theirs afterwards', () => {
    const world = startedWorld({ maxWorkers: 2 }, [
      makeTask('one', BIG),
      makeTask('two', { needs: ['one'] }),
      makeTask('three', { ...BIG, needs: ['two'] }),
    ])
    expect(world.crew.members.map(({ id, state, leave }) => `${id} ${state} ${leave?.reason ?? ''}`)).toContain(
      'worker-1 leaving it makes room for a worker with model acme/big',
    )
    runUntil(world, () => hasEnded(world))
    expect(world.crew.tasks.map(({ state }) => state)).toEqual(['done', 'done', 'done'])
  })

  test('is done by a crew with room for one worker', () => {
    const world = startedWorld({ maxWorkers: 1, staff: [{ role: 'generic', count: 1 }], reviews: false }, [
      makeTask('one'),
      makeTask('two', BIG),
      makeTask('three'),
      makeTask('four', { agent: 'other' }),
    ])
    runUntil(world, () => hasEnded(world))
    expect(world.crew.tasks.map(({ state }) => state)).toEqual(['done', 'done', 'done', 'done'])
    expect(['one', 'two', 'three', 'four'].map((id) => agentOfTask(world, id))).toEqual([undefined, BIG, undefined, { agent: 'other' }])
    // A worker does its remaining tasks first: none is started and retired for each task.
    expect(world.crew.members).toHaveLength(3)
  })

  test('takes no worker from a task of the same rank, but precedes tasks of a lower one', () => {
    const oneWorker = { maxWorkers: 1, staff: [{ role: 'generic' as const, count: 1 }], reviews: false }
    expect(memberOf(startedWorld(oneWorker, [makeTask('big', BIG), makeTask('small')]), 'worker-1')).toMatchObject({
      state: 'on',
      task: 'small',
    })
    expect(memberOf(startedWorld(oneWorker, [makeTask('big', { ...BIG, priority: 1 }), makeTask('small')]), 'worker-1')).toMatchObject({
      state: 'leaving',
      leave: { how: 'retired' },
    })
  })

  test('waits with a reason while all workers are busy', () => {
    const world = startedWorld({ maxWorkers: 2 }, [makeTask('one'), makeTask('two'), makeTask('big', BIG)])
    expect(describeWaits(world.crew, world.spec)).toContain('big "the big" waits for a worker with model acme/big: all 2 workers have work')
    expect(taskOf(world, 'big').state).toBe('queued')
    runUntilTask(world, 'done', 'big')
  })

  test('is done by a new worker of the same kind when its worker is lost', () => {
    const world = startedWorld({}, [makeTask('one', BIG)])
    runUntil(world, () => taskOf(world).begun === true)
    const firstWorker = taskOf(world).implementer as MemberId
    const facts = transcriptOf(world, () => world.submit({ type: 'member_gone', member: firstWorker, cause: 'agent', reason: 'exit 1' }))
    expect(facts).toContain(`crew.left ${firstWorker} lost`)
    expect(facts).toContain('crew.member worker-4 generic {"model":"acme/big"}')
    runUntilTask(world, 'done')
    expect(agentOfTask(world, 'one')).toEqual(BIG)
  })

  test('is handed over to a worker of the same kind', () => {
    const world = startedWorld({}, [makeTask('one', BIG)])
    runUntil(world, () => taskOf(world).begun === true)
    world.submit({ type: 'replace_worker', member: taskOf(world).implementer as MemberId, summary: 'half is done' }, USER)
    expect(memberOf(world, taskOf(world).implementer as MemberId)).toMatchObject({ who: BIG, state: 'starting' })
    runUntilTask(world, 'done')
  })

  test('fails when its workers are lost one after another', () => {
    const world = startedWorld({ maxAttempts: 9, maxWorkers: 3, staff: [{ role: 'generic', count: 2 }] }, [])
    addTasks(world, [makeTask('one', BIG)])
    for (let lossCount = 0; lossCount < 9; lossCount += 1) {
      const special = world.crew.members.find(({ who, state }) => who && state !== 'gone')
      if (special) world.submit({ type: 'member_gone', member: special.id, cause: 'agent', reason: 'no such model' })
    }
    expect(taskOf(world)).toMatchObject({ state: 'failed' })
    expect(taskOf(world).reason).toContain('no such model')
  })
})

describe('with a coordinator agent', () => {
  const worldWithCoordinator = (): CrewWorld => startedWorld({ coordinator: 'agent' }, [makeTask('one', BIG), makeTask('two')])

  test('an assignment to another kind of worker is refused with a hint', () => {
    const world = worldWithCoordinator()
    const assignmentError = (task: string, member: MemberId): object | null =>
      world.submit({ type: 'assign_task', task, member }, USER) === null ? world.lastRefusal : null
    expect(assignmentError('one', 'worker-1')).toMatchObject({
      code: 'INVALID',
      message: 'one "the one" is for model acme/big, and worker-1 has the usual agent',
      hint: 'spawn_worker with `task` one starts one that fits.',
    })
    world.submit({ type: 'spawn_worker', role: 'generic', task: 'one' }, USER)
    expect(assignmentError('one', 'worker-1')).toMatchObject({ hint: 'Choose one of worker-3.' })
    expect(assignmentError('two', 'worker-3')).toMatchObject({
      message: 'two "the two" is for the usual agent, and worker-3 has model acme/big',
      hint: 'Choose one of worker-1, worker-2.',
    })
    world.submit({ type: 'assign_task', task: 'one', member: 'worker-3' }, USER)
    expect(taskOf(world)).toMatchObject({ implementer: 'worker-3' })
  })

  test('a worker for an unknown task is refused', () => {
    expect(refusalCode(worldWithCoordinator(), { type: 'spawn_worker', role: 'generic', task: 'none' })).toBe('NOT_FOUND')
  })
})

test('a file names agent and model; a question for the user has none', () => {
  expect(toFileTasks(tasksRule.parse([{ text: 'x', model: 'acme/big', agent: 'other' }]))[0]).toMatchObject({
    model: 'acme/big',
    agent: 'other',
  })
  expect(tasksRule.safeParse([{ text: 'x', kind: 'human', model: 'acme/big' }]).error?.issues[0]?.message).toBe(
    'a task of kind `human` cannot have `model`',
  )
})
