// The turns of members: every outcome of a worker's turn, late and repeated reports, lost messages, and handover of members with a full
// context. `orchestrator defect N` names the defect of an earlier orchestrator that the test rules out.
import { describe, expect, test } from 'vitest'
import {
  runWithoutFaults,
  beginTurn,
  senderOfMember,
  performJob,
  endTurn,
  continueTurn,
} from '../../../../support/crew-world/regular-work.ts'
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
import type { CrewFact } from '../../../../../src/kernel/model/crew/facts.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId } from '../../../../../src/kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../../../src/kernel/model/process-spec.ts'

type Turn = Extract<CrewFact, { type: 'crew.turn' }>

function turnEnds(world: CrewWorld, id: MemberId): string[] {
  return world.journal.filter((fact): fact is Turn => fact.type === 'crew.turn' && fact.member === id).map(({ end }) => end)
}

/** The member has a turn, which a message from `sender` begins, and calls no tool. */
function playSilentTurn(
  world: CrewWorld,
  id: MemberId,
  sender: 'user' | 'system' | 'coordinator',
  outcome: 'ok' | 'error' | 'interrupted' = 'ok',
): void {
  const proc = world.requireProcess(id)
  proc.turn += 1
  world.submit({ type: 'turn_begun', member: id, turn: proc.turn, from: [sender] })
  world.submit({ type: 'turn_ended', member: id, turn: proc.turn, outcome })
}

/** The member reads its messages, and calls no tool. */
function readSilently(world: CrewWorld, id: MemberId): void {
  const proc = world.requireProcess(id)
  runUntil(world, () => proc.reading !== null)
  proc.plan = []
  endTurn(world, proc, 'ok')
}

/** A world in which worker-1 has ended its first turn, and is idle. */
function worldWithIdleWorker(changes: Partial<CrewSpec> = {}): CrewWorld {
  const world = startedWorld({ coordinator: 'agent', ...changes }, [])
  playSilentTurn(world, 'worker-1', 'coordinator')
  return world
}

describe('every turn must end with a report, whatever started it (orchestrator defect 7)', () => {
  test('the first turn of a new worker or successor is exempt', () => {
    const world = worldWithIdleWorker()
    expect(turnEnds(world, 'worker-1')).toEqual(['exempt'])
    world.submit({ type: 'replace_worker', member: 'worker-1', summary: 's' }, USER)
    runUntil(world, () => memberOf(world, 'worker-3').state === 'on')
    readSilently(world, 'worker-3')
    expect(turnEnds(world, 'worker-3')).toEqual(['exempt'])
    expect(memberOf(world, 'worker-3').fresh).toBe(false)
  })

  test('after two reminders the turn is accepted, and the coordinator is notified', () => {
    const world = worldWithIdleWorker()
    playSilentTurn(world, 'worker-1', 'user')
    for (let time = 0; time < 2; time += 1) readSilently(world, 'worker-1')
    expect(turnEnds(world, 'worker-1')).toEqual(['exempt', 'reminded', 'reminded', 'through'])
    const { queue } = world.requireProcess('coordinator')
    expect(queue.at(-1)?.text).toBe('worker-1 ended its turn without a report after 2 reminders.')
  })

  test.each([
    ['user', 'reminded'],
    ['coordinator', 'reminded'],
    ['system', 'through'],
  ] as const)('after the reminders, a turn that a message from %s begins ends as %s', (sender, expectedEnd) => {
    const world = worldWithIdleWorker()
    playSilentTurn(world, 'worker-1', 'user')
    readSilently(world, 'worker-1')
    readSilently(world, 'worker-1')
    playSilentTurn(world, 'worker-1', sender)
    expect(turnEnds(world, 'worker-1').at(-1)).toBe(expectedEnd)
  })

  test('signal_ready and post_message close a turn; refused reports do not', () => {
    for (const [command, expectedEnd] of [
      [{ type: 'signal_ready' }, 'complete'],
      [{ type: 'post_message', to: 'coordinator', text: 'hm' }, 'complete'],
      [{ type: 'report_implementation_complete', summary: 's' }, 'reminded'],
      [{ type: 'report_review_verdict', verdict: 'APPROVED', comments: '' }, 'reminded'],
    ] as const) {
      const world = worldWithIdleWorker()
      const proc = world.requireProcess('worker-1')
      proc.turn += 1
      world.submit({ type: 'turn_begun', member: 'worker-1', turn: proc.turn, from: ['user'] })
      world.submit(command, senderOfMember(proc))
      world.submit({ type: 'turn_ended', member: 'worker-1', turn: proc.turn, outcome: 'ok' })
      expect(turnEnds(world, 'worker-1').at(-1), command.type).toBe(expectedEnd)
    }
  })

  test('failed turns and coordinators are exempt', () => {
    const world = worldWithIdleWorker()
    playSilentTurn(world, 'worker-1', 'user', 'error')
    expect(turnEnds(world, 'worker-1').at(-1)).toBe('failed')
    playSilentTurn(world, 'coordinator', 'user')
    expect(turnEnds(world, 'coordinator')).toEqual(['complete'])
  })

  test('a member with queued messages or open jobs is not reminded', () => {
    const world = worldWithIdleWorker({ coordinator: 'engine' })
    const proc = world.requireProcess('worker-1')
    proc.turn += 1
    world.submit({ type: 'turn_begun', member: 'worker-1', turn: proc.turn, from: ['user'] })
    world.submit({ type: 'turn_ended', member: 'worker-1', turn: proc.turn, outcome: 'ok', queued: 1 })
    expect(turnEnds(world, 'worker-1').at(-1)).toBe('waits')
    world.submit({ type: 'add_task', title: 't', text: 't' }, USER)
    playSilentTurn(world, 'worker-1', 'user')
    expect(memberOf(world, 'worker-1').phase).toBe('implementing')
    expect(turnEnds(world, 'worker-1').at(-1)).toBe('waits')
  })
})

describe('no worker stays stuck in a phase under the engine', () => {
  test.each([
    ['calls no tool', false],
    ['only asks questions', true],
  ] as const)('an implementer that %s is reminded, then another worker gets the task', (_, asksUser) => {
    const world = runUntilTask(startedWorld(), 'implementing')
    for (let time = 0; time < 4; time += 1) {
      runUntil(world, () => world.requireProcess('worker-1').reading !== null)
      const proc = world.requireProcess('worker-1')
      proc.plan = []
      if (asksUser) world.submit({ type: 'post_message', to: 'coordinator', text: 'how?' }, senderOfMember(proc))
      endTurn(world, proc, 'ok')
    }
    expect(turnEnds(world, 'worker-1')).toEqual(['exempt', 'reminded', 'reminded', 'through'])
    expect(taskOf(world)).toMatchObject({
      attempts: 1,
      implementer: 'worker-2',
      reason: expect.stringContaining(asksUser ? 'was reminded 2 times' : 'without a report'),
    })
    expect(memberOf(world, 'worker-1').phase).toBe('idle')
    runWithoutFaults(world, 200)
    expect(taskOf(world).state).toBe('done')
  })

  test('the review of a silent reviewer goes to another worker, and at last to the user', () => {
    const world = runUntilTask(startedWorld({ maxAttempts: 2 }), 'in_review')
    for (let time = 0; taskOf(world).state === 'in_review' && time < 20; time += 1)
      readSilently(world, taskOf(world).reviewer ?? 'worker-2')
    expect(taskOf(world)).toMatchObject({ state: 'waiting', unreviewed: 2, ask: { for: 'review' }, attempts: 0 })
    expect(memberOf(world, 'worker-2').phase).toBe('idle')
  })

  test('a worker whose turn was cut off is asked to continue', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    runUntil(world, () => world.requireProcess('worker-1').reading !== null)
    endTurn(world, world.requireProcess('worker-1'), 'interrupted')
    expect(world.requireProcess('worker-1').queue.at(-1)?.text).toContain('Your turn was cut off. You are working on one: continue')
  })
})

test('a command that the state tables do not allow is refused and changes nothing (orchestrator defect 1)', () => {
  // test/simulation/crew.test.ts covers more than 50,000 of these cases. In the earlier orchestrator, hand-written code rolled this one
  // back.
  const world = runUntilTask(startedWorld(), 'implementing')
  const before = world.crew
  expect(refusalCode(world, { type: 'assign_task', task: 'one', member: 'worker-2' })).toBe('CONFLICT')
  expect(refusalCode(world, { type: 'assign_review', task: 'one', member: 'worker-2' })).toBe('CONFLICT')
  expect(world.crew).toBe(before)
})

test('a denied task is fixed and committed, and its worker is idle afterwards (orchestrator defect 2)', () => {
  const world = runUntilTask(startedWorld({ stay: true }), 'in_review')
  runUntil(world, () => world.requireProcess('worker-2').reading !== null)
  world.requireProcess('worker-2').plan = []
  world.submit({ type: 'report_review_verdict', verdict: 'DENIED', comments: 'no' }, senderOfMember(world.requireProcess('worker-2')))
  expect(memberOf(world, 'worker-1').phase).toBe('addressing_feedback')
  runUntilTask(world, 'done')
  expect(taskOf(world)).toMatchObject({ denials: 1, attempts: 1, verdict: 'APPROVED' })
  expect(memberOf(world, 'worker-1')).toMatchObject({ phase: 'idle', task: null })
})

test('a failed turn counts as a failed attempt of its own task only (orchestrator defect 3)', () => {
  const world = runUntilTask(startedWorld(), 'implementing')
  runUntil(world, () => world.requireProcess('worker-1').reading !== null)
  endTurn(world, world.requireProcess('worker-1'), 'error')
  expect(taskOf(world)).toMatchObject({ attempts: 1, reason: 'a turn of worker-1 failed' })
  world.submit({ type: 'add_task', id: 'two', title: 'the second', text: 'Do it.' }, USER)
  runUntil(world, () => world.crew.tasks.every(({ state }) => state === 'done'))
  expect(taskOf(world, 'two').attempts).toBe(0)
  expect(turnEnds(world, 'worker-1').filter((end) => end === 'failed')).toHaveLength(1)
})

describe('late commands change nothing (orchestrator defect 4)', () => {
  test('such as the end of a turn that is not open; the end of a turn does not end a pause', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    runUntil(world, () => world.requireProcess('worker-1').reading !== null)
    const before = world.crew
    world.submit({ type: 'turn_ended', member: 'worker-1', turn: 7, outcome: 'error' })
    world.submit({ type: 'turn_ended', member: 'worker-2', turn: 1, outcome: 'error' })
    expect(world.crew).toBe(before)
    world.submit({ type: 'member_held', member: 'worker-1', held: true })
    world.submit({ type: 'turn_ended', member: 'worker-1', turn: 1, outcome: 'ok' })
    expect(memberOf(world, 'worker-1'), 'it stays paused').toMatchObject({ held: true, phase: 'implementing' })
  })

  test('a turn that fails after its task was reopened for the same worker does not count for the new attempt', () => {
    const world = runUntilTask(
      startedWorld({ stay: true, git: null, maxAttempts: 1, maxWorkers: 1, staff: [{ role: 'generic', count: 1 }] }),
      'implementing',
    )
    const proc = world.requireProcess('worker-1')
    runUntil(world, () => proc.reading !== null && memberOf(world, 'worker-1').turn.task === 'one')
    world.submit({ type: 'mark_task_done', task: 'one', reason: 'it is there' }, USER)
    world.submit({ type: 'reopen_task', task: 'one', comments: 'it is not' }, USER)
    expect(memberOf(world, 'worker-1')).toMatchObject({ task: 'one', phase: 'implementing', turn: { open: proc.turn } })
    endTurn(world, proc, 'error')
    expect(taskOf(world)).toMatchObject({ state: 'implementing', attempts: 0, implementer: 'worker-1' })
  })

  test('such as a report of another turn, or of a task that was assigned in the middle of the turn', () => {
    const world = startedWorld({ git: null, coordinator: 'agent' })
    world.submit({ type: 'assign_task', task: 'one', member: 'worker-1' }, USER)
    const proc = world.requireProcess('worker-1')
    runUntil(world, () => proc.reading !== null)
    const report = { type: 'report_implementation_complete', summary: 's' } as const
    expect(refusalCode(world, report, senderOfMember({ id: 'worker-1', turn: 7 }))).toBe('LATE')
    world.submit({ type: 'cancel_task', task: 'one', reason: 'another idea', requeue: false }, USER)
    world.submit({ type: 'add_task', id: 'two', title: 't', text: 't' }, USER)
    world.submit({ type: 'assign_task', task: 'two', member: 'worker-1' }, USER)
    expect(refusalCode(world, report, senderOfMember(proc))).toBe('LATE')
    expect(taskOf(world, 'two')).toMatchObject({ state: 'implementing', prepared: false, implementer: 'worker-1' })
    runUntil(world, () => taskOf(world, 'two').state === 'awaiting_review')
    expect(world.requireProcess('worker-1').turn, 'the report came in a turn of its own').toBeGreaterThan(1)
  })

  test('a done task never changes', () => {
    const world = runUntilTask(startedWorld({ stay: true }), 'done')
    for (const command of [
      { type: 'cancel_task', task: 'one', reason: 'r', requeue: true },
      { type: 'mark_task_failed', task: 'one', reason: 'r' },
      { type: 'assign_task', task: 'one', member: 'worker-1' },
      { type: 'approve_commit', task: 'one' },
    ] as const)
      expect(refusalCode(world, command), command.type).toBe('CONFLICT')
    for (const answeredJob of world.answeredJobs) world.submit({ type: 'job_done', ...answeredJob })
    expect(taskOf(world)).toMatchObject({ state: 'done' })
    expect(world.journal.filter(({ type }) => type === 'task.done')).toHaveLength(1)
  })

  test('a repeated call gets the same answer and changes nothing', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    const proc = world.requireProcess('worker-1')
    runUntil(world, () => proc.reading !== null)
    const issuer = senderOfMember(proc, 'call-1')
    const firstAnswer = world.submit({ type: 'report_implementation_complete', summary: 's' }, issuer)
    const before = world.crew
    expect(world.submit({ type: 'report_implementation_complete', summary: 's' }, issuer)).toBe(firstAnswer)
    expect(world.crew).toBe(before)
    expect(
      refusalCode(world, { type: 'report_implementation_complete', summary: 's' }, senderOfMember(proc, 'call-2')),
      'another call',
    ).toBe('CONFLICT')
  })
})

test('messages keep their order, also for a successor (orchestrator defect 6)', () => {
  const world = runUntilTask(startedWorld(), 'implementing')
  runUntil(world, () => world.requireProcess('worker-1').reading !== null)
  for (const text of ['first', 'second', 'third']) world.submit({ type: 'send_message', to: 'worker-1', text }, USER)
  world.submit({ type: 'replace_worker', member: 'worker-1', summary: 's' }, USER)
  runUntil(world, () => memberOf(world, 'worker-3').state === 'on')
  expect(
    world
      .requireProcess('worker-3')
      .queue.map(({ text }) => text)
      .slice(0, 3),
  ).toEqual(['first', 'second', 'third'])
  expect(world.requireProcess('worker-1').queue).toEqual([])
})

test('a failed task blocks no worker (orchestrator defect 11)', () => {
  const world = runUntilTask(startedWorld({ stay: true }), 'in_review')
  world.submit({ type: 'mark_task_failed', task: 'one', reason: 'r' }, USER)
  expect(world.crew.members.map(({ phase, task }) => [phase, task])).toEqual([
    ['idle', null],
    ['idle', null],
  ])
  // test/tables/kernel/crew/state/transition-tables.test.ts covers stopped, replaced and lost members in each state.
})

describe('lost messages are sent again to', () => {
  const loseMessages = (world: CrewWorld, id: MemberId): void => {
    const proc = world.requireProcess(id)
    proc.queue = []
    world.submit({ type: 'member_running', member: id, uuid: proc.uuid, turn: null, queued: 0 })
  }

  test('a reviewer', () => {
    const world = runUntilTask(startedWorld(), 'in_review')
    runUntil(world, () => world.requireProcess('worker-2').queue.length > 0)
    loseMessages(world, 'worker-2')
    expect(world.crew.jobs).toMatchObject([{ type: 'brief', member: 'worker-2' }])
    runUntil(world, () => world.requireProcess('worker-2').reading?.text.startsWith('Review one') === true)
    runUntilTask(world, 'done')
  })

  test('an implementer, whose files stay unchanged', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    runUntil(world, () => world.requireProcess('worker-1').queue.length > 0)
    world.requireProcess('worker-1').isDirty = true
    loseMessages(world, 'worker-1')
    runUntil(world, () => world.requireProcess('worker-1').reading?.text.startsWith('Task one') === true)
    expect(world.requireProcess('worker-1').isDirty).toBe(true)
    expect(world.journal.filter((fact) => fact.type === 'crew.job' && fact.job.type === 'prepare')).toHaveLength(1)
    runUntilTask(world, 'done')
  })

  test('a committing worker, after a check of the branch', () => {
    const world = runUntilTask(startedWorld(), 'committing')
    loseMessages(world, 'worker-1')
    runUntil(world, () => world.requireProcess('worker-1').reading?.text.includes('is not committed yet') === true)
    runUntilTask(world, 'done')
  })

  test('a coordinator, with a briefing about the crew', () => {
    const world = startedWorld({ coordinator: 'agent' })
    loseMessages(world, 'coordinator')
    expect(world.requireProcess('coordinator').queue[0]?.text).toContain('- one "the first": queued')
  })

  test('no member without a task', () => {
    const world = startedWorld({ coordinator: 'agent' })
    world.submit({ type: 'send_message', to: 'worker-1', text: 'hello' }, USER)
    expect(memberOf(world, 'worker-1').told).toBe(true)
    loseMessages(world, 'worker-1')
    expect(memberOf(world, 'worker-1').told).toBe(false)
  })
})

describe('a member whose context is nearly full', () => {
  test('is asked for a summary, and its successor continues with that and the files', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    runUntil(world, () => world.requireProcess('worker-1').reading !== null)
    world.requireProcess('worker-1').plan = []
    world.submit({ type: 'member_context_full', member: 'worker-1', share: 0.91 })
    endTurn(world, world.requireProcess('worker-1'), 'ok')
    expect(
      transcriptOf(world, () => {
        beginTurn(world, world.requireProcess('worker-1'))
        while (world.requireProcess('worker-1').reading) continueTurn(world, world.requireProcess('worker-1'))
        runUntil(world, () => world.procs.get('worker-3')?.reading?.text.startsWith('Task') ?? false)
      }),
    ).toMatchInlineSnapshot(`
      "
      crew.turn.begun worker-1 2 false
      task.message one worker-1 coordinator
      crew.member worker-3 generic
      crew.job spawn worker-3
      crew.replaced worker-1 worker-3 "half of it is done"
      crew.turn worker-1 2 ok complete one
      crew.job.done 4 spawned
      crew.joined worker-3 u-worker-3 true
      crew.leaving worker-1 replaced "worker-3 took over"
      crew.left worker-1 replaced "ended by parent"
      crew.job prepare worker-3 one from worker-1
      crew.job.done 5 prepared
      task.prepared one base
      crew.turn.begun worker-3 1 true
        -> queue of worker-1 to worker-3
        -> retire worker-1
        -> coordinator to worker-3: Task one "the first"
      "
    `)
    expect(world.requireProcess('worker-3').reading?.text).toContain('It wrote: half of it is done')
    expect(taskOf(world)).toMatchObject({ implementer: 'worker-3', attempts: 0 })
  })

  test('repeated handovers end as a failed attempt', () => {
    const world = startedWorld({ maxAttempts: 1 })
    for (let time = 0; taskOf(world).state !== 'failed' && time < 20; time += 1) {
      const id = taskOf(world).implementer
      const proc = runUntil(world, () => id !== null && world.procs.get(id)?.reading?.text.startsWith('Task') === true).requireProcess(
        id ?? 'worker-1',
      )
      world.submit({ type: 'member_context_full', member: proc.id, share: 0.95 })
      proc.plan = []
      endTurn(world, proc, 'ok')
      beginTurn(world, proc)
      endTurn(world, proc, 'ok')
    }
    expect(taskOf(world)).toMatchObject({
      state: 'failed',
      reason: 'its only attempt failed; the last reason: the contexts of 5 workers in a row were too small for it',
    })
  })

  test('needs no successor when it finishes in the same turn, and is retired when idle', () => {
    const world = runUntilTask(startedWorld({ reviews: false, stay: true }), 'implementing')
    runUntil(world, () => world.requireProcess('worker-1').reading !== null)
    world.submit({ type: 'member_context_full', member: 'worker-1', share: 0.91 })
    runUntilTask(world, 'done')
    runUntil(world, () => memberOf(world, 'worker-1').state === 'gone')
    expect(memberOf(world, 'worker-1').leave?.how).toBe('retired')
  })

  test('is asked to replace itself if it coordinates', () => {
    const world = startedWorld({ coordinator: 'agent', stay: true }, [])
    runUntil(world, () => world.requireProcess('coordinator').reading === null && world.requireProcess('coordinator').queue.length === 0)
    world.submit({ type: 'member_context_full', member: 'coordinator', share: 0.9 })
    runUntil(world, () => memberOf(world, 'coordinator').state === 'gone')
    expect(memberOf(world, 'coordinator-2')).toMatchObject({ state: 'on', heirOf: 'coordinator' })
    expect(world.requireProcess('coordinator-2').queue.concat(world.requireProcess('coordinator-2').reading ?? [])[0]?.text).toContain(
      'It wrote: so far so good',
    )
  })

  test('stays if it coordinates and its successor cannot be started', () => {
    const world = startedWorld({ coordinator: 'agent', stay: true }, [])
    world.submit({ type: 'replace_worker', member: 'coordinator', summary: 's' }, USER)
    const job = world.jobs.find(({ type }) => type === 'spawn')
    world.submit({ type: 'job_done', job: job?.job ?? 0, result: { type: 'error', error: 'no memory' } })
    expect(memberOf(world, 'coordinator')).toMatchObject({ state: 'on', heir: null })
    expect(world.crew.members.filter(({ role, state }) => role === 'coordinator' && state !== 'gone')).toHaveLength(1)
  })
})

describe('a coordinator', () => {
  test('is notified of a report at once, exactly once', () => {
    const world = startedWorld({ coordinator: 'agent' })
    const proc = world.requireProcess('coordinator')
    world.submit({ type: 'assign_task', task: 'one', member: 'worker-1' }, USER)
    runUntil(world, () => world.requireProcess('worker-1').reading !== null && proc.reading === null && proc.queue.length === 0)
    world.submit({ type: 'report_implementation_complete', summary: 'all of it' }, senderOfMember(world.requireProcess('worker-1'), 'c'))
    world.submit({ type: 'report_implementation_complete', summary: 'all of it' }, senderOfMember(world.requireProcess('worker-1'), 'c'))
    expect(proc.queue).toEqual([
      { id: expect.any(String), from: 'agent:u-worker-1', text: 'worker-1 reports one "the first" complete: all of it' },
    ])
  })

  test('that is lost repeatedly gets no more successors, and the user is notified', () => {
    const world = startedWorld({ coordinator: 'agent' })
    for (const id of ['coordinator', 'coordinator-2', 'coordinator-3', 'coordinator-4', 'coordinator-5'] as const) {
      world.requireProcess(id).isAlive = false
      world.submit({ type: 'member_gone', member: id, cause: 'agent', reason: 'it crashed' })
      for (const job of world.jobs.filter(({ type }) => type === 'spawn')) performJob(world, job)
    }
    expect(world.journal.filter(({ type }) => type === 'crew.notified')).toEqual([
      { type: 'crew.notified', text: 'coordinator-5 is gone, and the crew has no coordinator: resume it, replace it, or stop the crew.' },
    ])
  })

  test('that is lost gets a successor with a briefing; one that the user killed gets none', () => {
    const world = runUntilTask(startedWorld({ coordinator: 'agent' }), 'implementing')
    world.requireProcess('coordinator').isAlive = false
    world.submit({ type: 'member_gone', member: 'coordinator', cause: 'agent', reason: 'it crashed' })
    for (const job of world.jobs.filter(({ type }) => type === 'spawn')) performJob(world, job)
    expect(world.requireProcess('coordinator-2').queue[0]?.text).toContain('- one "the first": implementing, worker-1')
    world.requireProcess('coordinator-2').isAlive = false
    world.submit({ type: 'member_gone', member: 'coordinator-2', cause: 'person', reason: 'killed' })
    expect(world.jobs.filter(({ type }) => type === 'spawn')).toEqual([])
    expect(world.notices.at(-1)).toBe('coordinator-2 is gone, and the crew has no coordinator: resume it, replace it, or stop the crew.')
    expect(
      world.journal.filter(({ type }) => type === 'crew.notified'),
      'who killed it knows',
    ).toEqual([])
    expect(world.submit({ type: 'replace_worker', member: 'coordinator', summary: 'anew' }, USER)).toBe(
      'coordinator-3 is being started; it sees the tasks and gets the unread messages of coordinator-2',
    )
  })
})
