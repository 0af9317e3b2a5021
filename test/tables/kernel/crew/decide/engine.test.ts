// The engine's commands: assignments in order, reviews by workers whose own task waits, and new workers. Also the reasons that are
// shown for a waiting crew: paused workers, open questions, and no progress.
import { describe, expect, test } from 'vitest'
import { describeWaits } from '../../../../../src/kernel/crew/text/describe-waits.ts'
import { addTasks, senderOfMember, performJob, endProcess, setMemberHeld, playAct } from '../../../../support/crew-world/regular-work.ts'
import { memberOf, USER, refusalCode, taskOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { NewTask } from '../../../../../src/kernel/model/crew/commands.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { CrewSpec } from '../../../../../src/kernel/model/process-spec.ts'

const makeTasks = (...ids: readonly string[]): NewTask[] => ids.map((id) => ({ id, title: id, text: 'Do it.' }))
const staffOf = (...roles: readonly CrewSpec['staff'][number]['role'][]): CrewSpec['staff'] => roles.map((role) => ({ role, count: 1 }))
const tasksOfMembers = (world: CrewWorld): string[] =>
  world.crew.members.flatMap(({ id, task, phase }) => (task === null ? [] : [`${id} ${phase} ${task}`]))
const waitTexts = ({ crew, spec }: CrewWorld): readonly string[] => describeWaits(crew, spec)

describe('assignments', () => {
  test('tasks are assigned in the order of adding, as soon as their needs are done', () => {
    const world = startedWorld({ staff: [{ role: 'generic', count: 3 }] }, [
      { id: 'c', title: 'c', text: 't', needs: ['a'] },
      { id: 'b', title: 'b', text: 't' },
      { id: 'a', title: 'a', text: 't' },
    ])
    expect(tasksOfMembers(world)).toEqual(['worker-1 implementing b', 'worker-2 implementing a'])
    expect(waitTexts(world)).toContain('c "c" waits for a')
  })

  test('a title becomes one line, because it is the subject of a commit', () => {
    expect(taskOf(startedWorld({}, [{ id: 'one', title: ' a\n\nReeve-Task:\tother ', text: 't' }])).title).toBe('a Reeve-Task: other')
  })

  test('implementers implement, reviewers review, researchers research and commit nothing', () => {
    const world = startedWorld({ staff: staffOf('reviewer', 'researcher', 'implementer'), stay: true }, [
      { id: 'find', title: 'f', text: 't', role: 'researcher' },
      ...makeTasks('one'),
    ])
    expect(tasksOfMembers(world)).toEqual(['worker-2 implementing find', 'worker-3 implementing one'])
    runUntil(world, () => world.crew.tasks.every(({ state }) => state === 'done'))
    expect([taskOf(world, 'find'), taskOf(world)]).toMatchObject([
      { reviewer: null, commit: null },
      { reviewer: 'worker-1', commit: expect.any(String) },
    ])
    expect([world.submit({ type: 'approve_commit', task: 'one' }, USER), world.lastRefusal?.message]).toEqual([
      null,
      expect.stringContaining('is done'),
    ])
  })

  test.each([2, 3])('all workers implement, and a worker whose task waits reviews another (max workers: %s)', (maxWorkers) => {
    const world = startedWorld({ maxWorkers }, makeTasks('one', 'two'))
    expect(tasksOfMembers(world)).toEqual(['worker-1 implementing one', 'worker-2 implementing two'])
    runUntil(world, () => world.outcome !== null)
    expect(world.outcome).toBe('completed')
    expect(world.crew.members).toHaveLength(2)
    for (const { implementer, reviewer, attempts } of world.crew.tasks)
      expect([attempts, ...[implementer, reviewer].toSorted()]).toEqual([0, 'worker-1', 'worker-2'])
  })

  test('an earlier implementer gets the task or its review only when no other worker can', () => {
    const world = runUntilTask(startedWorld({ maxWorkers: 2 }), 'implementing')
    world.submit({ type: 'cancel_task', task: 'one', reason: 'r', requeue: true }, USER)
    expect(taskOf(world).implementer).toBe('worker-2')
    runUntilTask(world, 'in_review')
    expect(taskOf(world)).toMatchObject({ implementer: 'worker-2', reviewer: 'worker-1' })
    expect(world.journal.findLast(({ type }) => type === 'task.review')).toMatchObject({ earlier: true })
  })

  test('a lost worker is replaced, but not after five losses in a row; three losses before a first turn fail the task', () => {
    const world = startedWorld({ staff: staffOf('implementer'), maxWorkers: 1, reviews: false, maxAttempts: 9 }, makeTasks('one', 'two'))
    for (let time = 0; time < 5; time += 1) {
      runUntil(world, () => world.crew.members.at(-1)?.state === 'on')
      endProcess(world, world.requireProcess(world.crew.members.at(-1)?.id ?? 'worker-1'), 'agent')
    }
    expect(world.crew.members).toHaveLength(5)
    expect(taskOf(world)).toMatchObject({
      state: 'failed',
      attempts: 0,
      reason: '3 workers were lost before it was done; the last reason: worker-3 was lost: ended by agent',
    })
    expect(taskOf(world, 'two')).toMatchObject({
      state: 'failed',
      reason: 'no worker can do it, and none can be started: 5 workers in a row were lost; the last reason: ended by agent',
    })
    expect(world.outcome).toBe('failed')
  })

  test('a task fails if no worker can be started', () => {
    const world = startedWorld({ staff: [] }, [])
    addTasks(world, makeTasks('one'))
    while (world.outcome === null) {
      const [job] = world.jobs
      world.jobs = []
      world.submit({ type: 'job_done', job: job?.job ?? 0, result: { type: 'error', error: 'there is no key' } })
    }
    expect(taskOf(world).reason).toContain('there is no key')
  })

  test('a paused crew starts nothing, and catches up when it is resumed', () => {
    const world = startedWorld({ stay: true }, [])
    const submitPaused = (paused: boolean, command: Parameters<CrewWorld['submit']>[0]): void => {
      world.isPaused = paused
      world.submit(command, command.type === 'add_tasks' ? USER : { type: 'system' })
    }
    submitPaused(true, { type: 'add_tasks', tasks: makeTasks('one') })
    expect(tasksOfMembers(world)).toEqual([])
    submitPaused(false, { type: 'unpaused' })
    expect(tasksOfMembers(world)).toEqual(['worker-1 implementing one'])
    world.jobs = []
    submitPaused(false, { type: 'unpaused' })
    expect(world.jobs, 'a job without an answer is requested again').toMatchObject([{ type: 'prepare', task: 'one' }])
  })
})

describe('what the crew waits for', () => {
  test('a paused worker keeps its task, and a paused idle worker gets none', () => {
    const world = runUntilTask(startedWorld({ maxWorkers: 2 }), 'implementing')
    setMemberHeld(world, world.requireProcess('worker-1'), true)
    setMemberHeld(world, world.requireProcess('worker-2'), true)
    addTasks(world, makeTasks('two'))
    while (world.jobs[0]) performJob(world, world.jobs[0])
    expect(waitTexts(world)).toEqual([
      'one "the first" is implementing with worker-1, which is paused (user): resume or stop that worker (reeve resume)',
      'two "two" waits for a worker: worker-2 is idle and paused',
    ])
    setMemberHeld(world, world.requireProcess('worker-2'), false)
    expect(memberOf(world, 'worker-2').task).toBe('two')
    setMemberHeld(world, world.requireProcess('worker-1'), false)
    runUntil(world, () => world.outcome !== null)
  })

  test('each wait is shown: for the user, the coordinator, a start, a review, a conflict and the merge queue', () => {
    const world = startedWorld({ coordinator: 'agent', gate: 'coordinator' }, [
      ...makeTasks('one'),
      { id: 'ask', title: 'which?', text: 't', kind: 'human' },
    ])
    expect(waitTexts(world)).toEqual([
      'one "one" waits for the coordinator to assign it',
      'ask "which?" waits for the user: it is a question (reeve answer)',
    ])
    world.submit({ type: 'spawn_worker', role: 'reviewer' }, USER)
    expect(waitTexts(world)).toContain('worker-3 is being started')
    performJob(
      world,
      world.jobs[0] ??
        (() => {
          throw new Error('no job')
        })(),
    )
    world.submit({ type: 'assign_task', task: 'one', member: 'worker-1' }, USER)
    expect(waitTexts(world)).toContain('prepare of one is in progress')
    endProcess(world, world.requireProcess('coordinator'), 'person')
    expect(waitTexts(world)).toContain('no coordinator is running: resume or replace it, or stop the crew')
    runUntilTask(world, 'awaiting_review')
    expect(waitTexts(world)).toContain('one "one" waits for a reviewer')
    world.submit({ type: 'assign_review', task: 'one', member: 'worker-3' }, USER)
    runUntilTask(world, 'approved')
    expect(waitTexts(world)).toContain('one "one" waits for the coordinator\'s approval')
    world.submit({ type: 'approve_commit', task: 'one' }, USER)
    runUntilTask(world, 'merging')
    const merge = world.jobs.find(({ type }) => type === 'merge')
    world.jobs = []
    world.submit({ type: 'job_done', job: merge?.job ?? 0, result: { type: 'conflict', files: ['a'] } })
    expect(waitTexts(world)).toContain('one "one" is committed, and waits for task-3 to resolve its conflict')
    world.submit({ type: 'stop_worker', member: 'worker-2', reason: 'enough' }, USER)
    expect(waitTexts(world)).toContain('worker-2 is leaving: enough')
  })
})

describe('a coordinator that gives every worker a task', () => {
  const assignAs = (world: CrewWorld, task: string, member: 'worker-1' | 'worker-2', issuer: 'person' | 'coordinator'): string | null =>
    world.submit({ type: 'assign_task', task, member }, issuer === 'person' ? USER : senderOfMember(world.requireProcess('coordinator')))

  test('may let them review each other while their own tasks wait', () => {
    const world = startedWorld({ coordinator: 'agent', maxWorkers: 2 }, makeTasks('one', 'two'))
    expect([assignAs(world, 'one', 'worker-1', 'coordinator'), assignAs(world, 'two', 'worker-2', 'coordinator')]).not.toContain(null)
    runUntil(world, () => taskOf(world, 'one').state === 'awaiting_review')
    expect(refusalCode(world, { type: 'assign_review', task: 'one', member: 'worker-2' }), 'it implements').toBe('CONFLICT')
    const coordinatorIsIdle = (): boolean => {
      const proc = world.requireProcess('coordinator')
      if (proc.reading) proc.plan = []
      return world.crew.tasks.every(({ state }) => state === 'awaiting_review')
    }
    runUntil(world, coordinatorIsIdle)
    expect(waitTexts(world)).toEqual(['one', 'two'].map((id) => `${id} "${id}" waits for a reviewer`))
    world.submit({ type: 'assign_review', task: 'one', member: 'worker-2' }, USER)
    world.submit({ type: 'assign_review', task: 'two', member: 'worker-1' }, USER)
    expect(tasksOfMembers(world)).toEqual(['worker-1 reviewing two', 'worker-2 reviewing one'])
    runUntil(world, () => world.crew.tasks.every(({ verdict }) => verdict === 'APPROVED'))
  })
})

describe('a refused command has a hint', () => {
  const busyWorld = (): CrewWorld =>
    runUntilTask(
      startedWorld(
        {
          coordinator: 'agent',
          maxWorkers: 3,
          staff: [
            { role: 'generic', count: 2 },
            { role: 'reviewer', count: 1 },
          ],
        },
        [
          ...makeTasks('one', 'two'),
          { id: 'late', title: 'l', text: 't', needs: ['one'] },
          { id: 'ask', title: 'a', text: 't', kind: 'human' },
        ],
      ),
      'implementing',
    )
  const cases: readonly (readonly [Parameters<typeof refusalCode>[1], string])[] = [
    [{ type: 'add_task', id: 'one', title: 't', text: 't' }, 'CONFLICT'],
    [{ type: 'add_task', id: 'N o', title: 't', text: 't' }, 'INVALID'],
    [{ type: 'add_task', title: '', text: 't' }, 'INVALID'],
    [{ type: 'add_task', title: 't', text: ' ' }, 'INVALID'],
    [{ type: 'add_task', title: 't', text: 't', role: 'reviewer' }, 'INVALID'],
    [{ type: 'add_task', title: 't', text: 't', needs: ['nobody'] }, 'NOT_FOUND'],
    [{ type: 'add_tasks', tasks: [] }, 'INVALID'],
    [
      {
        type: 'add_tasks',
        tasks: [
          { id: 'x', title: 't', text: 't', needs: ['y'] },
          { id: 'y', title: 't', text: 't', needs: ['x'] },
        ],
      },
      'INVALID',
    ],
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

  test.each(cases.map(([command, code]) => [command.type, code, command] as const))('for %s, refused as %s', (_, code, command) => {
    const world = busyWorld()
    const before = world.crew
    expect(refusalCode(world, command), JSON.stringify(command).slice(0, 80)).toBe(code)
    expect(world.crew).toBe(before)
    expect(world.lastRefusal?.hint.length ?? 0).toBeGreaterThan(5)
  })

  test('a review is never assigned to the implementer or to a researcher', () => {
    const world = startedWorld({ coordinator: 'agent', staff: staffOf('generic', 'researcher', 'generic') })
    world.submit({ type: 'assign_task', task: 'one', member: 'worker-1' }, USER)
    // The coordinator of this world would assign the review, so its messages are removed.
    for (let steps = 0; taskOf(world).state !== 'awaiting_review' && steps < 50; steps += 1) {
      world.requireProcess('coordinator').queue = []
      playAct(world)
    }
    const codes = (['worker-1', 'worker-2'] as const).map((member) => refusalCode(world, { type: 'assign_review', task: 'one', member }))
    expect(codes).toEqual(['INVALID', 'INVALID'])
    expect(world.lastRefusal?.hint).toBe('Choose one of worker-3.')
    expect(world.submit({ type: 'assign_review', task: 'one', member: 'worker-3' }, USER)).toBe('worker-3 reviews one "the first"')
  })
})
