// A crew on a real repository while its daemon, its workers and people's patience end at random moments: `kill -9` of the daemon,
// of workers, pauses of one or of all. Looked at after each kill, and at the end: every task is committed once, in the right files, and nothing is left.
// Tests: test/processes/crew-siege.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import { CrewHome, taskOf, type TaskOf } from './crew-home.ts'
import { crewFacts, ofType, wrongsOfCrew } from './crew-journal.ts'
import { ApiError } from '../../src/api/client.ts'

const TASKS = 6
/** longest time between two strokes, in ms */
const PAUSE_MS = 2_500

export type Stroke = 'daemon' | 'worker' | 'pause' | 'stop'

export interface CrewTally {
  readonly strokes: Record<Stroke, number>
  /** tries that were lost, and facts of the crew */
  requeued: number
  facts: number
}

/** Errors: with all that is wrong. */
export async function besiegeCrew(random: () => number, strokes: number): Promise<CrewTally> {
  await using crew = await CrewHome.make()
  const tally: CrewTally = { strokes: { daemon: 0, worker: 0, pause: 0, stop: 0 }, requeued: 0, facts: 0 }
  const tasks = tasksOf(random)
  const coordinator = random() < 0.5 ? 'engine' : { model: CrewHome.model('coordinator') }
  await crew.up({ coordinator, workers: { generic: { count: 3, model: CrewHome.model('worker') } }, max_attempts: 50, tasks })
  for (let stroke = 0; stroke < strokes; stroke += 1) {
    await sleep(random() * PAUSE_MS)
    if ((await crew.home.view(crew.uuid)).state === 'dead') break
    await strike(crew, strokeOf(random()), random, tally)
  }
  await crew.cli('crew', 'resume', 'team').catch(() => undefined)
  const { status } = await crew.ended()
  if (status !== 'completed') throw new Error(`the crew is ${status}`)
  await isOver(crew, tasks, tally)
  return tally
}

function tasksOf(random: () => number): TaskOf[] {
  const ids = Array.from({ length: TASKS }, (_, index) => `t${index}`)
  return ids.map((id, index) => taskOf(id, ids.slice(0, index).filter(() => random() < 0.25), random() < 0.3))
}

function strokeOf(chance: number): Stroke {
  if (chance < 0.4) return 'daemon'
  if (chance < 0.6) return 'worker'
  return chance < 0.8 ? 'pause' : 'stop'
}

async function strike(crew: CrewHome, stroke: Stroke, random: () => number, tally: CrewTally): Promise<void> {
  tally.strokes[stroke] += 1
  if (stroke === 'daemon') {
    await crew.home.kill()
    await isSound(crew, false)
    await crew.home.start()
    // After three deaths it holds what it would bring back, until a person says otherwise.
    await crew.cli('crew', 'resume', 'team').catch(() => undefined)
    return
  }
  if (stroke === 'stop') {
    await crew.cli('crew', 'stop', 'team').catch(() => undefined)
    await crew.home.ended(crew.uuid)
    // One that had done its work stays as it is.
    await crew.cli('crew', 'resume', 'team').catch(() => undefined)
    return
  }
  // Of the crew itself a pause is that of all.
  const members = (await crew.home.list()).filter(({ name, state }) => state === 'running' && (stroke === 'pause' ? name?.startsWith('team') : name?.startsWith('team.worker')))
  const victim = members[Math.floor(random() * members.length)]
  if (victim === undefined) return
  try {
    if (stroke === 'worker') await crew.home.signal(victim.uuid, { signal: 'SIGKILL' })
    else {
      const subtree = victim.uuid === crew.uuid
      await crew.home.pause(victim.uuid, { subtree })
      await sleep(random() * PAUSE_MS)
      await crew.home.resume(victim.uuid, { subtree })
    }
  } catch (error) {
    // It may end in this moment.
    if (!(error instanceof ApiError)) throw error
  }
}

/** What a daemon that is gone has left. */
async function isSound(crew: CrewHome, isOver: boolean): Promise<Awaited<ReturnType<CrewHome['journals']>>> {
  const journals = await crew.journals()
  const wrong = [...journals.wrong, ...wrongsOfCrew(journals.crew, journals.members, isOver)]
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  return journals
}

async function isOver(crew: CrewHome, tasks: readonly TaskOf[], tally: CrewTally): Promise<void> {
  const { home, repository } = crew
  const { code } = await home.stop()
  if (code !== 0) throw new Error(`the daemon ended with ${code}`)
  await home.nothingLeft()
  const facts = crewFacts((await isSound(crew, true)).crew.facts)
  tally.facts += facts.length
  tally.requeued += ofType(facts, 'task.requeued').length
  const wrong = tasks.flatMap(({ id }) => [
    ...(ofType(facts, 'task.done').some(({ task }) => task === id) ? [] : [`${id} is not done`]),
    ...(repository.git('show', `reeve/team:${id}.txt`) === `${id}.` ? [] : [`${id}.txt is wrong`]),
    ...(repository.git('log', '--format=%H', '--no-merges', 'main..reeve/team', '--', `${id}.txt`).split('\n').length === 1 ? [] : [`${id}.txt was committed several times`]),
  ])
  if (repository.git('status', '--porcelain') !== '') wrong.push('the user\'s checkout was touched')
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
}
