// The order of a crew's tasks: by priority, then by the order of the row, in which a task can be moved.
import { describe, expect, test } from 'vitest'
import { sortByRank } from '../../../../../../src/kernel/crew/state/queries.ts'
import { playAct } from '../../../../../support/crew-world/regular-work.ts'
import { USER, refusalCode, taskOf, runUntil, startedWorld } from '../../../../../support/crew-world/prepared-world.ts'
import type { NewTask } from '../../../../../../src/kernel/model/crew/commands.ts'
import type { CrewWorld } from '../../../../../support/crew-world/world.ts'

const FOUR_TASKS: readonly NewTask[] = ['a', 'b', 'c', 'd'].map((id) => ({ id, title: id, text: 'Do it.' }))

function sortedIds({ crew }: CrewWorld): string {
  return sortByRank(crew.tasks)
    .map(({ id }) => id)
    .join('')
}

/** The ids of the tasks in the order of their assignments. */
function assignmentOrder({ journal }: CrewWorld): string {
  return journal.flatMap((fact) => (fact.type === 'task.assigned' ? [fact.task] : [])).join('')
}

function playToEnd(world: CrewWorld): CrewWorld {
  return runUntil(world, () => world.outcome !== null)
}

describe('tasks are assigned', () => {
  test('in the order of adding', () => {
    expect(assignmentOrder(playToEnd(startedWorld({}, FOUR_TASKS)))).toBe('abcd')
  })

  test('by priority first, whether it was set with the task or later', () => {
    const world = startedWorld({ maxWorkers: 2 }, [])
    world.submit({ type: 'add_tasks', tasks: FOUR_TASKS.map((task) => (task.id === 'c' ? { ...task, priority: 2 } : task)) }, USER)
    world.submit({ type: 'set_priority', task: 'd', priority: 1 }, USER)
    expect(sortedIds(world)).toBe('cdab')
    expect(assignmentOrder(playToEnd(world)), 'task a was assigned before the change of order').toBe('cadb')
  })

  test('before the task that the user names, with its priority', () => {
    const world = startedWorld({ maxWorkers: 2 }, FOUR_TASKS)
    world.submit({ type: 'set_priority', task: 'b', priority: 7 }, USER)
    world.submit({ type: 'set_priority', task: 'd', before: 'b' }, USER)
    expect([sortedIds(world), taskOf(world, 'd').priority]).toEqual(['dbac', 7])
    world.submit({ type: 'set_priority', task: 'c', before: 'a' }, USER)
    expect([sortedIds(world), taskOf(world, 'c').priority]).toEqual(['dbca', 0])
    expect(world.foldJournal()).toEqual(world.crew)
  })

  test('and not taken from their worker by a lower priority', () => {
    const world = startedWorld({ maxWorkers: 2 }, FOUR_TASKS)
    const { implementer } = taskOf(world, 'a')
    world.submit({ type: 'set_priority', task: 'a', priority: -5 }, USER)
    while (taskOf(world, 'a').state === 'implementing') playAct(world)
    expect(implementer).not.toBeNull()
    expect(taskOf(world, 'a').implementer).toBe(implementer)
  })
})

describe('a change of the order is refused', () => {
  test.each([
    [{ task: 'a', priority: 1, before: 'b' }, 'INVALID'],
    [{ task: 'a' }, 'INVALID'],
    [{ task: 'a', before: 'a' }, 'INVALID'],
    [{ task: 'a', priority: 0.5 }, 'INVALID'],
    [{ task: 'a', priority: 1_001 }, 'INVALID'],
    [{ task: 'z', priority: 1 }, 'NOT_FOUND'],
    [{ task: 'a', before: 'z' }, 'NOT_FOUND'],
  ])('for %j with %s', (command, code) => {
    expect(refusalCode(startedWorld({}, FOUR_TASKS), { type: 'set_priority', ...command })).toBe(code)
  })

  test('for a closed task', () => {
    const world = startedWorld({}, FOUR_TASKS)
    world.submit({ type: 'cancel_task', task: 'd', reason: 'no', requeue: false }, USER)
    expect(refusalCode(world, { type: 'set_priority', task: 'd', priority: 1 })).toBe('CONFLICT')
    expect(refusalCode(world, { type: 'set_priority', task: 'c', before: 'd' })).toBe('CONFLICT')
  })
})
