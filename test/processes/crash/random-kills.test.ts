// The daemon is killed with SIGKILL at random moments, while it boots, resumes and runs agents. No acknowledged fact is lost, nothing
// is done twice, no program is left running, and the table matches its journal.
import { expect, test } from 'vitest'
import { killRepeatedly, type KillTally } from '../../support/daemon/repeated-kills.ts'
import { deep } from '../../support/deep.ts'
import { seededRandom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'

const KILLS = deep(9, 50)
const KILLS_PER_HOME = 13
const LINES = 60
const LIMIT_MS = 600_000

test(`${KILLS} kills at random moments break no guarantee`, { timeout: LIMIT_MS }, async () => {
  const random = seededRandom(SEED)
  const tallies: KillTally[] = []
  let killsLeft = KILLS
  while (killsLeft > 0) {
    const tally = await killRepeatedly({
      lines: LINES,
      kills: Math.min(killsLeft, KILLS_PER_HOME),
      random,
      onKill: () => {
        killsLeft -= 1
      },
    }).catch((error: unknown) => {
      throw new Error(`seed ${SEED}, ${KILLS - killsLeft} kills: ${(error as Error).message}`, { cause: error })
    })
    tallies.push(tally)
  }
  const sum = (countOf: (tally: KillTally) => number): number => tallies.reduce((total, tally) => total + countOf(tally), 0)
  expect(sum(({ kills }) => kills.boot + kills.resume + kills.work + kills.stop)).toBe(KILLS)
  // The test reached its cases: agents were resumed, clients received facts, calls were cut off.
  expect(sum((tally) => tally.resumes)).toBeGreaterThan(KILLS / 2)
  expect(sum((tally) => tally.acknowledged)).toBeGreaterThan(KILLS / 2)
  expect(sum(({ cutOff }) => cutOff.written + cutOff.absent)).toBeGreaterThan(0)
  for (const phase of ['boot', 'resume', 'work', 'stop'] as const)
    expect(
      sum(({ kills }) => kills[phase]),
      phase,
    ).toBeGreaterThan(0)
  expect(sum(({ disturbances }) => disturbances.frozen)).toBeGreaterThan(0)
  expect(sum(({ disturbances }) => disturbances.clock)).toBeGreaterThan(0)
  expect(sum((tally) => tally.lines)).toBeLessThanOrEqual(tallies.length * 5 * LINES)
})
