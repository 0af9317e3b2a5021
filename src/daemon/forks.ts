// Forking, from the API's words to the kernel's: what goes on, from where, with which spec and keys. Owns which words of a
// resume go together. The origin is read and never changed. Tests: test/e2e/fork.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { isExternal } from '../kernel/capabilities.ts'
import { KernelError } from '../kernel/errors.ts'
import { checkForkable } from '../kernel/forking.ts'
import { forkPoint, type PastStore } from './fork-point.ts'
import { withOwnWorktree } from './places.ts'
import type { ResumeBody, SteerView } from '../api/views.ts'
import type { ForkPoint } from '../kernel/forking.ts'
import type { Process, ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Gateways } from './gateways.ts'
import type { Keys } from './keys.ts'
import type { Pipeline, RequestBody } from './pipeline.ts'
import type { Reads } from './reads.ts'
import type { Specs } from './specs.ts'
import type { Worktrees } from './worktrees.ts'

export interface ForksParts {
  readonly pipeline: Pipeline
  readonly reads: Reads
  readonly keys: Keys
  readonly specs: Specs
  readonly gateways: Pick<Gateways, 'secretsOf'>
  readonly store: PastStore
  readonly worktrees: Pick<Worktrees, 'forFork' | 'forget'>
}

/** Errors: INVALID for words that say two things at once. */
export function checkWords({ fork, fromStep, fromCheckpoint, withFiles, subtree, only, rerun }: ResumeBody): void {
  if (fromStep !== undefined && fromCheckpoint) throw new KernelError('INVALID', '--from-step and --from-checkpoint do not go together: each says where to begin')
  if (fromStep !== undefined && !fork) throw new KernelError('INVALID', '--from-step needs --fork: a process goes on from its last step, and only a fork of it can begin at an earlier one')
  if (withFiles && !fork) throw new KernelError('INVALID', '--with-files needs --fork: a process goes on in its own directory')
  if (fork && (subtree || only || rerun)) throw new KernelError('INVALID', `--fork and --${subtree ? 'subtree' : only ? 'only' : 'rerun'} do not go together: a fork is a new process`)
}

type Request = Extract<RequestBody, { type: 'fork' }>

interface Beginning {
  readonly uuid: Uuid
  readonly origin: Process
  readonly at: ForkPoint
  readonly spec: ProcessSpec
  readonly asked: ResumeBody
  readonly filesOfStep: number | null
  readonly as: (fork: Request) => RequestBody
}

export class Forks {
  readonly #parts: ForksParts

  constructor(parts: ForksParts) {
    this.#parts = parts
  }

  /** `as` says in which request the kernel hears of it. Errors: those of `forkPoint`, NOT_RESUMABLE, COLLECTED where the origin was removed meanwhile. */
  async fork(origin: Process, body: ResumeBody, as: (fork: Request) => RequestBody = (fork) => fork): Promise<SteerView> {
    const { keys, gateways, worktrees } = this.#parts
    checkForkable(origin)
    const at = await forkPoint(this.#parts.store, origin, body)
    const uuid = uuidv7()
    const said = (await this.#parts.specs.overridden(origin, body)) ?? origin.spec
    const named = { ...said, name: body.name ?? null }
    const { spec: planned, files } = await worktrees.forFork({ uuid, spec: named, origin, step: at.step, withFiles: body.withFiles ?? false, cwd: body.cwd ?? null })
    const spec = withOwnWorktree(planned, origin.spec.worktree?.dir)
    try {
      // What the origin has in memory, where the client does not say otherwise.
      await keys.of({ uuid, spec }, { ...keys.known(origin.uuid), ...gateways.secretsOf(body.env ?? {}, spec) })
      return await this.#begin({ uuid, origin, at, spec, asked: body, filesOfStep: files?.step ?? null, as })
    } catch (error) {
      keys.forget(uuid)
      if (files) await worktrees.forget(uuid)
      throw error
    }
  }

  async #begin({ uuid, origin, at, spec, asked, filesOfStep, as }: Beginning): Promise<SteerView> {
    const { pipeline, reads } = this.#parts
    await pipeline.request(as({ type: 'fork', by: 'user', uuid, origin, at, spec, message: asked.message === undefined ? null : { id: uuidv7(), text: asked.message } }))
    const notes = [
      ...(filesOfStep === null ? [] : [`with the files of step ${filesOfStep}`]),
      ...(isCutOff(origin, at, asked) ? [`step ${origin.progress.step} of PID ${origin.pid} is not whole, so it is not in it`] : []),
    ]
    return { version: 1, affected: 1, process: reads.view(await reads.get(uuid)), ...(notes.length > 0 ? { note: notes.join('; ') } : {}) }
  }
}

/** It was to go on from now, and there is a step that has begun and not ended. */
function isCutOff({ spec, progress }: Process, { step }: ForkPoint, { fromStep, fromCheckpoint }: ResumeBody): boolean {
  return !isExternal(spec) && fromStep === undefined && !fromCheckpoint && progress.step > step
}
