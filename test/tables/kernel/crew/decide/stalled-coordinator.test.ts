// A coordinator that is idle while tasks wait.
import { expect, test } from 'vitest'
import { beginTurn, endTurn } from '../../../../support/crew-world/regular-work.ts'
import { startedWorld } from '../../../../support/crew-world/prepared-world.ts'

test('a coordinator that does nothing is notified twice, then the user is notified', () => {
  const world = startedWorld({ coordinator: 'agent' })
  for (let time = 0; time < 6; time += 1) {
    const proc = world.requireProcess('coordinator')
    if (proc.queue.length > 0) beginTurn(world, proc)
    if (!proc.reading) continue
    proc.plan = []
    endTurn(world, proc, 'ok')
  }
  expect(world.journal.filter(({ type }) => type === 'crew.stalled')).toHaveLength(3)
  const text = 'The coordinator is idle while tasks wait: one "the first" waits for the coordinator to assign it'
  expect([world.notices.at(-1), world.journal.filter(({ type }) => type === 'crew.notified')]).toEqual([
    text,
    [{ type: 'crew.notified', text }],
  ])
})
