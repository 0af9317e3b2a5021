// What must hold for the journal of any crew and of its members, whatever happened: said from the facts alone, folded again.
// Used after kills, when nobody runs. Tests: test/processes/crew.test.ts, test/simulation/crew-daemon.test.ts.
import { foldCrew, NEW_CREW } from '../../src/crew/fold.ts'
import type { CrewFact, CrewFactType } from '../../src/crew/facts.ts'
import type { Crew, TaskId } from '../../src/crew/types.ts'
import type { StoredFact } from '../../src/kernel/facts.ts'
import type { Journal } from './journal-check.ts'

type FactOf<T extends CrewFactType> = Extract<CrewFact, { type: T }>

/** A crew's own facts, in order. */
export function crewFacts(facts: readonly StoredFact[]): CrewFact[] {
  return facts.map(({ body }) => body).filter((body): body is CrewFact => /^(crew|task)\./.test(body.type))
}

export function ofType<T extends CrewFactType>(facts: readonly CrewFact[], type: T): FactOf<T>[] {
  return facts.filter((fact): fact is FactOf<T> => fact.type === type)
}

/** What is wrong, in words; empty when all is well. `isOver`: it has ended, and nothing may be left undone. */
export function wrongsOfCrew(crew: Journal, members: readonly Journal[], isOver: boolean): string[] {
  const own = crew.facts.filter(({ body }) => /^(crew|task)\./.test(body.type))
  const wrong: string[] = []
  let state: Crew = NEW_CREW
  for (const [index, { seq, at, body }] of own.entries()) {
    state = foldCrew(state, { seq, at, body: body as CrewFact })
    // Facts of one decision come together.
    if (own[index + 1]?.at !== at) wrong.push(...wrongsOf(state).map((words) => `at fact ${seq} (${body.type}): ${words}`))
  }
  const facts = crewFacts(crew.facts)
  for (const { id } of state.tasks) wrong.push(...wrongsOfTask(id, facts))
  for (const member of members) wrong.push(...wrongsOfTurns(member, isOver))
  if (isOver) wrong.push(...state.tasks.flatMap(({ id, state: at }) => (['done', 'failed', 'cancelled'].includes(at) ? [] : [`task ${id} is ${at}`])), ...state.jobs.map(({ job, type }) => `job ${job} (${type}) is open`))
  return wrong
}

/** After each decision. */
function wrongsOf({ tasks, members }: Crew): string[] {
  const committing = tasks.filter(({ state }) => state === 'committing').map(({ id }) => id)
  const wrong = committing.length > 1 ? [`${committing.join(' and ')} are committed at the same time`] : []
  for (const { id, reviewer, implementer, state } of tasks) {
    if (reviewer !== null && reviewer === implementer) wrong.push(`${reviewer} reviews ${id}, which it implements`)
    const holder = members.find((member) => member.id === implementer)
    if (['implementing', 'addressing_feedback', 'awaiting_review'].includes(state) && holder?.task !== id) wrong.push(`${id} is ${state} by ${implementer}, which has ${holder?.task ?? 'nothing'}`)
  }
  for (const { id, state, task, phase } of members) {
    if (state === 'gone' && task !== null) wrong.push(`${id} is gone and has ${task}`)
    if ((phase === 'idle') !== (task === null)) wrong.push(`${id} is ${phase} with ${task ?? 'no task'}`)
  }
  return wrong
}

/** It ends once, is committed and merged at most once, and is not touched after its end. */
function wrongsOfTask(task: TaskId, facts: readonly CrewFact[]): string[] {
  const own = facts.filter((fact) => 'task' in fact && fact.task === task && fact.type.startsWith('task.') && fact.type !== 'task.message')
  const count = (...types: CrewFactType[]): number => own.filter(({ type }) => types.includes(type)).length
  const ends = own.findIndex(({ type }) => ['task.done', 'task.failed', 'task.cancelled'].includes(type))
  const later = ends === -1 ? [] : own.slice(ends + 1)
  return [
    ...(count('task.committed') > 1 ? [`${task} was committed ${count('task.committed')} times`] : []),
    ...(count('task.merged') > 1 ? [`${task} was merged ${count('task.merged')} times`] : []),
    ...later.map(({ type }) => `${type} of ${task}, which had ended`),
  ]
}

/** One turn at a time, messages in the order in which they came, none twice, none lost. */
function wrongsOfTurns({ process, facts }: Journal, isOver: boolean): string[] {
  const wrong: string[] = []
  const queued: string[] = []
  const came: string[] = []
  const urgent = new Set<string>()
  let open: number | null = null
  for (const { body } of facts) {
    switch (body.type) {
      // An urgent one may come in before the others.
      case 'process.queue':
        if (body.urgent) urgent.add(body.id)
        else queued.push(body.id)
        break
      case 'process.incoming': if (!urgent.has(body.id)) came.push(body.id); break
      case 'process.working':
        // A pause, or the end of an incarnation, lets a turn go on with its own number.
        if (open !== null && open !== body.turn) wrong.push(`turn ${body.turn} began in turn ${open}`)
        open = body.turn
        break
      case 'process.ready':
      case 'process.exited': open = null; break
    }
  }
  const { name } = process.spec
  if (new Set(came).size < came.length) wrong.push('a message came in twice')
  const inOrder = queued.filter((id) => came.includes(id))
  if (inOrder.join() !== came.join()) wrong.push(`messages ${inOrder.join(', ')} came in as ${came.join(', ')}`)
  const lost = came.filter((id) => !queued.includes(id))
  if (lost.length > 0) wrong.push(`${lost.join(', ')} came in and were never queued`)
  if (isOver && process.life.state !== 'dead') wrong.push(`it is ${process.life.state}`)
  return wrong.map((words) => `${name ?? process.uuid}: ${words}`)
}
