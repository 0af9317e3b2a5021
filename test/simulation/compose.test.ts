// Compose runs over random graphs, with random ends, users who interfere, and a daemon that dies between any two inputs.
// The invariants of compose-world.ts hold after each input. Without further faults each run comes to its end, and
// each node's state follows from its process's exit. REEVE_SEED repeats a run, REEVE_LIVES sets the number of runs.
import { expect, test } from 'vitest'
import { deep } from '../support/deep.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { RUN, ComposeRunWorld, type Outcome, type NodePlan } from '../support/compose/compose-world.ts'
import { SEED } from '../support/seed.ts'

const RUNS = Number(process.env['REEVE_LIVES'] ?? deep(100, 400))
/** the number of random interferences in a run */
const INTERFERENCES_PER_RUN = 40
/** the number of rounds without interference after which a run must have ended */
const MAX_ROUNDS = 200
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']

type Pick = (bound: number) => number

function randomGraph(pick: Pick): NodePlan[] {
  const names = NAMES.slice(0, 1 + pick(NAMES.length))
  return names.map((name, index) => ({
    name,
    needs: names.slice(0, index).filter(() => pick(3) === 0),
    retries: pick(3),
    driver: pick(2) === 0 ? 'native' : 'command',
  }))
}

function interfereOnce(world: ComposeRunWorld, pick: Pick): void {
  const node = world.nodes[pick(world.nodes.length)]?.name ?? ''
  const outcomes: readonly Outcome[] = ['success', 'success', 'success', 'failure', 'refused']
  const target = pick(3) === 0 ? RUN : node
  switch (pick(16)) {
    case 0:
      return world.crash()
    case 1:
      return world.dieAtNextDecision()
    case 2:
      return world.answerTwice(pick(10))
    case 3:
      return world.failAssembly(pick(10))
    case 4:
      return world.signal(node, 'SIGKILL')
    case 5:
      return world.signal(target, 'SIGPAUSE')
    case 6:
    case 7:
      return world.resume(target)
    case 8:
      return world.resumeNode(node)
    case 9:
      return pick(4) === 0 ? world.signal(RUN, 'SIGTERM') : world.advanceClock()
    case 10:
    case 11:
    case 12:
      return world.answer(pick(10))
    default:
      return world.end(node, outcomes[pick(outcomes.length)] ?? 'success')
  }
}

/** Ends all interference: paused processes resume, requests are answered, running processes end with success. */
function endInterference(world: ComposeRunWorld): void {
  for (let round = 0; round < MAX_ROUNDS && !world.isOver; round += 1) {
    world.advanceClock()
    if (world.run.life.state === 'running' && world.run.life.holds.length > 0) world.resume(RUN)
    while (world.openRequestCount > 0) world.answer(0)
    for (const { name } of world.nodes) {
      const life = world.row(name)?.life
      if (life?.state === 'running' && life.holds.length > 0) world.resume(name)
      world.end(name, 'success')
    }
  }
}

function playRun(seed: number): ComposeRunWorld {
  const pick = makeSeededPick(seed)
  const world = new ComposeRunWorld(randomGraph(pick), pick(3) === 0 ? 1 + pick(3) : undefined)
  for (let count = 0; count < INTERFERENCES_PER_RUN; count += 1) interfereOnce(world, pick)
  endInterference(world)
  return world
}

test(`${RUNS} random runs keep the invariants, and end as their processes do (seed ${SEED})`, () => {
  const seenStates = new Set<string>()
  for (let run = 0; run < RUNS; run += 1) {
    try {
      const world = playRun(SEED + run)
      expect(world.isOver, `the run is not over\n${world.log}`).toBe(true)
      const { life } = world.run
      const stopped = life.state === 'dead' && life.exit.cause !== 'agent'
      for (const node of world.nodes) {
        seenStates.add(node.state)
        // A node that was stopped with its run, or had not begun, continues with it.
        if (stopped && (node.state === 'waiting' || node.state === 'starting' || node.state === 'running')) continue
        const expected = world.expectedState(node)
        if (expected !== null) expect(node.state, `node ${node.name}\n${world.log}`).toBe(expected)
      }
      if (life.state === 'dead' && life.exit.cause === 'agent')
        expect(life.exit.code).toBe(world.nodes.every(({ state }) => state === 'completed') ? 0 : 1)
    } catch (error) {
      throw new Error(`REEVE_SEED=${SEED + run} REEVE_LIVES=1 fails`, { cause: error })
    }
  }
  // All final states of a node have occurred.
  expect([...seenStates]).toEqual(expect.arrayContaining(['completed', 'failed', 'blocked', 'cancelled']))
}, 600_000)
