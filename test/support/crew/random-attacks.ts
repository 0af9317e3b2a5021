// A crew on a real repository under random attacks. The daemon and workers are killed, members are paused, and the crew is stopped.
// SIGSTOP freezes the daemon, and the wall clock jumps. The store is checked after each kill of the daemon. At the end every task must be
// committed once, in the right file. No program may remain, and the user's checkout must be untouched.
// Test: test/processes/crew/random-attacks.deep.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { CrewHome, makeTask, type TestTask } from './crew-home.ts'
import { crewFacts, ofType, violationsOfCrew } from './crew-journal-check.ts'
import { ApiError } from '../../../src/api/client/api-error.ts'

const TASKS = 6
/** the longest time between two attacks, in ms */
const MAX_INTERVAL_MS = 2_500
const DAY_MS = 86_400_000

export type Attack = 'daemon' | 'worker' | 'pause' | 'stop' | 'freeze' | 'clock'

export interface CrewTally {
  readonly attacks: Record<Attack, number>
  /** the number of attempts that were lost and requeued */
  requeued: number
  /** the number of the crew's facts */
  facts: number
}

/** Runs a crew to its end under this many random attacks. Throws with all violations, if there are any. */
export async function attackCrew(random: () => number, attacks: number): Promise<CrewTally> {
  await using crew = await CrewHome.make()
  const tally: CrewTally = { attacks: { daemon: 0, worker: 0, pause: 0, stop: 0, freeze: 0, clock: 0 }, requeued: 0, facts: 0 }
  const tasks = tasksOf(random)
  const coordinator = random() < 0.5 ? 'engine' : { model: CrewHome.model('coordinator') }
  await crew.up({ coordinator, workers: { generic: { count: 3, model: CrewHome.model('worker') } }, max_attempts: 50, tasks })
  for (let attack = 0; attack < attacks; attack += 1) {
    await sleep(random() * MAX_INTERVAL_MS)
    if ((await crew.home.view(crew.uuid)).state === 'dead') break
    await performAttack(crew, attackFor(random()), random, tally)
  }
  await crew.cli('crew', 'resume', 'team').catch(() => undefined)
  const { status } = await crew.waitForEnd()
  if (status !== 'completed') throw new Error(`the crew is ${status}`)
  await checkResult(crew, tasks, tally)
  return tally
}

function tasksOf(random: () => number): TestTask[] {
  const ids = Array.from({ length: TASKS }, (_, index) => `t${index}`)
  return ids.map((id, index) =>
    makeTask(
      id,
      ids.slice(0, index).filter(() => random() < 0.25),
      random() < 0.3,
    ),
  )
}

function attackFor(chance: number): Attack {
  if (chance < 0.3) return 'daemon'
  if (chance < 0.5) return 'worker'
  if (chance < 0.65) return 'pause'
  if (chance < 0.8) return 'stop'
  return chance < 0.9 ? 'freeze' : 'clock'
}

async function performAttack(crew: CrewHome, attack: Attack, random: () => number, tally: CrewTally): Promise<void> {
  tally.attacks[attack] += 1
  if (attack === 'daemon') {
    await crew.home.kill()
    await checkStore(crew, false)
    await crew.home.start()
    // After three crashes the daemon holds the processes that it would resume, until the user resumes them.
    await crew.cli('crew', 'resume', 'team').catch(() => undefined)
    return
  }
  if (attack === 'freeze') return crew.home.freezeFor(random() * MAX_INTERVAL_MS)
  if (attack === 'clock') return crew.home.shiftClock((random() - 0.5) * 60 * DAY_MS)
  if (attack === 'stop') {
    await crew.cli('crew', 'stop', 'team').catch(() => undefined)
    await crew.home.waitForEnd(crew.uuid)
    // A member that had finished its work stays dead.
    await crew.cli('crew', 'resume', 'team').catch(() => undefined)
    return
  }
  // A pause of the crew itself pauses all its members.
  const members = (await crew.home.listProcesses()).filter(
    ({ name, state }) => state === 'running' && (attack === 'pause' ? name?.startsWith('team') : name?.startsWith('team.worker')),
  )
  const target = members[Math.floor(random() * members.length)]
  if (target === undefined) return
  try {
    if (attack === 'worker') await crew.home.signal(target.uuid, { signal: 'SIGKILL' })
    else {
      const subtree = target.uuid === crew.uuid
      await crew.home.pause(target.uuid, { subtree })
      await sleep(random() * MAX_INTERVAL_MS)
      await crew.home.resume(target.uuid, { subtree })
    }
  } catch (error) {
    // The process may have ended meanwhile.
    if (!(error instanceof ApiError)) throw error
  }
}

/** Checks the store, and that no program remains, after the end of a daemon. */
async function checkStore(crew: CrewHome, isOver: boolean): Promise<Awaited<ReturnType<CrewHome['journals']>>> {
  const journals = await crew.journals()
  const violations = [...journals.violations, ...violationsOfCrew(journals.crew, journals.members, isOver)]
  if (violations.length > 0) throw new Error(violations.join('\n'))
  return journals
}

async function checkResult(crew: CrewHome, tasks: readonly TestTask[], tally: CrewTally): Promise<void> {
  const { home, repository } = crew
  const { code } = await home.stop()
  if (code !== 0) throw new Error(`the daemon ended with ${code}`)
  await home.waitUntilNothingIsLeft()
  const facts = crewFacts((await checkStore(crew, true)).crew.facts)
  tally.facts += facts.length
  tally.requeued += ofType(facts, 'task.requeued').length
  const violations = tasks.flatMap(({ id }) => [
    ...(ofType(facts, 'task.done').some(({ task }) => task === id) ? [] : [`${id} is not done`]),
    ...(repository.git('show', `reeve/team:${id}.txt`) === `${id}.` ? [] : [`${id}.txt is wrong`]),
    ...(repository.git('log', '--format=%H', '--no-merges', 'main..reeve/team', '--', `${id}.txt`).split('\n').length === 1
      ? []
      : [`${id}.txt was committed several times`]),
  ])
  if (repository.git('status', '--porcelain') !== '') violations.push("the user's checkout was touched")
  if (violations.length > 0) throw new Error(violations.join('\n'))
}
