// Runs of compose files over random graphs with random ends, people who interfere, and a daemon that dies between any two inputs: after
// each of them what must always be so is so (compose-world.ts), and when the world behaves again each run comes to its end, with
// each node called by how its process ended. REEVE_SEED repeats a run, REEVE_LIVES makes it longer.
import { expect, test } from 'vitest'
import { seeded } from '../support/kernel/random.ts'
import { RUN, RunWorld, type End, type NodeAsked } from '../support/compose-world.ts'

const SEED = Number(process.env['REEVE_SEED'] ?? Date.now() % 1_000_000_000)
const LIVES = Number(process.env['REEVE_LIVES'] ?? 400)
/** events of a life by chance */
const LENGTH = 40
/** rounds until all must be over */
const PATIENCE = 200
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']

type Pick = (below: number) => number

function graph(pick: Pick): NodeAsked[] {
  const names = NAMES.slice(0, 1 + pick(NAMES.length))
  return names.map((name, at) => ({ name, needs: names.slice(0, at).filter(() => pick(3) === 0), retries: pick(3), driver: pick(2) === 0 ? 'native' : 'command' }))
}

function interfere(world: RunWorld, pick: Pick): void {
  const node = world.nodes[pick(world.nodes.length)]?.name ?? ''
  const ends: readonly End[] = ['well', 'well', 'well', 'badly', 'refused']
  const whom = pick(3) === 0 ? RUN : node
  switch (pick(16)) {
    case 0: return world.crash()
    case 1: return world.die()
    case 2: return world.answerTwice(pick(10))
    case 3: return world.fail(pick(10))
    case 4: return world.signal(node, 'SIGKILL')
    case 5: return world.signal(whom, 'SIGPAUSE')
    case 6:
    case 7: return world.resume(whom)
    case 8: return world.resumeNode(node)
    case 9: return pick(4) === 0 ? world.signal(RUN, 'SIGTERM') : world.wind()
    case 10:
    case 11:
    case 12: return world.answer(pick(10))
    default: return world.end(node, ends[pick(ends.length)] ?? 'well')
  }
}

/** Nobody interferes any more: what is paused goes on, what is asked is answered, what runs ends well. */
function settle(world: RunWorld): void {
  for (let round = 0; round < PATIENCE && !world.isOver; round += 1) {
    world.wind()
    if (world.run.life.state === 'running' && world.run.life.holds.length > 0) world.resume(RUN)
    while (world.openAsks > 0) world.answer(0)
    for (const { name } of world.nodes) {
      const life = world.row(name)?.life
      if (life?.state === 'running' && life.holds.length > 0) world.resume(name)
      world.end(name, 'well')
    }
  }
}

function live(seed: number): RunWorld {
  const pick = seeded(seed)
  const world = new RunWorld(graph(pick), pick(3) === 0 ? 1 + pick(3) : undefined)
  for (let event = 0; event < LENGTH; event += 1) interfere(world, pick)
  settle(world)
  return world
}

test(`${LIVES} runs by chance, seed ${SEED}`, () => {
  const seen = new Set<string>()
  for (let life = 0; life < LIVES; life += 1) {
    try {
      const world = live(SEED + life)
      expect(world.isOver, `the run is not over\n${world.log}`).toBe(true)
      const { life: end } = world.run
      const stopped = end.state === 'dead' && end.exit.cause !== 'agent'
      for (const node of world.nodes) {
        seen.add(node.state)
        // What was stopped with the run, or had not begun, goes on with it.
        if (stopped && (node.state === 'waiting' || node.state === 'starting' || node.state === 'running')) continue
        const word = world.shouldBe(node)
        if (word !== null) expect(node.state, `node ${node.name}\n${world.log}`).toBe(word)
      }
      if (end.state === 'dead' && end.exit.cause === 'agent') expect(end.exit.code).toBe(world.nodes.every(({ state }) => state === 'completed') ? 0 : 1)
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + life} REEVE_LIVES=1 fails`, { cause: error })
    }
  }
  // All that can become of a node has come up.
  expect([...seen]).toEqual(expect.arrayContaining(['completed', 'failed', 'blocked', 'cancelled']))
}, 600_000)
