// What is said to crews, by people and by their own members: a command becomes one input of the kernel, whose answer is in words.
// Owns who says it: a member by its incarnation, which its token stands for, never by a name. Decides nothing.
// Tests: test/e2e/crew.test.ts, test/e2e/mcp-crew.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { CrewCommandBody, CrewSteerView } from '../api/crew-views.ts'
import type { LeadCommand, WorkerCommand } from '../crew/commands.ts'
import type { Process } from '../kernel/types.ts'
import type { CrewReads } from './crew-reads.ts'
import type { CrewCaller, CrewDesk } from './mcp/tool.ts'
import type { Pipeline } from './pipeline.ts'

export interface CrewsParts {
  readonly pipeline: Pick<Pipeline, 'request'>
  readonly reads: CrewReads
}

export class Crews implements CrewDesk {
  readonly #parts: CrewsParts

  constructor(parts: CrewsParts) {
    this.#parts = parts
  }

  /** Errors: those of the command; LATE for an incarnation or a turn that is over. */
  async command(ref: string, by: CrewCaller, command: LeadCommand | WorkerCommand): Promise<{ readonly note: string | null }> {
    return { note: await this.#say(await this.#parts.reads.resolve(ref), by, command) }
  }

  /** A person's. */
  async steer(ref: string, body: CrewCommandBody): Promise<CrewSteerView> {
    const { reads } = this.#parts
    const process = await reads.resolve(ref)
    const note = await this.#say(process, null, commandOf(body))
    return { version: 1, crew: await reads.view(await reads.resolve(process.uuid)), note }
  }

  /** As people see it; a task that is named has its texts and its thread. */
  async view(ref: string, task?: string): ReturnType<CrewDesk['view']> {
    const { reads } = this.#parts
    const process = await reads.resolve(ref)
    const { members, tasks } = await reads.view(process)
    if (task === undefined || !tasks.some(({ id }) => id === task)) return { members, tasks }
    const whole = await reads.task(process, task)
    return { members, tasks: tasks.map((one) => (one.id === task ? whole : one)) }
  }

  async #say({ uuid }: Process, by: CrewCaller | null, command: LeadCommand | WorkerCommand): Promise<string | null> {
    const whose = by ? { by: `agent:${by.uuid}` as const, call: { pid: by.pid, turn: by.turn, id: by.call } } : { by: 'user' as const }
    const done = await this.#parts.pipeline.request({ type: 'crew', uuid, command, ...whose })
    if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
    return done.note
  }
}

/** A task without a title is called by the first line of its text. */
function commandOf(body: CrewCommandBody): LeadCommand {
  if (body.type !== 'add_task') return body as LeadCommand
  return { ...body, title: body.title ?? body.text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '' }
}
