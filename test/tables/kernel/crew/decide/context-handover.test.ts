// A member whose context is full and cannot be compacted: it is paused, and can neither work nor write a summary.
import { expect, test } from 'vitest'
import { describeWaits } from '../../../../../src/kernel/crew/text/describe-waits.ts'
import { memberOf, taskOf, transcriptOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId } from '../../../../../src/kernel/model/crew/words.ts'

const FULL = 'context-full'

function pauseMember(world: CrewWorld, member: MemberId, reason = FULL): void {
  world.requireProcess(member).isHeld = true
  world.submit({ type: 'member_held', member, held: true, reason })
}

test('the engine starts a successor, which continues with the files', () => {
  const world = runUntilTask(startedWorld(), 'implementing')
  runUntil(world, () => memberOf(world, 'worker-1').turn.open !== null)
  expect(transcriptOf(world, () => pauseMember(world, 'worker-1'))).toMatchInlineSnapshot(`
    "
    crew.held worker-1 true context-full
    crew.full worker-1 1
    crew.member worker-3 generic
    crew.job spawn worker-3
    crew.replaced worker-1 worker-3 "it left no summary, because its context was full: check the files that it left"
    "
  `)
  runUntilTask(world, 'done')
  expect(taskOf(world)).toMatchObject({ implementer: 'worker-3', attempts: 0 })
  expect(memberOf(world, 'worker-1').leave).toMatchObject({ how: 'replaced' })
})

test('a task that exceeds every context fails its attempt after a few handovers, and no worker stays stuck', () => {
  const world = runUntilTask(startedWorld({ maxAttempts: 1 }), 'implementing')
  for (let round = 0; round < 5; round += 1) {
    const currentHolder = (): MemberId => taskOf(world).implementer ?? 'worker-9'
    runUntil(world, () => memberOf(world, currentHolder()).turn.open !== null)
    pauseMember(world, currentHolder())
  }
  runUntil(world, () => world.outcome !== null)
  expect(taskOf(world)).toMatchObject({
    state: 'failed',
    reason: 'its only attempt failed; the last reason: the contexts of 5 workers in a row were too small for it',
  })
  expect(world.crew.members.filter(({ leave }) => leave?.reason === 'its context is full')).toHaveLength(1)
})

test('a coordinator agent is notified; a coordinator whose own context is full gets a successor', () => {
  const world = runUntilTask(startedWorld({ coordinator: 'agent' }), 'implementing')
  const { implementer } = taskOf(world)
  expect(transcriptOf(world, () => pauseMember(world, implementer ?? 'worker-9'))).toMatchInlineSnapshot(`
    "
    crew.held worker-1 true context-full
    crew.full worker-1 1
      -> system to coordinator: worker-1 is paused (context-full): its context is full. replace_worker gives its task to a successor.
    "
  `)
  expect(transcriptOf(world, () => pauseMember(world, 'coordinator'))).toMatchInlineSnapshot(`
    "
    crew.held coordinator true context-full
    crew.full coordinator 1
    crew.member coordinator-2 coordinator
    crew.job spawn coordinator-2
    crew.replaced coordinator coordinator-2 "it left no summary, because its context was full: check the files that it left"
    "
  `)
})

test('a member that the user paused stays, and so does one whose context is full if handover is off; both show the reason', () => {
  for (const [reason, handOver] of [
    ['user', 0.9],
    [FULL, null],
  ] as const) {
    const world = runUntilTask(startedWorld({ handOver }), 'implementing')
    pauseMember(world, 'worker-1', reason)
    expect(memberOf(world, 'worker-1')).toMatchObject({ state: 'on', heir: null, held: true, heldFor: reason })
    expect(describeWaits(world.crew, world.spec)).toContain(
      `one "the first" is implementing with worker-1, which is paused (${reason}): resume or stop that worker (reeve resume)`,
    )
    world.submit({ type: 'member_held', member: 'worker-1', held: false })
    expect(memberOf(world, 'worker-1').heldFor).toBeUndefined()
  }
})
