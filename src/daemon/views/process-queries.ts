// Queries of processes for the API: by reference, as lists, with steps and logs. Reads applied state only, and changes nothing. A reference
// is tried as a PID (current or earlier), as an exact name, and as a prefix or suffix of a UUID.
// Tests: test/tables/daemon/views/process-queries.test.ts, test/tables/daemon/views/references.test.ts, test/e2e/daemon/api.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { statusOf } from '../../kernel/model/status.ts'
import { unbegunCalls } from '../../kernel/state/unbegun-calls.ts'
import { processView, signalsOf, stepsOf } from './process-view.ts'
import { GATEWAY_FACTS } from '../steps/gateway-calls.ts'
import { isoTime, isoOrNull } from './format-times.ts'
import { readTree } from './descendants.ts'
import { readLogs, type LogPage, type LogQuery } from './logs.ts'
import type { CandidateView, ProcessView, SignalsView, StepView, UsageField } from '../../api/views/process.ts'
import { EventLoopTurns, type SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { Table } from '../loop/table.ts'
import type { WorkTracker } from '../rows/doing.ts'
import type { Pid, Uuid } from '../../kernel/model/ids.ts'

/** Dead rows per page; each page is read in one turn of the event loop. */
const PAGE_ROWS = 100
/** Facts per page; pages are small, because a fact may contain long texts and images. */
const PAGE_FACTS = 32
/** The largest number of dead rows in a list. */
const MAX_DEAD = 10_000
/** An error names no more candidates than this; its details have all. */
const MAX_NAMED_CANDIDATES = 4

export interface ListQuery<K extends keyof ProcessView> {
  /** includes dead processes */
  readonly all: boolean
  /** the largest number of dead processes; default: `MAX_DEAD` */
  readonly limit?: number | undefined
  /** the requested fields; default: all */
  readonly fields?: readonly (K | UsageField)[] | undefined
}

export class ProcessQueries {
  readonly #table: Table
  readonly #store: Store
  readonly #clock: Clock
  readonly #slices: SliceQueue
  readonly #work: Pick<WorkTracker, 'of'> | undefined

  /** `slices`: time slices of the event loop for lists of all processes; `work`: the current work of each process */
  constructor(
    table: Table,
    store: Store,
    clock: Clock,
    slices: SliceQueue = new EventLoopTurns().newQueue(),
    work?: Pick<WorkTracker, 'of'>,
  ) {
    this.#table = table
    this.#store = store
    this.#clock = clock
    this.#slices = slices
    this.#work = work
  }

  /**
   * Resolves a reference to a process, dead or alive. Errors: NOT_FOUND, COLLECTED, AMBIGUOUS with the candidates, PERMISSION for PID 0.
   */
  async resolve(ref: string): Promise<Process> {
    if (/^0+$/.test(ref)) throw new KernelError('PERMISSION', 'PID 0 is the kernel itself')
    const live = this.#findLiving(ref)
    if (live) return live
    const found = await this.#store.find(ref)
    if (found.length > 1) throw await this.#ambiguousError(ref, found)
    const [uuid] = found
    if (uuid === undefined) throw await this.#unknownError(ref)
    return this.get(uuid)
  }

  /** Returns the current PID of a process if `ref` is one of its earlier PIDs; else null. */
  async currentPid(ref: string): Promise<Pid | null> {
    if (!/^\d+$/.test(ref) || this.#findLiving(ref)) return null
    const [uuid, ...others] = await this.#store.find(ref)
    const now = uuid === undefined || others.length > 0 ? undefined : await this.find(uuid)
    return now === undefined || now.pid === Number(ref) ? null : now.pid
  }

  /** Returns a process by its whole UUID. Errors: NOT_FOUND, COLLECTED. */
  async get(uuid: Uuid): Promise<Process> {
    const process = await this.find(uuid)
    if (!process) throw await this.#unknownError(uuid)
    return process
  }

  /** All processes that are not dead. */
  livingProcesses(): Process[] {
    return [...this.#table.rows()]
  }

  signals(process: Process): SignalsView {
    return signalsOf(process, this.#clock.now().mono)
  }

  /** Returns a process, dead or alive, by its whole UUID. */
  async find(uuid: Uuid): Promise<Process | undefined> {
    return this.#table.get(uuid) ?? (await this.#store.process(uuid))
  }

  /** Returns the error for an unknown reference: COLLECTED for a removed process, else NOT_FOUND. */
  async #unknownError(ref: string): Promise<KernelError> {
    const tombstone = await this.#store.tombstone(ref)
    if (!tombstone)
      return new KernelError(
        'NOT_FOUND',
        `no process "${ref}"`,
        undefined,
        /^\d{4,}$/.test(ref) ? `Digits alone are a PID. \`id:${ref}\` names a process by its ID; \`reeve ps -a\` lists all.` : undefined,
      )
    const removedAt = isoTime(tombstone.removedAt)
    return new KernelError('COLLECTED', `process ${tombstone.pid} (${tombstone.uuid}) was removed at ${removedAt}`, {
      ...tombstone,
      removedAt,
    })
  }

  /** Finds a process of the table by PID, name or whole UUID. */
  #findLiving(ref: string): Process | undefined {
    if (/^\d+$/.test(ref) && ref.length < 16) {
      const process = this.#table.byPid(Number(ref))
      if (process) return process
    }
    return this.#table.get(this.#table.findByName(ref) ?? ref)
  }

  async #ambiguousError(ref: string, uuids: readonly Uuid[]): Promise<KernelError> {
    const processes = await Promise.all(uuids.map(async (uuid) => this.#table.get(uuid) ?? this.#store.process(uuid)))
    const candidates: CandidateView[] = processes.flatMap((process) =>
      process
        ? [
            {
              uuid: process.uuid,
              pid: process.pid,
              name: process.spec.name,
              intent: process.spec.intent.slice(0, 60),
              status: statusOf(process),
              createdAt: isoTime(process.clock.createdAt),
              exitedAt: isoOrNull(process.clock.exitedAt),
            },
          ]
        : [],
    )
    const named =
      candidates.length > MAX_NAMED_CANDIDATES ? [] : candidates.map(({ uuid, pid, status }) => `${uuid} (PID ${pid}, ${status})`)
    const list = named.length > 0 ? named.join(', ') : `${candidates.length} processes`
    return new KernelError('AMBIGUOUS', `"${ref}" may be any of ${list}`, { candidates })
  }

  /** Returns the view of a process, or only the requested fields of it. */
  view<K extends keyof ProcessView = keyof ProcessView>(process: Process, fields?: readonly (K | UsageField)[]): Pick<ProcessView, K> {
    const context = {
      ppid: () => (process.parent === null ? 0 : (this.#table.get(process.parent)?.pid ?? 0)),
      children: () => [...this.#table.children(process.uuid)],
      table: this.#table,
      row: (uuid: Uuid) => this.#table.get(uuid),
      wall: () => this.#clock.now().wall,
      work: () => this.#work?.of(process.uuid),
    }
    return processView(process, context, this.#clock.now().mono, fields)
  }

  /**
   * Lists the living processes by PID. With `all`, the `limit` newest dead processes come before them, oldest first. The list is made in
   * time slices, and each row shows the state at its slice.
   */
  async list<K extends keyof ProcessView>({ all, limit, fields }: ListQuery<K>): Promise<Pick<ProcessView, K>[]> {
    const live = this.#table.uuidsByPid()
    const isLive = new Set(live)
    const dead = all
      ? (await this.#newestDead(Math.min(limit ?? MAX_DEAD, MAX_DEAD))).filter(({ uuid }) => !isLive.has(uuid)).reverse()
      : []
    const rows = await this.#slices.map([...dead, ...live], async (row) => {
      const process = typeof row === 'string' ? (this.#table.get(row) ?? (all ? await this.#store.process(row) : undefined)) : row
      return process ? [this.view(process, fields)] : []
    })
    return rows.flat()
  }

  /** Reads the newest dead processes, newest first. */
  async #newestDead(limit: number): Promise<Process[]> {
    const found: Process[] = []
    while (found.length < limit) {
      const last = found.at(-1)
      const before = last ? { before: { exitedAt: last.clock.exitedAt ?? 0, uuid: last.uuid } } : {}
      await this.#slices.next()
      const page = await this.#store.dead({ limit: Math.min(PAGE_ROWS, limit - found.length), ...before })
      found.push(...page)
      if (page.length === 0) break
    }
    return found
  }

  /** Returns at most `limit` steps of a process, after the step number `after`. */
  async steps(process: Process, after: number, limit: number): Promise<StepView[]> {
    const facts: StoredFact[] = []
    const bounds = after === 0 ? null : await this.#store.stepBounds(process.uuid, after)
    let step = bounds === null ? 0 : after
    for await (const fact of this.#facts(process.uuid, bounds === null ? 0 : bounds.first - 1)) {
      const { body } = fact
      // A fact without a step number belongs to the current step, but a call at the gateway begins before its step.
      if ('step' in body) step = body.step
      if (step > after + limit) break
      const isWanted = step > after ? STEP_VIEW_FACTS.has(body.type) : GATEWAY_FACTS.includes(body.type)
      if (isWanted) facts.push(withoutImageData(fact))
    }
    // If the process was removed between two pages, the partial result would look complete: this throws COLLECTED instead.
    await this.get(process.uuid)
    return stepsOf(facts, unbegunCalls(process))
  }

  async *#facts(uuid: Uuid, from: number): AsyncGenerator<StoredFact> {
    for (let after = from; ;) {
      const page = await this.#store.facts(uuid, after, PAGE_FACTS)
      yield* page
      if (page.length < PAGE_FACTS) return
      after = page.at(-1)?.seq ?? after
    }
  }

  /** Returns the last lines of the log of a process; with `tree`, of all processes below it, too. */
  async logs(process: Process, query: LogQuery, tree = false): Promise<LogPage> {
    const deps = { store: this.#store, slices: this.#slices, reads: this }
    const page = await readLogs(deps, tree ? (await readTree(deps, process)).processes : [process], query)
    // If the process was removed between two pages, the partial result would look complete: this throws COLLECTED instead.
    await this.get(process.uuid)
    return page
  }

  /**
   * Finds the cursor before the first fact since a wall time; `last` if there is none. Inexact where times do not grow with the cursor:
   * after an import, or when the clock was set back.
   */
  async cursorAt(since: number, last: number): Promise<number> {
    let before = 0
    for (let end = last; before < end;) {
      const middle = Math.floor((before + end) / 2)
      const [fact] = await this.#store.since({ afterCursor: middle, limit: 1 })
      if (fact && fact.at < since) before = fact.cursor
      else end = middle
    }
    return before
  }
}

/** Removes the data of images, which steps do not show, to save memory. */
function withoutImageData(fact: StoredFact): StoredFact {
  const { body } = fact
  return body.type === 'tool.finished' && body.images
    ? { ...fact, body: { ...body, images: body.images.map((image) => ({ ...image, data: '' })) } }
    : fact
}

/** The facts that the view of a step is made from. */
const STEP_VIEW_FACTS: ReadonlySet<string> = new Set([
  'model.started',
  'model.finished',
  'model.failed',
  'tool.finished',
  'usage.reported',
  ...GATEWAY_FACTS,
  'context.compacted',
  'compaction.failed',
])
