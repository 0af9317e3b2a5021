// The core of a daemon without its edges: table, pipeline, deadlines, full disk and feed on a real store that can fail,
// with a clock that is wound by hand. What is performed goes to whoever plays the drivers.
import { DiskFull } from '../../../src/daemon/disk-full.ts'
import { Deadlines } from '../../../src/daemon/deadlines.ts'
import { Feed } from '../../../src/daemon/feed.ts'
import { Pipeline } from '../../../src/daemon/pipeline.ts'
import { Table } from '../../../src/daemon/table.ts'
import { fold } from '../../../src/kernel/fold.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import type { Effect } from '../../../src/kernel/effects.ts'
import type { Process, Uuid } from '../../../src/kernel/types.ts'
import type { Store } from '../../../src/store/store.ts'
import type { StoredFact } from '../../../src/kernel/facts.ts'
import { HandClock } from '../clock.ts'
import { FaultyStore } from './faulty-store.ts'

export interface Core extends AsyncDisposable {
  readonly store: FaultyStore
  readonly clock: HandClock
  readonly table: Table
  readonly pipeline: Pipeline
  readonly diskFull: DiskFull
  readonly feed: Feed
  /** effects that were performed, in order */
  readonly effects: Effect[]
  /** what was logged */
  readonly logged: string[]
  /** facts as they were published */
  readonly published: StoredFact[]
}

export interface CoreOptions {
  readonly dir: string
  readonly clock?: HandClock
  readonly maxProcesses?: number
  /** plays the drivers */
  readonly perform?: (effect: Effect, core: Core) => void
  readonly faults?: (store: FaultyStore) => void
  /** stands between the pipeline and the real store */
  readonly wrap?: (store: Store) => Store
}

export async function openCore({ dir, clock = new HandClock(), maxProcesses = 100, perform = () => {}, faults = () => {}, wrap = (store) => store }: CoreOptions): Promise<Core> {
  const store = new FaultyStore(wrap(await openSqliteStore({ dir })))
  faults(store)
  const { processes, counters } = await store.load()
  const table = new Table(maxProcesses)
  table.apply(processes, counters.pid)
  const effects: Effect[] = []
  const logged: string[] = []
  const published: StoredFact[] = []
  const log = (message: string, error: unknown): void => void logged.push(error instanceof Error ? `${message}: ${error.message}` : message)
  const feed = new Feed(store, () => clock.now().wall, table)
  const deadlines = new Deadlines(clock, (uuid) => pipeline.submit({ type: 'tick', uuid }))
  const diskFull = new DiskFull({ store, clock, log, running: () => table.running(), submit: (input) => pipeline.submit(input) })
  const pipeline: Pipeline = new Pipeline({
    table, store, clock, log,
    cursor: counters.cursor,
    publish: (facts) => {
      published.push(...facts)
      for (const uuid of new Set(facts.map((fact) => fact.uuid))) deadlines.watch(uuid, table.get(uuid))
      feed.publish(facts)
    },
    perform: (effect) => {
      effects.push(effect)
      if (effect.type === 'reply' || effect.type === 'refuse') pipeline.answer(effect)
      perform(effect, core)
    },
    keep: (input, error) => diskFull.keep(input, error),
  })
  const core: Core = {
    store, clock, table, pipeline, diskFull, feed, effects, logged, published,
    [Symbol.asyncDispose]: async () => {
      deadlines.stop()
      store.letGo()
      await pipeline.close()
      await store[Symbol.asyncDispose]()
    },
  }
  return core
}

/** Lets everything happen that needs no more than the present. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** All facts of a process, in order. */
export async function journalOf(core: Core, uuid: Uuid): Promise<StoredFact[]> {
  const facts: StoredFact[] = []
  for (;;) {
    const page = await core.store.facts(uuid, facts.length, 500)
    if (page.length === 0) return facts
    facts.push(...page)
  }
}

/** The process as its journal tells it. */
export async function folded(core: Core, uuid: Uuid): Promise<Process | undefined> {
  let process: Process | undefined
  for (const { cursor: _, ...fact } of await journalOf(core, uuid)) process = fold(process, fact)
  return process
}
