// Applies facts of a crew to the rows of its members. A phase changes only by the table in phases.ts. The one exception is a successor,
// which starts with the phase of its predecessor. Must never decide. Test: test/simulation/crew.test.ts.
import { nextPhase } from './phases.ts'
import type { CrewFactOf } from '../../model/crew/facts.ts'
import type { PhaseEvent } from './phases.ts'
import type { Crew, Member, Task, MemberTurn } from '../../model/crew/crew.ts'
import type { MemberId, Role, TaskId } from '../../model/crew/words.ts'
import { REPORT_TOOLS } from '../../model/crew/words.ts'

type MemberFact =
  | 'crew.setup'
  | 'crew.sent'
  | 'crew.joined'
  | 'crew.inherited'
  | 'crew.leaving'
  | 'crew.left'
  | 'crew.held'
  | 'crew.kept'
  | 'crew.full'
  | 'crew.turn.begun'
  | 'crew.turn'
  | 'crew.heard'
  | 'crew.job'
type AnyMemberFact = CrewFactOf<MemberFact | 'crew.member' | 'crew.replaced'>

/** number of tool calls per member whose answers are kept, so that a repeated call gets the same answer */
const MAX_REMEMBERED_CALLS = 8
const NO_TURN: MemberTurn = { open: null, phase: 'idle', task: null, answered: false, reminders: 0 }

/** The tools that close a turn. A worker must call one of them in each turn. */
const CLOSING_TOOLS: ReadonlySet<string> = new Set(REPORT_TOOLS)

const FOLDS: { readonly [T in MemberFact]: (member: Member, fact: CrewFactOf<T>) => Member } = {
  'crew.joined': (member, { process, inherits }) => ({
    ...member,
    uuid: process,
    state: 'on',
    leave: null,
    summary: null,
    told: false,
    ...(inherits ? { inherits } : {}),
  }),
  'crew.setup': (member, { ok }) => (ok ? { ...member, setUp: true } : member),
  'crew.inherited': ({ inherits: _, ...member }) => member,
  'crew.sent': (member) => ({ ...member, told: true }),
  'crew.leaving': (member, { how, reason }) => ({ ...member, state: 'leaving', leave: { how, reason } }),
  'crew.left': ({ heldFor: _, wakes: _w, ...member }, { how, reason }) => ({
    ...releaseTask(member),
    state: 'gone',
    leave: { how, reason },
    turn: NO_TURN,
    told: false,
    held: false,
    cleanup: null,
    fresh: false,
  }),
  'crew.held': ({ heldFor: _, wakes: _w, ...member }, { held, reason, wakes }) => ({
    ...member,
    held,
    ...(held && reason !== undefined ? { heldFor: reason } : {}),
    ...(held && wakes ? { wakes } : {}),
  }),
  'crew.kept': (member) => ({ ...member, heir: null }),
  'crew.full': (member) => ({ ...member, full: true }),
  'crew.turn.begun': (member, { turn, resets }) => ({
    ...member,
    told: false,
    turn: { open: turn, phase: member.phase, task: member.task, answered: false, reminders: resets ? 0 : member.turn.reminders },
  }),
  'crew.turn': (member, { end, queued }) => ({
    ...member,
    fresh: false,
    told: queued > 0,
    turn: { ...member.turn, open: null, reminders: member.turn.reminders + (end === 'reminded' ? 1 : 0) },
  }),
  'crew.heard': recordCall,
  'crew.job': applyJob,
}

export function foldMember(crew: Crew, fact: AnyMemberFact): Crew {
  if (fact.type === 'crew.member') return addMember(crew, fact)
  if (fact.type === 'crew.replaced') return replaceBySuccessor(crew, fact)
  const fold = FOLDS[fact.type] as (member: Member, fact: AnyMemberFact) => Member
  return updateMember(crew, memberIdOf(fact), (member) => fold(member, fact))
}

function memberIdOf(fact: CrewFactOf<MemberFact>): MemberId {
  if (fact.type === 'crew.job') return fact.job.member
  return fact.type === 'crew.sent' ? fact.to : fact.member
}

function addMember(crew: Crew, { member: id, role, who }: CrewFactOf<'crew.member'>): Crew {
  const counter = role === 'coordinator' ? { nextCoordinator: crew.nextCoordinator + 1 } : { nextWorker: crew.nextWorker + 1 }
  return { ...crew, ...counter, members: [...crew.members, newMember(id, role, who)] }
}

function newMember(id: MemberId, role: Role, who: Member['who']): Member {
  return {
    id,
    role,
    ...(who === undefined ? {} : { who }),
    uuid: null,
    state: 'starting',
    leave: null,
    phase: 'idle',
    task: null,
    turn: NO_TURN,
    fresh: true,
    held: false,
    heir: null,
    heirOf: null,
    summary: null,
    told: false,
    full: false,
    cleanup: null,
    heard: [],
  }
}

function recordCall(member: Member, { call, tool, note }: CrewFactOf<'crew.heard'>): Member {
  const { saidReady, ...turn } = member.turn
  const isOnlyReady = tool === 'signal_ready' ? !turn.answered || saidReady === true : saidReady === true && !CLOSING_TOOLS.has(tool)
  const calls = call === null ? member.heard : [...member.heard.slice(1 - MAX_REMEMBERED_CALLS), { call, note }]
  return {
    ...member,
    turn: { ...turn, answered: turn.answered || CLOSING_TOOLS.has(tool), ...(isOnlyReady ? { saidReady: true } : {}) },
    heard: calls,
  }
}

/** Both `reset` and `prepare` leave clean files. `brief` delivers the comments that the member has not read yet. */
function applyJob(member: Member, { job }: CrewFactOf<'crew.job'>): Member {
  if (job.type === 'reset' || job.type === 'prepare') return { ...member, cleanup: null }
  return job.type === 'brief' && job.task === member.task && member.phase !== 'reviewing' ? clearUnreadComments(member) : member
}

/** Marks the comments on the member's own task as delivered. */
function clearUnreadComments({ unheard: _, ...member }: Member): Member {
  return member
}

/** Gives the task and the phase to the successor at once. A `prepare` job hands over the files later. */
function replaceBySuccessor(crew: Crew, { member: id, heir: successor, summary }: CrewFactOf<'crew.replaced'>): Crew {
  const predecessor = crew.members.find((member) => member.id === id)
  if (!predecessor) return crew
  const withoutTask = updateMember(crew, id, (member) => ({ ...releaseTask(clearUnreadComments(member)), heir: successor, cleanup: null }))
  const withSuccessor = updateMember(withoutTask, successor, (member) => ({
    ...member,
    heirOf: id,
    phase: predecessor.phase,
    task: predecessor.task,
    ...(predecessor.own ? { own: predecessor.own } : {}),
    summary: predecessor.task === null ? summary : null,
  }))
  return [predecessor.task, predecessor.own ?? null].reduce(
    (current, taskId) => (taskId === null ? current : updateTask(current, taskId, (task) => moveTask(task, id, successor))),
    withSuccessor,
  )
}

function moveTask(task: Task, from: MemberId, to: MemberId): Task {
  if (task.reviewer === from) return { ...task, reviewer: to, briefed: false }
  return { ...task, implementer: to, implementers: [...task.implementers, to], prepared: false, begun: false }
}

/** Takes the task away from a member, in any phase. */
function releaseTask(member: Member): Member {
  return {
    ...member,
    phase: member.phase === 'idle' ? 'idle' : nextPhase(member.phase, 'release'),
    task: null,
    ...(member.own ? { own: null } : {}),
  }
}

/** Ends a member's work on its task. After a review, the member returns to its own task, which may have been denied meanwhile. */
function endWork({ tasks }: Crew, member: Member): Member {
  const ownTask = tasks.find(({ id }) => id === member.own)
  if (!ownTask) return releaseTask(member)
  const phase = nextPhase(member.phase, 'back')
  return { ...member, phase: ownTask.state === 'addressing_feedback' ? nextPhase(phase, 'deny') : phase, task: ownTask.id, own: null }
}

/** Applies an event to the phase of the member if it holds the task; other members do not change. */
export function movePhase(crew: Crew, id: MemberId | null, task: TaskId, event: PhaseEvent): Crew {
  if (id === null) return crew
  return updateMember(crew, id, (member) => {
    if (member.own === task) return moveOwnTask(member, event)
    if (member.task !== task) return member
    return event === 'release' ? endWork(crew, member) : { ...member, phase: nextPhase(member.phase, event) }
  })
}

/**
 * Applies an event to a task whose member is reviewing another task. Comments are delivered after that review.
 * Errors: CONFLICT for an event that the table does not allow.
 */
function moveOwnTask(member: Member, event: PhaseEvent): Member {
  if (event === 'release') return { ...clearUnreadComments(member), own: null }
  nextPhase('awaiting_review', event)
  return event === 'deny' ? { ...member, unheard: true } : member
}

export function updateMember(crew: Crew, id: MemberId, change: (member: Member) => Member): Crew {
  return { ...crew, members: crew.members.map((candidate) => (candidate.id === id ? change(candidate) : candidate)) }
}

export function updateTask(crew: Crew, id: TaskId, change: (task: Task) => Task): Crew {
  return { ...crew, tasks: crew.tasks.map((candidate) => (candidate.id === id ? change(candidate) : candidate)) }
}
