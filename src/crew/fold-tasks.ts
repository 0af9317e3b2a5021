// What facts of a task do to it and to who holds it. Owns the one table of facts × (task, implementer, reviewer), so that a task
// and the phases of its workers move together. Must never decide. Test: test/simulation/crew.test.ts.
import { addSpent } from '../kernel/spent.ts'
import { movePhase, withMember, withTask } from './fold-members.ts'
import { isClosed, nextState } from './tasks.ts'
import type { CrewFact, CrewRecord } from './facts.ts'
import type { PhaseEvent } from './phases.ts'
import type { TaskEvent } from './tasks.ts'
import type { Crew, Job, JobResult, MemberId, Task, TaskId } from './types.ts'
import type { Spent } from '../kernel/spent.ts'

type FactOf<T extends CrewFact['type']> = Extract<CrewFact, { type: T }>
type TaskFactType = Extract<CrewFact['type'], `task.${string}`>
type TaskFact = FactOf<TaskFactType>
/** Those that are about a task that is there already. */
type Later = Exclude<TaskFactType, 'task.added' | 'task.message'>

interface Move {
  readonly task?: TaskEvent
  readonly implementer?: PhaseEvent
  readonly reviewer?: PhaseEvent
}

const ENDS = { implementer: 'release', reviewer: 'release' } as const

const MOVES: { readonly [T in Later]: Move | ((fact: FactOf<T>) => Move) } = {
  'task.assigned': { task: 'assign', implementer: 'assign' },
  'task.prepared': {},
  'task.reported': { task: 'report', implementer: 'report' },
  'task.review': { task: 'review', reviewer: 'review' },
  'task.briefed': {},
  'task.unreviewed': { task: 'unreview', reviewer: 'release' },
  'task.verdict': ({ verdict }) => (verdict === 'APPROVED' ? { task: 'approve', reviewer: 'release' } : { task: 'deny', implementer: 'deny', reviewer: 'release' }),
  'task.asked': { task: 'ask' },
  'task.answered': {},
  'task.approved': { task: 'pass' },
  'task.committing': { task: 'commit', implementer: 'commit' },
  'task.uncommitted': {},
  'task.committed': { task: 'committed', implementer: 'release' },
  'task.merged': {},
  'task.conflict': {},
  'task.requeued': { task: 'requeue', ...ENDS },
  'task.done': { task: 'done', ...ENDS },
  'task.failed': { task: 'fail', ...ENDS },
  'task.cancelled': { task: 'cancel', ...ENDS },
}

/** A new try knows nothing of the last one but what is counted. */
const ANEW = { implementer: null, reviewer: null, verdict: null, unreviewed: 0, prepared: false, briefed: false, cleared: false, base: null, commit: null, merged: null, conflict: null, commitTries: 0, ask: null } as const
const REASON_CHARS = 200

type Patch = Partial<Task>
const PATCHES: { readonly [T in Later]: (task: Task, fact: FactOf<T>, record: CrewRecord) => Patch } = {
  'task.assigned': (task, { member }, { at }) => ({ implementer: member, implementers: [...task.implementers.filter((one) => one !== member), member], times: { ...task.times, started: task.times.started ?? at } }),
  'task.prepared': (_, { base, salvaged: ref }) => ({ prepared: true, base, ...(ref === undefined ? {} : { salvaged: ref }) }),
  'task.reported': ({ seqs }, _, { seq }) => ({ seqs: { ...seqs, report: seq } }),
  'task.review': (_, { member }) => ({ reviewer: member, briefed: false }),
  'task.briefed': () => ({ briefed: true }),
  'task.unreviewed': (task, { by }) => ({ reviewer: null, unreviewed: task.unreviewed + (by === 'user' ? 0 : 1) }),
  'task.verdict': ({ seqs, attempts, denials }, { verdict }, { seq }) => ({ verdict, unreviewed: 0, ask: null, seqs: { ...seqs, verdict: seq }, ...(verdict === 'DENIED' ? { attempts: attempts + 1, denials: denials + 1 } : {}) }),
  'task.asked': ({ asks }, fact) => ({ asks: asks + 1, ask: { id: fact.id, for: fact.for } }),
  'task.answered': ({ seqs }, _, { seq }) => ({ ask: null, seqs: { ...seqs, answer: seq } }),
  'task.approved': () => ({ cleared: true, ask: null }),
  'task.committing': () => ({ commitTries: 0 }),
  'task.uncommitted': ({ commitTries }) => ({ commitTries: commitTries + 1 }),
  'task.committed': (_, { commit }) => ({ commit }),
  'task.merged': (_, { merged }) => ({ merged }),
  'task.conflict': (_, { conflict }) => ({ conflict }),
  'task.requeued': ({ attempts }, { reason, counts }) => ({ ...ANEW, attempts: attempts + (counts ? 1 : 0), reason: clip(reason) }),
  'task.done': (task, { reason }, { at }) => ({ ask: null, reason: reason === null ? null : clip(reason), times: { ...task.times, ended: at } }),
  'task.failed': (task, { reason }, { at }) => ({ ask: null, reason: clip(reason), times: { ...task.times, ended: at } }),
  'task.cancelled': (task, { reason }, { at }) => ({ ask: null, reason: clip(reason), times: { ...task.times, ended: at } }),
}

/** Facts by which a worker gives up files that nobody commits. */
const ABANDONS: ReadonlySet<string> = new Set(['task.requeued', 'task.done', 'task.failed', 'task.cancelled'])

export function isTaskFact(fact: CrewFact): fact is TaskFact {
  return fact.type.startsWith('task.')
}

export function foldTask(crew: Crew, record: CrewRecord & { readonly body: TaskFact }): Crew {
  const { body } = record
  if (body.type === 'task.added') return { ...crew, stalls: 0, nextTask: crew.nextTask + 1, tasks: [...crew.tasks, newTask(body, record)] }
  if (body.type === 'task.message') return crew
  const before = crew.tasks.find(({ id }) => id === body.task)
  if (!before) return crew
  const entry = MOVES[body.type] as Move | ((fact: TaskFact) => Move)
  const move = typeof entry === 'function' ? entry(body) : entry
  const patch = PATCHES[body.type] as (task: Task, fact: TaskFact, record: CrewRecord) => Patch
  const given = gives(crew, body)
  const changed = withTask(given, body.task, (task) => ({ ...task, ...(move.task ? { state: nextState(task.state, move.task) } : {}), ...patch(task, body, record) }))
  return counted(moved(changed, before, body, move), body)
}

/** Who is given a task has it from here on. */
function gives(crew: Crew, body: TaskFact): Crew {
  if (body.type !== 'task.assigned' && body.type !== 'task.review') return crew
  return withMember(crew, body.member, (member) => ({ ...member, task: body.task }))
}

function moved(crew: Crew, before: Task, body: TaskFact, move: Move): Crew {
  const after = crew.tasks.find(({ id }) => id === before.id) ?? before
  const implementer = after.implementer ?? before.implementer
  const cleaned = ABANDONS.has(body.type) && before.base !== null && before.state !== 'committing' ? leaveFiles(crew, implementer, before.id) : crew
  const first = move.implementer ? movePhase(cleaned, implementer, before.id, move.implementer) : cleaned
  return move.reviewer ? movePhase(first, after.reviewer ?? before.reviewer, before.id, move.reviewer) : first
}

function leaveFiles(crew: Crew, id: MemberId | null, task: TaskId): Crew {
  return id === null ? crew : withMember(crew, id, (member) => (member.task === task ? { ...member, cleanup: task } : member))
}

/** Something goes on: nobody has to be told that nothing does. */
function counted(crew: Crew, { type }: TaskFact): Crew {
  return { ...crew, stalls: 0, fruitless: type === 'task.reported' || type === 'task.verdict' ? 0 : crew.fruitless }
}

function newTask({ task: id, kind, title, needs, role, reviews }: FactOf<'task.added'>, { seq, at }: CrewRecord): Task {
  return {
    id, kind, title, needs, role, reviews, state: 'queued', implementers: [], attempts: 0, denials: 0, asks: 0, reason: null, salvaged: null, spent: {},
    seqs: { text: seq, report: null, verdict: null, answer: null, handover: null }, times: { added: at, started: null, ended: null }, ...ANEW,
  }
}

export function spend(crew: Crew, id: TaskId, spent: Spent): Crew {
  return withTask(crew, id, (task) => ({ ...task, spent: addSpent(task.spent, spent) }))
}

export function handOver(crew: Crew, id: TaskId, seq: number): Crew {
  return withTask(crew, id, (task) => (isClosed(task) ? task : { ...task, seqs: { ...task.seqs, handover: seq } }))
}

export function salvaged(crew: Crew, { task }: Extract<Job, { task: TaskId }>, result: JobResult): Crew {
  return result.type !== 'salvaged' || result.ref === null ? crew : withTask(crew, task, (one) => ({ ...one, salvaged: result.ref }))
}

function clip(text: string): string {
  return text.length > REASON_CHARS ? `${text.slice(0, REASON_CHARS - 1).toWellFormed()}…` : text
}
