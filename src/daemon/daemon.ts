// The daemon put together: lock, store, table, containment, pipeline, drivers, API; and taken apart again in order.
// Owns start and stop and nothing between. One daemon per home: a second one gets STORE_LOCKED and touches nothing.
// Test: test/e2e/daemon.test.ts, test/e2e/restart.test.ts.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { loadConfig } from '../config/config.ts'
import { prepareState, type Paths } from '../config/paths.ts'
import { commandDriver } from '../drivers/command/command.ts'
import { openContainer } from '../drivers/contain/container.ts'
import { nativeDriver } from '../drivers/native/driver.ts'
import { KernelError } from '../kernel/errors.ts'
import { isSuspended } from '../kernel/status.ts'
import { acquireLock } from '../store/lock.ts'
import { openSqliteStore } from '../store/sqlite.ts'
import { bootAll } from './boot.ts'
import { systemClock, type Clock } from './clock.ts'
import { Deadlines } from './deadlines.ts'
import { DiskFull } from './disk-full.ts'
import { examine } from './doctor.ts'
import { drain } from './drain.ts'
import { Feed } from './feed.ts'
import { addRoutes } from './http/routes.ts'
import { createServer } from './http/server.ts'
import { Incarnations } from './incarnations.ts'
import { Keys } from './keys.ts'
import { Operations } from './operations.ts'
import { Pipeline } from './pipeline.ts'
import { Reads } from './reads.ts'
import { Table } from './table.ts'
import { iso } from './times.ts'
import { VERSION } from './version.ts'
import { Waiter } from './waiter.ts'
import type { DaemonView } from '../api/views.ts'

export interface DaemonOptions {
  readonly paths: Paths
  readonly log: (message: string, error: unknown) => void
  readonly clock?: Clock
}

export interface Daemon {
  /** Drains what runs, puts it under the hold `daemon-shutdown`, releases everything. Idempotent. */
  stop(): Promise<void>
  /** resolves when it has stopped, by `stop` or by a client's request */
  readonly stopped: Promise<void>
}

/** Errors: STORE_LOCKED for a second daemon, and those of the store and the configuration. Then nothing is left open. */
export async function startDaemon({ paths, log, clock = systemClock }: DaemonOptions): Promise<Daemon> {
  await using stack = new AsyncDisposableStack()
  prepareState(paths)
  stack.use(await acquireLock(paths.lockDir))
  const config = await loadConfig({ paths, cwd: null, env: process.env })
  const store = stack.use(await openSqliteStore({ dir: paths.state, log: (message) => log(message, null) }))
  const daemonId = uuidv7()
  const container = stack.use(await openContainer({ stateDir: paths.state, daemonId, log: (message) => log(message, null) }))
  const tmpDir = join(paths.state, 'tmp')
  const loaded = await store.load()
  const table = new Table(config.maxProcesses)
  table.apply(loaded.processes, loaded.counters.pid)

  const feed = new Feed(store, () => clock.now().wall)
  const keys = new Keys({ paths, container, keyCommand: config.keyCommand, uuid: uuidv7, tmpDir })
  const drivers = { native: nativeDriver({ providers: config.providers }), command: commandDriver }
  const incarnations = new Incarnations({ table, store, container, drivers, feed, clock, tmpDir, keys, log })
  const submit: Pipeline['submit'] = (input) => pipeline.submit(input)
  const deadlines = new Deadlines(clock, (uuid) => submit({ type: 'tick', uuid }))
  const diskFull = new DiskFull({ store, clock, submit, log })
  const pipeline = new Pipeline({
    table, store, clock, log,
    cursor: loaded.counters.cursor,
    publish: (facts) => {
      for (const uuid of new Set(facts.map((fact) => fact.uuid))) deadlines.watch(uuid, table.get(uuid))
      feed.publish(facts)
    },
    perform: (effect) => incarnations.perform(effect),
    keep: (input, error) => diskFull.keep(input, error),
  })
  incarnations.connect(pipeline)
  await mkdir(tmpDir, { recursive: true, mode: 0o700 })
  await bootAll({ table, container, pipeline })

  const reads = new Reads(table, store, clock)
  const operations = new Operations({ pipeline, reads, keys, container, paths, mayStart: () => refuseWhenFull(diskFull) })
  const startedAt = clock.now()
  const view = (): DaemonView => daemonView({ paths, container, table, pipeline, startedAt: startedAt.wall, uptimeMs: Math.round(clock.now().mono - startedAt.mono) })
  const server = createServer(log)
  const stopped = Promise.withResolvers<void>()
  let stopping: Promise<void> | null = null
  const stop = (): Promise<void> => (stopping ??= shutdown().then(stopped.resolve, stopped.reject).then(() => stopped.promise))
  addRoutes(server.app, {
    operations, reads, feed, store, paths,
    waiter: new Waiter(feed, reads, () => pipeline.cursor),
    cursor: () => pipeline.cursor,
    daemon: view,
    doctor: (verify) => examine({ paths, container, store }, verify),
    stop: () => stop().catch((error: unknown) => log('stopping failed', error)),
  })
  await server.listen(paths.socket)
  await writeFile(paths.daemonJson, `${JSON.stringify(view())}\n`, { mode: 0o600 })
  const resources = stack.move()

  async function shutdown(): Promise<void> {
    await drain({ table, pipeline, clock })
    await server.close()
    deadlines.stop()
    await pipeline.close()
    await incarnations.shutdown()
    await Promise.all([rm(paths.daemonJson, { force: true }), rm(paths.socket, { force: true }), rm(tmpDir, { recursive: true, force: true })])
    await resources.disposeAsync()
  }

  return { stop, stopped: stopped.promise }
}

function refuseWhenFull(diskFull: DiskFull): void {
  if (diskFull.isFull) throw new KernelError('DISK_FULL', 'the disk is full; nothing new starts until there is room')
}

interface ViewParts {
  readonly paths: Paths
  readonly container: { readonly kind: DaemonView['containment'] }
  readonly table: Table
  readonly pipeline: Pipeline
  readonly startedAt: number
  readonly uptimeMs: number
}

function daemonView({ paths, container, table, pipeline, startedAt, uptimeMs }: ViewParts): DaemonView {
  const suspended = [...table.rows()].filter(isSuspended).length
  return {
    version: 1,
    pid: process.pid,
    reeve: VERSION,
    home: paths.home,
    socket: paths.socket,
    startedAt: iso(startedAt),
    uptimeMs,
    containment: container.kind,
    processes: { live: table.active, suspended, max: table.maxProcesses },
    cursor: pipeline.cursor,
  }
}
