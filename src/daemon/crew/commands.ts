// Sends commands of the user and of members to a crew. Each command becomes one kernel input, which the kernel may answer with a text. A
// member is identified by the incarnation behind its token, never by a name. Must never decide: the kernel does.
// Tests: test/e2e/crew/crew.test.ts, test/e2e/mcp/crew.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { toCrewCommand } from '../../config/crew/shell-commands.ts'
import { appendLineComments } from '../../kernel/crew/text/line-comments.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { quoteComments } from './quote-comments.ts'
import { requireTask } from './queries.ts'
import { continueHint } from './up/restart-command.ts'
import { withUserHint } from './user-hints.ts'
import { crewCommandName } from '../../api/text/answer-command.ts'
import { shellWord } from '../../api/text/shell-quote.ts'
import { withAbsoluteScriptPath } from './up/script-path.ts'
import type { CrewCommandBody, CrewSteerView } from '../../api/views/crew.ts'
import type { LeadCommand, WorkerCommand } from '../../kernel/model/crew/commands.ts'
import type { LineComment } from '../../kernel/crew/text/line-comments.ts'
import type { Task } from '../../kernel/model/crew/crew.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { CrewDiffs } from './diff.ts'
import type { CrewQueries } from './queries.ts'
import type { buildTaskAgentTemplates } from './up/task-agents.ts'
import type { Credentials } from '../incarnation/credentials.ts'
import type { CrewCaller, CrewToolPort } from '../mcp/tool.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import { viaOf } from '../loop/requester.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

export interface CrewCommandsDeps {
  readonly pipeline: Pick<Pipeline, 'request'>
  readonly reads: CrewQueries
  readonly diffs: CrewDiffs
  /** for the check that a task's agent and model are usable */
  readonly specs: Parameters<typeof buildTaskAgentTemplates>[3]['specs']
  readonly paths: Parameters<typeof buildTaskAgentTemplates>[3]['paths']
  readonly credentials: Pick<Credentials, 'resolveAndKeep' | 'storedKeys' | 'forget'>
}

export class CrewCommands implements CrewToolPort {
  readonly #deps: CrewCommandsDeps

  constructor(deps: CrewCommandsDeps) {
    this.#deps = deps
  }

  /** Sends a command of a member. Errors: those of the command; LATE for an incarnation or a turn that has ended. */
  async runMemberCommand(ref: string, by: CrewCaller, command: LeadCommand | WorkerCommand): Promise<{ readonly note: string | null }> {
    return { note: await this.#request(await this.#deps.reads.resolve(ref), by, command) }
  }

  /**
   * Sends a command of the user. `via`: the session of the page that sent it. Errors: those of the command; NOT_FOUND for an ended crew,
   * with a hint on how to continue.
   */
  async runUserCommand(ref: string, body: CrewCommandBody, via?: string): Promise<CrewSteerView> {
    const { reads } = this.#deps
    const process = await reads.resolve(ref)
    if (process.life.state === 'dead')
      throw new KernelError(
        'NOT_FOUND',
        `crew ${process.spec.name ?? ''} (PID ${process.pid}) has ended`.replace('  ', ' '),
        undefined,
        continueHint(process, commandType(process, body), 'task' in body && typeof body.task === 'string' ? body.task : null),
      )
    const note =
      body.type === 'deny_task'
        ? await this.#denyTask(process, body, via)
        : await this.#request(
            process,
            { via },
            body.type === 'reopen_task'
              ? await this.#reopenCommand(process, body)
              : await this.#checkTaskAgent(process, leadCommandOf(body)),
          ).catch((error: unknown) => {
            throw withUserHint(error)
          })
    return { version: 1, crew: await reads.view(await reads.resolve(process.uuid)), note }
  }

  /**
   * Checks that the agent and model of a task are usable. Returns the command, with an absolute script path. Errors: those of a spec;
   * CREDENTIALS_MISSING.
   */
  async #checkTaskAgent(process: Process, command: LeadCommand): Promise<LeadCommand> {
    const {
      uuid,
      spec: { cwd, crew },
    } = process
    if ((command.type !== 'add_task' && command.type !== 'edit_task') || !crew || (!command.agent && !command.model)) return command
    const { buildTaskAgentTemplates: buildTemplates } = await import('./up/task-agents.ts')
    const resolvedCommand = { ...command, ...(command.model ? { model: withAbsoluteScriptPath(command.model, cwd) } : {}) }
    const { agent, model } = resolvedCommand
    const target = resolvedCommand.type === 'edit_task' ? requireTask(process, resolvedCommand.task) : resolvedCommand
    const role = resolvedCommand.role ?? target.role
    const task = {
      ...(target.id === undefined ? {} : { id: target.id }),
      title: target.title,
      ...(role ? { role } : {}),
      ...(target.kind === 'human' ? { kind: 'human' as const } : {}),
      ...(agent ? { agent } : {}),
      ...(model ? { model } : {}),
    }
    const { credentials } = this.#deps
    for (const { spec, agentText } of await buildTemplates([task], crew, credentials.storedKeys(uuid), this.#deps)) {
      const probeUuid = uuidv7()
      const { missing } = await credentials
        .resolveAndKeep({ uuid: probeUuid, spec }, credentials.storedKeys(uuid))
        .finally(() => credentials.forget(probeUuid))
      if (missing.length > 0) throw new KernelError('CREDENTIALS_MISSING', `${agentText} needs ${missing.join(', ')}`, { missing })
    }
    return resolvedCommand
  }

  /**
   * The comments of a member, with the commented lines quoted if the member is reviewing a task. Otherwise nothing is quoted, because the
   * crew refuses the verdict. Errors: INVALID for a line that does not exist.
   */
  async quoteLines(ref: string, by: Uuid, comments: string, lines: readonly LineComment[]): Promise<string> {
    const crew = await this.#deps.reads.resolve(ref)
    const member = crew.crew?.members.find(({ uuid }) => uuid === by)
    if (member?.phase !== 'reviewing' || member.task === null)
      return appendLineComments(
        comments,
        lines.map((line) => ({ ...line, quote: null })),
      )
    return quoteComments(this.#deps.diffs, { crew, task: member.task }, comments, lines)
  }

  /**
   * Denies a task for the user, by answering the crew's question. Returns the new state as text. Errors: CONFLICT without an open question;
   * INVALID without a reason.
   */
  async #denyTask(
    crew: Process,
    { task: id, reason = '', lines = [] }: Extract<CrewCommandBody, { type: 'deny_task' }>,
    via: string | undefined,
  ): Promise<string> {
    const { ask, kind, state } = requireTask(crew, id)
    if (kind === 'human')
      throw new KernelError('CONFLICT', `${id} is a question for you, not a change`, undefined, '`reeve answer` answers it.')
    if (ask === null)
      throw new KernelError(
        'CONFLICT',
        `no question about ${id} is open: it is ${state.replaceAll('_', ' ')}`,
        undefined,
        denyHint(crew, id, state),
      )
    const text = await quoteComments(this.#deps.diffs, { crew, task: id }, reason, lines)
    if (text.trim() === '') throw new KernelError('INVALID', 'a denial needs a reason', undefined, 'Give a reason, or comments on lines.')
    await this.#send({ type: 'answer', by: 'user', uuid: crew.uuid, id: ask.id, option: 'deny', text, ...viaOf(via) })
    const updatedTask = requireTask(await this.#deps.reads.resolve(crew.uuid), id)
    return updatedTask.state === 'addressing_feedback'
      ? `${id} went back to ${updatedTask.implementer ?? 'its author'}`
      : `${id} is ${updatedTask.state.replaceAll('_', ' ')}${updatedTask.reason === null ? '' : `: ${updatedTask.reason}`}`
  }

  /** The command to reopen a task, with comments that quote lines of the landed change. */
  async #reopenCommand(
    crew: Process,
    { type, task, comments = '', lines = [] }: Extract<CrewCommandBody, { type: 'reopen_task' }>,
  ): Promise<LeadCommand> {
    const text = await quoteComments(this.#deps.diffs, { crew, task: requireTask(crew, task).id }, comments, lines)
    if (text.trim() === '')
      throw new KernelError(
        'INVALID',
        'a task cannot be reopened without comments',
        undefined,
        'Give comments on the change or on its lines.',
      )
    return { type, task, comments: text }
  }

  /** The crew's tasks and members. The task with the id `task` also has its texts and thread. */
  async view(ref: string, task?: string): ReturnType<CrewToolPort['view']> {
    const { reads } = this.#deps
    const process = await reads.resolve(ref)
    const { members, tasks } = await reads.view(process)
    if (task === undefined || !tasks.some(({ id }) => id === task)) return { members, tasks }
    const detail = await reads.task(process, task)
    return { members, tasks: tasks.map((candidate) => (candidate.id === task ? detail : candidate)) }
  }

  /** `by`: the member; for the user, the session of the page. */
  async #request(
    { uuid }: Process,
    by: CrewCaller | { readonly via: string | undefined },
    command: LeadCommand | WorkerCommand,
  ): Promise<string | null> {
    const issuer =
      'uuid' in by
        ? { by: `agent:${by.uuid}` as const, call: { pid: by.pid, turn: by.turn, id: by.call } }
        : { by: 'user' as const, ...viaOf(by.via) }
    return this.#send({ type: 'crew', uuid, command, ...issuer })
  }

  async #send(request: Parameters<Pipeline['request']>[0]): Promise<string | null> {
    const result = await this.#deps.pipeline.request(request)
    if (result.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${result.type}`)
    return result.note
  }
}

/** The type of the command that the hint names. To deny a done task means to reopen it. */
function commandType({ crew }: Process, body: CrewCommandBody): string {
  return body.type === 'deny_task' && crew?.tasks.some(({ id, state }) => id === body.task && state === 'done') ? 'reopen_task' : body.type
}

/** The hint for a task that cannot be denied now. */
function denyHint({ spec: { name }, pid }: Process, id: string, state: Task['state']): string {
  const [ref, task] = [crewCommandName({ name, pid }), shellWord(id)]
  if (state === 'done') return `\`reeve crew reopen ${ref} ${task} --comments …\` opens it again with your comments.`
  if (state === 'failed' || state === 'cancelled') return `\`reeve crew retry ${ref} ${task}\` puts it back into the queue.`
  return `\`reeve crew send --to ${task} ${ref} TEXT\` writes to its worker; \`reeve crew cancel --requeue ${ref} ${task}\` requeues it.`
}

/** The kernel's command for a request. The default title of a task is the first line of its text. */
function leadCommandOf(body: Exclude<CrewCommandBody, { type: 'deny_task' | 'reopen_task' }>): LeadCommand {
  if (body.type !== 'add_task') return body as LeadCommand
  const { verify, ...rest } = body
  return {
    ...rest,
    ...(verify === undefined ? {} : { verify: verify && toCrewCommand(verify) }),
    title: body.title ?? body.text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '',
  }
}
