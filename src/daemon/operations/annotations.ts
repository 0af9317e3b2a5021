// Changes what the user records about a process, dead or alive: its pin, name and labels, and whether its needs are seen or snoozed. Must
// be called within `runExclusively` of removals.ts, so that the process is not removed at the same time.
// Tests: test/e2e/daemon/gc.test.ts, test/e2e/naming/rename.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { checkProcessName } from './spec-builder.ts'
import type { SteerView } from '../../api/views/process.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import { viaOf } from '../loop/requester.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { InputOf, LabelChange } from '../../kernel/model/inputs.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

interface AnnotationDeps {
  readonly pipeline: Pick<Pipeline, 'request'>
  readonly reads: ProcessQueries
}

type Annotation =
  | { readonly type: 'pin'; readonly pinned: boolean }
  | { readonly type: 'seen' }
  | { readonly type: 'snooze'; readonly until: number | null }
  | Pick<InputOf<'describe'>, 'type' | 'change'>

export class Annotations {
  readonly #deps: AnnotationDeps
  readonly #via: string | undefined

  constructor(deps: AnnotationDeps, via?: string) {
    this.#deps = deps
    this.#via = via
  }

  /** Returns the same annotations for a session of the page; their facts record the name of the session, `web:ID`. */
  asClient(via: string): Annotations {
    return new Annotations(this.#deps, via)
  }

  /** Pins or unpins a process. */
  pin(uuid: Uuid, pinned: boolean): Promise<SteerView> {
    return this.#annotate(uuid, { type: 'pin', pinned })
  }

  /** Records that the user has seen the needs of a process. */
  markSeen(uuid: Uuid): Promise<SteerView> {
    return this.#annotate(uuid, { type: 'seen' })
  }

  /** Hides the needs of a process until a wall time in ms; null: shows them again. Errors: INVALID. */
  snooze(uuid: Uuid, until: number | null): Promise<SteerView> {
    return this.#annotate(uuid, { type: 'snooze', until })
  }

  /** Gives a process a new name. Errors: INVALID, CONFLICT. */
  async rename(uuid: Uuid, name: string): Promise<SteerView> {
    checkProcessName(name)
    return this.#annotate(uuid, { type: 'describe', change: { name } })
  }

  /** Changes the labels of a process. Errors: INVALID for too many. */
  label(uuid: Uuid, labels: LabelChange): Promise<SteerView> {
    return this.#annotate(uuid, { type: 'describe', change: { labels } })
  }

  async #annotate(uuid: Uuid, annotation: Annotation): Promise<SteerView> {
    try {
      return await this.#tryToAnnotate(uuid, annotation)
    } catch (error) {
      // The process died after it was read. The second attempt reads it as dead.
      if (!(error instanceof KernelError) || error.code !== 'NOT_FOUND') throw error
      return this.#tryToAnnotate(uuid, annotation)
    }
  }

  async #tryToAnnotate(uuid: Uuid, annotation: Annotation): Promise<SteerView> {
    const { pipeline, reads } = this.#deps
    const via = this.#via
    const process = await reads.get(uuid)
    const endedRow = process.life.state === 'dead' ? process : null
    const done = await pipeline.request({ ...annotation, by: 'user', uuid, endedRow, ...viaOf(via) })
    const view = reads.view(await reads.get(uuid))
    if (done.type !== 'done') throw new KernelError('INTERNAL', `unexpected answer ${done.type}`)
    return { version: 1, affected: done.affected, process: view, ...(done.note === null ? {} : { note: done.note }) }
  }
}
