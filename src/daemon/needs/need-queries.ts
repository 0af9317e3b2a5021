// Reads the needs of all processes or of a subtree, or one need with its whole evidence. Reads applied state, and the ended processes in
// the store. Changes nothing. Test: test/e2e/lifecycle/needs.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { snoozedUntil } from '../../kernel/state/attention.ts'
import type { NeedView, NeedsView } from '../../api/views/needs.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { CrewDiffs } from '../crew/diff.ts'
import type { CrewQueries } from '../crew/queries.ts'
import type { Clock } from '../loop/clock.ts'
import type { Table } from '../loop/table.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import { isInSubtree, needView } from './need-view.ts'
import { ENDS_MS, needsOf } from './needs-of.ts'
import type { Need } from './needs-of.ts'
import { compareNeeds } from './order.ts'

/** The largest number of ended processes that are examined. */
const MAX_ENDED = 500
/** The number of ended processes per read. */
const PAGE_ROWS = 100
/** The longest change in the evidence of a need, in lines. */
const CHANGE_LINES = 2_000

export interface NeedQueriesDeps {
  readonly table: Table
  readonly store: Pick<Store, 'dead'>
  readonly clock: Clock
  readonly reads: ProcessQueries
  readonly slices: SliceQueue
  readonly crewReads: Pick<CrewQueries, 'task'>
  readonly crewDiffs: Pick<CrewDiffs, 'view'>
}

export interface NeedsQuery {
  /** only the needs of this process and of all below it */
  readonly under?: string | undefined
  /** also the snoozed needs */
  readonly all?: boolean | undefined
  readonly limit: number
}

export class NeedQueries {
  readonly #deps: NeedQueriesDeps
  /** the root of the subtree to which these queries are restricted; null: they are not restricted */
  readonly #top: Uuid | null

  constructor(deps: NeedQueriesDeps, top: Uuid | null = null) {
    this.#deps = deps
    this.#top = top
  }

  /** Returns the same queries, restricted to a process and all processes below it. */
  below(top: Uuid): NeedQueries {
    return new NeedQueries(this.#deps, top)
  }

  /** Lists the needs, the most urgent first. Errors: those of a reference. */
  async list({ under, all = false, limit }: NeedsQuery): Promise<NeedsView> {
    const { reads, table, clock } = this.#deps
    const top = under === undefined ? null : await reads.resolve(under)
    const found = (await this.#all()).filter(({ process }) => top === null || isInSubtree(process, top.uuid, table))
    const { wall } = clock.now()
    const shown = all ? found : found.filter(({ process, at }) => snoozedUntil(process, at, wall) === null)
    return {
      version: 1,
      needs: shown.slice(0, limit).map((need) => this.#view(need)),
      total: shown.length,
      snoozed: found.length - shown.length,
    }
  }

  /** Returns a need with its whole evidence, even if it is snoozed. Errors: NOT_FOUND if it no longer exists. */
  async get(id: string): Promise<NeedView> {
    const need = (await this.#all()).find((each) => each.id === id)
    if (!need)
      throw new KernelError('NOT_FOUND', `nothing with the id ${id} waits for the user`, undefined, '`reeve needs` lists what does.')
    const view = this.#view(need)
    const { process, task } = need
    if (!task) return view
    const { crewReads, crewDiffs } = this.#deps
    const { text, report } = await crewReads.task(process, task.id)
    const change = need.kind === 'human-task' ? null : await crewDiffs.view(process, task.id, { which: 'auto', maxLines: CHANGE_LINES })
    return { ...view, evidence: { ...view.evidence, text, report, change } }
  }

  #view(need: Need): NeedView {
    const { table, clock, reads } = this.#deps
    return needView(need, { table, wall: clock.now().wall, top: this.#top, view: reads.view(need.process, ['note', 'holds', 'asks']) })
  }

  /** All needs, in order. */
  async #all(): Promise<Need[]> {
    const { table, clock, slices } = this.#deps
    const top = this.#top
    const ended = await this.#recentlyEnded()
    const { wall, mono } = clock.now()
    const context = { table, wall, mono, seenUntil: table.seenUntil }
    const living = await slices.map([...table.all()], (uuid) => {
      const process = table.get(uuid)
      return process ? [...needsOf(process, context)] : []
    })
    const ends = ended.filter(({ uuid }) => table.get(uuid) === undefined).flatMap((process) => [...needsOf(process, context)])
    const all = [...living.flat(), ...ends]
    return (top === null ? all : all.filter(({ process }) => isInSubtree(process, top, table))).sort(compareNeeds)
  }

  /** The processes that ended recently enough to be needs, the newest first. */
  async #recentlyEnded(): Promise<Process[]> {
    const { store, clock, slices } = this.#deps
    const since = clock.now().wall - ENDS_MS
    const found: Process[] = []
    while (found.length < MAX_ENDED) {
      const last = found.at(-1)
      const before = last ? { before: { exitedAt: last.clock.exitedAt ?? 0, uuid: last.uuid } } : {}
      await slices.next()
      const page = await store.dead({ limit: PAGE_ROWS, ...before })
      found.push(...page.filter(({ clock: { exitedAt } }) => (exitedAt ?? 0) >= since))
      if (page.length < PAGE_ROWS || found.at(-1)?.uuid !== page.at(-1)?.uuid) break
    }
    return found
  }
}
