// Checks the journals of a crew and of its members after kills, when no daemon runs. The checks fold the facts again, and
// read no view of the daemon. Test: test/processes/crew/whole-crew.test.ts.
import { foldCrew, NEW_CREW } from '../../../src/kernel/crew/state/fold.ts'
import type { CrewFact, CrewFactOf, CrewFactType } from '../../../src/kernel/model/crew/facts.ts'
import type { Crew } from '../../../src/kernel/model/crew/crew.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Journal } from '../daemon/journal-check.ts'
import type { TaskId } from '../../../src/kernel/model/crew/words.ts'

/** A crew's own facts, in order. */
export function crewFacts(facts: readonly StoredFact[]): CrewFact[] {
  return facts.map(({ body }) => body).filter((body): body is CrewFact => /^(crew|task)\./.test(body.type))
}

export function ofType<T extends CrewFactType>(facts: readonly CrewFact[], type: T): CrewFactOf<T>[] {
  return facts.filter((fact): fact is CrewFactOf<T> => fact.type === type)
}

/** Returns the violations as text. `isOver`: the crew has ended, so that nothing may be unfinished. */
export function violationsOfCrew(crew: Journal, members: readonly Journal[], isOver: boolean): string[] {
  const ownCrewFacts = crew.facts.filter(({ body }) => /^(crew|task)\./.test(body.type))
  const violations: string[] = []
  let state: Crew = NEW_CREW
  for (const [index, { seq, at, body }] of ownCrewFacts.entries()) {
    state = foldCrew(state, { seq, at, body: body as CrewFact })
    // The facts of one decision have the same time.
    if (ownCrewFacts[index + 1]?.at !== at)
      violations.push(...violationsOfState(state).map((violation) => `at fact ${seq} (${body.type}): ${violation}`))
  }
  const facts = crewFacts(crew.facts)
  for (const { id } of state.tasks) violations.push(...violationsOfTask(id, facts))
  for (const member of members) violations.push(...violationsOfTurns(member, isOver))
  if (isOver)
    violations.push(
      ...state.tasks.flatMap(({ id, state: taskState }) =>
        ['done', 'failed', 'cancelled'].includes(taskState) ? [] : [`task ${id} is ${taskState}`],
      ),
      ...state.jobs.map(({ job, type }) => `job ${job} (${type}) is open`),
    )
  return violations
}

/** Returns the violations in one state of the crew. */
function violationsOfState({ tasks, members }: Crew): string[] {
  const committing = tasks.filter(({ state }) => state === 'committing').map(({ id }) => id)
  const violations = committing.length > 1 ? [`${committing.join(' and ')} are committed at the same time`] : []
  for (const { id, reviewer, implementer, state } of tasks) {
    if (reviewer !== null && reviewer === implementer) violations.push(`${reviewer} reviews ${id}, which it implements`)
    const holder = members.find((member) => member.id === implementer)
    if (
      ['implementing', 'addressing_feedback', 'awaiting_review'].includes(state) &&
      holder?.task !== id &&
      (state === 'implementing' || holder?.own !== id)
    )
      violations.push(`${id} is ${state} by ${implementer}, which has ${holder?.task ?? 'nothing'}`)
  }
  for (const { id, state, task, phase } of members) {
    if (state === 'gone' && task !== null) violations.push(`${id} is gone and has ${task}`)
    if ((phase === 'idle') !== (task === null)) violations.push(`${id} is ${phase} with ${task ?? 'no task'}`)
  }
  return violations
}

/** Between two openings a task ends once, is committed and merged at most once, and is not touched after its end. */
function violationsOfTask(task: TaskId, facts: readonly CrewFact[]): string[] {
  const taskFacts = facts.filter(
    (fact) => 'task' in fact && fact.task === task && fact.type.startsWith('task.') && !AT_ANY_TIME.includes(fact.type),
  )
  const openings: CrewFact[][] = [[]]
  for (const fact of taskFacts) {
    if (fact.type === 'task.retried' || fact.type === 'task.reopened') openings.push([])
    else openings.at(-1)?.push(fact)
  }
  return openings.flatMap((opening) => violationsOfOpening(task, opening))
}

const AT_ANY_TIME: readonly CrewFactType[] = ['task.message', 'task.edited']

function violationsOfOpening(task: TaskId, openingFacts: readonly CrewFact[]): string[] {
  const countFacts = (...types: CrewFactType[]): number => openingFacts.filter(({ type }) => types.includes(type)).length
  // If the merged files fail verify, the change is worked on and committed again.
  const commits = openingFacts
    .slice(openingFacts.findLastIndex((fact) => fact.type === 'task.verify' && fact.stage === 'merge' && !fact.ok) + 1)
    .filter(({ type }) => type === 'task.committed')
  const endIndex = openingFacts.findIndex(({ type }) => ['task.done', 'task.failed', 'task.cancelled'].includes(type))
  const laterFacts = endIndex === -1 ? [] : openingFacts.slice(endIndex + 1)
  return [
    ...(commits.length > 1 ? [`${task} was committed ${commits.length} times`] : []),
    ...(countFacts('task.merged') > 1 ? [`${task} was merged ${countFacts('task.merged')} times`] : []),
    ...laterFacts.map(({ type }) => `${type} of ${task}, which had ended`),
  ]
}

/** Turns do not overlap, and each message is read once, in the order of arrival. */
function violationsOfTurns({ process, facts }: Journal, isOver: boolean): string[] {
  const violations: string[] = []
  const queued: string[] = []
  const receivedIds: string[] = []
  const urgent = new Set<string>()
  let openTurn: number | null = null
  for (const { body } of facts) {
    switch (body.type) {
      // An urgent message may be read before the others.
      case 'process.queue':
        if (body.urgent) urgent.add(body.id)
        else queued.push(body.id)
        break
      case 'process.incoming':
        if (!urgent.has(body.id)) receivedIds.push(body.id)
        break
      case 'process.working':
        // After a pause or the end of an incarnation, a turn continues under the same number.
        if (openTurn !== null && openTurn !== body.turn) violations.push(`turn ${body.turn} began in turn ${openTurn}`)
        openTurn = body.turn
        break
      case 'process.ready':
      case 'process.exited':
        openTurn = null
        break
      default:
        break
    }
  }
  const { name } = process.spec
  if (new Set(receivedIds).size < receivedIds.length) violations.push('a message came in twice')
  const inOrder = queued.filter((id) => receivedIds.includes(id))
  if (inOrder.join() !== receivedIds.join()) violations.push(`messages ${inOrder.join(', ')} came in as ${receivedIds.join(', ')}`)
  const lostIds = receivedIds.filter((id) => !queued.includes(id))
  if (lostIds.length > 0) violations.push(`${lostIds.join(', ')} came in and were never queued`)
  if (isOver && process.life.state !== 'dead') violations.push(`the crew has ended, but the process is ${process.life.state}`)
  return violations.map((violation) => `${name ?? process.uuid}: ${violation}`)
}
