// What decides and performs in a running daemon, wired together: table, pipeline, incarnations, feed, keys, deadlines.
// Owns the wiring and the end of it; decides nothing. Test: test/e2e/restart.test.ts.
import { acpDriver } from '../drivers/acp/driver.ts'
import { nativeDriver } from '../drivers/native/driver.ts'
import { commandWith } from '../drivers/command/command.ts'
import { supervisorDriver } from '../drivers/supervisor.ts'
import { v7 as uuidv7 } from 'uuid'
import { CrewGit } from './crew-git.ts'
import { ComposeNodes } from './compose-nodes.ts'
import { CrewJobs, isOfCrew } from './crew-jobs.ts'
import { Deadlines } from './deadlines.ts'
import { DiskFull } from './disk-full.ts'
import { Feed } from './feed.ts'
import { Gateways } from './gateways.ts'
import { Incarnations } from './incarnations.ts'
import { Keys } from './keys.ts'
import { Lines } from './lines.ts'
import { Desk } from './mcp/desk.ts'
import { Monitor } from './monitor.ts'
import { Notifier } from './notify/notifier.ts'
import { Pipeline } from './pipeline.ts'
import { Retirements } from './retirements.ts'
import { runProgram } from './run-program.ts'
import { Sweeper } from './removals.ts'
import { Sampler } from './sampler.ts'
import { Table } from './table.ts'
import { Worktrees } from './worktrees.ts'
import type { Paths } from '../config/paths.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { Loaded, Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { Settings } from './settings.ts'

/** What the engine stands on: all of it is open. */
export interface Ground {
  readonly paths: Paths
  readonly settings: Settings
  readonly store: Store
  readonly container: Container
  readonly clock: Clock
  /** where each incarnation has its temporary folder */
  readonly tmpDir: string
  readonly log: (message: string, error: unknown) => void
}

export interface Engine {
  readonly table: Table
  readonly feed: Feed
  readonly keys: Keys
  readonly gateways: Gateways
  readonly desk: Desk
  readonly monitor: Monitor
  readonly notifier: Notifier
  readonly pipeline: Pipeline
  readonly diskFull: DiskFull
  readonly sweeper: Sweeper
  readonly worktrees: Worktrees
  readonly composeNodes: ComposeNodes
  readonly crewGit: CrewGit
  readonly retirements: Retirements
  /** What waits for its restart waits for the next daemon: nothing begins in one that drains. */
  holdRestarts(): void
  /** Takes nothing more, finishes what waits, and ends all that runs without a word to the kernel. */
  close(): Promise<void>
}

/** The rows of those that are not dead, a page at a time: what is suspended rests before the next page is read. */
export async function loadTable({ store, settings }: Pick<Ground, 'store' | 'settings'>): Promise<LoadedTable> {
  const table = new Table(settings.now.maxProcesses)
  for (let from: number | undefined = 0; ;) {
    const { processes, counters, next }: Loaded = await store.load(from)
    table.apply(processes, counters.pid)
    table.pack()
    if (next === undefined) return { table, cursor: counters.cursor }
    from = next
  }
}

interface LoadedTable {
  readonly table: Table
  /** the last one that was given out */
  readonly cursor: number
}

export function buildEngine(ground: Ground, { table, cursor }: LoadedTable): Engine {
  const { paths, settings, store, container, clock, tmpDir, log } = ground
  const feed = new Feed(store, () => clock.now().wall, table)
  const keys = new Keys({ paths, container, settings, tmpDir })
  const gateways = new Gateways({ keys, settings, clock, state: paths.state, log })
  const desk = new Desk({ state: paths.state, socket: paths.socket, newId: uuidv7, log })
  const { forNative } = settings
  const drivers = { native: nativeDriver(forNative), acp: acpDriver(forNative), command: commandWith({ prices: () => settings.now.prices }), supervisor: supervisorDriver, crew: supervisorDriver, compose: supervisorDriver }
  const lines = new Lines()
  const worktrees = new Worktrees({ container, store, state: paths.state, tmpDir, newUuid: uuidv7, lines, rows: () => table.rows(), log })
  const retirements = new Retirements({ find: (uuid) => store.process(uuid), worktrees, log })
  const crewGit = new CrewGit({ container, tmpDir, newUuid: uuidv7, lines })
  const crewJobs = new CrewJobs({ table, store, keys, worktrees, git: crewGit, clock, pipeline: () => pipeline, log })
  const composeNodes = new ComposeNodes({ table, store, keys, worktrees, request: (body) => pipeline.request(body), log })
  const sampler = new Sampler({ clock, log, get: (uuid) => table.get(uuid), tell: (uuid, pid, report) => submit({ type: 'report', reply: 0, uuid, pid, report }) })
  const incarnations = new Incarnations({ table, store, container, drivers, feed, heard: (uuid) => monitor.heard(uuid), sampler, clock, tmpDir, keys, gateways, desk, worktrees, composeNodes, log })
  const submit: Pipeline['submit'] = (input) => pipeline.submit(input)
  const monitor = new Monitor({ clock, submit, log, get: (uuid) => table.get(uuid), stopped: (process) => incarnations.stopped(process) })
  const notifier = new Notifier({
    clock, log, get: (uuid) => table.get(uuid), config: () => settings.notifications(), lookup: async (name) => (await keys.locate(name, {}))?.value,
    run: (argv) => runProgram({ container, cwd: '/', tmpDir }, argv),
  })
  let drains = false
  const deadlines = new Deadlines(clock, (uuid) => {
    if (!drains || table.get(uuid)?.life.state !== 'created') submit({ type: 'tick', uuid })
  })
  const diskFull = new DiskFull({ store, clock, submit, log, running: () => table.running() })
  const pipeline = new Pipeline({
    table, store, clock, log,
    cursor,
    publish: (facts) => {
      for (const uuid of new Set(facts.map((fact) => fact.uuid))) deadlines.watch(uuid, table.get(uuid))
      monitor.see(facts)
      feed.publish(facts)
      notifier.see(facts)
      retirements.see(facts)
      crewJobs.see(facts)
    },
    perform: (effect) => (isOfCrew(effect) ? crewJobs.perform(effect) : incarnations.perform(effect)),
    keep: (input, error) => diskFull.keep(input, error),
  })
  incarnations.connect(pipeline)
  const sweeper = new Sweeper(store, log)
  return {
    table, feed, keys, gateways, desk, monitor, notifier, pipeline, diskFull, sweeper, worktrees, composeNodes, crewGit, retirements,
    holdRestarts: () => {
      drains = true
    },
    close: async () => {
      deadlines.stop()
      monitor.stop()
      diskFull.stop()
      await sweeper.stop()
      sampler.flush()
      await pipeline.close()
      await incarnations.shutdown()
      await retirements.idle()
      await notifier.stop()
      await gateways.close()
      await desk.close()
    },
  }
}
