// What the API answers without changing anything: processes by reference, lists, steps, logs, waiting.
// Owns how a reference is resolved: PID, then exact name, then UUID prefix or suffix. Reads applied state only.
// Test: test/e2e/api.test.ts, test/tables/resolve.test.ts.
import { KernelError } from '../kernel/errors.ts'
import { processView, signalsOf, stepsOf } from './views.ts'
import { iso } from './times.ts'
import { LOG_FACTS, logLines, type LogLine } from '../api/log-lines.ts'
import type { ProcessView, SignalsView, StepView, UsageField } from '../api/views.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { Table } from './table.ts'

/** dead rows per page */
const PAGE = 500
/** Facts per page: one may have long texts and pictures, and of most of it little is shown. */
const PAGE_FACTS = 32
/** dead rows that a list gives at most */
const MAX_DEAD = 10_000
/** lines that `logs` gives at most */
const MAX_LINES = 10_000

export interface ListQuery<K extends keyof ProcessView> {
  /** with the dead */
  readonly all: boolean
  /** so many dead at most */
  readonly limit?: number | undefined
  /** all, unless some are named */
  readonly fields?: readonly (K | UsageField)[] | undefined
}

export class Reads {
  readonly #table: Table
  readonly #store: Store
  readonly #clock: Clock

  constructor(table: Table, store: Store, clock: Clock) {
    this.#table = table
    this.#store = store
    this.#clock = clock
  }

  /** The process that is meant, dead or alive. Errors: NOT_FOUND, COLLECTED, AMBIGUOUS with the candidates, PERMISSION for PID 0. */
  async resolve(ref: string): Promise<Process> {
    if (/^0+$/.test(ref)) throw new KernelError('PERMISSION', 'PID 0 is the kernel itself')
    const live = this.#liveOf(ref)
    if (live) return live
    const found = await this.#store.find(ref)
    if (found.length > 1) throw await this.#ambiguous(ref, found)
    const [uuid] = found
    if (uuid === undefined) throw await this.#nobody(ref)
    return this.get(uuid)
  }

  /** A process by its whole UUID, which no name of another can hide. Errors: NOT_FOUND, COLLECTED. */
  async get(uuid: Uuid): Promise<Process> {
    const process = await this.find(uuid)
    if (!process) throw await this.#nobody(uuid)
    return process
  }

  signals(process: Process): SignalsView {
    return signalsOf(process, this.#clock.now().mono)
  }

  async find(uuid: Uuid): Promise<Process | undefined> {
    return this.#table.get(uuid) ?? (await this.#store.process(uuid))
  }

  /** What was removed is told apart from what never was. */
  async #nobody(ref: string): Promise<KernelError> {
    const tombstone = await this.#store.tombstone(ref)
    if (!tombstone) return new KernelError('NOT_FOUND', `no process "${ref}"`)
    const removedAt = iso(tombstone.removedAt)
    return new KernelError('COLLECTED', `process ${tombstone.pid} (${tombstone.uuid}) was removed at ${removedAt}`, { ...tombstone, removedAt })
  }

  #liveOf(ref: string): Process | undefined {
    if (/^\d+$/.test(ref) && ref.length < 16) {
      const process = this.#table.byPid(Number(ref))
      if (process) return process
    }
    const named = this.#table.named(ref)
    return this.#table.get(named ?? ref)
  }

  async #ambiguous(ref: string, uuids: readonly Uuid[]): Promise<KernelError> {
    const processes = await Promise.all(uuids.map(async (uuid) => this.#table.get(uuid) ?? this.#store.process(uuid)))
    const candidates = processes.flatMap((p) => (p ? [{ uuid: p.uuid, pid: p.pid, name: p.spec.name, intent: p.spec.intent.slice(0, 60) }] : []))
    const list = candidates.map((c) => `${c.uuid} (PID ${c.pid})`).join(', ')
    return new KernelError('AMBIGUOUS', `"${ref}" may be any of ${list}`, { candidates })
  }

  /** A view of a process, or some fields of it. */
  view<K extends keyof ProcessView = keyof ProcessView>(process: Process, fields?: readonly (K | UsageField)[]): Pick<ProcessView, K> {
    const family = {
      ppid: () => (process.parent === null ? 0 : (this.#table.get(process.parent)?.pid ?? 0)),
      children: () => [...this.#table.children(process.uuid)],
      table: this.#table,
      row: (uuid: Uuid) => this.#table.get(uuid),
      wall: () => this.#clock.now().wall,
    }
    return processView(process, family, this.#clock.now().mono, fields)
  }

  /** The dead (with `all`, the `limit` newest, oldest first), then the live by PID. */
  async list<K extends keyof ProcessView>({ all, limit, fields }: ListQuery<K>): Promise<Pick<ProcessView, K>[]> {
    const live = [...this.#table.rows()].sort((a, b) => a.pid - b.pid)
    const dead = all ? (await this.#dead(Math.min(limit ?? MAX_DEAD, MAX_DEAD))).filter(({ uuid }) => !this.#table.get(uuid)).reverse() : []
    return [...dead, ...live].map((process) => this.view(process, fields))
  }

  async #dead(limit: number): Promise<Process[]> {
    const found: Process[] = []
    while (found.length < limit) {
      const last = found.at(-1)
      const before = last ? { before: { exitedAt: last.clock.exitedAt ?? 0, uuid: last.uuid } } : {}
      const page = await this.#store.dead({ limit: Math.min(PAGE, limit - found.length), ...before })
      found.push(...page)
      if (page.length === 0) break
    }
    return found
  }

  async steps(process: Process, after: number, limit: number): Promise<StepView[]> {
    const facts: StoredFact[] = []
    let step = 0
    for await (const fact of this.#facts(process.uuid)) {
      const { body } = fact
      // What names none is of the step that is on.
      if ('step' in body) step = body.step
      if (step > after + limit) break
      if (step > after && STEP_FACTS.has(body.type)) facts.push(withoutPictures(fact))
    }
    // Between two pages it may have been removed: then this would be a part that looks like the whole.
    await this.get(process.uuid)
    return stepsOf(facts)
  }

  async *#facts(uuid: Uuid): AsyncGenerator<StoredFact> {
    for (let after = 0; ; ) {
      const page = await this.#store.facts(uuid, after, PAGE_FACTS)
      yield* page
      if (page.length < PAGE_FACTS) return
      after = page.at(-1)?.seq ?? after
    }
  }

  /** The last lines of what a process said and did (since a wall time); what has lines after `cursor` is not among them. */
  async logs(process: Process, tail: number, since: number | null = null): Promise<{ lines: LogLine[]; cursor: number }> {
    const wanted = Math.min(tail, MAX_LINES)
    let lines: LogLine[] = []
    let cursor = 0
    for await (const page of this.#lastPages(process.uuid)) {
      cursor ||= page.at(-1)?.cursor ?? 0
      const before = page.filter(({ at }) => since === null || at >= since).flatMap(({ at, body }) => logLines(iso(at), body))
      lines = [...before, ...lines]
      if (lines.length >= wanted || (page[0]?.at ?? 0) < (since ?? 0)) break
    }
    // Between two pages it may have been removed: then this would be a part that looks like the whole.
    await this.get(process.uuid)
    return { lines: lines.slice(Math.max(0, lines.length - wanted)), cursor }
  }

  /** The facts that have lines, from the end, in pages that are in order. */
  async *#lastPages(uuid: Uuid): AsyncGenerator<readonly StoredFact[]> {
    for (let before = Number.MAX_SAFE_INTEGER; before > 1;) {
      const page = await this.#store.tail(uuid, PAGE_FACTS, LOG_FACTS, before)
      yield page
      if (page.length < PAGE_FACTS) return
      before = page[0]?.seq ?? 0
    }
  }

  /** The cursor before the first fact since a wall time; `last` if there is none. Clocks that were put back, and imports, make it inexact. */
  async cursorAt(since: number, last: number): Promise<number> {
    let before = 0
    for (let end = last; before < end; ) {
      const middle = Math.floor((before + end) / 2)
      const [fact] = await this.#store.since({ afterCursor: middle, limit: 1 })
      if (fact && fact.at < since) before = fact.cursor
      else end = middle
    }
    return before
  }
}

/** A page of steps tells of pictures, and shows none: they would be held until the last fact is read. */
function withoutPictures(fact: StoredFact): StoredFact {
  const { body } = fact
  return body.type === 'tool.finished' && body.images ? { ...fact, body: { ...body, images: body.images.map((image) => ({ ...image, data: '' })) } } : fact
}

const STEP_FACTS: ReadonlySet<string> = new Set(['model.started', 'model.finished', 'model.failed', 'tool.finished', 'usage.reported', 'context.compacted', 'compaction.failed'])
