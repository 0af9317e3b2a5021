// The draft of one decision about a crew: its facts in order, its acts, and the crew's state after the facts. Numbers messages and jobs.
// When a command is refused, the whole draft is dropped. Test: test/tables/kernel/crew/decide/task-lifecycle.test.ts.
import { refusalError } from './refusal-error.ts'
import { coordinatorRecipient, tasksById } from '../state/queries.ts'
import { foldCrew } from '../state/fold.ts'
import type { KernelError } from '../../model/errors.ts'
import type { Act, CrewContext } from '../../model/crew/commands.ts'
import type { CrewFact, JobWork } from '../../model/crew/facts.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { Sender } from '../../model/ids.ts'
import type { MemberId, TaskId } from '../../model/crew/words.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/** The number of members or tasks that an error names. */
const MAX_NAMED_IDS = 50

export interface OutgoingMessage {
  readonly from: Sender
  readonly text: string
  readonly task?: TaskId | null
  /** also queue the message for a member without a running process; the member or its successor reads it later */
  readonly isKept?: true
  /** deliver the message before those that predecessors left unread */
  readonly isFirst?: true
  /** deliver the message before the next model call of the current turn */
  readonly isUrgent?: true
}

export class CrewDraft {
  crew: Crew
  readonly spec: CrewSpec
  readonly context: CrewContext
  readonly facts: CrewFact[] = []
  readonly acts: Act[] = []

  constructor(crew: Crew, spec: CrewSpec, ctx: CrewContext) {
    this.crew = crew
    this.spec = spec
    this.context = ctx
  }

  /** Adds a fact, and applies it to the crew. */
  emit(body: CrewFact): void {
    this.facts.push(body)
    this.crew = foldCrew(this.crew, { seq: this.context.seq + this.facts.length, at: this.context.at, body })
  }

  /** Whether this decision pauses the crew's process. */
  get isHalted(): boolean {
    return this.acts.some(({ type }) => type === 'hold')
  }

  addAct(act: Act): void {
    this.acts.push(act)
  }

  /** Records a text for the user, and sends it as a notification. */
  notifyUser(text: string): void {
    this.emit({ type: 'crew.notified', text })
    this.addAct({ type: 'notify', text })
  }

  /** Queues a message for a member in state `on`. For other members, the message is dropped unless `isKept` is set. */
  send(to: MemberId, { from, text, task = null, isKept, isFirst, isUrgent }: OutgoingMessage): void {
    const member = this.findMember(to)
    if (!member || (member.state !== 'on' && !isKept)) return
    const message = this.crew.messages + 1
    this.emit({ type: 'crew.sent', message, to, from, ...(task === null ? {} : { task }) })
    this.addAct({
      type: 'message',
      to,
      id: `${message}`,
      from,
      text,
      task,
      ...(isFirst ? { first: isFirst } : {}),
      ...(isUrgent ? { urgent: isUrgent } : {}),
    })
  }

  /** Queues a message for the coordinator agent, if the crew has one. If none is running, the next one gets the message. */
  messageCoordinator(text: string, task: Task | null, from: Sender = 'system'): void {
    const coordinator = coordinatorRecipient(this.crew)
    if (coordinator && !this.crew.ending) this.send(coordinator.id, { from, text, task: task?.id ?? null, isKept: true })
  }

  requestJob(work: JobWork): void {
    const job = { ...work, job: this.crew.nextJob }
    this.emit({ type: 'crew.job', job })
    this.addAct({ type: 'job', job })
  }

  findMember(id: MemberId | null): Member | undefined {
    return this.crew.members.find((member) => member.id === id)
  }

  findTask(id: TaskId | null): Task | undefined {
    return id === null ? undefined : tasksById(this.crew).get(id)
  }

  /** Errors: NOT_FOUND. */
  requireMember(id: MemberId): Member {
    const member = this.findMember(id)
    if (!member) throw unknownIdError('member', id, this.crew.members)
    return member
  }

  /** Errors: NOT_FOUND. */
  requireTask(id: TaskId): Task {
    const task = this.findTask(id)
    if (!task) throw unknownIdError('task', id, this.crew.tasks)
    return task
  }
}

/** An error for an unknown member or task; its hint names those that the crew has. */
function unknownIdError(kind: 'member' | 'task', id: string, known: readonly (Member | Task)[]): KernelError {
  const ids = known.slice(0, MAX_NAMED_IDS).map((one) => one.id)
  return refusalError('NOT_FOUND', `the crew has no ${kind} "${id}"`, `It has ${ids.join(', ') || 'none'}.`)
}
