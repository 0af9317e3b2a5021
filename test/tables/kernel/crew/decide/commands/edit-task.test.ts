// Edits of a task after it was added: when they are possible, and the notices to members.
import { describe, expect, test } from 'vitest'
import { senderOfMember, performJob } from '../../../../../support/crew-world/regular-work.ts'
import { USER, refusalCode, taskOf, runUntil, runUntilTask, startedWorld } from '../../../../../support/crew-world/prepared-world.ts'
import type { Command, NewTask } from '../../../../../../src/kernel/model/crew/commands.ts'
import type { CrewWorld } from '../../../../../support/crew-world/world.ts'

type Edit = Omit<Extract<Command, { type: 'edit_task' }>, 'type' | 'task'>

function editTask(world: CrewWorld, changes: Edit, id = 'one'): string | null {
  return world.submit({ type: 'edit_task', task: id, ...changes }, USER)
}

/** The messages that a member received since the act with this index. */
function messagesTo({ acts }: CrewWorld, member: string | null, firstAct = 0): readonly string[] {
  return acts.slice(firstAct).flatMap((act) => (act.type === 'message' && act.to === member ? [act.text] : []))
}

describe('a task in the queue', () => {
  const TWO_TASKS: readonly NewTask[] = [
    { id: 'zero', title: 'zero', text: 'First.' },
    { id: 'one', title: 'the first', text: 'Old.', acceptance: 'It is old.', needs: ['zero'] },
  ]

  test('can change in every field, and its worker reads the new version', () => {
    const world = startedWorld({ maxWorkers: 2 }, TWO_TASKS)
    expect(editTask(world, { title: 'The  new\none', text: 'New.' })).toBe('one "The new one" is changed')
    expect(editTask(world, { role: 'implementer', reviews: false, needs: [] })).not.toBeNull()
    expect(taskOf(world)).toMatchObject({ title: 'The new one', role: 'implementer', reviews: false, needs: [] })
    runUntil(world, () => world.outcome !== null)
    const [assignment = ''] = world.acts.flatMap((act) => (act.type === 'message' && act.text.startsWith('Task one') ? [act.text] : []))
    expect(assignment).toMatch(/^Task one "The new one"\n\nNew.\n\nAccepted when: It is old./)
    expect(world.foldJournal()).toEqual(world.crew)
  })

  test('has the last edit, also when only the text or the acceptance changes', () => {
    const world = startedWorld({ maxWorkers: 2 }, TWO_TASKS)
    editTask(world, { text: 'Second.', acceptance: 'It is second.' })
    editTask(world, { acceptance: 'It is third.' })
    editTask(world, { text: 'Fourth.' })
    runUntil(world, () => world.outcome !== null)
    expect(
      world.acts.some(
        (act) => act.type === 'message' && act.text.startsWith('Task one "the first"\n\nFourth.\n\nAccepted when: It is third.'),
      ),
    ).toBe(true)
    expect(
      world.acts.some(
        (act) => act.type === 'message' && act.text.startsWith('Review one') && act.text.includes('Fourth.\n\nAccepted when: It is third.'),
      ),
    ).toBe(true)
  })

  test('loses its review when it is given to a researcher', () => {
    const world = startedWorld({ maxWorkers: 2 }, TWO_TASKS)
    editTask(world, { role: 'researcher' })
    expect(taskOf(world)).toMatchObject({ role: 'researcher', reviews: false })
    expect(refusalCode(world, { type: 'edit_task', task: 'one', reviews: true })).toBe('INVALID')
  })

  test('can be edited after it failed, before its retry', () => {
    const world = startedWorld({ stay: true })
    world.submit({ type: 'mark_task_failed', task: 'one', reason: 'unclear' }, USER)
    expect(editTask(world, { text: 'Clear.' })).not.toBeNull()
    world.submit({ type: 'retry_task', task: 'one' }, USER)
    runUntilTask(world, 'done')
    expect(world.acts.some((act) => act.type === 'message' && act.text.startsWith('Task one "the first"\n\nClear.'))).toBe(true)
  })
})

describe('agent, model and limits', () => {
  test('change in the queue, and a suitable worker is started', () => {
    const world = startedWorld({ maxWorkers: 3 }, [
      { id: 'zero', title: 'zero', text: 'First.' },
      { id: 'one', title: 'the first', text: 'Do it.', limits: { maxSteps: 3 }, needs: ['zero'] },
    ])
    expect(editTask(world, { model: 'big', limits: { budgetUsd: 2 } })).toBe('one "the first" is changed')
    expect(taskOf(world)).toMatchObject({ who: { model: 'big' }, limits: { budgetUsd: 2 } })
    runUntil(world, () => world.outcome !== null)
    expect(taskOf(world).state).toBe('done')
    expect(world.crew.members.find(({ id }) => id === taskOf(world).implementer)?.who).toEqual({ model: 'big' })
    expect(world.foldJournal()).toEqual(world.crew)
  })

  test('can be removed again', () => {
    const world = startedWorld({ stay: true }, [
      { id: 'one', title: 'the first', text: 'Do it.', limits: { maxSteps: 3 }, agent: 'careful', model: 'big' },
    ])
    editTask(world, { agent: 'other' })
    expect(taskOf(world).who).toEqual({ agent: 'other' })
    editTask(world, { agent: null, limits: {} })
    expect([taskOf(world).who, taskOf(world).limits]).toEqual([undefined, undefined])
    expect(world.foldJournal()).toEqual(world.crew)
  })

  test('change between two attempts, but not during one', () => {
    const world = startedWorld({ stay: true })
    runUntilTask(world, 'implementing')
    expect([
      refusalCode(world, { type: 'edit_task', task: 'one', model: 'big' }),
      refusalCode(world, { type: 'edit_task', task: 'one', limits: {} }),
    ]).toEqual(['CONFLICT', 'CONFLICT'])
    world.submit({ type: 'mark_task_failed', task: 'one', reason: 'a better model' }, USER)
    expect(editTask(world, { model: 'big' })).not.toBeNull()
    world.submit({ type: 'retry_task', task: 'one' }, USER)
    runUntilTask(world, 'done')
    expect(world.crew.members.find(({ id }) => id === taskOf(world).implementer)?.who).toEqual({ model: 'big' })
  })

  test('do not exist for a question to the user', () => {
    const world = startedWorld({ stay: true }, [
      { id: 'zero', title: 'zero', text: 'x' },
      { id: 'one', title: 'the first', text: 'Which?', kind: 'human', needs: ['zero'] },
    ])
    expect([
      refusalCode(world, { type: 'edit_task', task: 'one', model: 'big' }),
      refusalCode(world, { type: 'edit_task', task: 'one', limits: { maxSteps: 1 } }),
    ]).toEqual(['INVALID', 'INVALID'])
  })
})

describe('while a worker has the task', () => {
  test('its implementer gets the change as its next message', () => {
    const world = startedWorld()
    runUntil(world, () => taskOf(world).prepared)
    const { implementer } = taskOf(world)
    const firstAct = world.acts.length
    expect(editTask(world, { text: 'Do it twice.' })).toBe(`one "the first" is changed; ${implementer} reads it next`)
    expect(messagesTo(world, implementer, firstAct)).toEqual([
      'The user changed one "the first".\n\nDo it twice.\n\nImplement the task as described now, then call report_implementation_complete.',
    ])
    runUntilTask(world, 'done')
  })

  test('a worker whose files are being prepared gets the new version', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    const [job] = world.jobs
    expect(job?.type).toBe('prepare')
    expect(editTask(world, { text: 'Do it twice.' })).toBe('one "the first" is changed')
    if (job) performJob(world, job)
    runUntil(world, () =>
      messagesTo(world, taskOf(world).implementer).some((text) => text.startsWith('Task one "the first"\n\nDo it twice.')),
    )
    expect(messagesTo(world, taskOf(world).implementer).some((text) => text.includes('Do it.'))).toBe(false)
    runUntilTask(world, 'done')
  })

  test('its reviewer gets the change', () => {
    const world = startedWorld()
    runUntil(world, () => taskOf(world).state === 'in_review' && taskOf(world).briefed)
    const { implementer, reviewer } = taskOf(world)
    const firstAct = world.acts.length
    expect(editTask(world, { acceptance: 'Both.' })).toBe(`one "the first" is changed; ${implementer} and ${reviewer} read it next`)
    expect(messagesTo(world, reviewer, firstAct)).toEqual([
      'The user changed one "the first".\n\nAccepted when: Both.\n\nReview the change against this description, then call report_review_verdict.',
    ])
    expect(messagesTo(world, implementer, firstAct)).toEqual([expect.stringContaining('You have nothing to do now')])
    runUntilTask(world, 'done')
  })
})

describe('an edit is refused', () => {
  const THREE_TASKS: readonly NewTask[] = [
    { id: 'one', title: 'one', text: 'x' },
    { id: 'two', title: 'two', text: 'x', needs: ['one'] },
    { id: 'three', title: 'three', text: 'x', needs: ['two'] },
  ]
  const worldAtWork = (): CrewWorld => {
    const world = startedWorld({ maxWorkers: 2 }, THREE_TASKS)
    return runUntil(world, () => taskOf(world).prepared)
  }

  test.each<[string, string, Edit, string]>([
    ['if it changes nothing', 'two', {}, 'INVALID'],
    ['with an empty title', 'two', { title: '  ' }, 'INVALID'],
    ['with an empty text', 'two', { text: ' ' }, 'INVALID'],
    ['with a need for an unknown task', 'two', { needs: ['nine'] }, 'NOT_FOUND'],
    ['if tasks would wait for each other', 'two', { needs: ['three'] }, 'INVALID'],
    ['with the role reviewer', 'two', { role: 'reviewer' }, 'INVALID'],
    ['if it changes the needs of a task in progress', 'one', { needs: [] }, 'CONFLICT'],
    ['if it changes the role of a task in progress', 'one', { role: 'researcher' }, 'CONFLICT'],
    ['if the task is unknown', 'nine', { text: 'x' }, 'NOT_FOUND'],
  ])('%s', (_, id, changes, code) => {
    const world = worldAtWork()
    const before = world.crew
    expect(refusalCode(world, { type: 'edit_task', task: id, ...changes })).toBe(code)
    expect(world.crew).toBe(before)
  })

  test.each(['approved', 'waiting', 'committing', 'done'] as const)('if the task is %s', (state) => {
    const world = runUntilTask(
      startedWorld({
        gate: state === 'waiting' ? 'human' : state === 'approved' ? 'coordinator' : 'auto',
        coordinator: state === 'approved' ? 'agent' : 'engine',
        stay: true,
      }),
      state,
    )
    expect(refusalCode(world, { type: 'edit_task', task: 'one', text: 'y' })).toBe('CONFLICT')
  })

  test('if a needed task has failed', () => {
    const world = startedWorld({ maxWorkers: 2 }, [...THREE_TASKS, { id: 'four', title: 'four', text: 'x' }])
    world.submit({ type: 'cancel_task', task: 'four', reason: 'no', requeue: false }, USER)
    expect(refusalCode(world, { type: 'edit_task', task: 'three', needs: ['four'] })).toBe('CONFLICT')
  })

  test('if a worker requests it', () => {
    const world = worldAtWork()
    expect(refusalCode(world, { type: 'edit_task', task: 'two', text: 'y' }, senderOfMember({ id: 'worker-1', turn: 1 }))).toBe(
      'PERMISSION',
    )
  })
})
