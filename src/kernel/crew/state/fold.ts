// Computes the state of a crew as the fold of its facts. Task states and phases change only by their tables. Must never decide: facts in
// the journal have already happened. Test: test/simulation/crew.test.ts.
import { foldMember } from './fold-members.ts'
import { markAttemptBegun, foldTask, recordHandover, isTaskFact, recordSalvage, addTaskUsage } from './fold-tasks.ts'
import type { CrewFact, CrewRecord, CrewFactOf } from '../../model/crew/facts.ts'
import type { Crew } from '../../model/crew/crew.ts'
import type { TaskId } from '../../model/crew/words.ts'

/** A crew before its first fact. */
export const NEW_CREW: Crew = {
  tasks: [],
  members: [],
  jobs: [],
  begun: false,
  nextWorker: 1,
  nextCoordinator: 1,
  nextTask: 1,
  nextJob: 1,
  messages: 0,
  fruitless: 0,
  stalls: 0,
  ending: null,
}

type CrewWideFact = Exclude<CrewFact['type'], `task.${string}`>

const FOLDS: { readonly [T in CrewWideFact]: (crew: Crew, fact: CrewFactOf<T>) => Crew } = {
  'crew.begun': (crew) => ({ ...crew, begun: true }),
  'crew.member': foldMember,
  'crew.joined': foldMember,
  'crew.setup': foldMember,
  'crew.inherited': foldMember,
  'crew.leaving': foldMember,
  'crew.left': (crew, fact) => ({
    ...foldMember(crew, fact),
    fruitless: crew.fruitless + (fact.how === 'lost' && fact.by !== 'user' ? 1 : 0),
  }),
  'crew.replaced': foldMember,
  'crew.held': foldMember,
  'crew.kept': foldMember,
  'crew.full': foldMember,
  'crew.turn.begun': (crew, fact) => markAttemptBegun(foldMember(crew, fact), fact.member),
  'crew.turn': (crew, fact) =>
    fact.task !== undefined && fact.spent
      ? addTaskUsage(foldMember(crew, fact), fact.task, fact.spent, fact.member)
      : foldMember(crew, fact),
  'crew.heard': foldMember,
  'crew.job': (crew, { job }) => ({
    ...foldMember(crew, { type: 'crew.job', job }),
    jobs: [...crew.jobs, job],
    nextJob: Math.max(crew.nextJob, job.job + 1),
  }),
  'crew.job.done': closeJob,
  'crew.sent': (crew, fact) => ({ ...foldMember(crew, fact), messages: fact.message }),
  'crew.notified': (crew) => crew,
  'crew.halted': ({ halted: _, ...crew }, { reason }) => (reason === null ? { ...crew, fruitless: 0 } : { ...crew, halted: reason }),
  'crew.stalled': (crew) => ({ ...crew, stalls: crew.stalls + 1 }),
  'crew.ending': (crew, { outcome, summary }) => ({ ...crew, ending: { outcome, summary, ended: false } }),
  'crew.ended': (crew) => (crew.ending ? { ...crew, ending: { ...crew.ending, ended: true } } : crew),
}

export function foldCrew(crew: Crew, record: CrewRecord): Crew {
  const { body } = record
  if (isTaskFact(body)) return foldTask(crew, { ...record, body })
  const fold = FOLDS[body.type] as (crew: Crew, fact: CrewFact) => Crew
  const after = fold(crew, body)
  const successor = body.type === 'crew.replaced' ? after.members.find(({ id }) => id === body.heir) : undefined
  return [successor?.task, successor?.own].reduce((current, task) => (task ? recordHandover(current, task, record.seq) : current), after)
}

function closeJob(crew: Crew, { job, result }: CrewFactOf<'crew.job.done'>): Crew {
  const remaining = { ...crew, jobs: crew.jobs.filter(({ job: open }) => open !== job) }
  const finished = crew.jobs.find(({ job: open }) => open === job)
  if (!finished || !('task' in finished)) return remaining
  return result.type === 'moved' ? countBranchMove(remaining, finished.task) : recordSalvage(remaining, finished, result)
}

/** Counts how often another program moved the crew's branch during the task's merge. */
function countBranchMove(crew: Crew, id: TaskId): Crew {
  return {
    ...crew,
    tasks: crew.tasks.map((task) =>
      task.id === id && task.landing ? { ...task, landing: { ...task.landing, moves: (task.landing.moves ?? 0) + 1 } } : task,
    ),
  }
}
