// Events: one envelope around every fact, whatever the body has; the body is there, but for what nobody outside is to see.
import { describe, expect, test } from 'vitest'
import { eventOf, liveEvent, memberWords } from '../../src/daemon/events.ts'
import { Episode } from '../support/kernel/episode.ts'
import { Player } from '../support/kernel/transcript.ts'
import { seeded } from '../support/kernel/random.ts'
import type { Fact } from '../../src/kernel/facts.ts'

const NAMES = new Set([
  'process.spawned', 'process.output', 'process.status', 'process.incoming', 'process.error', 'process.queue', 'process.ready', 'process.working',
  'process.drained', 'process.usage', 'process.exited', 'process.reaped', 'process.forked', 'process.pinned', 'signal.sent', 'signal.escalated', 'step.started', 'step.finished', 'tool.started', 'tool.finished',
  'checkpoint.written', 'checkpoint.failed', 'child.spawned', 'child.exited', 'child.suspended', 'child.resumed',
  'supervisor.added', 'supervisor.removed', 'supervisor.restarting', 'supervisor.restarted', 'supervisor.held', 'supervisor.escalated',
  'context.window', 'compaction.started', 'compaction.failed', 'context.compacted', 'limit.warned', 'limit.reached', 'child.spent', 'mcp.servers', 'capability.refused', 'liveness.changed', 'liveness.looping', 'liveness.breaker',
])

/** One fact of each type that the kernel can say. */
function oneOfEach(): Map<string, Fact> {
  const found = new Map<string, Fact>()
  for (let life = 1; life <= 40; life += 1) {
    const episode = new Episode()
    const pick = seeded(life)
    while (episode.inputs < 300) episode.play(pick)
    for (const fact of [...episode.world.journal.values()].flat()) found.set(fact.body.type, fact)
  }
  return found
}

const FACTS = oneOfEach()

describe('the event of a fact', () => {
  test.each([...FACTS])('%s', (type, fact) => {
    const event = eventOf({ ...fact, cursor: 77 })
    expect(event).toMatchObject({ version: 1, seq: 77, uuid: fact.uuid, pid: fact.pid, fact: type })
    expect(Date.parse(event.at)).toBe(fact.at)
    expect(NAMES).toContain(event.type)
    const { type: _, ...body } = fact.body
    const { spec, ...rest } = body as { spec?: object }
    expect(event).toMatchObject(rest)
    if (spec) expect(Object.keys(event['spec'] as object)).not.toContain('env')
  })

  test('nearly every type of fact comes up', () => {
    expect(FACTS.size).toBeGreaterThanOrEqual(44)
  })
})

test('live events have no place in the order', () => {
  expect(liveEvent('a', 1, 1_700_000_000_000, { type: 'text', step: 3, text: 'so' })).toMatchObject({ version: 1, seq: 0, uuid: 'a', pid: 1, type: 'live.text', step: 3, text: 'so' })
})

describe('a member of a crew', () => {
  test('its events say what it does for it, as its crew has it; those of a task which one', () => {
    const player = new Player()
    player.play(`
      live crew c staff=generic:1
      live member w1 of=c id=worker-1
      say c add_task id=one
      done c prepare
    `)
    const { table, journal } = player.world
    expect(memberWords(table, 'w1')).toEqual({ role: 'generic', phase: 'implementing', taskId: 'one', queueCount: 0 })
    expect(memberWords(table, 'c')).toEqual({})
    expect(memberWords(table, 'nobody')).toEqual({})
    const [joined] = (journal.get('c') ?? []).filter(({ body }) => body.type === 'crew.joined')
    expect(joined && eventOf({ ...joined, cursor: 1 })).toMatchObject({ uuid: 'c', member: 'worker-1', process: 'w1' })
    const [added] = (journal.get('c') ?? []).filter(({ body }) => body.type === 'task.added')
    expect(added && eventOf({ ...added, cursor: 1 })).toMatchObject({ type: 'task.added', taskId: 'one', task: 'one' })
  })
})
