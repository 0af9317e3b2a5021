// The rows after random histories. They equal rows made afresh, their sums equal simple sums, patches make an old snapshot the new one,
// and a viewer that returns after any time misses nothing.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyRowEvent } from '../../src/api/row-events.ts'
import { WorkTracker } from '../../src/daemon/rows/doing.ts'
import { Projection } from '../../src/daemon/rows/projection.ts'
import { subtreeUsage } from '../../src/daemon/views/limit-usage.ts'
import { deep } from '../support/deep.ts'
import { RandomRun } from '../support/kernel/random-run.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import type { Process } from '../../src/kernel/model/process.ts'
import type { Uuid } from '../../src/kernel/model/ids.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { SEED } from '../support/seed.ts'
import type { PickNumber } from '../support/kernel/random-inputs.ts'
import type { World } from '../support/kernel/world.ts'

/** The numbers that select one input; a missing one is 0. */
const inputNumbers = fc.array(fc.nat(9_999), { minLength: 1, maxLength: 16 })
/** A step of a history: an input, then perhaps a frame for the viewers, and perhaps a viewer that leaves or returns. */
const historySteps = fc.array(
  fc.record({ numbers: inputNumbers, frame: fc.nat(3).map((n) => n === 0), leaves: fc.nat(7).map((n) => n === 0) }),
  { maxLength: 90, size: 'max' },
)

function pickFrom(numbers: readonly number[]): PickNumber {
  let nextIndex = 0
  return (n) => {
    const number = numbers[nextIndex] ?? 0
    nextIndex += 1
    return number % n
  }
}

type Dead = Map<Uuid, Process>

/** The committed rows of a world, as a store pages them. */
function storeOf(world: World, deadRows: Dead): ConstructorParameters<typeof Projection>[0]['store'] {
  return {
    dead: async ({ limit, before }) => {
      const key = ({ clock, uuid }: Process): [number, Uuid] => [clock.exitedAt ?? 0, uuid]
      const isAfter = (a: readonly [number, Uuid], b: readonly [number, Uuid]): boolean => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1])
      return [...deadRows.values()]
        .filter((process) => !before || isAfter(key(process), [before.exitedAt, before.uuid]))
        .toSorted((a, b) => (isAfter(key(a), key(b)) ? 1 : -1))
        .slice(0, limit)
    },
    process: async (uuid) => world.table.get(uuid) ?? deadRows.get(uuid),
  }
}

class WatchedWorld {
  readonly world: World
  readonly dead: Dead
  readonly work = new WorkTracker()
  readonly viewer = new Map<Uuid, RowView>()
  projection: Projection
  #cursor = 0
  #seen = { cursor: '', rows: [] as readonly RowView[] }

  /** `dead`: the dead rows that are committed */
  constructor(world: World, dead: Dead) {
    this.world = world
    this.dead = dead
    this.projection = this.newProjection()
    world.onCommit = (facts, processes) => {
      this.work.onFacts(facts.map((fact) => ({ ...fact, cursor: (this.#cursor += 1) })))
      for (const process of processes) {
        if (process.life.state === 'dead') dead.set(process.uuid, process)
        else dead.delete(process.uuid)
      }
      this.projection.onCommit(processes)
    }
  }

  newProjection(): Projection {
    return new Projection({
      table: this.world.table,
      store: storeOf(this.world, this.dead),
      work: this.work,
      clock: { now: () => ({ wall: this.world.wall, mono: this.world.mono }) } as never,
      slices: { next: () => this.#checkPause() },
      cursor: () => this.#cursor,
      keepMs: Infinity,
    })
  }

  async open(): Promise<void> {
    await this.projection.open()
    for (const row of this.projection.rows({ of: 'all' })) this.viewer.set(row.uuid, row)
  }

  /** Expects at each pause of a frame that the rows are still those of the cursor. */
  async #checkPause(): Promise<void> {
    const rows = this.projection.rows({ of: 'all' })
    if (this.projection.cursor === this.#seen.cursor) expect(rows).toEqual(this.#seen.rows)
    this.#seen = { cursor: this.projection.cursor, rows }
  }

  /** Makes a frame, and applies it to the rows of the viewer. */
  async frame(): Promise<void> {
    for (let frame = await this.projection.flush(); frame !== null || this.projection.isDirty; frame = await this.projection.flush()) {
      const up = (frame?.changes ?? []).flatMap(({ patch }) => (patch === null ? [] : [patch]))
      applyRowEvent(this.viewer, { type: 'rows', cursor: this.projection.cursor, seq: 0, up, gone: [] })
    }
  }
}

/** The counts of a process and all below it, and its own money, computed from the processes themselves. */
function simpleSums({ world, dead }: WatchedWorld, rows: ReadonlyMap<Uuid, RowView>, root: Uuid): Partial<RowView['sub']> {
  const all = [...world.table.rows(), ...dead.values()].filter(
    (process, index, list) => list.findIndex(({ uuid }) => uuid === process.uuid) === index,
  )
  const isBelow = (process: Process): boolean => {
    for (let uuid: Uuid | null = process.uuid; uuid !== null;) {
      if (uuid === root) return true
      uuid = all.find((each) => each.uuid === uuid)?.parentUuid ?? null
    }
    return false
  }
  const below = all.filter(isBelow)
  const count = (is: (row: RowView) => boolean): number => below.filter(({ uuid }) => is(rows.get(uuid) as RowView)).length
  return {
    usd: all.find(({ uuid }) => uuid === root)?.usage.costUsd ?? 0,
    live: below.filter(({ life }) => life.state !== 'dead').length,
    working: count(({ status }) => status === 'working'),
    asking: count(({ asks }) => asks > 0),
    held: count(({ status }) => status === 'suspended'),
    failed: count(({ status }) => status === 'failed'),
  }
}

/** The needs with all that viewers read of them. */
const needsIn = (projection: Projection): unknown => projection.needs({ of: 'all' }).map(({ text }) => JSON.parse(text) as unknown)

interface HistoryStep {
  readonly pick: PickNumber
  /** true: the viewers get a frame */
  readonly frame: boolean
  /** true: the absent viewer returns, and leaves again */
  readonly leaves: boolean
}

/** Plays a history, and checks the rows at each frame. Returns the number of checked rows. */
async function checkHistory(steps: Iterable<HistoryStep>): Promise<number> {
  let compared = 0
  const run = new RandomRun()
  const { world } = run
  let watched = new WatchedWorld(world, new Map())
  let table = world.table
  /** a viewer that has left, with its cursor */
  let absent = { rows: new Map<string, RowView>(), cursor: '' }
  for (const { pick, frame, leaves } of steps) {
    run.play(pick)
    if (world.table !== table) {
      table = world.table
      watched = new WatchedWorld(world, watched.dead)
      await watched.open()
    }
    if (!frame) continue
    await watched.frame()
    const { projection, viewer } = watched
    const rows = projection.rows({ of: 'all' })
    const fresh = watched.newProjection()
    await fresh.open()
    expect(fresh.rows({ of: 'all' })).toEqual(rows)
    expect(needsIn(fresh)).toEqual(needsIn(projection))
    expect([...viewer.values()].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))).toEqual(rows)
    for (const { uuid, sub } of fresh.rows({ of: 'all' })) {
      const { usd: own = 0, ...counts } = simpleSums(watched, new Map(fresh.rows({ of: 'all' }).map((row) => [row.uuid, row])), uuid)
      expect(sub).toMatchObject(counts)
      // A process that outlived its spawner is paid for by others, so the money of a living process is what its budgets count.
      const living = world.table.get(uuid)
      if (living) expect(sub.usd).toBe(subtreeUsage(world.table, living).costUsd ?? sub.usd)
      else expect(sub.usd).toBeGreaterThan(own - 1e-9)
    }
    const missed = projection.since(absent.cursor, { of: 'all' })
    if (missed) {
      applyRowEvent(absent.rows, { type: 'rows', cursor: '', seq: 0, ...missed })
      expect([...absent.rows.values()].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))).toEqual(rows)
    }
    if (leaves || !missed) absent = { rows: new Map(rows.map((row) => [row.uuid, row])), cursor: projection.cursor }
    compared += rows.length
  }
  return compared
}

test('rows after any history equal rows made afresh, and no viewer misses a change', async () => {
  await fc.assert(
    fc.asyncProperty(historySteps, async (steps) => {
      await checkHistory(steps.map(({ numbers, ...step }) => ({ ...step, pick: pickFrom(numbers) })))
    }),
    { numRuns: deep(100, 2_000) },
  )
}, 300_000)

test('rows equal fresh ones also after long histories, with trees, money and renamed processes', async () => {
  let compared = 0
  for (let seed = SEED; seed < SEED + deep(12, 300); seed += 1) {
    const pick = makeSeededPick(seed)
    const steps = Array.from({ length: 400 }, () => ({ pick, frame: pick(4) === 0, leaves: pick(8) === 0 }))
    compared += await checkHistory(steps).catch((error: unknown) => {
      throw new Error(`REEVE_SEED=${seed}`, { cause: error })
    })
  }
  expect(compared).toBeGreaterThan(1_000)
}, 600_000)
