// Starts a supervisor with its children, from an API request or a reeve.yaml: all of them start, or none does. All specs are built before
// the first process is spawned. Also removes a child. Decides nothing about restarts. Test: test/e2e/cli/supervisors.test.ts.
import { findSupervisor } from '../../config/config.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import type { ProcessView, SpawnBody, SteerView, SupervisorBody } from '../../api/views/process.ts'
import type { FileChild } from '../../config/supervisors.ts'
import type { Paths } from '../../config/paths.ts'
import { withHomeLimits } from './home-limits.ts'
import { killInput, undoSpawn } from './undo-spawn.ts'
import type { Credentials } from '../incarnation/credentials.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import { viaOf } from '../loop/requester.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Limits } from '../../kernel/model/words.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

export interface SupervisorSpawnerDeps {
  readonly pipeline: Pipeline
  readonly reads: ProcessQueries
  readonly credentials: Pick<Credentials, 'forget'>
  readonly paths: Paths
  readonly homeLimits: () => Limits
  /** builds a spec and looks up its keys; starts nothing */
  readonly prepare: (body: SpawnBody) => Promise<{ readonly uuid: Uuid; readonly spec: ProcessSpec }>
}

/** A process to spawn: the supervisor itself, or one of its descendants. */
interface PlannedProcess {
  readonly uuid: Uuid
  readonly spec: ProcessSpec
  readonly parent: Uuid | null
}

/** The largest number of nested supervisors in a file. */
const MAX_DEPTH = 8

export class SupervisorSpawner {
  readonly #deps: SupervisorSpawnerDeps

  constructor(deps: SupervisorSpawnerDeps) {
    this.#deps = deps
  }

  /**
   * Starts a supervisor and its children; returns the supervisor. Errors: those of each spawn; after an error none of the processes runs.
   */
  async spawn(body: SpawnBody, via?: string): Promise<ProcessView> {
    const { pipeline, reads, homeLimits } = this.#deps
    const parent = body.parent === undefined ? null : (await reads.resolve(body.parent)).uuid
    const planned: PlannedProcess[] = []
    try {
      await this.#plan(body, parent, planned, [])
      await waitForAll(
        planned.map((process) =>
          pipeline.request({
            type: 'spawn',
            by: 'user',
            ...process,
            spec: withHomeLimits(process.spec, homeLimits(), process.parent),
            ...viaOf(via),
          }),
        ),
      )
    } catch (error) {
      throw await this.#undoSpawns(planned, error)
    }
    const [first] = planned
    if (!first) throw new KernelError('INTERNAL', 'no process was planned for the supervisor')
    return reads.view(await reads.get(first.uuid))
  }

  /** Removes a child from its supervisor, and stops it. `via`: the session of the page that requests it. */
  async removeChild(ref: string, id: string, via?: string): Promise<SteerView> {
    const { pipeline, reads } = this.#deps
    const { uuid } = await reads.resolve(ref)
    const done = await pipeline.request({ type: 'removeChild', by: 'user', uuid, id, graceMs: null, ...viaOf(via) })
    if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
    return { version: 1, affected: done.affected, process: reads.view(await reads.get(uuid)) }
  }

  /** Appends the process of `body` and all its children to `planned`. `ancestors`: the names of the supervisors of a file above it. */
  async #plan(body: SpawnBody, parent: Uuid | null, planned: PlannedProcess[], ancestors: readonly string[]): Promise<void> {
    const { supervisor } = body
    if (supervisor === undefined) {
      planned.push({ ...(await this.#deps.prepare(body)), parent })
      return
    }
    if (typeof supervisor === 'string') return this.#planNamed(body, supervisor, parent, { planned, ancestors })
    const { children = [], ...settings } = supervisor
    const first = { ...(await this.#deps.prepare({ ...body, supervisor: settings })), parent }
    planned.push(first)
    for (const child of children) await this.#plan({ ...child, cwd: child.cwd ?? body.cwd, ...envOf(body) }, first.uuid, planned, ancestors)
  }

  /** Plans a supervisor of a reeve.yaml. Errors: AGENT_INVALID for supervisors that contain each other; those of a spawn. */
  async #planNamed(
    body: SpawnBody,
    name: string,
    parent: Uuid | null,
    { planned, ancestors }: { readonly planned: PlannedProcess[]; readonly ancestors: readonly string[] },
  ): Promise<void> {
    if (ancestors.includes(name) || ancestors.length >= MAX_DEPTH)
      throw new KernelError(
        'AGENT_INVALID',
        `supervisors contain each other in a circle, or are nested too deeply: ${[...ancestors, name].join(' > ')}`,
      )
    const file = await findSupervisor(name, body.cwd, this.#deps.paths)
    const settings: SupervisorBody = file.config
    const limits = file.limits || body.limits ? { limits: { ...file.limits, ...body.limits } } : {}
    const first = { ...(await this.#deps.prepare({ name, ...body, ...limits, supervisor: settings })), parent }
    planned.push(first)
    for (const child of file.children) await this.#plan(childBodyOf(child, body), first.uuid, planned, [...ancestors, name])
  }

  /** Kills the processes that were spawned, and forgets the keys of the others. Returns the error to report. */
  async #undoSpawns(planned: readonly PlannedProcess[], failure: unknown): Promise<unknown> {
    const { pipeline, reads, credentials } = this.#deps
    for (const { uuid } of planned) if (!(await reads.find(uuid))) credentials.forget(uuid)
    const find = (uuid: Uuid): ReturnType<ProcessQueries['find']> => reads.find(uuid)
    return undoSpawn(
      failure,
      planned.map(({ uuid }) => uuid),
      { find, kill: (uuid) => pipeline.request(killInput(uuid)) },
    )
  }
}

/** Waits for all requests, so that no spawn is pending afterwards, then throws the first error. */
async function waitForAll(requests: readonly Promise<unknown>[]): Promise<void> {
  const rejected = (await Promise.allSettled(requests)).find((result) => result.status === 'rejected')
  if (rejected) throw rejected.reason
}

function envOf({ env }: SpawnBody): { readonly env?: Record<string, string> } {
  return env === undefined ? {} : { env }
}

function childBodyOf({ limits, ...child }: FileChild, parent: SpawnBody): SpawnBody {
  return { ...child, ...(limits ? { limits } : {}), ...envOf(parent) }
}
