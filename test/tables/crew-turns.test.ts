// Turn completion: what becomes of the end of a worker's turn, in every case; reports that come late or twice; hand-over of who is
// nearly full; and a coordinator that does nothing. `perles N` are lessons of an orchestrator that had these defects.
import { describe, expect, test } from 'vitest'
import { behave, beginTurn, byMember, doJob, endTurn, goOn } from '../support/crew-world/life.ts'
import { memberOf, PERSON, refused, taskOf, told, until, untilTask, up } from '../support/crew-world/story.ts'
import type { CrewFact } from '../../src/crew/facts.ts'
import type { CrewSpec, MemberId } from '../../src/crew/types.ts'
import type { World } from '../support/crew-world/world.ts'

type Turn = Extract<CrewFact, { type: 'crew.turn' }>

function ends(world: World, id: MemberId): string[] {
  return world.journal.filter((fact): fact is Turn => fact.type === 'crew.turn' && fact.member === id).map(({ end }) => end)
}

/** A turn of it, begun by who, in which it says nothing. */
function silentTurn(world: World, id: MemberId, from: 'user' | 'system' | 'coordinator', outcome: 'ok' | 'error' | 'interrupted' = 'ok'): void {
  const proc = world.need(id)
  proc.turn += 1
  world.say({ type: 'turn_begun', member: id, turn: proc.turn, from: [from] })
  world.say({ type: 'turn_ended', member: id, turn: proc.turn, outcome })
}

/** It reads what it was sent, and says nothing. */
function readSilently(world: World, id: MemberId): void {
  const proc = world.need(id)
  until(world, () => proc.reading !== null)
  proc.plan = []
  endTurn(world, proc, 'ok')
}

/** worker-1 has its first turn behind it, and does nothing. */
function rested(more: Partial<CrewSpec> = {}): World {
  const world = up({ coordinator: 'agent', ...more }, [])
  silentTurn(world, 'worker-1', 'coordinator')
  return world
}

describe('perles 7: every turn must end with a report, whoever began it', () => {
  test('but the first one of a new worker, and of a successor', () => {
    const world = rested()
    expect(ends(world, 'worker-1')).toEqual(['exempt'])
    world.say({ type: 'replace_worker', member: 'worker-1', summary: 's' }, PERSON)
    until(world, () => memberOf(world, 'worker-3').state === 'on')
    readSilently(world, 'worker-3')
    expect(ends(world, 'worker-3')).toEqual(['exempt'])
    expect(memberOf(world, 'worker-3').fresh).toBe(false)
  })

  test('two reminders, then it is let through, and the coordinator is told', () => {
    const world = rested()
    silentTurn(world, 'worker-1', 'user')
    for (let time = 0; time < 2; time += 1) readSilently(world, 'worker-1')
    expect(ends(world, 'worker-1')).toEqual(['exempt', 'reminded', 'reminded', 'through'])
    const { queue } = world.need('coordinator')
    expect(queue.at(-1)?.text).toBe('worker-1 ended its turn without a word, after 2 reminders.')
  })

  test.each([['user', 'reminded'], ['coordinator', 'reminded'], ['system', 'through']] as const)('a message of %s after that: %s', (from, end) => {
    const world = rested()
    silentTurn(world, 'worker-1', 'user')
    readSilently(world, 'worker-1')
    readSilently(world, 'worker-1')
    silentTurn(world, 'worker-1', from)
    expect(ends(world, 'worker-1').at(-1)).toBe(end)
  })

  test('each of the four tools ends a turn rightly, also refused ones do not', () => {
    for (const [command, end] of [
      [{ type: 'signal_ready' }, 'complete'],
      [{ type: 'post_message', to: 'coordinator', text: 'hm' }, 'complete'],
      [{ type: 'report_implementation_complete', summary: 's' }, 'reminded'],
      [{ type: 'report_review_verdict', verdict: 'APPROVED', comments: '' }, 'reminded'],
    ] as const) {
      const world = rested()
      const proc = world.need('worker-1')
      proc.turn += 1
      world.say({ type: 'turn_begun', member: 'worker-1', turn: proc.turn, from: ['user'] })
      world.say(command, byMember(proc))
      world.say({ type: 'turn_ended', member: 'worker-1', turn: proc.turn, outcome: 'ok' })
      expect(ends(world, 'worker-1').at(-1), command.type).toBe(end)
    }
  })

  test('failed turns and coordinators are exempt', () => {
    const world = rested()
    silentTurn(world, 'worker-1', 'user', 'error')
    expect(ends(world, 'worker-1').at(-1)).toBe('failed')
    silentTurn(world, 'coordinator', 'user')
    expect(ends(world, 'coordinator')).toEqual(['complete'])
  })

  test('who has more to read, or waits for its files, is not reminded now', () => {
    const world = rested({ coordinator: 'engine' })
    const proc = world.need('worker-1')
    proc.turn += 1
    world.say({ type: 'turn_begun', member: 'worker-1', turn: proc.turn, from: ['user'] })
    world.say({ type: 'turn_ended', member: 'worker-1', turn: proc.turn, outcome: 'ok', queued: 1 })
    expect(ends(world, 'worker-1').at(-1)).toBe('waits')
    world.say({ type: 'add_task', title: 't', text: 't' }, PERSON)
    silentTurn(world, 'worker-1', 'user')
    expect(memberOf(world, 'worker-1').phase).toBe('implementing')
    expect(ends(world, 'worker-1').at(-1)).toBe('waits')
  })
})

describe('nobody is stuck in a phase, where a program coordinates', () => {
  test.each([['says nothing', false], ['asks, and asks', true]] as const)('an implementer that %s: it is told to go on, then the task is another\'s', (_, asks) => {
    const world = untilTask(up(), 'implementing')
    for (let time = 0; time < 4; time += 1) {
      until(world, () => world.need('worker-1').reading !== null)
      const proc = world.need('worker-1')
      proc.plan = []
      if (asks) world.say({ type: 'post_message', to: 'coordinator', text: 'how?' }, byMember(proc))
      endTurn(world, proc, 'ok')
    }
    expect(ends(world, 'worker-1')).toEqual(['exempt', 'reminded', 'reminded', 'through'])
    expect(taskOf(world)).toMatchObject({ attempts: 1, implementer: 'worker-2', reason: expect.stringContaining(asks ? 'was reminded 2 times' : 'without a word') })
    expect(memberOf(world, 'worker-1').phase).toBe('idle')
    behave(world, 200)
    expect(taskOf(world).state).toBe('done')
  })

  test('a reviewer that says nothing: the review is another\'s, and in the end a person\'s', () => {
    const world = untilTask(up({ maxAttempts: 2 }), 'in_review')
    for (let time = 0; taskOf(world).state === 'in_review' && time < 20; time += 1) readSilently(world, taskOf(world).reviewer ?? 'worker-2')
    expect(taskOf(world)).toMatchObject({ state: 'waiting', unreviewed: 2, ask: { for: 'review' }, attempts: 0 })
    expect(memberOf(world, 'worker-2').phase).toBe('idle')
  })

  test('a turn that was cut off: it is told to go on', () => {
    const world = untilTask(up(), 'implementing')
    until(world, () => world.need('worker-1').reading !== null)
    endTurn(world, world.need('worker-1'), 'interrupted')
    expect(world.need('worker-1').queue.at(-1)?.text).toContain('Your turn was cut off. You work on one: go on')
  })
})

test('perles 1: whatever is said in whatever order, states change by the tables alone', () => {
  // test/simulation/crew.test.ts says more than 50,000 of these; here is the one that had been done by hand, with a roll-back.
  const world = untilTask(up(), 'implementing')
  const before = world.crew
  expect(refused(world, { type: 'assign_task', task: 'one', member: 'worker-2' })).toBe('CONFLICT')
  expect(refused(world, { type: 'assign_review', task: 'one', member: 'worker-2' })).toBe('CONFLICT')
  expect(world.crew).toBe(before)
})

test('perles 2: what is denied is repaired and committed, and its worker is idle after that', () => {
  const world = untilTask(up({ stay: true }), 'in_review')
  until(world, () => world.need('worker-2').reading !== null)
  world.need('worker-2').plan = []
  world.say({ type: 'report_review_verdict', verdict: 'DENIED', comments: 'no' }, byMember(world.need('worker-2')))
  expect(memberOf(world, 'worker-1').phase).toBe('addressing_feedback')
  untilTask(world, 'done')
  expect(taskOf(world)).toMatchObject({ denials: 1, attempts: 1, verdict: 'APPROVED' })
  expect(memberOf(world, 'worker-1')).toMatchObject({ phase: 'idle', task: null })
})

test('perles 3: a failed turn costs its own task a try, and later turns are not touched by it', () => {
  const world = untilTask(up(), 'implementing')
  until(world, () => world.need('worker-1').reading !== null)
  endTurn(world, world.need('worker-1'), 'error')
  expect(taskOf(world)).toMatchObject({ attempts: 1, reason: 'a turn of worker-1 failed' })
  world.say({ type: 'add_task', id: 'two', title: 'the second', text: 'Do it.' }, PERSON)
  until(world, () => world.crew.tasks.every(({ state }) => state === 'done'))
  expect(taskOf(world, 'two').attempts).toBe(0)
  expect(ends(world, 'worker-1').filter((end) => end === 'failed')).toHaveLength(1)
})

describe('perles 4: what is late changes nothing', () => {
  test('the end of another turn, and of who is gone', () => {
    const world = untilTask(up(), 'implementing')
    until(world, () => world.need('worker-1').reading !== null)
    const before = world.crew
    world.say({ type: 'turn_ended', member: 'worker-1', turn: 7, outcome: 'error' })
    world.say({ type: 'turn_ended', member: 'worker-2', turn: 1, outcome: 'error' })
    expect(world.crew).toBe(before)
    world.say({ type: 'member_held', member: 'worker-1', held: true })
    world.say({ type: 'turn_ended', member: 'worker-1', turn: 1, outcome: 'ok' })
    expect(memberOf(world, 'worker-1'), 'it stays paused').toMatchObject({ held: true, phase: 'implementing' })
  })

  test('a report of an old turn, and of a task that was given in the middle of this one', () => {
    const world = up({ git: null, coordinator: 'agent' })
    world.say({ type: 'assign_task', task: 'one', member: 'worker-1' }, PERSON)
    const proc = world.need('worker-1')
    until(world, () => proc.reading !== null)
    const report = { type: 'report_implementation_complete', summary: 's' } as const
    expect(refused(world, report, byMember({ id: 'worker-1', turn: 7 }))).toBe('LATE')
    world.say({ type: 'cancel_task', task: 'one', reason: 'another idea', requeue: false }, PERSON)
    world.say({ type: 'add_task', id: 'two', title: 't', text: 't' }, PERSON)
    world.say({ type: 'assign_task', task: 'two', member: 'worker-1' }, PERSON)
    expect(refused(world, report, byMember(proc))).toBe('LATE')
    expect(taskOf(world, 'two')).toMatchObject({ state: 'implementing', prepared: false, implementer: 'worker-1' })
    until(world, () => taskOf(world, 'two').state === 'awaiting_review')
    expect(world.need('worker-1').turn, 'it was said in a turn of its own').toBeGreaterThan(1)
  })

  test('a completion is never downgraded', () => {
    const world = untilTask(up({ stay: true }), 'done')
    for (const command of [
      { type: 'cancel_task', task: 'one', reason: 'r', requeue: true },
      { type: 'mark_task_failed', task: 'one', reason: 'r' },
      { type: 'assign_task', task: 'one', member: 'worker-1' },
      { type: 'approve_commit', task: 'one' },
    ] as const) expect(refused(world, command), command.type).toBe('CONFLICT')
    for (const given of world.given) world.say({ type: 'job_done', ...given })
    expect(taskOf(world)).toMatchObject({ state: 'done' })
    expect(world.journal.filter(({ type }) => type === 'task.done')).toHaveLength(1)
  })

  test('a call that is repeated is answered the same, and changes nothing', () => {
    const world = untilTask(up(), 'implementing')
    const proc = world.need('worker-1')
    until(world, () => proc.reading !== null)
    const by = byMember(proc, 'call-1')
    const first = world.say({ type: 'report_implementation_complete', summary: 's' }, by)
    const before = world.crew
    expect(world.say({ type: 'report_implementation_complete', summary: 's' }, by)).toBe(first)
    expect(world.crew).toBe(before)
    expect(refused(world, { type: 'report_implementation_complete', summary: 's' }, byMember(proc, 'call-2')), 'another call').toBe('CONFLICT')
  })
})

test('perles 6: messages keep their order, and go over to a successor in it', () => {
  const world = untilTask(up(), 'implementing')
  until(world, () => world.need('worker-1').reading !== null)
  for (const text of ['first', 'second', 'third']) world.say({ type: 'send_message', to: 'worker-1', text }, PERSON)
  world.say({ type: 'replace_worker', member: 'worker-1', summary: 's' }, PERSON)
  until(world, () => memberOf(world, 'worker-3').state === 'on')
  expect(world.need('worker-3').queue.map(({ text }) => text).slice(0, 3)).toEqual(['first', 'second', 'third'])
  expect(world.need('worker-1').queue).toEqual([])
})

test('perles 11: who is stopped, replaced or lost owns nothing, and what was marked failed blocks nobody', () => {
  const world = untilTask(up({ stay: true }), 'in_review')
  world.say({ type: 'mark_task_failed', task: 'one', reason: 'r' }, PERSON)
  expect(world.crew.members.map(({ phase, task }) => [phase, task])).toEqual([['idle', null], ['idle', null]])
  // test/tables/crew-machines.test.ts does each action in each state.
})

describe('who comes back without what it was told hears it again', () => {
  const lost = (world: World, id: MemberId): void => {
    const proc = world.need(id)
    proc.queue = []
    world.say({ type: 'member_on', member: id, uuid: proc.uuid, turn: null, queued: 0 })
  }

  test('a reviewer', () => {
    const world = untilTask(up(), 'in_review')
    until(world, () => world.need('worker-2').queue.length > 0)
    lost(world, 'worker-2')
    expect(world.crew.jobs).toMatchObject([{ type: 'brief', member: 'worker-2' }])
    until(world, () => world.need('worker-2').reading?.text.startsWith('Review one') === true)
    untilTask(world, 'done')
  })

  test('an implementer, whose files stay as they are', () => {
    const world = untilTask(up(), 'implementing')
    until(world, () => world.need('worker-1').queue.length > 0)
    world.need('worker-1').dirty = true
    lost(world, 'worker-1')
    until(world, () => world.need('worker-1').reading?.text.startsWith('Task one') === true)
    expect(world.need('worker-1').dirty).toBe(true)
    expect(world.journal.filter((fact) => fact.type === 'crew.job' && fact.job.type === 'prepare')).toHaveLength(1)
    untilTask(world, 'done')
  })

  test('one that was to commit: the branch is looked at, and it is reminded', () => {
    const world = untilTask(up(), 'committing')
    lost(world, 'worker-1')
    until(world, () => world.need('worker-1').reading?.text.includes('is not committed yet') === true)
    untilTask(world, 'done')
  })

  test('a coordinator, which is told how things are', () => {
    const world = up({ coordinator: 'agent' })
    lost(world, 'coordinator')
    expect(world.need('coordinator').queue[0]?.text).toContain('- one "the first": queued')
  })

  test('and one that nothing is asked of is not waited for', () => {
    const world = up({ coordinator: 'agent' })
    world.say({ type: 'send_message', to: 'worker-1', text: 'hello' }, PERSON)
    expect(memberOf(world, 'worker-1').told).toBe(true)
    lost(world, 'worker-1')
    expect(memberOf(world, 'worker-1').told).toBe(false)
  })
})

describe('who is nearly full', () => {
  test('is asked for a summary, and its successor goes on with that and the files', () => {
    const world = untilTask(up(), 'implementing')
    until(world, () => world.need('worker-1').reading !== null)
    world.need('worker-1').plan = []
    world.say({ type: 'member_full', member: 'worker-1', share: 0.91 })
    endTurn(world, world.need('worker-1'), 'ok')
    expect(told(world, () => {
      beginTurn(world, world.need('worker-1'))
      while (world.need('worker-1').reading) goOn(world, world.need('worker-1'))
      until(world, () => world.procs.get('worker-3')?.reading?.text.startsWith('Task') ?? false)
    })).toMatchInlineSnapshot(`
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
    expect(world.need('worker-3').reading?.text).toContain('It wrote: half of it is done')
    expect(taskOf(world)).toMatchObject({ implementer: 'worker-3', attempts: 0 })
  })

  test('again and again: it is a try that failed, not handed on for ever', () => {
    const world = up({ maxAttempts: 1 })
    for (let time = 0; taskOf(world).state !== 'failed' && time < 20; time += 1) {
      const id = taskOf(world).implementer
      const proc = until(world, () => id !== null && world.procs.get(id)?.reading?.text.startsWith('Task') === true).need(id ?? 'worker-1')
      world.say({ type: 'member_full', member: proc.id, share: 0.95 })
      proc.plan = []
      endTurn(world, proc, 'ok')
      beginTurn(world, proc)
      endTurn(world, proc, 'ok')
    }
    expect(taskOf(world)).toMatchObject({ state: 'failed', reason: 'its only try failed; the last: the contexts of 5 workers in a row were not enough for it' })
  })

  test('that is done in the same turn needs no successor, and is retired when it is idle', () => {
    const world = untilTask(up({ reviews: false, stay: true }), 'implementing')
    until(world, () => world.need('worker-1').reading !== null)
    world.say({ type: 'member_full', member: 'worker-1', share: 0.91 })
    untilTask(world, 'done')
    until(world, () => memberOf(world, 'worker-1').state === 'gone')
    expect(memberOf(world, 'worker-1').leave?.how).toMatch(/retired|replaced/)
  })

  test('and coordinates: it is asked to replace itself', () => {
    const world = up({ coordinator: 'agent', stay: true }, [])
    until(world, () => world.need('coordinator').reading === null && world.need('coordinator').queue.length === 0)
    world.say({ type: 'member_full', member: 'coordinator', share: 0.9 })
    until(world, () => memberOf(world, 'coordinator').state === 'gone')
    expect(memberOf(world, 'coordinator-2')).toMatchObject({ state: 'on', heirOf: 'coordinator' })
    expect(world.need('coordinator-2').queue.concat(world.need('coordinator-2').reading ?? [])[0]?.text).toContain('It wrote: so far so good')
  })

  test('whose successor cannot be started stays, if it coordinates', () => {
    const world = up({ coordinator: 'agent', stay: true }, [])
    world.say({ type: 'replace_worker', member: 'coordinator', summary: 's' }, PERSON)
    const job = world.jobs.find(({ type }) => type === 'spawn')
    world.say({ type: 'job_done', job: job?.job ?? 0, result: { type: 'error', error: 'no memory' } })
    expect(memberOf(world, 'coordinator')).toMatchObject({ state: 'on', heir: null })
    expect(world.crew.members.filter(({ role, state }) => role === 'coordinator' && state !== 'gone')).toHaveLength(1)
  })
})

describe('a coordinator', () => {
  test('that does nothing is told twice, then a person is', () => {
    const world = up({ coordinator: 'agent' })
    for (let time = 0; time < 6; time += 1) {
      const proc = world.need('coordinator')
      if (proc.queue.length > 0) beginTurn(world, proc)
      if (!proc.reading) continue
      proc.plan = []
      endTurn(world, proc, 'ok')
    }
    expect(world.journal.filter(({ type }) => type === 'crew.stalled')).toHaveLength(3)
    expect(world.notices.at(-1)).toMatch(/^The coordinator does nothing\. Nothing goes on: one "the first" is queued/)
  })

  test('is told of a report at once, once', () => {
    const world = up({ coordinator: 'agent' })
    const proc = world.need('coordinator')
    world.say({ type: 'assign_task', task: 'one', member: 'worker-1' }, PERSON)
    until(world, () => world.need('worker-1').reading !== null && proc.reading === null && proc.queue.length === 0)
    world.say({ type: 'report_implementation_complete', summary: 'all of it' }, byMember(world.need('worker-1'), 'c'))
    world.say({ type: 'report_implementation_complete', summary: 'all of it' }, byMember(world.need('worker-1'), 'c'))
    expect(proc.queue).toEqual([{ id: expect.any(String), from: 'agent:u-worker-1', text: 'worker-1 reports one "the first" complete: all of it' }])
  })

  test('that is lost has a successor, which is told how things are; one that a person killed has none', () => {
    const world = untilTask(up({ coordinator: 'agent' }), 'implementing')
    world.need('coordinator').alive = false
    world.say({ type: 'member_gone', member: 'coordinator', cause: 'agent', reason: 'it crashed' })
    for (const job of world.jobs.filter(({ type }) => type === 'spawn')) doJob(world, job)
    expect(world.need('coordinator-2').queue[0]?.text).toContain('- one "the first": implementing, worker-1')
    world.need('coordinator-2').alive = false
    world.say({ type: 'member_gone', member: 'coordinator-2', cause: 'person', reason: 'killed' })
    expect(world.jobs.filter(({ type }) => type === 'spawn')).toEqual([])
    expect(world.notices.at(-1)).toBe('coordinator-2 is gone, and nobody coordinates the crew: resume it, replace it, or stop the crew.')
    expect(world.say({ type: 'replace_worker', member: 'coordinator', summary: 'anew' }, PERSON)).toBe('coordinator-3 is being started, sees the tasks, and gets what coordinator-2 never read')
  })
})
