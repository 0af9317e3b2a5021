// The simulated git (test/support/simulated-git) compared with git. A run of a crew on it is repeated with git and the daemon's own
// jobs, including the wrong actions of workers and user. Each job gives the same answer, and each step leaves the same state. So the
// laws that test/simulation/crew.test.ts checks on the simulated git hold with git, too.
// A failure prints the seed: REEVE_SEED repeats it, REEVE_LIVES sets the number of runs.
import { expect, test } from 'vitest'
import { Dice } from '../../support/crew-world/random-faults.ts'
import { deep } from '../../support/deep.ts'
import { createSimulatedCrew, playSimulatedCrew } from '../../support/simulated-git/simulated-crew.ts'
import { seededRandom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'
import { RealGit } from '../../support/crew/real-git.ts'
import type { Operation, SimulatedRepository, Step } from '../../support/simulated-git/simulated-repository.ts'
import type { CrewSpec } from '../../../src/kernel/model/process-spec.ts'

const RUNS = Number(process.env['REEVE_LIVES'] ?? deep(2, 25))

function specBy(random: () => number): Partial<CrewSpec> {
  const command = { command: 'make check', timeoutMs: 60_000 }
  return {
    staff: [{ role: 'generic', count: 3 }],
    maxAttempts: 8,
    reviews: random() < 0.9,
    merge: random() < 0.9 ? 'auto' : 'leave',
    gate: random() < 0.8 ? 'auto' : 'human',
    ...(random() < 0.6 ? { verify: command } : {}),
    ...(random() < 0.2 ? { setup: { ...command, command: 'make' } } : {}),
  }
}

/** A run on the simulated git, whose laws hold. */
function playOnSimulatedGit(random: () => number): SimulatedRepository {
  const simulatedRun = createSimulatedCrew(specBy(random), { trace: true })
  playSimulatedCrew(simulatedRun, new Dice(Array.from({ length: 60 + Math.floor(random() * 300) }, () => Math.floor(random() * 10_000))))
  if (!simulatedRun.repository) throw new Error('the simulated crew has no repository')
  return simulatedRun.repository
}

function describeStep({ operation }: Step): string {
  return JSON.stringify(operation, (name, value: Operation) => (name === 'facts' ? undefined : value)).slice(0, 300)
}

test(
  `git gives the same answers and states as the simulated git (${RUNS} runs, seed ${SEED})`,
  async () => {
    const tally = { steps: 0, jobs: 0, landings: 0 }
    for (let seed = SEED; seed < SEED + RUNS; seed += 1) {
      const repository = playOnSimulatedGit(seededRandom(seed))
      await using real = await RealGit.make(repository.base)
      for (const [index, step] of repository.steps.entries()) {
        await real.repeat(step).catch((error: unknown) => {
          throw new Error(
            `seed ${seed}: ${error instanceof Error ? error.message : String(error)}\nafter:\n${repository.steps
              .slice(Math.max(0, index - 15), index)
              .map(describeStep)
              .join('\n')}`,
            { cause: error },
          )
        })
        tally.jobs += step.operation.type === 'job' ? 1 : 0
      }
      tally.steps += repository.steps.length
      tally.landings += repository.laws.landingCount
    }
    console.info(`${RUNS} runs: ${tally.steps} steps, ${tally.jobs} of them jobs, ${tally.landings} landings`)
    expect(tally.jobs).toBeGreaterThan(RUNS * 3)
  },
  60_000 + RUNS * 400_000,
)
