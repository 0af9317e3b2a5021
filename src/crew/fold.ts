// The state of a crew is the fold of its facts. Owns the only function that makes a new state; states and phases change by their
// tables alone. Must never decide: what stands in the journal happened. Test: test/simulation/crew.test.ts.
import { foldMember } from './fold-members.ts'
import { foldTask, handOver, isTaskFact, salvaged, spend } from './fold-tasks.ts'
import type { CrewFact, CrewRecord } from './facts.ts'
import type { Crew } from './types.ts'

/** Before its first fact. */
export const NEW_CREW: Crew = {
  tasks: [], members: [], jobs: [], begun: false, nextWorker: 1, nextCoordinator: 1, nextTask: 1, nextJob: 1,
  messages: 0, fruitless: 0, stalls: 0, ending: null,
}

type FactOf<T extends CrewFact['type']> = Extract<CrewFact, { type: T }>
type CrewWide = Exclude<CrewFact['type'], `task.${string}`>

const ROWS: { readonly [T in CrewWide]: (crew: Crew, fact: FactOf<T>) => Crew } = {
  'crew.begun': (crew) => ({ ...crew, begun: true }),
  'crew.member': foldMember,
  'crew.joined': foldMember,
  'crew.inherited': foldMember,
  'crew.leaving': foldMember,
  'crew.left': (crew, fact) => ({ ...foldMember(crew, fact), fruitless: crew.fruitless + (fact.how === 'lost' && fact.by !== 'user' ? 1 : 0) }),
  'crew.replaced': foldMember,
  'crew.held': foldMember,
  'crew.kept': foldMember,
  'crew.full': foldMember,
  'crew.turn.begun': foldMember,
  'crew.turn': (crew, fact) => (fact.task !== undefined && fact.spent ? spend(foldMember(crew, fact), fact.task, fact.spent) : foldMember(crew, fact)),
  'crew.heard': foldMember,
  'crew.job': (crew, { job }) => ({ ...foldMember(crew, { type: 'crew.job', job }), jobs: [...crew.jobs, job], nextJob: Math.max(crew.nextJob, job.job + 1) }),
  'crew.job.done': answeredJob,
  'crew.sent': (crew, fact) => ({ ...foldMember(crew, fact), messages: fact.message }),
  'crew.notified': (crew) => crew,
  'crew.stalled': (crew) => ({ ...crew, stalls: crew.stalls + 1 }),
  'crew.ending': (crew, { outcome, summary }) => ({ ...crew, ending: { outcome, summary, ended: false } }),
  'crew.ended': (crew) => (crew.ending ? { ...crew, ending: { ...crew.ending, ended: true } } : crew),
}

export function foldCrew(crew: Crew, record: CrewRecord): Crew {
  const { body } = record
  if (isTaskFact(body)) return foldTask(crew, { ...record, body })
  const row = ROWS[body.type] as (crew: Crew, fact: CrewFact) => Crew
  const after = row(crew, body)
  const task = body.type === 'crew.replaced' ? after.members.find(({ id }) => id === body.heir)?.task : null
  return task ? handOver(after, task, record.seq) : after
}

function answeredJob(crew: Crew, { job, result }: FactOf<'crew.job.done'>): Crew {
  const left = { ...crew, jobs: crew.jobs.filter((one) => one.job !== job) }
  const asked = crew.jobs.find((one) => one.job === job)
  return asked && asked.type !== 'spawn' ? salvaged(left, asked, result) : left
}
