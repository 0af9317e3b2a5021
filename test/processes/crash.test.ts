// The daemon is killed with SIGKILL at random moments, while it boots, resumes and runs agents: nothing that was acknowledged
// is lost, nothing is done twice, nothing is left running, and the table is what its journal says.
import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { besiege, type Tally } from '../support/crash.ts'
import { seeded } from '../support/random.ts'

const KILLS = 50
const KILLS_PER_LIFE = 13
const LINES = 60
const LIMIT_MS = 600_000

test(`${KILLS} kills at random moments break no promise`, { timeout: LIMIT_MS }, async () => {
  const seed = randomInt(2 ** 31)
  const random = seeded(seed)
  const lives: Tally[] = []
  let left = KILLS
  while (left > 0) {
    const tally = await besiege({ lines: LINES, kills: Math.min(left, KILLS_PER_LIFE), random, killed: () => { left -= 1 } }).catch((error: unknown) => {
      throw new Error(`seed ${seed}, ${KILLS - left} kills: ${(error as Error).message}`, { cause: error })
    })
    lives.push(tally)
  }
  const sum = (of: (tally: Tally) => number): number => lives.reduce((total, tally) => total + of(tally), 0)
  expect(sum(({ kills }) => kills.boot + kills.resume + kills.work + kills.stop)).toBe(KILLS)
  // What the siege is for did happen: agents were resumed, clients were told of facts, calls were cut off.
  expect(sum((tally) => tally.resumes)).toBeGreaterThan(KILLS)
  expect(sum((tally) => tally.acknowledged)).toBeGreaterThan(KILLS)
  expect(sum(({ cutOff }) => cutOff.written + cutOff.absent)).toBeGreaterThan(0)
  expect(sum((tally) => tally.lines)).toBeLessThanOrEqual(lives.length * 5 * LINES)
})
