// Performs a request to fork a process: finds the step, and prepares the spec, the files and the keys of the fork. Also checks which
// options of a resume request can be combined, because `--fork` is one of them. Must never change the origin.
// Test: test/e2e/lifecycle/fork.test.ts.
import { v7 as uuidv7 } from 'uuid'
import { isExternal } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { isGemini } from '../../drivers/acp/gemini-sessions.ts'
import { checkForkable } from '../../kernel/decide/fork.ts'
import { findForkPoint, type HistoryStore } from './fork-point.ts'
import { withOwnWorktree } from './permission-paths.ts'
import type { ResumeBody, SteerView } from '../../api/views/process.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { GatewaySessions } from '../incarnation/gateway-sessions.ts'
import type { Credentials } from '../incarnation/credentials.ts'
import type { Pipeline, RequestBody } from '../loop/pipeline.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { SpecBuilder } from './spec-builder.ts'
import type { Worktrees } from './worktrees.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'
import type { ForkPoint } from '../../kernel/model/inputs.ts'

export interface ForkOperationsDeps {
  readonly pipeline: Pipeline
  readonly reads: ProcessQueries
  readonly credentials: Credentials
  readonly specs: SpecBuilder
  readonly gateways: Pick<GatewaySessions, 'secretsOf'>
  readonly store: HistoryStore
  readonly worktrees: Pick<Worktrees, 'planFork' | 'deleteRecords'>
}

/** Checks that the options of a resume request can be combined. Errors: INVALID. */
export function checkResumeOptions({ fork, fromStep, fromCheckpoint, withFiles, subtree, only, rerun }: ResumeBody): void {
  if (fromStep !== undefined && fromCheckpoint)
    throw new KernelError('INVALID', '--from-step and --from-checkpoint cannot be combined: each names a starting point')
  if (fromStep !== undefined && !fork)
    throw new KernelError(
      'INVALID',
      '--from-step needs --fork: a process continues from its last step; only a fork can start at an earlier one',
    )
  if (withFiles && !fork) throw new KernelError('INVALID', '--with-files needs --fork: a process continues in its own directory')
  if (fork && (subtree || only || rerun))
    throw new KernelError(
      'INVALID',
      `--fork and --${subtree ? 'subtree' : only ? 'only' : 'rerun'} cannot be combined: a fork is a new process`,
    )
}

type ForkRequest = Extract<RequestBody, { type: 'fork' }>

/** A prepared fork. */
interface PreparedFork {
  readonly uuid: Uuid
  readonly origin: Process
  readonly at: ForkPoint
  readonly spec: ProcessSpec
  readonly body: ResumeBody
  /** the step whose recorded files the fork gets; null: it gets no files */
  readonly filesOfStep: number | null
  readonly wrap: (fork: ForkRequest) => RequestBody
}

export class ForkOperations {
  readonly #deps: ForkOperationsDeps

  constructor(deps: ForkOperationsDeps) {
    this.#deps = deps
  }

  /**
   * Forks a process. `wrap` may put the kernel's fork request into another request.
   * Errors: those of `findForkPoint`, NOT_RESUMABLE, and COLLECTED if the origin was removed meanwhile.
   */
  async fork(origin: Process, body: ResumeBody, wrap: (fork: ForkRequest) => RequestBody = (fork) => fork): Promise<SteerView> {
    const { credentials, gateways, worktrees } = this.#deps
    checkForkable(origin)
    if (origin.spec.driver === 'acp' && isGemini(origin.spec.argv))
      throw new KernelError('NOT_RESUMABLE', 'Gemini CLI cannot fork its sessions; it can be resumed')
    const at = await findForkPoint(this.#deps.store, origin, body)
    const uuid = uuidv7()
    const overridden = (await this.#deps.specs.applyOverrides(origin, body)) ?? origin.spec
    const renamed = { ...overridden, name: body.name ?? null }
    const { spec: planned, files } = await worktrees.planFork({
      uuid,
      spec: renamed,
      origin,
      step: at.step,
      withFiles: body.withFiles ?? false,
      cwd: body.cwd ?? null,
    })
    const spec = withOwnWorktree(planned, origin.spec.worktree?.dir)
    try {
      // The fork gets the origin's keys, except those that the client sends.
      await credentials.resolveAndKeep(
        { uuid, spec },
        { ...credentials.storedKeys(origin.uuid), ...gateways.secretsOf(body.env ?? {}, spec) },
      )
      return await this.#request({ uuid, origin, at, spec, body, filesOfStep: files?.step ?? null, wrap })
    } catch (error) {
      credentials.forget(uuid)
      if (files) await worktrees.deleteRecords(uuid)
      throw error
    }
  }

  async #request({ uuid, origin, at, spec, body, filesOfStep, wrap }: PreparedFork): Promise<SteerView> {
    const { pipeline, reads } = this.#deps
    await pipeline.request(
      wrap({
        type: 'fork',
        by: 'user',
        uuid,
        origin,
        at,
        spec,
        message: body.message === undefined ? null : { id: uuidv7(), text: body.message },
      }),
    )
    const notes = [
      ...(filesOfStep === null ? [] : [`with the files of step ${filesOfStep}`]),
      ...(hasUnfinishedStep(origin, at, body)
        ? [`step ${origin.progress.step} of PID ${origin.pid} is unfinished, so the fork does not contain it`]
        : []),
    ]
    return { version: 1, affected: 1, process: reads.view(await reads.get(uuid)), ...(notes.length > 0 ? { note: notes.join('; ') } : {}) }
  }
}

/** True if the fork starts at the current state, and the origin is in an unfinished step, which the fork does not get. */
function hasUnfinishedStep({ spec, progress }: Process, { step }: ForkPoint, { fromStep, fromCheckpoint }: ResumeBody): boolean {
  return !isExternal(spec) && fromStep === undefined && !fromCheckpoint && progress.step > step
}
