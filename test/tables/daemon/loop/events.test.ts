// Events of facts: they all have the same envelope, and their bodies omit the fields that only the daemon may see.
import { describe, expect, test } from 'vitest'
import { eventOf, liveEvent } from '../../../../src/daemon/loop/events.ts'
import { RandomRun } from '../../../support/kernel/random-run.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'
import { makeSeededPick } from '../../../support/kernel/random-inputs.ts'
import type { Fact } from '../../../../src/kernel/model/facts.ts'

const EVENT_TYPES = new Set([
  'process.spawned',
  'process.output',
  'process.status',
  'process.incoming',
  'process.error',
  'process.queue',
  'process.ready',
  'process.working',
  'process.drained',
  'process.usage',
  'process.exited',
  'process.reaped',
  'process.forked',
  'process.pinned',
  'process.seen',
  'process.snoozed',
  'process.described',
  'signal.sent',
  'signal.escalated',
  'step.started',
  'step.finished',
  'tool.started',
  'tool.finished',
  'checkpoint.written',
  'checkpoint.failed',
  'child.spawned',
  'child.exited',
  'child.suspended',
  'child.resumed',
  'supervisor.added',
  'supervisor.removed',
  'supervisor.restarting',
  'supervisor.restarted',
  'supervisor.held',
  'supervisor.escalated',
  'context.window',
  'compaction.started',
  'compaction.failed',
  'context.compacted',
  'limit.warned',
  'limit.reached',
  'child.spent',
  'mcp.servers',
  'capability.refused',
  'liveness.changed',
  'liveness.looping',
  'liveness.breaker',
])

/** Returns one fact of each type that occurs in 40 random runs. */
function factsByType(): Map<string, Fact> {
  const found = new Map<string, Fact>()
  for (let seed = 1; seed <= 40; seed += 1) {
    const run = new RandomRun()
    const pick = makeSeededPick(seed)
    while (run.inputs < 300) run.play(pick)
    for (const fact of [...run.world.journal.values()].flat()) found.set(fact.body.type, fact)
  }
  return found
}

const FACTS = factsByType()

describe('the event of a fact', () => {
  test.each([...FACTS])('%s', (type, fact) => {
    const event = eventOf({ ...fact, cursor: 77 })
    expect(event).toMatchObject({ version: 1, seq: 77, uuid: fact.uuid, pid: fact.pid, fact: type })
    expect(Date.parse(event.at)).toBe(fact.at)
    expect(EVENT_TYPES).toContain(event.type)
    const { type: _, ...body } = fact.body
    const { spec, status, ...rest } = body as { spec?: object; status?: number | null }
    expect(event).toMatchObject({ ...rest, status: fact.moment?.status, ...(status === undefined ? {} : { httpStatus: status }) })
    if (spec) expect(Object.keys('spec' in event ? (event.spec ?? {}) : {})).not.toContain('env')
  })

  test('the examples include nearly every type of fact', () => {
    expect(FACTS.size).toBeGreaterThanOrEqual(44)
  })
})

test('live events have no position in the journal', () => {
  expect(liveEvent('a', 1, 1_700_000_000_000, { type: 'text', step: 3, text: 'so' })).toMatchObject({
    version: 1,
    seq: 0,
    uuid: 'a',
    pid: 1,
    type: 'live.text',
    step: 3,
    text: 'so',
  })
})

describe('an event of a member of a crew', () => {
  test("shows the member's work at the time of the fact, and names the task; an event of a task names that task", () => {
    const player = new TranscriptPlayer()
    player.play(`
      live crew c staff=generic:1
      live member w1 of=c id=worker-1
      say c add_task id=one
      done c prepare
    `)
    const { journal } = player.world
    const eventsOf = (uuid: string) => (journal.get(uuid) ?? []).map((fact, index) => eventOf({ ...fact, cursor: index + 1 }))
    const [first, last] = [eventsOf('w1').at(0), eventsOf('w1').at(-1)]
    expect(first).toMatchObject({ type: 'process.spawned', status: 'pending', role: 'generic', phase: 'idle', queueCount: 0 })
    expect(first).not.toHaveProperty('taskId')
    expect(last).toMatchObject({ status: 'working', role: 'generic', phase: 'implementing', taskId: 'one', queueCount: 0 })
    const before = JSON.stringify(eventsOf('w1'))
    player.play('signal SIGKILL w1')
    expect(eventsOf('w1').at(-1)).toMatchObject({ status: 'stopping' })
    expect(JSON.stringify(eventsOf('w1').slice(0, JSON.parse(before).length))).toBe(before)
    const [joined] = eventsOf('c').filter(({ type }) => type === 'crew.joined')
    expect(joined).toMatchObject({ uuid: 'c', member: 'worker-1', process: 'w1' })
    expect(joined).not.toHaveProperty('phase')
    const [added] = eventsOf('c').filter(({ type }) => type === 'task.added')
    expect(added).toMatchObject({ type: 'task.added', taskId: 'one', task: 'one' })
  })
})
