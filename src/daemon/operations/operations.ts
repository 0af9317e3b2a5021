// Turns API requests that change processes into requests of the kernel. Checks what the kernel cannot check, such as files and keys.
// The kernel decides whether a request is allowed; spec-builder.ts builds the specs.
// Test: test/e2e/daemon/api.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { CAPABILITIES, resumeSource, isPlainCommand } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { withHomeLimits } from './home-limits.ts'
import { limitChange } from './request-limits.ts'
import { isHeldFor } from '../../kernel/model/holds.ts'
import { SIGNAL_TABLE } from '../../kernel/model/signals.ts'
import { changedAskError, openAsks } from '../../kernel/decide/asks/asks.ts'
import { askHash } from '../views/ask-view.ts'
import { isLiving, isSuspended, statusOf } from '../../kernel/model/status.ts'
import { compareWithCheckpoint, type HistoryStore } from './fork-point.ts'
import { checkResumeOptions } from './fork.ts'
import { withoutCallerAccess } from '../incarnation/gateway-caller.ts'
import { withRealPaths } from './permission-paths.ts'
import type {
  AnswerBody,
  PauseBody,
  ResumeBody,
  SendBody,
  SignalBody,
  SignalsBody,
  SignalsView,
  SpawnBody,
  SpawnedView,
  SteerView,
} from '../../api/views/process.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { GatewaySessions } from '../incarnation/gateway-sessions.ts'
import type { Credentials } from '../incarnation/credentials.ts'
import type { Pipeline, RequestBody } from '../loop/pipeline.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { AgentBody, BuiltSpec, SpecBuilder } from './spec-builder.ts'
import type { Waiter } from '../loop/waiter.ts'
import type { SupervisorSpawner } from './spawn-supervisor.ts'
import type { ForkOperations } from './fork.ts'
import type { Worktrees } from './worktrees.ts'
import { isoOrNull } from '../views/format-times.ts'
import type { Sender, Uuid } from '../../kernel/model/ids.ts'
import { SIGNALS, type Limits, type Signal } from '../../kernel/model/words.ts'
import type { ProcessSpec, RunnableSpec } from '../../kernel/model/process-spec.ts'

export interface OperationsDeps {
  readonly pipeline: Pick<Pipeline, 'request' | 'submit'>
  readonly reads: ProcessQueries
  readonly waiter: Waiter
  readonly forks: Pick<ForkOperations, 'fork'>
  readonly supervisors: Pick<SupervisorSpawner, 'spawn'>
  readonly store: HistoryStore
  readonly credentials: Credentials
  readonly gateways: Pick<GatewaySessions, 'findCaller' | 'secretsOf'>
  readonly specs: SpecBuilder
  readonly worktrees: Pick<Worktrees, 'plan' | 'checkForResume'>
  readonly homeLimits: () => Limits
  /** checks that new work may start. Errors: those that prevent it, such as UNAVAILABLE or DISK_FULL */
  readonly checkMayStart: () => void
  /** the sender of the requests; default: the user */
  readonly by?: Sender
  /** false: a request that names an agent does not mean that the user trusts its file */
  readonly trustsNames?: boolean
}

/** The longest time that a resume waits for the release of the last incarnation. */
const RELEASE_TIMEOUT_MS = 10_000

export class Operations {
  readonly #deps: OperationsDeps
  readonly #sender: Sender

  constructor(deps: OperationsDeps) {
    this.#deps = deps
    this.#sender = deps.by ?? 'user'
  }

  /** Returns the same operations, with another sender of their requests. */
  asSender(by: Sender): Operations {
    return new Operations({ ...this.#deps, by })
  }

  /**
   * Returns the same operations for a session of the page; their facts record its name, `web:ID`. `trustsNames`: an agent that the page
   * names counts as named by the user.
   */
  asClient(via: string, trustsNames: boolean): Operations {
    const { pipeline, forks, supervisors } = this.#deps
    const request: Pipeline['request'] = (body) => pipeline.request({ ...body, via } as RequestBody)
    const fork: ForkOperations['fork'] = (origin, body) => forks.fork(origin, body, (forkRequest) => ({ ...forkRequest, via }))
    return new Operations({
      ...this.#deps,
      trustsNames,
      forks: { fork },
      supervisors: { spawn: (body) => supervisors.spawn(body, via) },
      pipeline: { request, submit: (input) => pipeline.submit(input) },
    })
  }

  /** Starts a process, or a supervisor with its children. Errors: those of `prepare` and of the kernel. */
  async spawn(body: SpawnBody): Promise<SpawnedView> {
    const { pipeline, credentials, reads, homeLimits, checkMayStart } = this.#deps
    checkMayStart()
    if (body.supervisor !== undefined) return { version: 1, process: await this.#deps.supervisors.spawn(body) }
    const parent = body.parent === undefined ? null : await reads.resolve(body.parent)
    const { uuid, spec, note } = await this.prepare(body)
    try {
      if (body.input) credentials.inputs.keep(uuid, body.input)
      await pipeline.request({
        type: 'spawn',
        by: this.#sender,
        uuid,
        spec: withHomeLimits(spec, homeLimits(), parent?.uuid ?? null),
        parent: parent?.uuid ?? null,
      })
    } catch (error) {
      credentials.forget(uuid)
      throw error
    }
    return { version: 1, process: reads.view(await reads.get(uuid)), ...(note === null ? {} : { note }) }
  }

  /**
   * Prepares a spawn: builds the spec, plans its worktree, and looks up its keys. Errors: CREDENTIALS_MISSING, and those of `buildSpec`.
   */
  async prepare(body: SpawnBody): Promise<{ readonly uuid: Uuid; readonly spec: ProcessSpec; readonly note: string | null }> {
    const { credentials, worktrees } = this.#deps
    const { spec: built, secrets, note } = await this.buildSpec(body)
    const uuid = uuidv7()
    const spec = await withRealPaths(body.worktree && built.driver !== 'supervisor' ? await worktrees.plan(uuid, built) : built)
    const found = await credentials.resolveAndKeep({ uuid, spec }, secrets)
    if (found.missing.length > 0) {
      credentials.forget(uuid)
      throw new KernelError('CREDENTIALS_MISSING', `${spec.model ?? spec.agent} needs ${found.missing.join(', ')}`, {
        missing: found.missing,
      })
    }
    return { uuid, spec, note }
  }

  /**
   * Builds a spec. If an agent at the gateway sends the request, the environment must not contain that agent's gateway access. Only a
   * plain command keeps it, because it has no access of its own.
   */
  buildSpec(body: AgentBody): Promise<BuiltSpec<RunnableSpec>>
  buildSpec(body: SpawnBody): Promise<BuiltSpec>
  async buildSpec(body: SpawnBody): Promise<BuiltSpec> {
    const { gateways, reads, specs, trustsNames = true } = this.#deps
    const caller = gateways.findCaller(body.env ?? {})
    if (caller === null) return specs.build(body, trustsNames)
    const {
      spec: { env },
    } = await reads.get(caller.uuid)
    const built = await specs.build({ ...body, env: withoutCallerAccess(body.env ?? {}, caller, env) }, trustsNames)
    if (isPlainCommand(built.spec) && built.spec.gateway !== 'on') return specs.build(body, trustsNames)
    return { ...built, secrets: gateways.secretsOf(body.env ?? {}, built.spec) }
  }

  /** Sends a signal to a process, with `subtree` also to all processes below it. `via`: the name of the client. */
  async signal(ref: string, body: SignalBody, via: string): Promise<SteerView> {
    const process = await this.#deps.reads.resolve(ref)
    const signal = findSignal(body.signal)
    // SIGRESUME may start pending work.
    if (signal === 'SIGRESUME') this.#deps.checkMayStart()
    return this.#requestChange(process, {
      type: 'signal',
      by: this.#sender,
      uuid: process.uuid,
      signal,
      subtree: body.subtree ?? false,
      graceMs: body.graceMs ?? null,
      ...(body.leastGraceMs === undefined ? {} : { leastGraceMs: body.leastGraceMs }),
      freeze: false,
      via,
    })
  }

  /** Pauses a process at its next boundary, with `now` at once. `via`: the name of the client. */
  async pause(ref: string, body: PauseBody, via: string): Promise<SteerView> {
    const process = await this.#deps.reads.resolve(ref)
    return this.#requestChange(process, {
      type: 'signal',
      by: this.#sender,
      uuid: process.uuid,
      signal: 'SIGPAUSE',
      subtree: body.subtree ?? false,
      graceMs: null,
      freeze: body.now ?? false,
      via,
    })
  }

  async signals(ref: string): Promise<SignalsView> {
    const { reads } = this.#deps
    return reads.signals(await reads.resolve(ref))
  }

  /** Changes handlers and mask. Errors: `INVALID` for a signal that cannot be blocked or handled; nothing is changed then. */
  async setSignals(ref: string, { handlers = {}, set, block, unblock }: SignalsBody): Promise<SignalsView> {
    const { reads, pipeline } = this.#deps
    const { uuid } = await reads.resolve(ref)
    const masks = Object.entries({ set, block, unblock }).flatMap(([how, names]) =>
      names ? [{ how: how as 'set', mask: names.map(findSignal) }] : [],
    )
    if ('SIGKILL' in handlers || masks.some(({ mask }) => mask.includes('SIGKILL')))
      throw new KernelError('INVALID', 'SIGKILL can be neither blocked nor handled')
    for (const [name, handler] of Object.entries(handlers))
      await pipeline.request({ type: 'handle', by: this.#sender, uuid, signal: findSignal(name), handler })
    for (const { how, mask } of masks) await pipeline.request({ type: 'mask', by: this.#sender, uuid, how, mask })
    return reads.signals(await reads.get(uuid))
  }

  /** Resumes a process, dead or suspended, or forks it. Errors: those of the options, the worktree, the spec and the kernel. */
  async resume(ref: string, body: ResumeBody): Promise<SteerView> {
    const { reads, pipeline, credentials, gateways, specs, worktrees, checkMayStart } = this.#deps
    checkResumeOptions(body)
    checkMayStart()
    if (body.fork) return this.#deps.forks.fork(await reads.resolve(ref), body)
    const process = await this.#waitForRelease(await reads.resolve(ref))
    const { uuid } = process
    checkHasWork(process, body)
    await worktrees.checkForResume(process)
    if (body.fromCheckpoint) await this.#checkCheckpoint(process)
    const spec = await specs.applyOverrides(process, body)
    const { missing } = await credentials.resolveAndKeep(
      { uuid, spec: spec ?? process.spec },
      gateways.secretsOf(body.env ?? {}, spec ?? process.spec),
    )
    // The table has no dead processes, so the kernel gets the row with the request.
    const endedRow = process.life.state === 'dead' ? process : null
    const message = body.message === undefined ? null : { id: uuidv7(), text: body.message }
    const { subtree = false, only = false, rerun = false } = body
    await this.#passKeysToMembers(process, body)
    try {
      // Both inputs are submitted in one turn of the event loop, so one commit has both. The answer then shows the process without its
      // hold.
      const resumed = this.#requestResume(process, missing, {
        type: 'resume',
        by: this.#sender,
        uuid,
        endedRow,
        message,
        spec,
        subtree,
        only,
        rerun,
        ...limitChange(body),
      })
      if (missing.length > 0 || !isHeldFor(process, 'credentials')) return await resumed
      pipeline.submit({ type: 'release', uuid, reason: 'credentials' })
      return withoutHold(await resumed)
    } catch (error) {
      if ((await reads.get(uuid)).life.state === 'dead') credentials.forget(uuid)
      throw error
    }
  }

  /** Requests the resume. Without its keys the process stays suspended, and the note names the missing ones. */
  async #requestResume(process: Process, missing: readonly string[], request: RequestBody): Promise<SteerView> {
    const answer = await this.#requestChange(process, request)
    return missing.length === 0
      ? answer
      : {
          ...answer,
          missing: [...missing],
          note: [answer.note, `needs ${missing.join(', ')}`].filter((note) => note !== undefined).join('; '),
        }
  }

  /**
   * Passes the keys of a crew's resume to the members that are held for missing keys. If the crew itself is held for a key, all members
   * get the keys. A member that still has an old key might otherwise be held later.
   */
  async #passKeysToMembers(crew: Process, { env = {} }: ResumeBody): Promise<void> {
    const { reads, credentials, gateways, pipeline } = this.#deps
    if (!crew.spec.crew) return
    const isForAll = isHeldFor(crew, 'credentials')
    for (const member of reads.livingProcesses()) {
      if (member.spec.member?.crew !== crew.uuid || !(isForAll || isHeldFor(member, 'credentials'))) continue
      const { missing } = await credentials.resolveAndKeep(member, gateways.secretsOf(env, member.spec))
      if (missing.length === 0) pipeline.submit({ type: 'release', uuid: member.uuid, reason: 'credentials' })
    }
  }

  /** Queues a message. Returns its id, the length of the queue, and a remark for the user. */
  async send(ref: string, { text, now }: SendBody): Promise<{ id: string; queueCount: number; note?: string }> {
    const { reads, pipeline } = this.#deps
    const process = await reads.resolve(ref)
    const id = uuidv7()
    const done = await pipeline.request({ type: 'send', by: this.#sender, uuid: process.uuid, id, text, ...(now ? { urgent: true } : {}) })
    const note = done.type === 'done' ? done.note : null
    return { id, queueCount: (await reads.get(process.uuid)).queue.length, ...(note === null ? {} : { note }) }
  }

  /**
   * Answers a question of the process. Errors: `INVALID` with the open questions, if the answer matches none of them; `CONFLICT` if the
   * question with the hash `seen` is not open.
   */
  async answer(ref: string, body: AnswerBody): Promise<SteerView> {
    const { id, option, text, seen, undoMs } = { undoMs: undefined, id: null, option: null, text: null, ...body }
    const process = await this.#deps.reads.resolve(ref)
    const answer = {
      type: 'answer',
      by: this.#sender,
      uuid: process.uuid,
      option,
      text,
      ...(undoMs === undefined ? {} : { undoMs }),
    } as const
    if (seen !== undefined) {
      // An ask never changes, so the kernel only checks that the same one is still open.
      const shown = isLiving(process) ? openAsks(process).filter((ask) => askHash(ask) === seen && (id === null || ask.id === id)) : []
      const [first] = shown
      if (!first) throw changedAskError(process)
      if (shown.length === 1) return this.#requestChange(process, { ...answer, id: first.id, wasShown: true })
    }
    return this.#requestChange(process, { ...answer, id })
  }

  /** Takes back the answer to a question. Errors: `CONFLICT` if the agent already has the answer, or if there is none. */
  async withdrawAnswer(ref: string, id: string): Promise<SteerView> {
    const process = await this.#deps.reads.resolve(ref)
    return this.#requestChange(process, { type: 'withdrawAnswer', by: this.#sender, uuid: process.uuid, id })
  }

  /** Checks that the process can continue from its newest checkpoint. Errors: NOT_RESUMABLE, INVALID, STORE_DAMAGED. */
  async #checkCheckpoint(process: Process): Promise<void> {
    if (resumeSource(process) !== 'context')
      throw new KernelError(
        'NOT_RESUMABLE',
        `process ${process.pid} has no checkpoints to continue from: its agent has ${isPlainCommand(process.spec) ? 'no session' : 'a session of its own'}`,
      )
    if (isLiving(process) && !isSuspended(process))
      throw new KernelError('INVALID', `process ${process.pid} is running, so it cannot restart from a checkpoint`)
    await compareWithCheckpoint(this.#deps.store, process)
  }

  /** Waits until a zombie is dead. Returns it as a zombie if that takes too long; the kernel then refuses the resume. */
  async #waitForRelease(process: Process): Promise<Process> {
    if (process.life.state !== 'zombie') return process
    return (await this.#deps.waiter.wait(process.uuid, ['exited'], RELEASE_TIMEOUT_MS, new AbortController().signal)).process
  }

  /** Requests a change of a process from the kernel. Returns the new state of the process. */
  async #requestChange(process: Process, request: RequestBody): Promise<SteerView> {
    const { pipeline, reads } = this.#deps
    const done = await pipeline.request(request)
    const view = reads.view(await reads.get(process.uuid))
    if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
    const { affected, childrenGoOn, note, undo } = done
    return {
      version: 1,
      affected,
      process: view,
      ...(childrenGoOn > 0 ? { childrenGoOn } : {}),
      ...(note === null ? {} : { note }),
      ...(undo ? { undo: { id: undo.id, until: isoOrNull(undo.until) } } : {}),
    }
  }
}

/** Finds a signal by its name or number. Errors: INVALID. */
function findSignal(signal: string | number): Signal {
  const known = SIGNALS.find((name) => name === signal || SIGNAL_TABLE[name].number === signal)
  if (!known) throw new KernelError('INVALID', `there is no signal ${signal}; there are ${SIGNALS.join(', ')}`)
  return known
}

/** Checks that a resumed agent has something to do. Errors: `NOT_RESUMABLE` for a completed agent without a new message. */
function checkHasWork(process: Process, { message, rerun, fromCheckpoint }: ResumeBody): void {
  const {
    pid,
    queue,
    spec: { driver, interactive, name },
  } = process
  const hasNothingToDo = statusOf(process) === 'completed' && !interactive && queue.length === 0 && CAPABILITIES[driver].acceptsMessages
  if (!hasNothingToDo || message !== undefined || rerun || fromCheckpoint) return
  throw new KernelError(
    'NOT_RESUMABLE',
    `PID ${pid}${name === null ? '' : ` (${name})`} has completed`,
    undefined,
    `Give the next task: \`reeve resume --message TEXT ${pid}\`; in the API and the tools, with \`message\`.`,
  )
}

/** Corrects the answer to a resume that the kernel decided before it released the `credentials` hold. */
function withoutHold(answer: SteerView): SteerView {
  if (answer.process.status === 'suspended') return answer
  const { note: _, ...rest } = answer
  return { ...rest, affected: Math.max(1, answer.affected) }
}
