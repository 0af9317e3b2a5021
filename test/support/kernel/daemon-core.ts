// A daemon's core without HTTP and real drivers: table, pipeline, deadlines, full disk and feed. The store is real, but can fail. The
// clock is manual, and effects go to simulated drivers.
import { WriteFailures } from '../../../src/daemon/loop/write-failures.ts'
import { Deadlines } from '../../../src/daemon/loop/deadlines.ts'
import { Feed } from '../../../src/daemon/loop/feed.ts'
import { Pipeline } from '../../../src/daemon/loop/pipeline.ts'
import { Table } from '../../../src/daemon/loop/table.ts'
import { fold } from '../../../src/kernel/state/fold.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import type { Effect } from '../../../src/kernel/model/effects.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { HomeStore } from '../../../src/store/store.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import { ManualClock } from '../clock.ts'
import { FaultyStore } from './faulty-store.ts'
import type { Uuid } from '../../../src/kernel/model/ids.ts'

export interface Core extends AsyncDisposable {
  readonly store: FaultyStore
  readonly clock: ManualClock
  readonly table: Table
  readonly pipeline: Pipeline
  readonly writeFailures: WriteFailures
  readonly feed: Feed
  /** performed effects, in order */
  readonly effects: Effect[]
  /** log lines */
  readonly logged: string[]
  /** facts in the order of their publication */
  readonly published: StoredFact[]
}

export interface CoreOptions {
  readonly dir: string
  readonly clock?: ManualClock
  readonly maxProcesses?: number
  /** performs effects as the drivers do */
  readonly perform?: (effect: Effect, core: Core) => void
  readonly faults?: (store: FaultyStore) => void
  /** wraps the real store for the pipeline */
  readonly wrap?: (store: HomeStore) => HomeStore
}

export async function openCore({
  dir,
  clock = new ManualClock(),
  maxProcesses = 100,
  perform = () => {},
  faults = () => {},
  wrap = (store) => store,
}: CoreOptions): Promise<Core> {
  const store = new FaultyStore(wrap(await openSqliteStore({ dir })))
  faults(store)
  const { processes, counters } = await store.load()
  const table = new Table(maxProcesses)
  table.apply(processes, counters.pid)
  const effects: Effect[] = []
  const logged: string[] = []
  const published: StoredFact[] = []
  const logMessage = (message: string, error: unknown): void =>
    void logged.push(error instanceof Error ? `${message}: ${error.message}` : message)
  const feed = new Feed(store, () => clock.now().wall)
  const deadlines = new Deadlines(clock, (uuid) => pipeline.submit({ type: 'tick', uuid }))
  const writeFailures = new WriteFailures({
    local: store,
    clock,
    log: logMessage,
    runningUuids: () => table.runningUuids(),
    submit: (input) => pipeline.submit(input),
    resubmit: (inputs) => pipeline.resubmit(inputs),
    get: (uuid) => table.get(uuid),
    refuse: (input, error) => pipeline.refuse(input, error),
  })
  const pipeline: Pipeline = new Pipeline({
    table,
    store,
    clock,
    log: logMessage,
    cursor: counters.cursor,
    publish: (facts) => {
      published.push(...facts)
      for (const uuid of new Set(facts.map((fact) => fact.uuid))) deadlines.update(uuid, table.get(uuid))
      feed.publish(facts)
    },
    perform: (effect) => {
      effects.push(effect)
      if (effect.type === 'reply' || effect.type === 'refuse') pipeline.answer(effect)
      perform(effect, core)
    },
    shorten: (input) => writeFailures.shorten(input),
    defer: (input, error) => writeFailures.defer(input, error),
  })
  const core: Core = {
    store,
    clock,
    table,
    pipeline,
    writeFailures,
    feed,
    effects,
    logged,
    published,
    [Symbol.asyncDispose]: async () => {
      deadlines.stop()
      store.releaseCommits()
      await pipeline.close()
      await store[Symbol.asyncDispose]()
    },
  }
  return core
}

/** the number of event loop turns that the pipeline and its effects need at most for one input */
const TURNS = 5

/** Waits until all work is done that does not wait for the clock. */
export async function waitUntilSettled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Reads all facts of a process, in order. */
export async function journalOf(core: Core, uuid: Uuid): Promise<StoredFact[]> {
  const facts: StoredFact[] = []
  for (;;) {
    const page = await core.store.facts(uuid, facts.length, 500)
    if (page.length === 0) return facts
    facts.push(...page)
  }
}

/** Folds the journal of a process. */
export async function foldedProcess(core: Core, uuid: Uuid): Promise<Process | undefined> {
  let process: Process | undefined
  for (const { cursor: _, ...fact } of await journalOf(core, uuid)) process = fold(process, fact)
  return process
}
