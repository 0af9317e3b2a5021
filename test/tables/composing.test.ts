// What a run does with its nodes on the real kernel, case by case: what it is told, in which order, and what it asks of the daemon.
// Histories by chance are in test/simulation/compose.test.ts.
import { expect, test } from 'vitest'
import { RUN, RunWorld, type NodeAsked } from '../support/compose-world.ts'

const node = (name: string, needs: readonly string[] = [], more: Partial<NodeAsked> = {}): NodeAsked => ({ name, needs, retries: 0, driver: 'native', ...more })
const states = (world: RunWorld): string => world.nodes.map(({ name, state }) => `${name} ${state}`).join(', ')
const statusOf = ({ run: { life } }: RunWorld): string => (life.state === 'dead' ? `${life.exit.code} ${life.exit.reason}` : life.state)

/** Answers all that is asked of the daemon. */
function answered(world: RunWorld): RunWorld {
  while (world.openAsks > 0) world.answer(0)
  return world
}

test('a chain: each is asked for when the one before has completed, and the run ends with the last', () => {
  const world = answered(new RunWorld([node('a'), node('b', ['a'])]))
  expect(states(world)).toBe('a running, b waiting')
  world.end('a', 'well')
  answered(world).end('b', 'well')
  expect(world.told).toEqual(['starting a', 'started a', 'completed a', 'starting b', 'started b', 'completed b', 'finished'])
  expect(statusOf(world)).toBe('0 completed')
  expect(world.row('a')?.spec.name).toBe('r.a')
})

test('an answer that comes twice, or to a run that is paused, starts nothing; when it goes on it is asked for once more', () => {
  const world = new RunWorld([node('a'), node('b')])
  world.answer(0)
  world.answerTwice(0)
  expect(world.refused).toBe('nobody waits for node "a" any more')
  world.signal(RUN, 'SIGPAUSE')
  world.answer(0)
  expect(states(world)).toBe('a running, b starting')
  expect(world.openAsks).toBe(0)
  world.resume(RUN)
  expect(world.openAsks).toBe(1)
  expect(states(answered(world))).toBe('a running, b running')
  expect(world.told).toEqual(['starting a', 'starting b', 'started a', 'starting b', 'started b'])
})

test('one that cannot be put together has failed, and blocks what needs it', () => {
  const world = new RunWorld([node('a'), node('b', ['a'])])
  world.fail(0)
  expect(world.nodes.map(({ reason }) => reason)).toEqual(['no such file', 'needs a'])
  expect(statusOf(world)).toBe('1 a failed; b blocked')
})

test('a retry resumes it; a command that was cut off has one only if it may', () => {
  const world = answered(new RunWorld([node('again', [], { retries: 1 }), node('once', [], { driver: 'command' }), node('twice', [], { driver: 'command', retries: 1 })]))
  const before = world.row('again')
  world.end('again', 'badly')
  world.wind()
  expect(world.row('again')).toMatchObject({ uuid: before?.uuid, life: { state: 'running' } })
  world.crash()
  expect(states(world)).toBe('again running, once failed, twice running')
  expect(world.nodes.map(({ attempts }) => attempts)).toEqual([1, 0, 1])
  world.end('again', 'refused')
  world.end('twice', 'well')
  expect(statusOf(world)).toBe('1 again, once failed')
})

test('a run that is stopped comes back with what was stopped with it, but for whom a person killed', () => {
  const world = answered(new RunWorld([node('a'), node('b'), node('c', ['a'])]))
  world.signal('b', 'SIGKILL')
  world.signal(RUN, 'SIGTERM')
  expect(states(world)).toBe('a cancelled, b cancelled, c waiting')
  expect(world.nodes.map(({ reason }) => reason)).toEqual(['stopped with its run', 'SIGKILL from user', null])
  expect(statusOf(world)).toMatch(/^143 /)
  world.resume(RUN)
  expect(states(world)).toBe('a running, b cancelled, c waiting')
  world.end('a', 'well')
  answered(world).end('c', 'well')
  expect(statusOf(world)).toBe('1 b cancelled')
})

test('a daemon that died while it stopped a run: the wish holds, and a resume brings all of it back', () => {
  const world = answered(new RunWorld([node('a'), node('b', ['a'])]))
  world.die()
  world.signal(RUN, 'SIGTERM')
  expect(statusOf(world)).toMatch(/^143 /)
  world.resume(RUN)
  world.end('a', 'well')
  answered(world).end('b', 'well')
  expect(statusOf(world)).toBe('0 completed')
})

test('a process that was removed while its run was down has failed', () => {
  const world = answered(new RunWorld([node('a'), node('b')]))
  world.signal(RUN, 'SIGTERM')
  world.remove('a')
  world.resume(RUN)
  world.end('b', 'well')
  expect(world.nodes[0]).toMatchObject({ state: 'cancelled' })
  expect(statusOf(world)).toBe('1 a cancelled')
})

test('one whose name is taken cannot come back', () => {
  const world = answered(new RunWorld([node('a'), node('b')]))
  world.signal(RUN, 'SIGTERM')
  world.occupy('r.a')
  world.resume(RUN)
  expect(world.nodes[0]).toMatchObject({ state: 'failed', reason: 'it cannot come back: another process is called "r.a"' })
  world.end('b', 'well')
  expect(statusOf(world)).toBe('1 a failed')
})

test('a node that a person resumes: what it blocked, and what was about to start, waits for it again', () => {
  const world = answered(new RunWorld([node('a'), node('b', ['a']), node('other')]))
  world.end('a', 'well')
  expect(states(world)).toBe('a completed, b starting, other running')
  world.resume('a')
  expect(states(world)).toBe('a running, b waiting, other running')
  world.answer(0)
  expect(world.refused).toBe('nobody waits for node "b" any more')
  world.end('a', 'well')
  expect(states(answered(world))).toBe('a completed, b running, other running')
})

test('resuming a node of a run that has ended: what had completed after it runs as another process', () => {
  const world = answered(new RunWorld([node('a'), node('b', ['a'])]))
  world.end('a', 'well')
  answered(world).end('b', 'well')
  const [a, b] = [world.row('a')?.uuid, world.row('b')?.uuid]
  world.resumeNode('a')
  expect(states(world)).toBe('a running, b waiting')
  world.end('a', 'well')
  answered(world).end('b', 'well')
  expect(world.row('a')?.uuid).toBe(a)
  expect(world.row('b')?.uuid).not.toBe(b)
  expect(statusOf(world)).toBe('0 completed')
  expect(world.told.slice(7)).toEqual(['again b', 'resumed a', 'completed a', 'starting b', 'started b', 'completed b', 'finished'])
})

test('a run that a person paused goes on with the node that is resumed', () => {
  const world = answered(new RunWorld([node('a'), node('b', ['a']), node('other')]))
  world.end('a', 'badly')
  world.signal(RUN, 'SIGPAUSE')
  world.resumeNode('a')
  world.end('a', 'well')
  expect(states(answered(world))).toBe('a completed, b running, other running')
})

test('what cannot be is refused, and changes nothing', () => {
  const world = answered(new RunWorld([node('a'), node('b', ['a']), node('c', ['b'])]))
  const told = world.told.length
  world.resumeNode('b')
  expect(world.refused).toBe('node "b" needs "a", which is running')
  world.end('a', 'well')
  answered(world)
  world.resumeNode('a')
  expect(world.refused).toBe('node "b" depends on "a" and runs: wait for its end, or stop it first')
  expect(world.told.slice(told)).toEqual(['completed a', 'starting b', 'started b'])
})
