// Supervisors with their children, from the API's words or a reeve.yaml to one decision: all are there, or none begins.
// Owns the order: every spec is whole before the first is spawned. Decides nothing about restarts.
// Test: test/e2e/cli-supervisors.test.ts.
import { findSupervisor } from '../config/config.ts'
import { KernelError } from '../kernel/errors.ts'
import type { ProcessView, SpawnBody, SteerView, SupervisorBody } from '../api/views.ts'
import type { ChildFile } from '../config/supervisors.ts'
import type { Paths } from '../config/paths.ts'
import type { ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Keys } from './keys.ts'
import type { Pipeline } from './pipeline.ts'
import type { Reads } from './reads.ts'

export interface FamiliesParts {
  readonly pipeline: Pipeline
  readonly reads: Reads
  readonly keys: Pick<Keys, 'forget'>
  readonly paths: Paths
  /** a spec with its keys, of which nothing is spawned yet */
  readonly prepare: (body: SpawnBody) => Promise<{ readonly uuid: Uuid; readonly spec: ProcessSpec }>
}

interface Member {
  readonly uuid: Uuid
  readonly spec: ProcessSpec
  readonly parent: Uuid | null
}

/** Supervisors below each other in one file. */
const MAX_DEPTH = 8

export class Families {
  readonly #parts: FamiliesParts

  constructor(parts: FamiliesParts) {
    this.#parts = parts
  }

  /** Errors: those of a spawn, for whichever of them it is; then none of them runs. */
  async spawn(body: SpawnBody): Promise<ProcessView> {
    const { pipeline, reads } = this.#parts
    const parent = body.parent === undefined ? null : (await reads.resolve(body.parent)).uuid
    const members: Member[] = []
    try {
      await this.#plan(body, parent, members, [])
      await allDecided(members.map((member) => pipeline.request({ type: 'spawn', by: 'user', ...member })))
    } catch (error) {
      await this.#undo(members)
      throw error
    }
    const [first] = members
    if (!first) throw new KernelError('INTERNAL', 'a family has a first member')
    return reads.view(await reads.get(first.uuid))
  }

  /** The supervisor no longer has the child, which is stopped. */
  async removeChild(ref: string, id: string): Promise<SteerView> {
    const { pipeline, reads } = this.#parts
    const { uuid } = await reads.resolve(ref)
    const done = await pipeline.request({ type: 'removeChild', by: 'user', uuid, id, graceMs: null })
    if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
    return { version: 1, affected: done.affected, process: reads.view(await reads.get(uuid)) }
  }

  async #plan(body: SpawnBody, parent: Uuid | null, members: Member[], above: readonly string[]): Promise<void> {
    const { supervisor } = body
    if (supervisor === undefined) {
      members.push({ ...(await this.#parts.prepare(body)), parent })
      return
    }
    if (typeof supervisor === 'string') return this.#planNamed(body, supervisor, parent, { members, above })
    const { children = [], ...own } = supervisor
    const first = { ...(await this.#parts.prepare({ ...body, supervisor: own })), parent }
    members.push(first)
    for (const child of children) await this.#plan({ ...child, cwd: child.cwd ?? body.cwd, ...envOf(body) }, first.uuid, members, above)
  }

  async #planNamed(body: SpawnBody, name: string, parent: Uuid | null, { members, above }: { readonly members: Member[]; readonly above: readonly string[] }): Promise<void> {
    if (above.includes(name) || above.length >= MAX_DEPTH) throw new KernelError('AGENT_INVALID', `supervisors stand below each other without an end: ${[...above, name].join(' > ')}`)
    const file = await findSupervisor(name, body.cwd, this.#parts.paths)
    const own: SupervisorBody = file.asked
    const limits = file.limits || body.limits ? { limits: { ...file.limits, ...body.limits } } : {}
    const first = { ...(await this.#parts.prepare({ name, ...body, ...limits, supervisor: own })), parent }
    members.push(first)
    for (const child of file.children) await this.#plan(bodyOf(child, body), first.uuid, members, [...above, name])
  }

  /** What of it was spawned is killed before it could have done much. */
  async #undo(members: readonly Member[]): Promise<void> {
    const { pipeline, reads, keys } = this.#parts
    for (const { uuid } of members) {
      const process = await reads.find(uuid)
      if (!process) keys.forget(uuid)
      else if (process.life.state !== 'dead') await pipeline.request({ type: 'signal', by: 'user', uuid, signal: 'SIGKILL', subtree: true, graceMs: null, freeze: false }).catch(() => undefined)
    }
  }
}

/** The first error, when all have been answered: what was spawned beside it is known then. */
async function allDecided(requests: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(requests)).find((each) => each.status === 'rejected')
  if (failed) throw failed.reason
}

function envOf({ env }: SpawnBody): { readonly env?: Record<string, string> } {
  return env === undefined ? {} : { env }
}

function bodyOf({ limits, ...child }: ChildFile, above: SpawnBody): SpawnBody {
  return { ...child, ...(limits ? { limits } : {}), ...envOf(above) }
}
