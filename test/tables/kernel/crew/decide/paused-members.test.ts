// Notices to a coordinator agent: members that call signal_ready while they hold a task, paused members and how a pause ends, and
// stalls. Under the engine, a member that is paused in a loop loses its task.
import { describe, expect, test } from 'vitest'
import {
  beginTurn,
  senderOfMember,
  performJob,
  endTurn,
  setMemberHeld,
  nextJobOfEachMember,
} from '../../../../support/crew-world/regular-work.ts'
import { memberOf, USER, taskOf, runUntil, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import { describeWaits } from '../../../../../src/kernel/crew/text/describe-waits.ts'
import type { CrewFact } from '../../../../../src/kernel/model/crew/facts.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId } from '../../../../../src/kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../../../src/kernel/model/process-spec.ts'

const TITLE = 'one "the first"'

/** A world in which worker-1 reads task one. The coordinator has read all its messages, and does nothing on its own. */
function worldAtWork(changes: Partial<CrewSpec> = {}): CrewWorld {
  const world = startedWorld({ coordinator: 'agent', ...changes })
  readAllMessages(world)
  if (world.spec.coordinator === 'agent') world.submit({ type: 'assign_task', task: 'one', member: 'worker-1' }, USER)
  runUntil(world, () => world.requireProcess('worker-1').reading !== null)
  return world
}

/** The coordinator reads its queued messages, and calls no tool. */
function readAllMessages(world: CrewWorld): string[] {
  const proc = world.procs.get('coordinator')
  const texts: string[] = []
  while (proc && (proc.reading !== null || proc.queue.length > 0)) {
    if (proc.reading === null) beginTurn(world, proc)
    texts.push(proc.reading?.text ?? '')
    endTurn(world, proc, 'ok')
  }
  return texts
}

/** The member calls signal_ready, and ends its turn. */
function callSignalReady(world: CrewWorld, id: MemberId): string | null {
  const proc = world.requireProcess(id)
  if (proc.reading === null) beginTurn(world, proc)
  proc.plan = []
  const note = world.submit({ type: 'signal_ready' }, senderOfMember(proc))
  endTurn(world, proc, 'ok')
  return note
}

function turnEnds(world: CrewWorld, id: MemberId): string[] {
  return world.journal
    .filter((fact): fact is Extract<CrewFact, { type: 'crew.turn' }> => fact.type === 'crew.turn' && fact.member === id)
    .map(({ end }) => end)
}

function pauseMember(world: CrewWorld, id: MemberId, reason: string, changes: object = {}): string[] {
  world.requireProcess(id).isHeld = true
  world.submit({ type: 'member_held', member: id, held: true, reason, ...changes })
  return (world.procs.get('coordinator')?.queue ?? []).map(({ text }) => text)
}

describe('a worker that calls signal_ready while it holds a task', () => {
  test.each(['agent', 'engine'] as const)('is reminded (coordinator: %s)', (coordinator) => {
    const world = worldAtWork({ coordinator })
    expect(callSignalReady(world, 'worker-1')).toContain('you still hold one (implementing)')
    expect(world.requireProcess('worker-1').queue.map(({ text }) => text)).toEqual([
      expect.stringContaining('You called signal_ready, but you still hold one (implementing).'),
    ])
  })

  test('and repeats it after the reminders: the coordinator gets its state and the tools that help', () => {
    const world = worldAtWork()
    for (let turn = 0; turn < 4; turn += 1) callSignalReady(world, 'worker-1')
    expect(turnEnds(world, 'worker-1')).toEqual(['exempt', 'reminded', 'reminded', 'through'])
    expect(readAllMessages(world)[0]).toBe(
      `worker-1 called signal_ready, but still holds ${TITLE} (implementing). It was reminded 2 times. Send it instructions with send_message, or take the task back with cancel_task and requeue.`,
    )
  })

  test('a reviewer is reminded of its verdict', () => {
    const world = worldAtWork()
    runUntil(world, () => taskOf(world).state === 'awaiting_review')
    world.submit({ type: 'assign_review', task: 'one', member: 'worker-2' }, USER)
    runUntil(world, () => world.requireProcess('worker-2').reading !== null)
    callSignalReady(world, 'worker-2')
    expect(world.requireProcess('worker-2').queue[0]?.text).toContain('report_review_verdict')
  })

  test('a worker that wrote to the coordinator waits for the answer, even after signal_ready', () => {
    for (const order of [
      ['post', 'ready'],
      ['ready', 'post'],
    ]) {
      const world = worldAtWork()
      const proc = world.requireProcess('worker-1')
      proc.plan = []
      for (const step of order)
        world.submit(
          step === 'ready' ? { type: 'signal_ready' } : { type: 'post_message', to: 'coordinator', text: 'which one?' },
          senderOfMember(proc),
        )
      endTurn(world, proc, 'ok')
      expect(turnEnds(world, 'worker-1'), order.join()).toEqual(['complete'])
    }
  })

  test('the crew shows why it makes no progress', () => {
    const world = worldAtWork()
    for (let turn = 0; turn < 4; turn += 1) callSignalReady(world, 'worker-1')
    expect(describeWaits(world.crew, world.spec)).toContain(
      `${TITLE} is implementing with worker-1, which ended its turn without a report: send it a message (reeve crew send)`,
    )
  })
})

describe('a paused member', () => {
  test.each([
    ['loop', 'It does not resume by itself. replace_worker gives its task to a successor. stop_worker puts the task back into the queue.'],
    [
      'breaker',
      'It does not resume by itself. replace_worker gives its task to a successor. stop_worker puts the task back into the queue.',
    ],
    [
      'rate-limit',
      'It can continue when its provider accepts calls again and the user resumes it: call notify_user. Or use replace_worker for a successor.',
    ],
    ['budget', 'Only the user can raise the budget: call notify_user.'],
    ['credentials', 'Only the user can provide a valid key: call notify_user.'],
    ['user', 'The user paused it. Wait until the user resumes it.'],
  ])('for %s: the coordinator is notified how the pause ends', (reason, ending) => {
    const world = worldAtWork()
    expect(pauseMember(world, 'worker-1', reason)).toEqual([`worker-1 is paused (${reason}). It holds ${TITLE} (implementing). ${ending}`])
  })

  test('the notice includes the evidence, also without a task', () => {
    const world = worldAtWork()
    expect(pauseMember(world, 'worker-2', 'loop', { note: '12 times the same: bash' })[0]).toMatch(
      /^worker-2 is paused \(loop\): 12 times the same: bash\. It holds no task\. /,
    )
  })

  test('a pause that ends on its own needs no action', () => {
    const world = worldAtWork()
    expect(pauseMember(world, 'worker-1', 'rate-limit', { wakes: true })[0]).toContain('It resumes by itself. Wait for that.')
    expect(readAllMessages(world).filter((text) => text.startsWith('No task makes progress'))).toEqual([])
    world.submit({ type: 'member_held', member: 'worker-1', held: false })
    expect(world.requireProcess('coordinator').queue, 'nor when it does').toEqual([])
  })

  test('the end of a pause is reported, too', () => {
    const world = worldAtWork()
    pauseMember(world, 'worker-1', 'loop')
    readAllMessages(world)
    setMemberHeld(world, world.requireProcess('worker-1'), false)
    expect(readAllMessages(world)).toEqual([`worker-1 continues. It holds ${TITLE} (implementing).`])
  })

  test('a change of the reason is reported', () => {
    const world = worldAtWork()
    pauseMember(world, 'worker-1', 'user')
    expect(pauseMember(world, 'worker-1', 'budget').at(-1)).toContain('is paused (budget)')
  })

  test('a pause of the whole crew is not reported per member', () => {
    const world = worldAtWork()
    world.isPaused = true
    expect(pauseMember(world, 'worker-1', 'subtree')).toEqual([])
    world.isPaused = false
    world.submit({ type: 'unpaused' })
    setMemberHeld(world, world.requireProcess('worker-1'), false)
    expect(world.requireProcess('coordinator').queue).toEqual([])
  })

  test('a paused coordinator is notified of the remaining pauses when it resumes', () => {
    const world = worldAtWork()
    pauseMember(world, 'coordinator', 'user')
    expect(pauseMember(world, 'worker-1', 'loop')).toEqual([])
    setMemberHeld(world, world.requireProcess('coordinator'), false)
    expect(world.requireProcess('coordinator').queue.map(({ text }) => text)).toEqual([
      expect.stringContaining('worker-1 is paused (loop)'),
    ])
  })

  test.each(['loop', 'breaker', 'budget', 'credentials', 'disk-full'])(
    '%s: nothing makes progress, and the coordinator is notified',
    (reason) => {
      const world = worldAtWork()
      pauseMember(world, 'worker-1', reason)
      const texts = readAllMessages(world)
      expect(texts[1]).toMatch(/^No task makes progress/)
      expect(texts[1]).toContain(`worker-1 holds ${TITLE} (implementing), and is paused (${reason})`)
      expect(world.notices.at(-1), 'and the user in the end').toContain('The coordinator is idle while tasks wait: one')
    },
  )
})

test('the stall notice names the holders of tasks and the tools that help', () => {
  const world = worldAtWork()
  for (let turn = 0; turn < 4; turn += 1) callSignalReady(world, 'worker-1')
  for (const id of ['two', 'three', 'four'])
    world.submit({ type: 'add_task', id, title: id, text: 't', ...(id === 'four' ? { needs: ['three'] } : {}) }, USER)
  world.submit({ type: 'assign_task', task: 'two', member: 'worker-2' }, USER)
  for (const job of nextJobOfEachMember(world)) performJob(world, job)
  beginTurn(world, world.requireProcess('worker-2'))
  world.submit({ type: 'report_implementation_complete', summary: 's' }, senderOfMember(world.requireProcess('worker-2')))
  endTurn(world, world.requireProcess('worker-2'), 'ok')
  expect(
    readAllMessages(world)
      .filter((text) => text.startsWith('No task makes progress'))
      .at(-1),
  ).toMatchInlineSnapshot(`
    "No task makes progress:
    - worker-1 holds one "the first" (implementing), and ended its turn without a report. send_message gives it instructions; cancel_task with requeue takes the task back.
    - two "two" awaits its review. assign_review gives it to a worker that did not implement it. The worker must be idle or await its own review.
    - three "three" is queued. assign_task gives it to an idle worker; spawn_worker starts another.

    Call a tool that resolves this. cancel_task gives up a task that cannot be done; complete_crew ends the crew."
  `)
})

describe('under the engine', () => {
  test.each(['loop', 'breaker'])(
    'a worker paused for %s loses its task: the attempt has failed, and another worker gets the task',
    (reason) => {
      const world = worldAtWork({ coordinator: 'engine', stay: true })
      pauseMember(world, 'worker-1', reason, { note: '12 times the same: bash' })
      expect(taskOf(world)).toMatchObject({
        attempts: 1,
        reason: `worker-1 was stopped because it was paused in a loop (${reason}): 12 times the same: bash`,
      })
      runUntil(world, () => taskOf(world).state === 'done')
      expect(taskOf(world).implementer).not.toBe('worker-1')
      expect(memberOf(world, 'worker-1').leave).toMatchObject({ how: 'stopped' })
    },
  )

  test('a committing worker that is paused in a loop is stopped only after its files are committed', () => {
    const world = worldAtWork({ coordinator: 'engine', stay: true })
    runUntil(world, () => taskOf(world).state === 'committing' && world.requireProcess('worker-1').reading !== null)
    world.requireProcess('worker-1').plan = []
    pauseMember(world, 'worker-1', 'loop')
    expect(memberOf(world, 'worker-1').state).toBe('on')
    runUntil(world, () => taskOf(world).state === 'done')
    expect(taskOf(world)).toMatchObject({ implementer: 'worker-1', attempts: 0, commit: expect.any(String) })
    expect(memberOf(world, 'worker-1').leave).toEqual({ how: 'stopped', reason: 'it was paused in a loop (loop)' })
  })

  test('a reviewer that is paused in a loop loses the review to another worker, and no attempt has failed', () => {
    const world = worldAtWork({ coordinator: 'engine', stay: true, staff: [{ role: 'generic', count: 3 }] })
    runUntil(
      world,
      () => taskOf(world).state === 'in_review' && world.requireProcess(taskOf(world).reviewer ?? 'worker-9').reading !== null,
    )
    const reviewer = taskOf(world).reviewer ?? 'worker-9'
    pauseMember(world, reviewer, 'loop')
    expect(taskOf(world)).toMatchObject({ attempts: 0, unreviewed: 1 })
    runUntil(world, () => taskOf(world).state === 'done')
    expect(taskOf(world).reviewer).not.toBe(reviewer)
  })

  test.each(['user', 'budget', 'rate-limit', 'credentials'])('a worker paused for %s keeps its task', (reason) => {
    const world = worldAtWork({ coordinator: 'engine' })
    pauseMember(world, 'worker-1', reason)
    expect(taskOf(world)).toMatchObject({ state: 'implementing', implementer: 'worker-1', attempts: 0 })
  })
})
