// The requests that change something, from the API's words to the kernel's: checked once here, trusted inside.
// Owns no rule of the kernel; how a spec is put together stands in specs.ts.
// Test: test/e2e/api.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { goesOnFrom, isPlainCommand } from '../kernel/capabilities.ts'
import { KernelError } from '../kernel/errors.ts'
import { limitChange } from './limit-change.ts'
import { SIGNALS } from '../kernel/signals.ts'
import { isLiving, isSuspended } from '../kernel/status.ts'
import { checkFromCheckpoint, type PastStore } from './fork-point.ts'
import { checkWords } from './forks.ts'
import { withoutSeat } from './nested.ts'
import { withRealPlaces } from './places.ts'
import type { AnswerBody, PauseBody, ResumeBody, SignalBody, SignalsBody, SignalsView, SpawnBody, SpawnedView, SteerView } from '../api/views.ts'
import type { Process, ProcessSpec, Sender, Signal, Uuid } from '../kernel/types.ts'
import type { Gateways } from './gateways.ts'
import type { Keys } from './keys.ts'
import type { Pipeline, RequestBody } from './pipeline.ts'
import type { Reads } from './reads.ts'
import type { Specs } from './specs.ts'
import type { Waiter } from './waiter.ts'
import type { Families } from './families.ts'
import type { Forks } from './forks.ts'
import type { Worktrees } from './worktrees.ts'

export interface OperationsParts {
  readonly pipeline: Pipeline
  readonly reads: Reads
  readonly waiter: Waiter
  readonly forks: Forks
  readonly families: Pick<Families, 'spawn'>
  readonly store: PastStore
  readonly keys: Keys
  readonly gateways: Pick<Gateways, 'holder' | 'secretsOf'>
  readonly specs: Specs
  readonly worktrees: Pick<Worktrees, 'plan' | 'forFork' | 'forget' | 'check'>
  /** throws while nothing new may start */
  readonly mayStart: () => void
  /** who asks; absent: a person */
  readonly by?: Sender
}

/** How long a resume waits for the last incarnation's release. */
const RELEASE_MS = 10_000

export class Operations {
  readonly #parts: OperationsParts
  readonly #by: Sender

  constructor(parts: OperationsParts) {
    this.#parts = parts
    this.#by = parts.by ?? 'user'
  }

  /** The same for somebody else. */
  as(by: Sender): Operations {
    return new Operations({ ...this.#parts, by })
  }

  async spawn(body: SpawnBody): Promise<SpawnedView> {
    const { pipeline, keys, reads, mayStart } = this.#parts
    mayStart()
    if (body.supervisor !== undefined) return { version: 1, process: await this.#parts.families.spawn(body) }
    const parent = body.parent === undefined ? null : await reads.resolve(body.parent)
    const { uuid, spec, note } = await this.prepare(body)
    try {
      await pipeline.request({ type: 'spawn', by: this.#by, uuid, spec, parent: parent?.uuid ?? null })
    } catch (error) {
      keys.forget(uuid)
      throw error
    }
    return { version: 1, process: reads.view(await reads.get(uuid)), ...(note === null ? {} : { note }) }
  }

  /** A spec that could be spawned, with its keys in memory. Errors: CREDENTIALS_MISSING, and those of a spec. */
  async prepare(body: SpawnBody): Promise<{ readonly uuid: Uuid; readonly spec: ProcessSpec; readonly note: string | null }> {
    const { keys, worktrees } = this.#parts
    const { spec: asked, secrets, note } = await this.asked(body)
    const uuid = uuidv7()
    const spec = await withRealPlaces(body.worktree ? await worktrees.plan(uuid, asked) : asked)
    const found = await keys.of({ uuid, spec }, secrets)
    if (found.missing.length > 0) {
      keys.forget(uuid)
      throw new KernelError('CREDENTIALS_MISSING', `${spec.model ?? spec.agent} needs ${found.missing.join(', ')}`, { missing: found.missing })
    }
    return { uuid, spec, note }
  }

  /** What an agent at the gateway starts gets what that one was started with; a plain command stays with its parent's seat. */
  async asked(body: SpawnBody): ReturnType<Specs['of']> {
    const { gateways, reads, specs } = this.#parts
    const holder = gateways.holder(body.env ?? {})
    if (holder === null) return specs.of(body)
    const { spec: { env } } = await reads.get(holder.uuid)
    const asked = await specs.of({ ...body, env: withoutSeat(body.env ?? {}, holder, env) })
    if (isPlainCommand(asked.spec) && asked.spec.gateway !== 'on') return specs.of(body)
    return { ...asked, secrets: gateways.secretsOf(body.env ?? {}, asked.spec) }
  }

  async signal(ref: string, body: SignalBody, via: string): Promise<SteerView> {
    const process = await this.#parts.reads.resolve(ref)
    const signal = signalOf(body.signal)
    // It may start what waits, as a resume does.
    if (signal === 'SIGRESUME') this.#parts.mayStart()
    return this.#steer(process, { type: 'signal', by: this.#by, uuid: process.uuid, signal, subtree: body.subtree ?? false, graceMs: body.graceMs ?? null, ...(body.leastGraceMs === undefined ? {} : { leastGraceMs: body.leastGraceMs }), freeze: false, via })
  }

  async pause(ref: string, body: PauseBody, via: string): Promise<SteerView> {
    const process = await this.#parts.reads.resolve(ref)
    return this.#steer(process, { type: 'signal', by: this.#by, uuid: process.uuid, signal: 'SIGPAUSE', subtree: body.subtree ?? false, graceMs: null, freeze: body.now ?? false, via })
  }

  async signals(ref: string): Promise<SignalsView> {
    const { reads } = this.#parts
    return reads.signals(await reads.resolve(ref))
  }

  /** Errors: `INVALID`, before anything is done, where one cannot be blocked or handled. */
  async setSignals(ref: string, { handlers = {}, set, block, unblock }: SignalsBody): Promise<SignalsView> {
    const { reads, pipeline } = this.#parts
    const { uuid } = await reads.resolve(ref)
    const masks = Object.entries({ set, block, unblock }).flatMap(([how, names]) => (names ? [{ how: how as 'set', mask: names.map(signalOf) }] : []))
    if ('SIGKILL' in handlers || masks.some(({ mask }) => mask.includes('SIGKILL'))) throw new KernelError('INVALID', 'SIGKILL can be neither blocked nor handled')
    for (const [name, handler] of Object.entries(handlers)) await pipeline.request({ type: 'handle', by: this.#by, uuid, signal: signalOf(name), handler })
    for (const { how, mask } of masks) await pipeline.request({ type: 'mask', by: this.#by, uuid, how, mask })
    return reads.signals(await reads.get(uuid))
  }

  async resume(ref: string, body: ResumeBody): Promise<SteerView> {
    const { reads, pipeline, keys, gateways, specs, worktrees, mayStart } = this.#parts
    checkWords(body)
    mayStart()
    if (body.fork) return this.#parts.forks.fork(await reads.resolve(ref), body)
    const process = await this.#released(await reads.resolve(ref))
    const { uuid } = process
    await worktrees.check(process)
    if (body.fromCheckpoint) await this.#checkCheckpoint(process)
    const spec = await specs.overridden(process, body)
    const { missing } = await keys.of({ uuid, spec: spec ?? process.spec }, gateways.secretsOf(body.env ?? {}, spec ?? process.spec))
    const frozen = process.life.state === 'dead' ? process : null
    const message = body.message === undefined ? null : { id: uuidv7(), text: body.message }
    const { subtree = false, only = false, rerun = false } = body
    try {
      // Both are said in one go, so that they are decided together: the answer shows the process without its hold.
      const resumed = this.#steer(process, { type: 'resume', by: this.#by, uuid, frozen, message, spec, subtree, only, rerun, ...limitChange(body) })
      if (missing.length > 0 || !isHeldFor(process, 'credentials')) return await resumed
      pipeline.submit({ type: 'release', uuid, reason: 'credentials' })
      return woken(await resumed)
    } catch (error) {
      if ((await reads.get(uuid)).life.state === 'dead') keys.forget(uuid)
      throw error
    }
  }

  async send(ref: string, text: string): Promise<{ id: string; queueCount: number }> {
    const { reads, pipeline } = this.#parts
    const process = await reads.resolve(ref)
    const id = uuidv7()
    await pipeline.request({ type: 'send', by: this.#by, uuid: process.uuid, id, text })
    return { id, queueCount: (await reads.get(process.uuid)).queue.length }
  }

  /** Errors: `INVALID` with what is asked where the answer fits none of it. */
  async answer(ref: string, body: AnswerBody): Promise<SteerView> {
    const { id, option, text } = { id: null, option: null, text: null, ...body }
    const process = await this.#parts.reads.resolve(ref)
    return this.#steer(process, { type: 'answer', by: this.#by, uuid: process.uuid, id, option, text })
  }

  /** Its driver goes on from what a checkpoint and the facts after it say, or not at all. */
  async #checkCheckpoint(process: Process): Promise<void> {
    if (goesOnFrom(process) !== 'context') throw new KernelError('NOT_RESUMABLE', `process ${process.pid} has no checkpoints to go on from: its agent has ${isPlainCommand(process.spec) ? 'no session' : 'a session of its own'}`)
    if (isLiving(process) && !isSuspended(process)) throw new KernelError('INVALID', `process ${process.pid} runs: it does not begin anew`)
    await checkFromCheckpoint(this.#parts.store, process)
  }

  /** A zombie is reaped first; one that cannot be released stays what it is, and the kernel says so. */
  async #released(process: Process): Promise<Process> {
    if (process.life.state !== 'zombie') return process
    return (await this.#parts.waiter.wait(process.uuid, 'exited', RELEASE_MS, new AbortController().signal)).process
  }

  async #steer(process: Process, request: RequestBody): Promise<SteerView> {
    const { pipeline, reads } = this.#parts
    const done = await pipeline.request(request)
    const view = reads.view(await reads.get(process.uuid))
    if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
    const { affected, childrenGoOn, note } = done
    return { version: 1, affected, process: view, ...(childrenGoOn > 0 ? { childrenGoOn } : {}), ...(note === null ? {} : { note }) }
  }
}

function signalOf(signal: string | number): Signal {
  const known = Object.entries(SIGNALS).find(([name, row]) => name === signal || row.number === signal)
  if (!known) throw new KernelError('INVALID', `there is no signal ${signal}; there are ${Object.keys(SIGNALS).join(', ')}`)
  return known[0] as Signal
}

/** The kernel answered before the keys' hold was gone. */
function woken(answer: SteerView): SteerView {
  if (answer.process.status === 'suspended') return answer
  const { note: _, ...rest } = answer
  return { ...rest, affected: Math.max(1, answer.affected) }
}

export function isHeldFor(process: Process, reason: string): boolean {
  return process.life.state === 'running' && process.life.holds.some((hold) => hold.reason === reason)
}
