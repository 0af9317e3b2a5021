// Workers that come to nothing, one after the other: whoever coordinates, no more are started and paid for.
import { expect, test } from 'vitest'
import { byMember } from '../support/crew-world/life.ts'
import { memberOf, PERSON, taskOf, until, untilTask, up } from '../support/crew-world/story.ts'
import type { By } from '../../src/crew/commands.ts'
import type { MemberId } from '../../src/crew/types.ts'
import type { World } from '../support/crew-world/world.ts'

const workers = ({ crew }: World): MemberId[] => crew.members.filter(({ role, state }) => role !== 'coordinator' && state !== 'gone').map(({ id }) => id)

function allAreLost(world: World): void {
  for (const member of workers(world)) world.say({ type: 'member_gone', member, cause: 'agent', reason: 'exit code 1' })
}

test('an agent that coordinates is told so, and a person may start another', () => {
  const world = up({ coordinator: 'agent', staff: [{ role: 'generic', count: 1 }], maxWorkers: 1 })
  const spawn = { type: 'spawn_worker', role: 'generic' } as const
  const boss = (call: string): By => byMember(world.need('coordinator'), call)
  allAreLost(world)
  for (let lost = 1; lost < 5; lost += 1) {
    expect(world.say(spawn, boss(`s${lost}`))).not.toBeNull()
    allAreLost(world)
  }
  expect(world.say(spawn, boss('again'))).toBeNull()
  expect(world.refusal).toMatchObject({ code: 'RESOURCE_EXHAUSTED', message: expect.stringContaining('5 workers in a row were lost') as string, hint: expect.stringContaining('notify_user') as string })
  expect(world.say(spawn, PERSON)).not.toBeNull()
  until(world, () => world.crew.members.some(({ id, state }) => id === 'worker-6' && state === 'on'))
})

test('whom a person kills came to nothing by nobody\'s fault: it is no try of its task, nor one of a review, however often', () => {
  const world = up({ maxAttempts: 1, maxWorkers: 3 })
  const kill = (member: MemberId): void => {
    world.say({ type: 'member_gone', member, cause: 'person', reason: 'SIGKILL from user' })
  }
  for (let killed = 0; killed < 6; killed += 1) {
    untilTask(world, 'implementing')
    kill(taskOf(world).implementer ?? 'worker-9')
    expect(taskOf(world)).toMatchObject({ attempts: 0 })
  }
  for (let killed = 0; killed < 2; killed += 1) {
    untilTask(world, 'in_review')
    kill(taskOf(world).reviewer ?? 'worker-9')
    expect(taskOf(world)).toMatchObject({ attempts: 0, unreviewed: 0 })
  }
  expect(world.crew.fruitless).toBe(0)
  untilTask(world, 'done')
  expect(memberOf(world, taskOf(world).implementer ?? 'worker-9').state).toBe('on')
})
