// Simulates a crew on the simulated git: random acts and faults, then work without faults until the crew has ended.
// Used by test/simulation/crew.test.ts, test/simulation/crew-laws.test.ts and test/processes/crew/simulated-git.test.ts.
import { runWithoutFaults } from '../crew-world/regular-work.ts'
import { playRandomAct, startCrew, type Dice } from '../crew-world/random-faults.ts'
import { CrewWorld, crewSpecOf, type WorldOptions } from '../crew-world/world.ts'
import { USER_CHANGES, SimulatedRepository, type Defects } from './simulated-repository.ts'
import type { CrewSpec } from '../../../src/kernel/model/process-spec.ts'

/** the number of commands in which a crew must end in a world without faults */
const MAX_COMMANDS = 1_500

export interface SimulatedCrew {
  readonly world: CrewWorld
  /** null: it has no repository */
  readonly repository: SimulatedRepository | null
}

/**
 * `trace`: records each operation with its result. `defects` break jobs, and `decide` replaces the crew's decisions: tests must find both.
 */
export function createSimulatedCrew(
  spec: Partial<CrewSpec>,
  {
    trace,
    defects,
    decide,
  }: { readonly trace?: boolean; readonly defects?: Defects; readonly decide?: NonNullable<WorldOptions['decide']> } = {},
): SimulatedCrew {
  if (spec.git === null) return { world: new CrewWorld(crewSpecOf(spec), decide ? { decide } : {}), repository: null }
  const repository = new SimulatedRepository({ ...(trace ? { trace } : {}), ...(defects ? { defects } : {}) })
  const world = new CrewWorld(
    crewSpecOf({ ...spec, git: { ...crewSpecOf().git, repository: '/repository', base: repository.base, branch: 'reeve/crew' } }),
    { repository, ...(decide ? { decide } : {}) },
  )
  repository.world = world
  return { world, repository }
}

/** Performs a hostile git operation: one in four as the user, the others in the worktrees of members. `chosenNumber`: from the dice. */
function performGitOperation(repository: SimulatedRepository, chosenNumber: number): void {
  const operation = USER_CHANGES[Math.floor(chosenNumber / 4) % USER_CHANGES.length] ?? 'commit'
  if (chosenNumber % 4 === 0) repository.changeAsUser(operation)
  else repository.misuse(Math.floor(chosenNumber / 4))
}

/** Plays the random acts, and then a world without faults until the crew has ended. Calls `onFaultsEnded` in between. */
export function playSimulatedCrew({ world, repository }: SimulatedCrew, dice: Dice, onFaultsEnded: () => void = () => undefined): void {
  startCrew(world, dice)
  while (dice.hasNumbers && world.outcome === null)
    playRandomAct(
      world,
      dice,
      repository
        ? (chosenNumber) => {
            performGitOperation(repository, chosenNumber)
          }
        : undefined,
    )
  onFaultsEnded()
  // A patient merge waits until the user checks out another branch.
  if (repository?.isCrewBranchCheckedOut) repository.changeAsUser('switch')
  runWithoutFaults(world, MAX_COMMANDS)
}
