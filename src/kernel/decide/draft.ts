// The draft of one decision: its facts in order, their effects, and the process table with these facts applied. Numbers the facts. If the
// decision is refused, its draft is dropped. Test: test/properties/kernel.test.ts.
import { KernelError } from '../model/errors.ts'
import { fold } from '../state/fold.ts'
import { keptMessages } from '../crew/state/kept-messages.ts'
import { crewCommandsFor } from '../crew/state/member-facts.ts'
import { momentOf } from '../model/moment.ts'
import { agentUuidIn } from '../model/ids.ts'
import { isLiving } from '../model/status.ts'
import { toNanoUsd } from '../state/accounts.ts'
import { addSpending } from '../state/home.ts'
import type { Home } from '../model/home.ts'
import { Overlay } from '../state/live-table.ts'
import type { SystemCommand } from '../model/crew/commands.ts'
import type { AnswerUndo, Effect } from '../model/effects.ts'
import type { Fact, FactBody } from '../model/facts.ts'
import type { Process } from '../model/process.ts'
import type { LiveTable } from '../state/live-table.ts'
import type { Now, Pid, Sender, Uuid } from '../model/ids.ts'
import type { Signal } from '../model/words.ts'

/** The changes that one input makes. */
export interface Changes {
  readonly facts: readonly Fact[]
  /** the new rows of all changed processes */
  readonly processes: ReadonlyMap<Uuid, Process>
  readonly lastPid: Pid
  readonly home: Home
}

export interface Decision {
  readonly changes: Changes
  readonly effects: readonly Effect[]
}

/** Work that remains after the facts of a decision; `runFollowUps` does it in order. */
export type FollowUp =
  /** a crew must be informed about a member */
  | { readonly type: 'memberCommand'; readonly crew: Uuid; readonly command: SystemCommand }
  /** the user answered the ask of a crew */
  | { readonly type: 'answered'; readonly uuid: Uuid; readonly id: string; readonly option: string | null; readonly text: string | null }
  /** a process was released */
  | { readonly type: 'ended'; readonly uuid: Uuid }
  /** a supervisor continues after a pause */
  | { readonly type: 'unpaused'; readonly uuid: Uuid }
  /** a process was resumed after its end */
  | { readonly type: 'resumed'; readonly uuid: Uuid }
  /** the nodes of a run have changed */
  | { readonly type: 'runChanged'; readonly uuid: Uuid }
  /** a supervisor is ready for its work */
  | { readonly type: 'supervisorReady'; readonly uuid: Uuid }
  /** a crew member may begin a turn */
  | { readonly type: 'nextTurn'; readonly uuid: Uuid }
  /** a supervisor starts, and must recover its children */
  | { readonly type: 'supervisorStarted'; readonly uuid: Uuid; readonly endedChildren: readonly Process[] }
  /** a supervisor must stop, after its children */
  | { readonly type: 'stopWithChildren'; readonly uuid: Uuid; readonly signal: Signal }

/** Facts that record the session of the page through which the user acted. Facts of signals have it from their input. */
const FACTS_WITH_VIA: ReadonlySet<FactBody['type']> = new Set<FactBody['type']>([
  'process.spawned',
  'process.resumed',
  'process.released',
  'process.answered',
  'process.unanswered',
  'process.queue',
  'process.forked',
  'process.limited',
  'process.described',
  'process.pinned',
  'process.seen',
  'process.snoozed',
  'supervisor.removed',
  'compose.again',
  'compose.resumed',
  'crew.member',
  'crew.leaving',
  'crew.left',
  'crew.replaced',
  'crew.sent',
  'crew.notified',
  'crew.ending',
  'task.added',
  'task.ordered',
  'task.edited',
  'task.assigned',
  'task.review',
  'task.approved',
  'task.requeued',
  'task.done',
  'task.failed',
  'task.cancelled',
  'task.retried',
  'task.reopened',
])

/** Adds the session to a fact that the user has caused. A fact without a sender gets it only as the direct result of the command. */
function withVia(body: FactBody, via: string | undefined, isDirect: boolean): FactBody {
  if (via === undefined || !FACTS_WITH_VIA.has(body.type)) return body
  const sender = 'by' in body ? body.by : 'from' in body ? body.from : null
  return sender === 'user' || (sender === null && isDirect) ? ({ ...body, via } as FactBody) : body
}

export class DecisionDraft extends Overlay {
  readonly now: Now
  readonly facts: Fact[] = []
  readonly effects: Effect[] = []
  /** run in order at the end of the decision */
  readonly followUps: FollowUp[] = []
  #endedRow: Process | null = null
  /** the session of the page through which the user acts; undefined: none */
  readonly #via: string | undefined

  constructor(table: LiveTable, now: Now, via?: string) {
    super(table)
    this.now = now
    this.#via = via
  }

  /** Returns a process that must exist, including one that died in this decision. Errors: INTERNAL. */
  mustGet(uuid: Uuid): Process {
    const process = this.latestRow(uuid)
    if (!process) throw new KernelError('INTERNAL', `no row for ${uuid}`)
    return process
  }

  /** Returns a process that must live. Errors: NOT_FOUND. */
  requireLiving(uuid: Uuid): Process {
    const process = this.get(uuid)
    if (!process || !isLiving(process)) throw new KernelError('NOT_FOUND', `process ${process?.pid ?? uuid} has ended`)
    return process
  }

  /** The process that sent a request; undefined for the user, reeve itself and a coordinator. */
  sendingProcess(by: Sender): Process | undefined {
    const uuid = agentUuidIn(by)
    return uuid === null ? undefined : this.get(uuid)
  }

  /** Answers a request that was carried out. `affected`: number of changed processes; `note`: a remark such as `it was not suspended`. */
  replyDone(
    to: number,
    uuid: Uuid,
    { affected = 1, note = null, undo }: { readonly affected?: number; readonly note?: string | null; readonly undo?: AnswerUndo } = {},
  ): void {
    this.addEffect({ type: 'reply', to, value: { type: 'done', uuid, affected, childrenGoOn: 0, note, ...(undo ? { undo } : {}) } })
  }

  takePid(): Pid {
    this.lastPid += 1
    return this.lastPid
  }

  /** Makes the row of a dead process, which is not in the table, available to this decision. */
  loadEnded(row: Process): void {
    this.#endedRow = row
  }

  /** Adds a fact to the decision, and returns the process after it. `isDirect`: the fact is what the user's command asked for. */
  emit(uuid: Uuid, decided: FactBody, isDirect = false): Process {
    const body = withVia(decided, this.#via, isDirect)
    const before = this.latestRow(uuid)
    const seq = (body.type === 'process.forked' ? body.origin.seq : (before?.seq ?? 0)) + 1
    const fact: Fact = { uuid, seq, pid: pidOf(before, body), at: this.now.wall, body }
    const after = fold(before, fact)
    this.put(after)
    this.home = addSpending(this.home, toNanoUsd(after.usage.costUsd) - toNanoUsd(before?.usage.costUsd ?? 0))
    const { member } = after.spec
    this.facts.push({ ...fact, moment: momentOf(after, member && this.get(member.crew)) })
    if (member) this.#notifyCrew(before, after, member.crew, body)
    return after
  }

  addEffect(effect: Effect): void {
    this.effects.push(effect)
  }

  toDecision(): Decision {
    return { changes: { facts: this.facts, processes: this.processes, lastPid: this.lastPid, home: this.home }, effects: this.effects }
  }

  #notifyCrew(before: Process | undefined, after: Process, crew: Uuid, body: FactBody): void {
    const row = this.get(crew)
    const { member } = after.spec
    const handOver = row?.spec.crew?.handOver ?? null
    const task = row?.crew?.members.find(({ id }) => id === member?.id)?.task ?? null
    const isLimited = task !== null && row?.crew?.tasks.some(({ id, limits }) => id === task && limits !== undefined) === true
    for (const command of crewCommandsFor(
      { before, after, handOver, isLimited, keptCount: member ? keptMessages(row, member.id).length : 0 },
      body,
    ))
      this.followUps.push({ type: 'memberCommand', crew, command })
  }

  /** The row as changed by this decision, even if the process has died in it; undefined: there is none. */
  latestRow(uuid: Uuid): Process | undefined {
    return this.processes.get(uuid) ?? this.get(uuid) ?? (this.#endedRow?.uuid === uuid ? this.#endedRow : undefined)
  }
}

/** The PID of a fact. The first fact of a new incarnation already has the new PID. */
function pidOf(before: Process | undefined, body: FactBody): Pid {
  if (
    body.type === 'process.spawned' ||
    body.type === 'process.forked' ||
    body.type === 'process.resumed' ||
    body.type === 'process.rehydrated'
  )
    return body.pid
  if (!before) throw new KernelError('INTERNAL', `the first fact is ${body.type}`)
  return before.pid
}
