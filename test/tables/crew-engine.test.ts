// What the engine says next, and what a crew waits for, in words: assignments in order, reviewers who are kept free, workers that are
// started, paused ones that keep their work, and crews that cannot go on.
import { describe, expect, test } from 'vitest'
import { waitsFor } from '../../src/crew/waits.ts'
import { add, byMember, doJob, go, hold, moveOn } from '../support/crew-world/life.ts'
import { memberOf, PERSON, refused, taskOf, until, untilTask, up } from '../support/crew-world/story.ts'
import type { NewTask } from '../../src/crew/commands.ts'
import type { CrewSpec } from '../../src/crew/types.ts'
import type { World } from '../support/crew-world/world.ts'

const tasks = (...ids: readonly string[]): NewTask[] => ids.map((id) => ({ id, title: id, text: 'Do it.' }))
const staff = (...roles: readonly CrewSpec['staff'][number]['role'][]): CrewSpec['staff'] => roles.map((role) => ({ role, count: 1 }))
const held = (world: World): string[] => world.crew.members.flatMap(({ id, task, phase }) => (task === null ? [] : [`${id} ${phase} ${task}`]))
const words = ({ crew, spec }: World): readonly string[] => waitsFor(crew, spec)

describe('who gets what', () => {
  test('tasks in the order in which they were added, as far as what they need is done', () => {
    const world = up({ staff: [{ role: 'generic', count: 3 }] }, [
      { id: 'c', title: 'c', text: 't', needs: ['a'] }, { id: 'b', title: 'b', text: 't' }, { id: 'a', title: 'a', text: 't' },
    ])
    expect(held(world)).toEqual(['worker-1 implementing b', 'worker-2 implementing a'])
    expect(words(world)).toContain('c "c" waits for a')
  })

  test('a title is one line: it becomes the subject of a commit', () => {
    expect(taskOf(up({}, [{ id: 'one', title: ' a\n\nReeve-Task:\tother ', text: 't' }])).title).toBe('a Reeve-Task: other')
  })

  test('implementers implement, reviewers review, researchers research and commit nothing', () => {
    const world = up({ staff: staff('reviewer', 'researcher', 'implementer'), stay: true }, [{ id: 'find', title: 'f', text: 't', role: 'researcher' }, ...tasks('one')])
    expect(held(world)).toEqual(['worker-2 implementing find', 'worker-3 implementing one'])
    until(world, () => world.crew.tasks.every(({ state }) => state === 'done'))
    expect([taskOf(world, 'find'), taskOf(world)]).toMatchObject([{ reviewer: null, commit: null }, { reviewer: 'worker-1', commit: expect.any(String) }])
  })

  test('with as many workers as there may be, one stays free to review', () => {
    const world = up({ maxWorkers: 2 }, tasks('one', 'two'))
    expect(held(world)).toEqual(['worker-1 implementing one'])
    expect(words(world)).toContain('two "two" waits for a worker: worker-2 is kept free to review, and 2 may live')
    until(world, () => world.ended !== null)
    expect(world.ended).toBe('completed')
    for (const { implementer, reviewer } of world.crew.tasks) expect([implementer, reviewer].toSorted()).toEqual(['worker-1', 'worker-2'])
  })

  test('with room for more, all work, and a reviewer is started when it is needed', () => {
    const world = up({ maxWorkers: 3 }, tasks('one', 'two'))
    expect(held(world)).toHaveLength(2)
    until(world, () => world.ended !== null)
    expect(world.crew.members.map(({ id }) => id)).toEqual(['worker-1', 'worker-2', 'worker-3'])
    for (const { implementer, reviewer } of world.crew.tasks) expect(reviewer).not.toBe(implementer)
  })

  test('who tried it before tries it again only if nobody else can, and reviews it only then', () => {
    const world = untilTask(up({ maxWorkers: 2 }), 'implementing')
    world.say({ type: 'cancel_task', task: 'one', reason: 'r', requeue: true }, PERSON)
    expect(taskOf(world).implementer).toBe('worker-2')
    untilTask(world, 'in_review')
    expect(taskOf(world)).toMatchObject({ implementer: 'worker-2', reviewer: 'worker-1' })
    expect(world.journal.findLast(({ type }) => type === 'task.review')).toMatchObject({ earlier: true })
  })

  test('a worker that is lost is made up for; five in a row that came to nothing are not', () => {
    const world = up({ staff: staff('implementer'), maxWorkers: 1, reviews: false, maxAttempts: 9 })
    for (let time = 0; time < 5; time += 1) {
      until(world, () => world.crew.members.at(-1)?.state === 'on')
      go(world, world.need(world.crew.members.at(-1)?.id ?? 'worker-1'), 'agent')
    }
    expect(world.crew.members).toHaveLength(5)
    expect(taskOf(world)).toMatchObject({ state: 'failed', reason: 'no worker can do it, and none can be started: 5 in a row were lost; the last: ended by agent' })
    expect(world.ended).toBe('failed')
  })

  test('workers that cannot be started', () => {
    const world = up({ staff: [] }, [])
    add(world, tasks('one'))
    while (world.ended === null) {
      const [job] = world.jobs
      world.jobs = []
      world.say({ type: 'job_done', job: job?.job ?? 0, result: { type: 'error', error: 'there is no key' } })
    }
    expect(taskOf(world).reason).toContain('there is no key')
  })

  test('nothing is begun while the crew is paused, and all of it after', () => {
    const world = up({ stay: true }, [])
    const say = (paused: boolean, command: Parameters<World['say']>[0]): void => {
      world.paused = paused
      world.say(command, command.type === 'add_tasks' ? PERSON : { type: 'system' })
    }
    say(true, { type: 'add_tasks', tasks: tasks('one') })
    expect(held(world)).toEqual([])
    say(false, { type: 'woken' })
    expect(held(world)).toEqual(['worker-1 implementing one'])
    world.jobs = []
    say(false, { type: 'woken' })
    expect(world.jobs, 'an answer that did not come in is asked for again').toMatchObject([{ type: 'prepare', task: 'one' }])
  })
})

describe('what it waits for', () => {
  test('a worker that is paused keeps its task; idle ones that are paused get none', () => {
    const world = untilTask(up({ maxWorkers: 2 }), 'implementing')
    hold(world, world.need('worker-1'), true)
    hold(world, world.need('worker-2'), true)
    add(world, tasks('two'))
    while (world.jobs[0]) doJob(world, world.jobs[0])
    expect(words(world)).toEqual([
      'one "the first" is implementing with worker-1, which is paused (user): nobody else takes it (reeve resume, or stop it)',
      'two "two" waits for a worker: worker-2 is idle and paused',
    ])
    hold(world, world.need('worker-2'), false)
    expect(memberOf(world, 'worker-2').task, 'worker-1 may not review: it is not free').toBe(null)
    hold(world, world.need('worker-1'), false)
    until(world, () => world.ended !== null)
  })

  test('people, the coordinator, a start, a review, a conflict and the commit lock', () => {
    const world = up({ coordinator: 'agent', gate: 'coordinator' }, [...tasks('one'), { id: 'ask', title: 'which?', text: 't', kind: 'human' }])
    expect(words(world)).toEqual(['one "one" waits for the coordinator to assign it', 'ask "which?" waits for a person: it is a task for one (reeve answer)'])
    world.say({ type: 'spawn_worker', role: 'reviewer' }, PERSON)
    expect(words(world)).toContain('worker-3 is being started')
    doJob(world, world.jobs[0] ?? (() => { throw new Error('no job') })())
    world.say({ type: 'assign_task', task: 'one', member: 'worker-1' }, PERSON)
    expect(words(world)).toContain('prepare of one is under way')
    go(world, world.need('coordinator'), 'person')
    expect(words(world)).toContain('nobody coordinates: resume or replace the coordinator, or stop the crew')
    untilTask(world, 'awaiting_review')
    expect(words(world)).toContain('one "one" waits for somebody to review it')
    world.say({ type: 'assign_review', task: 'one', member: 'worker-3' }, PERSON)
    untilTask(world, 'approved')
    expect(words(world)).toContain('one "one" waits for the coordinator\'s approval')
    world.say({ type: 'approve_commit', task: 'one' }, PERSON)
    untilTask(world, 'merging')
    const merge = world.jobs.find(({ type }) => type === 'merge')
    world.jobs = []
    world.say({ type: 'job_done', job: merge?.job ?? 0, result: { type: 'conflict', files: ['a'] } })
    expect(words(world)).toContain('one "one" is committed, and waits for task-3 to resolve its conflict')
    world.say({ type: 'stop_worker', member: 'worker-2', reason: 'enough' }, PERSON)
    expect(words(world)).toContain('worker-2 is going: enough')
  })
})

describe('a coordinator that gives all of them work of their own', () => {
  const give = (world: World, task: string, member: 'worker-1' | 'worker-2', who: 'person' | 'coordinator'): string | null => (
    world.say({ type: 'assign_task', task, member }, who === 'person' ? PERSON : byMember(world.need('coordinator')))
  )

  test('is told that nobody could review it then; a person may', () => {
    const world = up({ coordinator: 'agent', maxWorkers: 2 }, tasks('one', 'two'))
    expect(give(world, 'one', 'worker-1', 'coordinator')).not.toBeNull()
    expect(give(world, 'two', 'worker-2', 'coordinator')).toBeNull()
    expect(world.refusal).toMatchObject({ code: 'CONFLICT', message: 'then nobody could review two "two": all others have work of their own' })
    expect(give(world, 'two', 'worker-2', 'person')).not.toBeNull()
  })

  test('or may, where another can be started: it hears how', () => {
    const world = up({ coordinator: 'agent', maxWorkers: 3 }, tasks('one', 'two'))
    expect([give(world, 'one', 'worker-1', 'coordinator'), give(world, 'two', 'worker-2', 'coordinator')]).not.toContain(null)
  })

  test('and does nothing then: a person is asked for the reviews', () => {
    const world = up({ coordinator: 'agent', maxWorkers: 2 }, tasks('one', 'two'))
    give(world, 'one', 'worker-1', 'person')
    give(world, 'two', 'worker-2', 'person')
    const idle = (): boolean => {
      const proc = world.need('coordinator')
      if (proc.reading) proc.plan = []
      return world.crew.tasks.every(({ state }) => state === 'awaiting_review')
    }
    until(world, idle)
    expect(words(world)).toEqual(['one', 'two'].map((id, index) => `${id} "${id}" waits for a review, and nobody is idle who could do it: worker-${2 - index} awaits a review of its own`))
    until(world, () => idle() === false)
    expect(world.crew.tasks.map(({ state, ask }) => [state, ask?.for])).toEqual([['waiting', 'review'], ['waiting', 'review']])
    expect(world.notices.at(-1)).toContain('Nobody who is there can review one, two: take one back with cancel_task and requeue')
  })
})

describe('what is refused, with what to do instead', () => {
  const busy = (): World => untilTask(up({ coordinator: 'agent', maxWorkers: 3, staff: [{ role: 'generic', count: 2 }, { role: 'reviewer', count: 1 }] }, [...tasks('one', 'two'), { id: 'late', title: 'l', text: 't', needs: ['one'] }, { id: 'ask', title: 'a', text: 't', kind: 'human' }]), 'implementing')
  const cases: readonly (readonly [Parameters<typeof refused>[1], string])[] = [
    [{ type: 'add_task', id: 'one', title: 't', text: 't' }, 'CONFLICT'],
    [{ type: 'add_task', id: 'No', title: 't', text: 't' }, 'INVALID'],
    [{ type: 'add_task', title: '', text: 't' }, 'INVALID'],
    [{ type: 'add_task', title: 't', text: ' ' }, 'INVALID'],
    [{ type: 'add_task', title: 't', text: 't', role: 'reviewer' }, 'INVALID'],
    [{ type: 'add_task', title: 't', text: 't', needs: ['nobody'] }, 'NOT_FOUND'],
    [{ type: 'add_tasks', tasks: [] }, 'INVALID'],
    [{ type: 'add_tasks', tasks: [{ id: 'x', title: 't', text: 't', needs: ['y'] }, { id: 'y', title: 't', text: 't', needs: ['x'] }] }, 'INVALID'],
    [{ type: 'add_tasks', tasks: Array.from({ length: 1_001 }, () => ({ title: 't', text: 't' })) }, 'RESOURCE_EXHAUSTED'],
    [{ type: 'spawn_worker', role: 'generic' }, 'RESOURCE_EXHAUSTED'],
    [{ type: 'assign_task', task: 'nothing', member: 'worker-1' }, 'NOT_FOUND'],
    [{ type: 'assign_task', task: 'two', member: 'worker-9' }, 'NOT_FOUND'],
    [{ type: 'assign_task', task: 'one', member: 'worker-3' }, 'CONFLICT'],
    [{ type: 'assign_task', task: 'late', member: 'worker-3' }, 'CONFLICT'],
    [{ type: 'assign_task', task: 'ask', member: 'worker-3' }, 'CONFLICT'],
    [{ type: 'assign_task', task: 'two', member: 'coordinator' }, 'INVALID'],
    [{ type: 'assign_review', task: 'one', member: 'worker-3' }, 'CONFLICT'],
    [{ type: 'approve_commit', task: 'one' }, 'CONFLICT'],
    [{ type: 'approve_commit', task: 'ask' }, 'PERMISSION'],
    [{ type: 'send_message', to: 'worker-9', text: 't' }, 'NOT_FOUND'],
    [{ type: 'send_message', to: 'worker-1', text: ' ' }, 'INVALID'],
    [{ type: 'send_message', to: 'worker-1', text: 't', task: 'nothing' }, 'NOT_FOUND'],
    [{ type: 'replace_worker', member: 'worker-1', summary: '' }, 'INVALID'],
    [{ type: 'retire_worker', member: 'worker-9', reason: 'r' }, 'NOT_FOUND'],
    [{ type: 'retire_worker', member: 'coordinator', reason: 'r' }, 'INVALID'],
    [{ type: 'cancel_task', task: 'late', reason: 'r', requeue: true }, 'CONFLICT'],
    [{ type: 'notify_user', text: '' }, 'INVALID'],
    [{ type: 'complete_crew', summary: 's', outcome: 'completed' }, 'CONFLICT'],
  ]

  test.each(cases.map(([command, code]) => [command.type, code, command] as const))('%s: %s', (_, code, command) => {
    const world = busy()
    const before = world.crew
    expect(refused(world, command), JSON.stringify(command).slice(0, 80)).toBe(code)
    expect(world.crew).toBe(before)
    expect(world.refusal?.hint.length ?? 0).toBeGreaterThan(5)
  })

  test('its own work is nobody\'s to review, nor a researcher\'s', () => {
    const world = up({ coordinator: 'agent', staff: staff('generic', 'researcher', 'generic') })
    world.say({ type: 'assign_task', task: 'one', member: 'worker-1' }, PERSON)
    // The coordinator of this world would assign it.
    for (let steps = 0; taskOf(world).state !== 'awaiting_review' && steps < 50; steps += 1) {
      world.need('coordinator').queue = []
      moveOn(world)
    }
    const commands = (['worker-1', 'worker-2'] as const).map((member) => refused(world, { type: 'assign_review', task: 'one', member }))
    expect(commands).toEqual(['CONFLICT', 'INVALID'])
    expect(world.refusal?.hint).toBe('Choose one of worker-3.')
    expect(world.say({ type: 'assign_review', task: 'one', member: 'worker-3' }, PERSON)).toBe('worker-3 reviews one "the first"')
  })
})
