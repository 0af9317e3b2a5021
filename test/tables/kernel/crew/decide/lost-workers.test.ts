// Lost workers: after five losses in a row, only the user may start another one. A worker that the user kills does not count as lost.
import { expect, test } from 'vitest'
import { senderOfMember } from '../../../../support/crew-world/regular-work.ts'
import { memberOf, USER, taskOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { Issuer } from '../../../../../src/kernel/model/crew/commands.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId } from '../../../../../src/kernel/model/crew/words.ts'

const workersOf = ({ crew }: CrewWorld): MemberId[] =>
  crew.members.filter(({ role, state }) => role !== 'coordinator' && state !== 'gone').map(({ id }) => id)

function loseAllWorkers(world: CrewWorld): void {
  for (const member of workersOf(world)) world.submit({ type: 'member_gone', member, cause: 'agent', reason: 'exit code 1' })
}

test('after five losses in a row, a coordinator agent may not start another worker, but the user may', () => {
  const world = startedWorld({ coordinator: 'agent', staff: [{ role: 'generic', count: 1 }], maxWorkers: 1 })
  const spawn = { type: 'spawn_worker', role: 'generic' } as const
  const byCoordinator = (call: string): Issuer => senderOfMember(world.requireProcess('coordinator'), call)
  loseAllWorkers(world)
  for (let lossCount = 1; lossCount < 5; lossCount += 1) {
    expect(world.submit(spawn, byCoordinator(`s${lossCount}`))).not.toBeNull()
    loseAllWorkers(world)
  }
  expect(world.submit(spawn, byCoordinator('again'))).toBeNull()
  expect(world.lastRefusal).toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    message: expect.stringContaining('5 workers in a row were lost') as string,
    hint: expect.stringContaining('notify_user') as string,
  })
  expect(world.submit(spawn, USER)).not.toBeNull()
  runUntil(world, () => world.crew.members.some(({ id, state }) => id === 'worker-6' && state === 'on'))
})

test('a worker that the user kills counts neither as a failed attempt nor as a failed review', () => {
  const world = startedWorld({ maxAttempts: 1, maxWorkers: 3 })
  const killMember = (member: MemberId): void => {
    world.submit({ type: 'member_gone', member, cause: 'person', reason: 'SIGKILL from user' })
  }
  for (let killCount = 0; killCount < 6; killCount += 1) {
    runUntilTask(world, 'implementing')
    killMember(taskOf(world).implementer ?? 'worker-9')
    expect(taskOf(world)).toMatchObject({ attempts: 0 })
  }
  for (let killCount = 0; killCount < 2; killCount += 1) {
    runUntilTask(world, 'in_review')
    killMember(taskOf(world).reviewer ?? 'worker-9')
    expect(taskOf(world)).toMatchObject({ attempts: 0, unreviewed: 0 })
  }
  expect(world.crew.fruitless).toBe(0)
  runUntilTask(world, 'done')
  expect(memberOf(world, taskOf(world).implementer ?? 'worker-9').state).toBe('on')
})
