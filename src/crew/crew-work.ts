// One decision about a crew in the making: facts in order, the acts after them, and the crew as the facts so far have made it.
// Owns how messages and jobs get their numbers. A decision that is refused is dropped with all that it had.
// Test: test/tables/crew-ways.test.ts.
import { KernelError } from '../kernel/errors.ts'
import { tasksById } from './finding.ts'
import { foldCrew } from './fold.ts'
import type { ErrorCode } from '../kernel/errors.ts'
import type { Act, Ctx } from './commands.ts'
import type { CrewFact } from './facts.ts'
import type { Crew, CrewSpec, JobWork, Member, MemberId, Task, TaskId } from './types.ts'
import type { Sender } from '../kernel/types.ts'

export interface Letter {
  readonly from: Sender
  readonly text: string
  readonly task?: TaskId | null
  /** who is not there reads it when it comes, or who comes after it does */
  readonly kept?: true
  /** before what its predecessors left */
  readonly first?: true
}

export class CrewWork {
  crew: Crew
  readonly spec: CrewSpec
  readonly ctx: Ctx
  readonly facts: CrewFact[] = []
  readonly acts: Act[] = []

  constructor(crew: Crew, spec: CrewSpec, ctx: Ctx) {
    this.crew = crew
    this.spec = spec
    this.ctx = ctx
  }

  emit(body: CrewFact): void {
    this.facts.push(body)
    this.crew = foldCrew(this.crew, { seq: this.ctx.seq + this.facts.length, at: this.ctx.at, body })
  }

  act(act: Act): void {
    this.acts.push(act)
  }

  /** Into the queue of a member that is there; who is not is told nothing, unless it is kept for it. */
  send(to: MemberId, { from, text, task = null, kept, first }: Letter): void {
    const member = this.member(to)
    if (!member || (member.state !== 'on' && !kept)) return
    const message = this.crew.messages + 1
    this.emit({ type: 'crew.sent', message, to, from, ...(task === null ? {} : { task }) })
    this.act({ type: 'message', to, id: `${message}`, from, text, task, ...(first ? { first } : {}) })
  }

  job(work: JobWork): void {
    const job = { ...work, job: this.crew.nextJob }
    this.emit({ type: 'crew.job', job })
    this.act({ type: 'job', job })
  }

  member(id: MemberId | null): Member | undefined {
    return this.crew.members.find((one) => one.id === id)
  }

  task(id: TaskId | null): Task | undefined {
    return id === null ? undefined : tasksById(this.crew).get(id)
  }

  /** Errors: NOT_FOUND. */
  needMember(id: MemberId): Member {
    const member = this.member(id)
    if (!member) throw refusal('NOT_FOUND', `the crew has no member "${id}"`, `It has ${this.crew.members.map((one) => one.id).join(', ') || 'none'}.`)
    return member
  }

  /** Errors: NOT_FOUND. */
  needTask(id: TaskId): Task {
    const task = this.task(id)
    if (!task) throw refusal('NOT_FOUND', `the crew has no task "${id}"`, `It has ${this.crew.tasks.map((one) => one.id).slice(0, 50).join(', ') || 'none'}.`)
    return task
  }
}

/** An error whose hint says what to do instead. */
export function refusal(code: ErrorCode, message: string, hint: string): KernelError {
  return new KernelError(code, message, undefined, hint)
}
