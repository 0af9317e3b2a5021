// A member whose context cannot be made to fit any more: it is paused for that, and can neither work nor write a summary.
import { expect, test } from 'vitest'
import { waitsFor } from '../../src/crew/waits.ts'
import { memberOf, taskOf, told, until, untilTask, up } from '../support/crew-world/story.ts'
import type { MemberId } from '../../src/crew/types.ts'
import type { World } from '../support/crew-world/world.ts'

const FULL = 'context-full'

function stuck(world: World, member: MemberId, reason = FULL): void {
  world.need(member).held = true
  world.say({ type: 'member_held', member, held: true, reason })
}

test('the engine gives its place to another, which goes on with its files', () => {
  const world = untilTask(up(), 'implementing')
  until(world, () => memberOf(world, 'worker-1').turn.open !== null)
  expect(told(world, () => stuck(world, 'worker-1'))).toMatchInlineSnapshot(`
    "
    crew.held worker-1 true context-full
    crew.full worker-1 1
    crew.member worker-3 generic
    crew.job spawn worker-3
    crew.replaced worker-1 worker-3 "its context was full, and it could say nothing more: look at what it left"
    "
  `)
  untilTask(world, 'done')
  expect(taskOf(world)).toMatchObject({ implementer: 'worker-3', attempts: 0 })
  expect(memberOf(world, 'worker-1').leave).toMatchObject({ how: 'replaced' })
})

test('what does not fit in any context is a try that failed, not handed on for ever, and nobody is left standing', () => {
  const world = untilTask(up({ maxAttempts: 1 }), 'implementing')
  for (let full = 0; full < 5; full += 1) {
    const holder = (): MemberId => taskOf(world).implementer ?? 'worker-9'
    until(world, () => memberOf(world, holder()).turn.open !== null)
    stuck(world, holder())
  }
  until(world, () => world.ended !== null)
  expect(taskOf(world)).toMatchObject({ state: 'failed', reason: 'its only try failed; the last: the contexts of 5 workers in a row were not enough for it' })
  expect(world.crew.members.filter(({ leave }) => leave?.reason === 'its context is full')).toHaveLength(1)
})

test('an agent that coordinates is told, and one that coordinates itself has a successor', () => {
  const world = untilTask(up({ coordinator: 'agent' }), 'implementing')
  const { implementer } = taskOf(world)
  expect(told(world, () => stuck(world, implementer ?? 'worker-9'))).toMatchInlineSnapshot(`
    "
    crew.held worker-1 true context-full
    crew.full worker-1 1
      -> system to coordinator: worker-1's context is full, and it is paused: nothing more comes of it. Give its place to another: replace_wor
    "
  `)
  expect(told(world, () => stuck(world, 'coordinator'))).toMatchInlineSnapshot(`
    "
    crew.held coordinator true context-full
    crew.full coordinator 1
    crew.member coordinator-2 coordinator
    crew.job spawn coordinator-2
    crew.replaced coordinator coordinator-2 "its context was full, and it could say nothing more: look at what it left"
    "
  `)
})

test('one that a person paused stays, and so does one where nothing is handed over; both say why they stand still', () => {
  for (const [reason, handOver] of [['user', 0.9], [FULL, null]] as const) {
    const world = untilTask(up({ handOver }), 'implementing')
    stuck(world, 'worker-1', reason)
    expect(memberOf(world, 'worker-1')).toMatchObject({ state: 'on', heir: null, held: true, heldFor: reason })
    expect(waitsFor(world.crew, world.spec)).toContain(`one "the first" is implementing with worker-1, which is paused (${reason}): nobody else takes it (reeve resume, or stop it)`)
    world.say({ type: 'member_held', member: 'worker-1', held: false })
    expect(memberOf(world, 'worker-1').heldFor).toBeUndefined()
  }
})
