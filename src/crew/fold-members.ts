// What facts of the crew do to its members. Owns their rows; phases change by their table alone (phases.ts), but for a successor,
// who begins with the phase that it takes over. Must never decide. Test: test/simulation/crew.test.ts.
import { nextPhase } from './phases.ts'
import type { CrewFact } from './facts.ts'
import type { PhaseEvent } from './phases.ts'
import type { Crew, Member, MemberId, Role, Task, TaskId, Turn } from './types.ts'

type FactOf<T extends CrewFact['type']> = Extract<CrewFact, { type: T }>
type MemberFact = 'crew.sent' | 'crew.joined' | 'crew.inherited' | 'crew.leaving' | 'crew.left' | 'crew.held' | 'crew.kept' | 'crew.full' | 'crew.turn.begun' | 'crew.turn' | 'crew.heard' | 'crew.job'
type AnyMemberFact = FactOf<MemberFact | 'crew.member' | 'crew.replaced'>

/** calls of one member whose answers are remembered */
const MAX_HEARD = 8
const NO_TURN: Turn = { open: null, phase: 'idle', task: null, answered: false, reminders: 0 }

/** What a worker must have called in a turn, one of them. */
const CLOSING: ReadonlySet<string> = new Set(['post_message', 'report_implementation_complete', 'report_review_verdict', 'signal_ready'])

const ROWS: { readonly [T in MemberFact]: (member: Member, fact: FactOf<T>) => Member } = {
  'crew.joined': (member, { process, inherits }) => ({ ...member, uuid: process, state: 'on', leave: null, summary: null, told: false, ...(inherits ? { inherits } : {}) }),
  'crew.inherited': ({ inherits: _, ...member }) => member,
  'crew.sent': (member) => ({ ...member, told: true }),
  'crew.leaving': (member, { how, reason }) => ({ ...member, state: 'leaving', leave: { how, reason } }),
  'crew.left': ({ heldFor: _, ...member }, { how, reason }) => ({ ...letGo(member), state: 'gone', leave: { how, reason }, turn: NO_TURN, told: false, held: false, cleanup: null, fresh: false }),
  'crew.held': ({ heldFor: _, ...member }, { held, reason }) => ({ ...member, held, ...(held && reason !== undefined ? { heldFor: reason } : {}) }),
  'crew.kept': (member) => ({ ...member, heir: null }),
  'crew.full': (member) => ({ ...member, full: true }),
  'crew.turn.begun': (member, { turn, resets }) => ({ ...member, told: false, turn: { open: turn, phase: member.phase, task: member.task, answered: false, reminders: resets ? 0 : member.turn.reminders } }),
  'crew.turn': (member, { end, queued }) => ({ ...member, fresh: false, told: queued > 0, turn: { ...member.turn, open: null, reminders: member.turn.reminders + (end === 'reminded' ? 1 : 0) } }),
  'crew.heard': heard,
  // Both leave clean files behind.
  'crew.job': (member, { job }) => (job.type === 'reset' || job.type === 'prepare' ? { ...member, cleanup: null } : member),
}

export function foldMember(crew: Crew, fact: AnyMemberFact): Crew {
  if (fact.type === 'crew.member') return added(crew, fact)
  if (fact.type === 'crew.replaced') return inherited(crew, fact)
  const row = ROWS[fact.type] as (member: Member, fact: AnyMemberFact) => Member
  return withMember(crew, whose(fact), (member) => row(member, fact))
}

function whose(fact: FactOf<MemberFact>): MemberId {
  if (fact.type === 'crew.job') return fact.job.member
  return fact.type === 'crew.sent' ? fact.to : fact.member
}

function added(crew: Crew, { member: id, role }: FactOf<'crew.member'>): Crew {
  const counter = role === 'coordinator' ? { nextCoordinator: crew.nextCoordinator + 1 } : { nextWorker: crew.nextWorker + 1 }
  return { ...crew, ...counter, members: [...crew.members, newMember(id, role)] }
}

function newMember(id: MemberId, role: Role): Member {
  return { id, role, uuid: null, state: 'starting', leave: null, phase: 'idle', task: null, turn: NO_TURN, fresh: true, held: false, heir: null, heirOf: null, summary: null, told: false, full: false, cleanup: null, heard: [] }
}

function heard(member: Member, { call, tool, note }: FactOf<'crew.heard'>): Member {
  const answered = member.turn.answered || CLOSING.has(tool)
  const known = call === null ? member.heard : [...member.heard.slice(1 - MAX_HEARD), { call, note }]
  return { ...member, turn: { ...member.turn, answered }, heard: known }
}

/** The successor has the task and the phase at once, and the files as soon as both are there. */
function inherited(crew: Crew, { member: id, heir, summary }: FactOf<'crew.replaced'>): Crew {
  const old = crew.members.find((one) => one.id === id)
  if (!old) return crew
  const gave = withMember(crew, id, (member) => ({ ...member, heir, phase: 'idle', task: null, cleanup: null }))
  const took = withMember(gave, heir, (member) => ({ ...member, heirOf: id, phase: old.phase, task: old.task, summary: old.task === null ? summary : null }))
  return old.task === null ? took : withTask(took, old.task, (task) => takeOver(task, id, heir))
}

function takeOver(task: Task, from: MemberId, to: MemberId): Task {
  if (task.reviewer === from) return { ...task, reviewer: to, briefed: false }
  return { ...task, implementer: to, implementers: [...task.implementers, to], prepared: false }
}

/** It has no task any more, whatever it did with it. */
function letGo(member: Member): Member {
  return { ...member, phase: member.phase === 'idle' ? 'idle' : nextPhase(member.phase, 'release'), task: null }
}

/** The phase of who holds the task; nobody else's. */
export function movePhase(crew: Crew, id: MemberId | null, task: TaskId, event: PhaseEvent): Crew {
  return id === null ? crew : withMember(crew, id, (member) => (member.task !== task ? member : event === 'release' ? letGo(member) : { ...member, phase: nextPhase(member.phase, event) }))
}

export function withMember(crew: Crew, id: MemberId, change: (member: Member) => Member): Crew {
  return { ...crew, members: crew.members.map((one) => (one.id === id ? change(one) : one)) }
}

export function withTask(crew: Crew, id: TaskId, change: (task: Task) => Task): Crew {
  return { ...crew, tasks: crew.tasks.map((one) => (one.id === id ? change(one) : one)) }
}
