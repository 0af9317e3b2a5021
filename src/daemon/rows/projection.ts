// The projection: the rows of all processes, kept up to date with each committed batch. Exists only while there are viewers. A change marks
// the rows that may differ: the process, those above it, and those whose `why` names it. `flush` rebuilds the marked rows, and returns what
// has changed. So the rows after any history equal rows that are built from scratch. Must never read a journal.
// Tests: test/properties/rows.test.ts, test/tables/daemon/rows/projection.test.ts.
import { toUsd, tallyOf } from '../../kernel/state/accounts.ts'
import { configuredLimits, payerChainOf, tallyWithBelow } from '../../kernel/state/limits.ts'
import { patchOf } from './patch.ts'
import { budgetOf, budgetScopeOf, ownFieldsOf, type OwnFields } from './row.ts'
import { RowNeeds, type RowNeed } from './row-needs.ts'
import { countsOf, TreeSums } from './sums.ts'
import { uuidsInWhy } from './why.ts'
import { lastingNeedsOf } from '../needs/row-attention.ts'
import type { RowScope } from './scope.ts'
import type { WorkTracker } from './doing.ts'
import type { RowPatch } from '../../api/row-events.ts'
import type { RowBudgetView, RowView, SumsView } from '../../api/views/rows.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { Table } from '../loop/table.ts'

/** The largest number of ended processes that are loaded. */
const MAX_ENDED = 10_000
const PAGE_ROWS = 100
/** The number of rows that are built in one piece of work. */
const PIECE_ROWS = 16
/** The largest number of removed rows that are remembered for viewers that return. */
const MAX_GONE = 10_000

export interface ProjectionDeps {
  readonly table: Table
  readonly store: Pick<Store, 'dead' | 'process'>
  readonly work: Pick<WorkTracker, 'of'>
  readonly clock: Clock
  readonly slices: Pick<SliceQueue, 'next'>
  /** returns the cursor of the newest fact */
  readonly cursor: () => number
  /** how long an ended process stays, in ms */
  readonly keepMs: number
}

interface Entry {
  /** as it was last published; null: not yet */
  view: RowView | null
  readonly own: OwnFields
  /** the number of the frame that changed it last */
  frame: number
  /** the money of the process and of all below it, in billionths of a dollar */
  money: Money
  readonly depth: number
  /** null: the process has not ended */
  readonly ended: Ended | null
  /** the processes that its `why` may name */
  readonly names: readonly Uuid[]
  /** of a crew: its state, by identity */
  readonly crew: Process['crew']
}

interface Money {
  readonly nanoUsd: number
  readonly reservedNanoUsd: number
}

/** What stays of an ended process. */
interface Ended {
  /** wall ms */
  readonly at: number
  /** its own money, with what it has counted of its descendants */
  readonly nanoUsd: number
  readonly budget: RowBudgetView | null
}

const NO_MONEY: Money = { nanoUsd: 0, reservedNanoUsd: 0 }

/** The change of one row. */
export interface RowChange {
  readonly uuid: Uuid
  /** null: there was no row */
  readonly before: RowView | null
  /** null: the row is gone */
  readonly after: RowView | null
  /** the changed fields; null: the row is gone */
  readonly patch: RowPatch | null
}

export interface Frame {
  readonly changes: readonly RowChange[]
  /** null: unchanged */
  readonly sums: SumsView | null
  /** the processes that were removed for good, also those without a row here */
  readonly removed: readonly Uuid[]
}

/** What a viewer missed while it was not connected. */
interface MissedChanges {
  readonly up: readonly RowView[]
  readonly gone: readonly Uuid[]
  /** those of `gone` that were removed for good */
  readonly removed: readonly Uuid[]
}

/** The number of projections since the start of the daemon. */
let projectionCount = 0

export class Projection {
  readonly #deps: ProjectionDeps
  readonly #rows = new Map<Uuid, Entry>()
  readonly #tree = new TreeSums()
  readonly #needs = new RowNeeds()
  /** the version of the needs that the newest frame has */
  #needsVersion = 0
  /** the rows to rebuild, with the process if it has ended */
  #dirty = new Map<Uuid, Process | null>()
  /** rows that were dropped since the last frame */
  #dropped: RowChange[] = []
  /** the ancestors of rows that must be loaded */
  readonly #missing = new Set<Uuid>()
  /** the ancestors of rows that are no longer stored */
  readonly #absent = new Set<Uuid>()
  /** the processes that were removed since the last frame: a list that was read before may still have them */
  readonly #removed = new Set<Uuid>()
  /** the rows whose `why` names a process */
  readonly #waiters = new Map<Uuid, Set<Uuid>>()
  /** the rows that are held by a budget: what they need depends on the use of that budget */
  readonly #heldByBudget = new Set<Uuid>()
  /** processes that stay however old they are, with the number of their viewers */
  readonly #kept = new Map<Uuid, number>()
  /** the processes that were removed since the last frame, for that frame */
  #newlyRemoved: Uuid[] = []
  /**
   * the rows that are gone, with the number of that frame; oldest first. Removed processes are among them, also those without a row here
   */
  readonly #gone: { readonly uuid: Uuid; readonly frame: number; readonly isRemoved: boolean }[] = []
  #frame = 0
  /** the number of rows that were built */
  #builtCount = 0
  #seq = 0
  #sumsText = ''
  /** distinguishes the cursors of this projection from those of an earlier one */
  readonly #epoch: string

  constructor(deps: ProjectionDeps) {
    this.#deps = deps
    projectionCount += 1
    this.#epoch = `${Math.round(deps.clock.now().wall).toString(36)}.${projectionCount}`
  }

  get cursor(): string {
    return `${this.#epoch}-${this.#frame}`
  }

  /** The newest fact that all rows include. */
  get seq(): number {
    return this.#seq
  }

  get isDirty(): boolean {
    return this.#dirty.size > 0 || this.#dropped.length > 0 || this.#newlyRemoved.length > 0 || this.#missing.size > 0
  }

  /** Loads the rows. Changes may arrive meanwhile. */
  async open(): Promise<void> {
    for (const uuid of this.#deps.table.all()) this.#dirty.set(uuid, null)
    await this.#loadEnded()
    while (this.isDirty) await this.flush()
  }

  /** Keeps the row of a process, however old it is, until it is released as often. */
  keep(uuid: Uuid): void {
    this.#kept.set(uuid, (this.#kept.get(uuid) ?? 0) + 1)
    if (!this.#rows.has(uuid) && !this.#dirty.has(uuid)) this.#missing.add(uuid)
  }

  release(uuid: Uuid): void {
    const left = (this.#kept.get(uuid) ?? 0) - 1
    if (left > 0) this.#kept.set(uuid, left)
    else this.#kept.delete(uuid)
  }

  has(uuid: Uuid): boolean {
    return this.#rows.has(uuid)
  }

  /** Must be called with the processes that a batch changed, after they were applied. */
  onCommit(processes: readonly Process[]): void {
    for (const process of processes) this.#dirty.set(process.uuid, process.life.state === 'dead' ? process : null)
  }

  /** Marks a row whose live output has changed. */
  touch(uuid: Uuid): void {
    if (!this.#dirty.has(uuid) && this.#rows.has(uuid)) this.#dirty.set(uuid, null)
  }

  /** Drops the row of a process that was removed for good. */
  remove(uuid: Uuid): void {
    this.#removed.add(uuid)
    this.#newlyRemoved.push(uuid)
    this.#dirty.delete(uuid)
    this.#drop(uuid)
    this.#noteGone(uuid, true)
  }

  /** Drops the rows that ended too long ago. */
  expire(): void {
    const oldestKept = this.#deps.clock.now().wall - this.#deps.keepMs
    for (const [uuid, { ended }] of this.#rows) {
      if (ended === null || ended.at >= oldestKept || this.#tree.hasChildren(uuid) || this.#kept.has(uuid)) continue
      this.#drop(uuid)
      this.#noteGone(uuid, false)
    }
  }

  /** Rebuilds all marked rows. Returns what has changed; null: nothing. Must not be called while another call runs. */
  async flush(): Promise<Frame | null> {
    await this.#loadMissing()
    const dirty = this.#dirty
    const dropped = this.#dropped
    const removed = this.#newlyRemoved
    this.#dirty = new Map()
    this.#dropped = []
    this.#newlyRemoved = []
    const seq = this.#deps.cursor()
    const touched = new Set<Uuid>()
    await this.#refreshAll(dirty, touched)
    const held = this.#budgetWaitersOf(touched).filter((uuid) => !dirty.has(uuid))
    await this.#refreshAll(new Map(held.map((uuid) => [uuid, null])), touched)
    const changes = [...dropped, ...(await this.#publish(touched))]
    const sums = this.#changedSums()
    this.#seq = seq
    this.#removed.clear()
    const needsVersion = this.#needs.version
    if (changes.length === 0 && removed.length === 0 && sums === null && needsVersion === this.#needsVersion) return null
    this.#needsVersion = needsVersion
    this.#frame += 1
    return { changes, sums, removed }
  }

  /** Rebuilds the own fields of rows. Adds these rows and those above them to the touched ones. */
  async #refreshAll(dirty: Map<Uuid, Process | null>, touched: Set<Uuid>): Promise<void> {
    // The map grows while it is read: a row may mark others.
    for (const [uuid, ended] of dirty) {
      await this.#pause()
      for (const other of this.#refresh(uuid, ended)) if (!dirty.has(other)) dirty.set(other, null)
      touched.add(uuid)
      for (const above of this.#tree.above(uuid)) touched.add(above)
    }
  }

  /** The current rows of a scope, oldest first. */
  rows(scope: RowScope): RowView[] {
    const found: RowView[] = []
    for (const { view } of this.#rows.values()) if (view !== null && this.isIn(scope, view)) found.push(view)
    return found.sort((a, b) => (a.uuid < b.uuid ? -1 : 1))
  }

  /** The most urgent needs of a scope, in order. Above the root of a subtree there is nothing. */
  needs(scope: RowScope): readonly RowNeed[] {
    const isIn = (uuid: Uuid): boolean => {
      const view = this.#rows.get(uuid)?.view
      return view !== null && view !== undefined && this.isIn(scope, view)
    }
    const found = this.#needs.first(isIn)
    if (scope.of !== 'subtree') return found
    const root = { root: scope.root, rootName: this.#rows.get(scope.root)?.own.name ?? null }
    return found.map((need) =>
      isIn(need.root) ? need : { ...need, ...root, text: JSON.stringify({ ...(JSON.parse(need.text) as object), ...root }) },
    )
  }

  get sums(): SumsView {
    const { home, accounts } = this.#deps.table
    return { ...this.#tree.all, todayUsd: toUsd(home.book.dailyUsd.nanoUsd), reservedUsd: toUsd(accounts.reservedNanoUsd) }
  }

  /** The rows that have changed after a cursor, and those that are gone or removed; null if that is not known. */
  since(cursor: string, scope: RowScope): MissedChanges | null {
    const [epoch, number] = cursor.split('-')
    const last = Number(number)
    const oldest = this.#gone.length < MAX_GONE ? 0 : (this.#gone[0]?.frame ?? 0)
    if (epoch !== this.#epoch || !(last >= oldest && last <= this.#frame)) return null
    const left = this.#gone.filter(({ frame }) => frame > last)
    const gone = new Set(left.map(({ uuid }) => uuid))
    const up: RowView[] = []
    for (const [uuid, { view, frame }] of this.#rows) {
      if (view === null || frame <= last) continue
      const isIn = this.isIn(scope, view)
      if (isIn) up.push(view)
      if (isIn) gone.delete(uuid)
      else gone.add(uuid)
    }
    return { up, gone: [...gone], removed: left.flatMap(({ uuid, isRemoved }) => (isRemoved ? [uuid] : [])) }
  }

  isIn(scope: RowScope, { uuid, parent, endedAt }: RowView): boolean {
    switch (scope.of) {
      case 'live':
        return endedAt === null
      case 'recent':
      case 'all':
        return true
      case 'subtree':
        // The row itself may have been dropped.
        return uuid === scope.root || parent === scope.root || (parent !== null && [...this.#tree.above(parent)].includes(scope.root))
    }
  }

  async #loadEnded(): Promise<void> {
    const { store, slices, table, clock, keepMs } = this.#deps
    const least = clock.now().wall - keepMs
    let last: Process | undefined
    for (let count = 0; count < MAX_ENDED; count += PAGE_ROWS) {
      await slices.next()
      const page = await store.dead({
        limit: PAGE_ROWS,
        ...(last ? { before: { exitedAt: last.clock.exitedAt ?? 0, uuid: last.uuid } } : {}),
      })
      for (const process of page) {
        if ((process.clock.exitedAt ?? 0) < least) return
        if (!table.get(process.uuid) && !this.#dirty.has(process.uuid)) this.#dirty.set(process.uuid, process)
      }
      last = page.at(-1)
      if (page.length < PAGE_ROWS) return
    }
  }

  async #loadMissing(): Promise<void> {
    for (const uuid of this.#missing) {
      this.#missing.delete(uuid)
      if (this.#rows.has(uuid) || this.#dirty.has(uuid)) continue
      const process = this.#deps.table.get(uuid) ?? (await this.#deps.store.process(uuid))
      if (!process) this.#absent.add(uuid)
      // A commit may have changed it meanwhile.
      else if (!this.#dirty.has(uuid)) this.#dirty.set(uuid, process.life.state === 'dead' ? process : null)
    }
  }

  /** Rebuilds the own fields of a row. Returns further rows that may have changed with it. */
  #refresh(uuid: Uuid, ended: Process | null): readonly Uuid[] {
    const { table, work, clock } = this.#deps
    const process = table.get(uuid) ?? ended
    // An ended process depends on no other one.
    if (!process || this.#removed.has(uuid)) return []
    const before = this.#rows.get(uuid)
    const context = {
      table,
      row: (other: Uuid) => table.get(other),
      work: work.of(uuid),
      mono: clock.now().mono,
      seenUntil: table.seenUntil,
    }
    const needs = lastingNeedsOf(process, context)
    const own = ownFieldsOf(process, { ...context, needs })
    this.#needs.put(process, needs, { table, mono: context.mono, note: own.note })
    const names = uuidsInWhy(process, context)
    this.#rows.set(uuid, {
      view: before?.view ?? null,
      own,
      frame: before?.frame ?? 0,
      money: before?.money ?? NO_MONEY,
      depth: process.depth,
      ended: process.life.state === 'dead' ? endOf(process) : null,
      names,
      crew: process.crew,
    })
    this.#tree.put(uuid, own.parent, countsOf(own))
    if (own.parent !== null && !this.#rows.has(own.parent) && !this.#absent.has(own.parent)) this.#missing.add(own.parent)
    this.#moveWaiter(uuid, before?.names ?? [], names)
    if (process.life.state === 'running' && process.life.holds.some(({ reason }) => reason === 'budget')) this.#heldByBudget.add(uuid)
    else this.#heldByBudget.delete(uuid)
    return this.#dependentsOf(process, before, own)
  }

  #dependentsOf(process: Process, before: Entry | undefined, own: OwnFields): readonly Uuid[] {
    const affectsWaiters = before?.own.name !== own.name || before.own.pid !== own.pid || before.own.status !== own.status
    const waiters = affectsWaiters ? (this.#waiters.get(process.uuid) ?? []) : []
    const members = before?.crew === process.crew ? [] : (process.crew?.members ?? [])
    const parent = process.parent === null ? undefined : this.#deps.table.get(process.parent)
    return [
      ...waiters,
      ...members.flatMap(({ uuid, state }) => (uuid !== null && state !== 'gone' ? [uuid] : [])),
      ...(parent?.spec.driver === 'supervisor' ? [parent.uuid] : []),
      ...(before && (before.own.name !== own.name || (before.ended === null) !== (process.life.state !== 'dead'))
        ? this.#needyBelow(process.uuid)
        : []),
    ]
  }

  /** The descendants of a process that need the user. Their needs name the topmost living process above them. */
  #needyBelow(uuid: Uuid): Uuid[] {
    return [...this.#needs.processes].filter((needy) => needy !== uuid && [...this.#tree.above(needy)].includes(uuid))
  }

  #moveWaiter(uuid: Uuid, before: readonly Uuid[], after: readonly Uuid[]): void {
    for (const name of before) {
      const waiters = this.#waiters.get(name)
      waiters?.delete(uuid)
      if (waiters?.size === 0) this.#waiters.delete(name)
    }
    for (const name of after) {
      const waiters = this.#waiters.get(name)
      if (waiters) waiters.add(uuid)
      else this.#waiters.set(name, new Set([uuid]))
    }
  }

  /** The rows that are held by a budget which has changed. */
  #budgetWaitersOf(touched: ReadonlySet<Uuid>): Uuid[] {
    const { table } = this.#deps
    const hasBudget = (uuid: Uuid): boolean => configuredLimits(table.get(uuid)?.spec.limits ?? {}).length > 0
    if (this.#heldByBudget.size === 0 || ![...touched].some(hasBudget)) return []
    return [...this.#heldByBudget].filter((uuid) => {
      const process = table.get(uuid)
      return process && payerChainOf(table, process).some((payer) => touched.has(payer.uuid))
    })
  }

  /** Completes the touched rows with their sums and budgets, and returns those that differ. */
  async #publish(touched: Set<Uuid>): Promise<RowChange[]> {
    const { table } = this.#deps
    // The sums of an ended process need those of its children, so the deepest come first.
    for (const uuid of [...touched].sort((a, b) => (this.#rows.get(b)?.depth ?? 0) - (this.#rows.get(a)?.depth ?? 0))) {
      await this.#pause()
      const entry = this.#rows.get(uuid)
      if (entry) entry.money = this.#moneyOf(uuid, entry)
    }
    const changes: RowChange[] = []
    // The set grows while it is read.
    for (const uuid of touched) {
      await this.#pause()
      const entry = this.#rows.get(uuid)
      if (!entry) continue
      const { own, money, ended, view: before } = entry
      const process = table.get(uuid)
      const after: RowView = {
        ...own,
        sub: { usd: toUsd(money.nanoUsd), ...this.#tree.total(uuid), reservedUsd: toUsd(money.reservedNanoUsd) },
        budget: process ? budgetOf(process, tallyWithBelow(table, process)) : (ended?.budget ?? null),
        budgetOf: process ? budgetScopeOf(table, process) : null,
      }
      // If its nearest budget changes, that of the processes that it pays for may change as well.
      if (before?.budgetOf !== after.budgetOf) for (const member of table.accounts.payees(uuid)) touched.add(member)
      const patch = patchOf(before, after)
      if (patch !== null) changes.push({ uuid, before, after, patch })
    }
    // All at once: a snapshot during the pauses above must not have a part of the next frame.
    for (const { uuid, after } of changes) {
      const entry = this.#rows.get(uuid)
      if (entry) Object.assign(entry, { view: after, frame: this.#frame + 1 })
    }
    return changes
  }

  /**
   * The money of a process and of all below it. The accounts have it for a living process. An ended process has counted those that ended
   * before it; the others are added.
   */
  #moneyOf(uuid: Uuid, { ended }: Entry): Money {
    const { table } = this.#deps
    const process = table.get(uuid)
    if (process) {
      const { nanoUsd, reservedNanoUsd } = tallyWithBelow(table, process)
      return { nanoUsd, reservedNanoUsd }
    }
    let { nanoUsd, reservedNanoUsd } = { ...NO_MONEY, nanoUsd: ended?.nanoUsd ?? 0 }
    for (const child of this.#tree.children(uuid)) {
      const entry = this.#rows.get(child)
      if (!entry || (entry.ended !== null && entry.ended.at <= (ended?.at ?? 0))) continue
      nanoUsd += entry.money.nanoUsd
      reservedNanoUsd += entry.money.reservedNanoUsd
    }
    return { nanoUsd, reservedNanoUsd }
  }

  /** Lets other work run after every few rows. */
  async #pause(): Promise<void> {
    this.#builtCount += 1
    if (this.#builtCount % PIECE_ROWS === 0) await this.#deps.slices.next()
  }

  #drop(uuid: Uuid): void {
    const entry = this.#rows.get(uuid)
    if (!entry) return
    for (const above of this.#tree.above(uuid)) if (!this.#dirty.has(above)) this.#dirty.set(above, null)
    this.#rows.delete(uuid)
    this.#tree.remove(uuid)
    this.#needs.remove(uuid)
    this.#absent.add(uuid)
    this.#moveWaiter(uuid, entry.names, [])
    this.#heldByBudget.delete(uuid)
    this.#dropped.push({ uuid, before: entry.view, after: null, patch: null })
  }

  #noteGone(uuid: Uuid, isRemoved: boolean): void {
    this.#gone.push({ uuid, frame: this.#frame + 1, isRemoved })
    if (this.#gone.length > MAX_GONE) this.#gone.shift()
  }

  #changedSums(): SumsView | null {
    const { sums } = this
    const text = JSON.stringify(sums)
    if (text === this.#sumsText) return null
    this.#sumsText = text
    return sums
  }
}

function endOf(process: Process): Ended {
  const tally = tallyOf(process)
  return { at: process.clock.exitedAt ?? process.clock.updatedAt, nanoUsd: tally.nanoUsd, budget: budgetOf(process, tally) }
}
