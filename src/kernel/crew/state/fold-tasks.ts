// Applies facts about a task to the task and to its workers. Has the table of the events that each fact causes for the task, its
// implementer and its reviewer. So a task and the phases of its workers always change together. Must never decide.
// Test: test/simulation/crew.test.ts.
import { addTotals } from '../../model/usage-totals.ts'
import { movePhase, updateMember, updateTask } from './fold-members.ts'
import { isClosed, nextState } from './task-states.ts'
import type { CrewFact, CrewRecord, Job, JobResult, CrewFactOf } from '../../model/crew/facts.ts'
import type { PhaseEvent } from './phases.ts'
import type { TaskEvent } from './task-states.ts'
import type { Crew, Task } from '../../model/crew/crew.ts'
import type { UsageTotals } from '../../model/usage.ts'
import type { MemberId, TaskId } from '../../model/crew/words.ts'
import { truncate } from '../../util/truncate.ts'

type TaskFactType = Extract<CrewFact['type'], `task.${string}`>
type TaskFact = CrewFactOf<TaskFactType>
/** Facts about a task that already exists. */
type LaterFact = Exclude<TaskFactType, 'task.added' | 'task.message'>

/** The events that a fact causes: for the task, its implementer and its reviewer. */
interface FactEvents {
  readonly task?: TaskEvent
  readonly implementer?: PhaseEvent
  readonly reviewer?: PhaseEvent
}

const RELEASE_BOTH = { implementer: 'release', reviewer: 'release' } as const

const EVENTS_BY_FACT: { readonly [T in LaterFact]: FactEvents | ((fact: CrewFactOf<T>) => FactEvents) } = {
  'task.ordered': {},
  'task.assigned': { task: 'assign', implementer: 'assign' },
  'task.prepared': {},
  'task.reported': { task: 'report', implementer: 'report' },
  'task.review': { task: 'review', reviewer: 'review' },
  'task.briefed': {},
  'task.verify': ({ ok, stage }) => (ok || stage === 'merge' ? {} : { task: 'failVerify', implementer: 'deny' }),
  'task.unreviewed': { task: 'unreview', reviewer: 'release' },
  'task.verdict': ({ verdict }) =>
    verdict === 'APPROVED' ? { task: 'approve', reviewer: 'release' } : { task: 'deny', implementer: 'deny', reviewer: 'release' },
  'task.asked': { task: 'ask' },
  'task.answered': {},
  'task.approved': { task: 'pass' },
  'task.committing': { task: 'commit', implementer: 'commit' },
  'task.uncommitted': {},
  'task.committed': { task: 'committed', implementer: 'release' },
  'task.resolving': {},
  'task.differs': { task: 'differ', implementer: 'differ' },
  'task.merged': {},
  'task.conflict': {},
  'task.resolved': {},
  'task.blocked': {},
  'task.parked': { implementer: 'release' },
  'task.resumed': { implementer: 'resume' },
  'task.requeued': { task: 'requeue', ...RELEASE_BOTH },
  'task.done': { task: 'done', ...RELEASE_BOTH },
  'task.failed': { task: 'fail', ...RELEASE_BOTH },
  'task.cancelled': { task: 'cancel', ...RELEASE_BOTH },
  'task.taken': { task: 'done' },
  'task.retried': { task: 'retry' },
  'task.reopened': { task: 'reopen' },
  'task.edited': {},
}

/** Fields that are reset for a new attempt. Counters are kept. */
const NEW_ATTEMPT_FIELDS = {
  implementer: null,
  reviewer: null,
  verdict: null,
  unreviewed: 0,
  silent: null,
  begun: false,
  keeps: null,
  parked: false,
  prepared: false,
  briefed: false,
  cleared: false,
  base: null,
  commit: null,
  merged: null,
  conflict: null,
  commitTries: 0,
  viewed: null,
  landing: null,
  ask: null,
  check: null,
} as const
/**
 * Fields that are reset when a closed task is opened again, counters included. `implementers` stays, because former implementers review the
 * task only when no other worker can.
 */
const REOPENED_FIELDS = { ...NEW_ATTEMPT_FIELDS, attempts: 0, denials: 0, losses: 0, lostNeed: null } as const
const MAX_REASON_CHARS = 200

type Patch = Partial<Task>
const PATCH_BY_FACT: { readonly [T in LaterFact]: (task: Task, fact: CrewFactOf<T>, record: CrewRecord) => Patch } = {
  'task.ordered': (_, { priority }) => ({ priority }),
  'task.assigned': (task, { member }, { at }) => ({
    ...(task.limits ? { used: {}, triedAt: at } : {}),
    implementer: member,
    implementers: [...task.implementers.filter((id) => id !== member), member],
    times: { ...task.times, started: task.times.started ?? at },
  }),
  'task.prepared': (_, { base, salvaged: ref }) => ({ prepared: true, keeps: null, base, ...(ref === undefined ? {} : { salvaged: ref }) }),
  'task.reported': ({ seqs: { verify: _, ...seqs } }, _fact, { seq }) => ({ check: null, viewed: null, seqs: { ...seqs, report: seq } }),
  'task.review': (_, { member }) => ({ reviewer: member, briefed: false, ask: null }),
  'task.briefed': (_, { head }) => ({ briefed: true, viewed: head ?? null }),
  'task.verify': ({ attempts, seqs }, { stage, command, ok, ran: { code, ms }, commit, tree }, { seq }) => ({
    ...(stage === 'merge' && !ok ? { seqs: { ...seqs, verify: seq } } : {}),
    check: { stage, command: shortenReason(command), ok, code, ms, commit, tree },
    ...(ok ? {} : { attempts: attempts + 1 }),
  }),
  'task.unreviewed': (task, { by, member, reason }) => ({
    reviewer: null,
    ...(by === 'user'
      ? {}
      : {
          unreviewed: task.unreviewed + 1,
          silent: { members: [...(task.silent?.members ?? []).filter((id) => id !== member), member], reason: shortenReason(reason) },
        }),
  }),
  // When the user approves a differing commit without a reviewer, the approval is for exactly that commit.
  'task.verdict': ({ seqs, attempts, denials, landing }, { verdict, member }, { seq }) => ({
    verdict,
    unreviewed: 0,
    silent: null,
    ask: null,
    seqs: { ...seqs, verdict: seq },
    ...(verdict === 'APPROVED' && member === null && landing?.differs ? { viewed: landing.differs.commit } : {}),
    ...(verdict === 'DENIED' ? { attempts: attempts + 1, denials: denials + 1, landing: null } : {}),
  }),
  'task.asked': ({ asks }, fact) => ({ asks: asks + 1, ask: { id: fact.id, for: fact.for } }),
  'task.answered': ({ seqs }, _, { seq }) => ({ ask: null, seqs: { ...seqs, answer: seq } }),
  'task.approved': ({ landing }, _, { seq }) => ({ cleared: true, ask: null, landing: { ...landing, since: seq } }),
  'task.committing': () => ({ commitTries: 0 }),
  'task.uncommitted': ({ commitTries }) => ({ commitTries: commitTries + 1 }),
  'task.committed': ({ landing }, { commit }) => ({ commit, landing: { since: landing?.since ?? 0 } }),
  'task.resolving': ({ landing }, { files }) => ({ landing: { since: 0, ...landing, resolves: files } }),
  'task.differs': ({ landing }, { commit, from, files }) => ({
    verdict: null,
    reviewer: null,
    unreviewed: 0,
    silent: null,
    briefed: false,
    cleared: false,
    reviews: true,
    landing: { since: landing?.since ?? 0, holds: true, differs: { commit, from, files } },
  }),
  'task.merged': (_, { merged }) => ({ merged }),
  'task.conflict': (_, { conflict }) => ({ conflict }),
  'task.resolved': ({ landing }, { conflict, unmerged }) => ({
    conflict: null,
    landing: { since: 0, ...landing, ...(unmerged ? { unresolved: conflict } : {}) },
  }),
  'task.blocked': ({ landing }, { reason }) => ({ landing: { since: 0, ...landing, blocked: reason } }),
  'task.parked': () => ({ parked: true, prepared: false }),
  'task.resumed': () => ({ parked: false, keeps: 'review' }),
  'task.requeued': ({ attempts, losses = 0 }, { reason, counts, lost, keeps = null }) => ({
    ...NEW_ATTEMPT_FIELDS,
    attempts: attempts + (counts ? 1 : 0),
    losses: lost ? losses + 1 : losses,
    keeps,
    reason: shortenReason(reason),
  }),
  'task.done': (task, { reason, by }, { at }) => ({
    ask: null,
    landing: null,
    reason: reason === null ? null : shortenReason(reason),
    ...(by === undefined ? {} : { byWord: by }),
    times: { ...task.times, ended: at },
  }),
  'task.failed': (task, { reason, need }, { at }) => ({
    ask: null,
    landing: null,
    reason: shortenReason(reason),
    lostNeed: need ?? null,
    times: { ...task.times, ended: at },
  }),
  'task.cancelled': (task, { reason }, { at }) => ({
    ask: null,
    landing: null,
    reason: shortenReason(reason),
    times: { ...task.times, ended: at },
  }),
  'task.taken': (task, { name, commit, merged, report, byWord }, { seq, at }) => ({
    commit,
    merged,
    reason: shortenReason(`taken over from crew ${name}`),
    ...(report === undefined ? {} : { seqs: { ...task.seqs, report: seq } }),
    ...(byWord === undefined ? {} : { byWord }),
    times: { ...task.times, ended: at },
  }),
  'task.retried': ({ times, reason, lostNeed, retries = 0 }, { by }) => ({
    ...REOPENED_FIELDS,
    reason: (lostNeed ?? null) === null ? reason : null,
    times: { ...times, ended: null },
    ...(by === 'user' ? {} : { retries: retries + 1 }),
  }),
  'task.reopened': ({ times, seqs, commit, merged, earlier }, _, { seq }) => ({
    ...REOPENED_FIELDS,
    reason: null,
    earlier: commit === null ? (earlier ?? { commit, merged }) : { commit, merged },
    seqs: { ...seqs, reopened: seq },
    times: { ...times, ended: null },
  }),
  'task.edited': ({ seqs }, { title, text, acceptance, needs, role, reviews, limits, who }, { seq }) => ({
    seqs: { ...seqs, ...(text === undefined ? {} : { newText: seq }), ...(acceptance === undefined ? {} : { newAcceptance: seq }) },
    ...(title === undefined ? {} : { title }),
    ...(needs === undefined ? {} : { needs }),
    ...(role === undefined ? {} : { role }),
    ...(reviews === undefined ? {} : { reviews }),
    ...(isNonEmpty(limits) ? { limits } : {}),
    ...(isNonEmpty(who) ? { who } : {}),
  }),
}

/** Facts after which the uncommitted files of the task's worker are useless. */
const ABANDONING_FACTS: ReadonlySet<string> = new Set(['task.requeued', 'task.done', 'task.failed', 'task.cancelled'])

export function isTaskFact(fact: CrewFact): fact is TaskFact {
  return fact.type.startsWith('task.')
}

export function foldTask(crew: Crew, record: CrewRecord & { readonly body: TaskFact }): Crew {
  const { body } = record
  if (body.type === 'task.added') return { ...crew, stalls: 0, nextTask: crew.nextTask + 1, tasks: [...crew.tasks, newTask(body, record)] }
  if (body.type === 'task.message') return crew
  const before = crew.tasks.find(({ id }) => id === body.task)
  if (!before) return crew
  const entry = EVENTS_BY_FACT[body.type] as FactEvents | ((fact: TaskFact) => FactEvents)
  const events = typeof entry === 'function' ? entry(body) : entry
  const patch = PATCH_BY_FACT[body.type] as (task: Task, fact: TaskFact, record: CrewRecord) => Patch
  const assigned = giveTask(crew, body)
  const changed = updateTask(assigned, body.task, (task) => ({
    ...dropReplacedFields(task, body),
    ...(events.task ? { state: nextState(task.state, events.task) } : {}),
    ...patch(task, body, record),
  }))
  const reordered = body.type === 'task.ordered' && body.before !== undefined ? moveTaskBefore(changed, body.task, body.before) : changed
  return resetCounters(movePhases(reordered, before, body, events), body)
}

/** Moves a task directly before another one. */
function moveTaskBefore(crew: Crew, id: TaskId, before: TaskId): Crew {
  const task = crew.tasks.find((task) => task.id === id)
  const others = crew.tasks.filter((other) => other.id !== id)
  const index = others.findIndex((other) => other.id === before)
  return task && index >= 0 ? { ...crew, tasks: others.toSpliced(index, 0, task) } : crew
}

function isNonEmpty<T extends object>(value: T | undefined): value is T {
  return value !== undefined && Object.keys(value).length > 0
}

/** Removes `byWord` when the task is reopened. Removes limits and agent choice when an edit replaces them. */
function dropReplacedFields({ byWord, limits, who, ...task }: Task, body: TaskFact): Task {
  const isReopened = body.type === 'task.reopened'
  const edit = body.type === 'task.edited' ? body : undefined
  return {
    ...task,
    ...(byWord === undefined || isReopened ? {} : { byWord }),
    ...(limits === undefined || edit?.limits ? {} : { limits }),
    ...(who === undefined || edit?.who ? {} : { who }),
  }
}

/** Gives the task to the member that the fact names. If the member already has a task, that task waits in `own`. */
function giveTask(crew: Crew, body: TaskFact): Crew {
  if (body.type !== 'task.assigned' && body.type !== 'task.review' && body.type !== 'task.resumed') return crew
  return updateMember(crew, body.member, (member) => ({
    ...member,
    task: body.task,
    ...(member.task === null ? {} : { own: member.task }),
  }))
}

function movePhases(crew: Crew, before: Task, body: TaskFact, events: FactEvents): Crew {
  const after = crew.tasks.find(({ id }) => id === before.id) ?? before
  const implementer = after.implementer ?? before.implementer
  const withCleanup =
    ABANDONING_FACTS.has(body.type) && before.base !== null && before.state !== 'committing'
      ? markForCleanup(crew, implementer, before.id)
      : crew
  const withImplementer = events.implementer ? movePhase(withCleanup, implementer, before.id, events.implementer) : withCleanup
  return events.reviewer ? movePhase(withImplementer, after.reviewer ?? before.reviewer, before.id, events.reviewer) : withImplementer
}

function markForCleanup(crew: Crew, id: MemberId | null, task: TaskId): Crew {
  return id === null
    ? crew
    : updateMember(crew, id, (member) => (member.task === task || member.own === task ? { ...member, cleanup: task } : member))
}

/** Resets the stall counter. Resets the counter of lost workers when a worker or the user made progress. */
function resetCounters(crew: Crew, body: TaskFact): Crew {
  const isProgress =
    body.type === 'task.reported' ||
    body.type === 'task.verdict' ||
    body.type === 'task.reopened' ||
    (body.type === 'task.retried' && body.by === 'user')
  return { ...crew, stalls: 0, fruitless: isProgress ? 0 : crew.fruitless }
}

function newTask(
  { task: id, kind, title, needs, role, reviews, priority, verify, limits, who }: CrewFactOf<'task.added'>,
  { seq, at }: CrewRecord,
): Task {
  return {
    id,
    kind,
    title,
    needs,
    role,
    reviews,
    ...(priority === undefined ? {} : { priority }),
    ...(limits === undefined ? {} : { limits }),
    ...(who === undefined ? {} : { who }),
    ...(verify === undefined ? {} : { verify: verify === false ? 'none' : 'own' }),
    state: 'queued',
    implementers: [],
    attempts: 0,
    denials: 0,
    asks: 0,
    reason: null,
    salvaged: null,
    spent: {},
    seqs: { text: seq, report: null, verdict: null, answer: null, handover: null },
    times: { added: at, started: null, ended: null },
    ...NEW_ATTEMPT_FIELDS,
  }
}

/** Adds usage to a task. Usage of a member that no longer has the task does not count for the current attempt. */
export function addTaskUsage(crew: Crew, id: TaskId, spent: UsageTotals, member: MemberId): Crew {
  return updateTask(crew, id, (task) => ({
    ...task,
    spent: addTotals(task.spent, spent),
    ...(task.limits && (member === task.implementer || member === task.reviewer) ? { used: addTotals(task.used, spent) } : {}),
  }))
}

/** Marks the attempt as begun when the implementer's first turn for the task begins. */
export function markAttemptBegun(crew: Crew, id: MemberId): Crew {
  const member = crew.members.find((member) => member.id === id)
  const task = crew.tasks.find((task) => task.id === member?.task)
  const isImplementing = member?.phase === 'implementing' || member?.phase === 'addressing_feedback'
  return task && isImplementing && task.prepared && !task.begun
    ? updateTask(crew, task.id, (current) => ({ ...current, begun: true }))
    : crew
}

export function recordHandover(crew: Crew, id: TaskId, seq: number): Crew {
  return updateTask(crew, id, (task) => (isClosed(task) ? task : { ...task, seqs: { ...task.seqs, handover: seq } }))
}

/** Records the ref with the salvaged files. If nothing was salvaged, the next attempt must not expect such files. */
export function recordSalvage(crew: Crew, { type, task }: Extract<Job, { task: TaskId }>, result: JobResult): Crew {
  if (type !== 'salvage' && type !== 'reset') return crew
  const ref = result.type === 'salvaged' ? result.ref : null
  if (ref !== null) return updateTask(crew, task, (current) => ({ ...current, salvaged: ref }))
  return type === 'salvage'
    ? updateTask(crew, task, (current) => (current.keeps === 'salvage' ? { ...current, keeps: null } : current))
    : crew
}

function shortenReason(text: string): string {
  return truncate(text, MAX_REASON_CHARS, '…')
}
