// A run and its nodes in the real kernel, case by case: inputs, their order, and requests to the daemon. Random histories are in
// test/simulation/compose.test.ts.
import { expect, test } from 'vitest'
import { RUN, ComposeRunWorld, type NodePlan } from '../../../support/compose/compose-world.ts'

const makeNode = (name: string, neededNodes: readonly string[] = [], changes: Partial<NodePlan> = {}): NodePlan => ({
  name,
  needs: neededNodes,
  retries: 0,
  driver: 'native',
  ...changes,
})
const statesOf = (world: ComposeRunWorld): string => world.nodes.map(({ name, state }) => `${name} ${state}`).join(', ')
const statusOf = ({ run: { life } }: ComposeRunWorld): string =>
  life.state === 'dead' ? `${life.exit.code} ${life.exit.reason}` : life.state

/** Answers all requests to the daemon. */
function answerAll(world: ComposeRunWorld): ComposeRunWorld {
  while (world.openRequestCount > 0) world.answer(0)
  return world
}

test('each node of a chain is requested when the node before it has completed, and the run ends with the last', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b', ['a'])]))
  expect(statesOf(world)).toBe('a running, b waiting')
  world.end('a', 'success')
  answerAll(world).end('b', 'success')
  expect(world.received).toEqual(['starting a', 'started a', 'completed a', 'starting b', 'started b', 'completed b', 'finished'])
  expect(statusOf(world)).toBe('0 completed')
  expect(world.row('a')?.spec.name).toBe('r.a')
})

test('a second answer, or one to a paused run, starts nothing; the resume requests the node again', () => {
  const world = new ComposeRunWorld([makeNode('a'), makeNode('b')])
  world.answer(0)
  world.answerTwice(0)
  expect(world.refused).toBe('node "a" is no longer requested')
  world.signal(RUN, 'SIGPAUSE')
  world.answer(0)
  expect(statesOf(world)).toBe('a running, b starting')
  expect(world.openRequestCount).toBe(0)
  world.resume(RUN)
  expect(world.openRequestCount).toBe(1)
  expect(statesOf(answerAll(world))).toBe('a running, b running')
  expect(world.received).toEqual(['starting a', 'starting b', 'started a', 'starting b', 'started b'])
})

test('a node whose spec cannot be built fails, and blocks the nodes that need it', () => {
  const world = new ComposeRunWorld([makeNode('a'), makeNode('b', ['a'])])
  world.failAssembly(0)
  expect(world.nodes.map(({ reason }) => reason)).toEqual(['no such file', 'needs a'])
  expect(statusOf(world)).toBe('1 a failed; b blocked')
})

test('a retry resumes the node; an interrupted command is retried only if that is allowed', () => {
  const world = answerAll(
    new ComposeRunWorld([
      makeNode('again', [], { retries: 1 }),
      makeNode('once', [], { driver: 'command' }),
      makeNode('twice', [], { driver: 'command', retries: 1 }),
    ]),
  )
  const before = world.row('again')
  world.end('again', 'failure')
  world.advanceClock()
  expect(world.row('again')).toMatchObject({ uuid: before?.uuid, life: { state: 'running' } })
  world.crash()
  expect(statesOf(world)).toBe('again running, once failed, twice running')
  expect(world.nodes.map(({ attempts }) => attempts)).toEqual([1, 0, 1])
  world.end('again', 'refused')
  world.end('twice', 'success')
  expect(statusOf(world)).toBe('1 again, once failed')
})

test('a resumed run continues with the nodes that were stopped with it, except those that the user killed', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b'), makeNode('c', ['a'])]))
  world.signal('b', 'SIGKILL')
  world.signal(RUN, 'SIGTERM')
  expect(statesOf(world)).toBe('a cancelled, b cancelled, c waiting')
  expect(world.nodes.map(({ reason }) => reason)).toEqual(['stopped with its run', 'SIGKILL from user', null])
  expect(statusOf(world)).toMatch(/^143 /)
  world.resume(RUN)
  expect(statesOf(world)).toBe('a running, b cancelled, c waiting')
  world.end('a', 'success')
  answerAll(world).end('c', 'success')
  expect(statusOf(world)).toBe('1 b cancelled')
})

test('after a daemon died while it stopped a run, the run stays stopped, and a resume restarts all nodes', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b', ['a'])]))
  world.dieAtNextDecision()
  world.signal(RUN, 'SIGTERM')
  expect(statusOf(world)).toMatch(/^143 /)
  world.resume(RUN)
  world.end('a', 'success')
  answerAll(world).end('b', 'success')
  expect(statusOf(world)).toBe('0 completed')
})

test('a node whose process was removed while its run had ended stays cancelled when the run resumes', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b')]))
  world.signal(RUN, 'SIGTERM')
  world.remove('a')
  world.resume(RUN)
  world.end('b', 'success')
  expect(world.nodes[0]).toMatchObject({ state: 'cancelled' })
  expect(statusOf(world)).toBe('1 a cancelled')
})

test('a node whose name is taken cannot restart', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b')]))
  world.signal(RUN, 'SIGTERM')
  world.occupy('r.a')
  world.resume(RUN)
  expect(world.nodes[0]).toMatchObject({ state: 'failed', reason: 'it cannot restart: another process is called "r.a"' })
  world.end('b', 'success')
  expect(statusOf(world)).toBe('1 a failed')
})

test('when the user resumes a node, blocked nodes and those about to start wait for it again', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b', ['a']), makeNode('other')]))
  world.end('a', 'success')
  expect(statesOf(world)).toBe('a completed, b starting, other running')
  world.resume('a')
  expect(statesOf(world)).toBe('a running, b waiting, other running')
  world.answer(0)
  expect(world.refused).toBe('node "b" is no longer requested')
  world.end('a', 'success')
  expect(statesOf(answerAll(world))).toBe('a completed, b running, other running')
})

test('after the resume of a node of an ended run, its completed dependents run as new processes', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b', ['a'])]))
  world.end('a', 'success')
  answerAll(world).end('b', 'success')
  const [a, b] = [world.row('a')?.uuid, world.row('b')?.uuid]
  world.resumeNode('a')
  expect(statesOf(world)).toBe('a running, b waiting')
  world.end('a', 'success')
  answerAll(world).end('b', 'success')
  expect(world.row('a')?.uuid).toBe(a)
  expect(world.row('b')?.uuid).not.toBe(b)
  expect(statusOf(world)).toBe('0 completed')
  expect(world.received.slice(7)).toEqual(['again b', 'resumed a', 'completed a', 'starting b', 'started b', 'completed b', 'finished'])
})

test('the resume of a node also resumes its paused run', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b', ['a']), makeNode('other')]))
  world.end('a', 'failure')
  world.signal(RUN, 'SIGPAUSE')
  world.resumeNode('a')
  world.end('a', 'success')
  expect(statesOf(answerAll(world))).toBe('a completed, b running, other running')
})

test('a request that the run cannot fulfil is refused, and changes nothing', () => {
  const world = answerAll(new ComposeRunWorld([makeNode('a'), makeNode('b', ['a']), makeNode('c', ['b'])]))
  const receivedBefore = world.received.length
  world.resumeNode('b')
  expect(world.refused).toBe('node "b" needs "a", which is running')
  world.end('a', 'success')
  answerAll(world)
  world.resumeNode('a')
  expect(world.refused).toBe('node "b" depends on "a" and is running: wait for its end, or stop it first')
  expect(world.received.slice(receivedBefore)).toEqual(['completed a', 'starting b', 'started b'])
})
