// The daemon put together: lock, settings, store, containment, engine, API; and taken apart again in the other order.
// Owns start and stop and nothing between. One daemon per home: a second one gets STORE_LOCKED and touches nothing.
// Test: test/e2e/restart.test.ts, test/e2e/reach.test.ts, test/e2e/security.test.ts.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { prepareState, type Paths } from '../config/paths.ts'
import { CrewReads } from './crew-reads.ts'
import { crewReport } from './crew-report.ts'
import { Crews } from './crews.ts'
import { rolePrompts } from '../config/roles.ts'
import { openContainer } from '../drivers/contain/container.ts'
import { KernelError } from '../kernel/errors.ts'
import { acquireLock } from '../store/lock.ts'
import { openSqliteStore } from '../store/sqlite.ts'
import { Archive } from './archive/archive.ts'
import { bootAll } from './boot.ts'
import { systemClock, type Clock } from './clock.ts'
import { Collector } from './collector.ts'
import { Composes } from './composes.ts'
import { agentsView } from './agents-view.ts'
import { examine } from './doctor.ts'
import { checkModels } from './models-check.ts'
import { discard, trashOf } from './discard.ts'
import { Drain, DRAIN_MS } from './drain.ts'
import { buildEngine, loadTable, type Engine, type Ground } from './engine.ts'
import { heartbeat } from './heartbeat.ts'
import { Needed } from './needed.ts'
import { addRoutes } from './http/routes.ts'
import { createServer } from './http/server.ts'
import { Operations } from './operations.ts'
import { Families } from './families.ts'
import { Forks } from './forks.ts'
import { pin } from './pins.ts'
import { Removals } from './removals.ts'
import { Reach } from './reach.ts'
import { beginLife } from './lives.ts'
import { lineage, resumable } from './resumable.ts'
import { Reads } from './reads.ts'
import { Settings } from './settings.ts'
import { Specs } from './specs.ts'
import { iso } from './times.ts'
import { usageReport } from './usage-report.ts'
import { VERSION } from './version.ts'
import { Waiter } from './waiter.ts'
import type { DaemonView } from '../api/views.ts'
import type { Now } from '../kernel/types.ts'

export interface DaemonOptions {
  readonly paths: Paths
  readonly log: (message: string, error: unknown) => void
  readonly clock?: Clock
}

export interface Daemon {
  /** Drains what runs for `drainMs` at most, under the hold `daemon-shutdown`, releases everything. A second call can only shorten the drain. */
  stop(drainMs?: number): Promise<void>
  /** resolves when it has stopped, by `stop` or by a client's request */
  readonly stopped: Promise<void>
}

/** Errors: STORE_LOCKED for a second daemon, and those of the store and the configuration. Then nothing is left open. */
export async function startDaemon({ paths, log, clock = systemClock }: DaemonOptions): Promise<Daemon> {
  await using stack = new AsyncDisposableStack()
  prepareState(paths)
  stack.use(await acquireLock(paths.lockDir))
  const ground = await openGround({ paths, log, clock }, stack)
  const engine = buildEngine(ground, await loadTable(ground))
  stack.defer(() => engine.close())
  await bootAll({ ...ground, ...engine, crashLoop: await beginLife(ground, stack) })
  await ground.store.started()
  // Before anything new can be planned: what is there now and belongs to nobody is of a daemon before this one.
  const swept = await engine.worktrees.sweep()
  stack.defer(() => swept.done)
  const daemon = new RunningDaemon(ground, engine, stack.move())
  try {
    await daemon.listen()
    return daemon
  } catch (error) {
    await daemon.stop()
    throw error
  }
}

async function openGround({ paths, log, clock }: Required<DaemonOptions>, stack: AsyncDisposableStack): Promise<Ground> {
  const settings = await Settings.read(paths)
  const said = (message: string): void => log(message, null)
  const store = stack.use(await openSqliteStore({ dir: paths.state, log: said }))
  const container = stack.use(await openContainer({ stateDir: paths.state, daemonId: uuidv7(), log: said }))
  const tmpDir = join(paths.state, 'tmp')
  const emptied = await discard(tmpDir, { trash: trashOf(paths.state), name: uuidv7(), log })
  stack.defer(() => emptied.done)
  await mkdir(tmpDir, { recursive: true, mode: 0o700 })
  stack.defer(() => rm(tmpDir, { recursive: true, force: true }))
  return { paths, settings, store, container, clock, tmpDir, log }
}

class RunningDaemon implements Daemon {
  readonly #ground: Ground
  readonly #engine: Engine
  /** all that is open, in the order in which it was opened */
  readonly #resources: AsyncDisposableStack
  readonly #startedAt: Now
  readonly #stopped = Promise.withResolvers<void>()
  #drain: Drain | null = null

  constructor(ground: Ground, engine: Engine, resources: AsyncDisposableStack) {
    this.#ground = ground
    this.#engine = engine
    this.#resources = resources
    this.#startedAt = ground.clock.now()
  }

  get stopped(): Promise<void> {
    return this.#stopped.promise
  }

  stop(drainMs: number = DRAIN_MS): Promise<void> {
    if (this.#drain) this.#drain.within(drainMs)
    else {
      this.#engine.holdRestarts()
      this.#drain = new Drain({ ...this.#engine, clock: this.#ground.clock }, drainMs)
      this.#shutdown(this.#drain).then(this.#stopped.resolve, this.#stopped.reject)
    }
    return this.stopped
  }

  async listen(): Promise<void> {
    const { paths, log } = this.#ground
    const server = createServer(log)
    addRoutes(server.app, this.#routes())
    let reach: Reach | null = null
    this.#resources.defer(async () => {
      reach?.close()
      // Then the files are another daemon's, and closing the server would remove its socket: it ends with this process.
      if ((await reach?.find()) === 'replaced') return
      await server.close()
      await Promise.all([rm(paths.daemonJson, { force: true }), rm(paths.socket, { force: true })])
    })
    await server.listen(paths.socket)
    reach = await Reach.of(paths.socket)
    reach.watch(this.#ground.clock, (how) => {
      log(`the socket is ${how}: nobody can reach this daemon any more, so it stops`, null)
      this.stop().catch((error: unknown) => log('stopping failed', error))
    })
    await writeFile(paths.daemonJson, `${JSON.stringify(this.#view())}\n`, { mode: 0o600 })
    this.#engine.sweeper.sweep()
  }

  #routes(): Parameters<typeof addRoutes>[1] {
    const { paths, container, store, clock, settings, log } = this.#ground
    const { table, feed, keys, pipeline, sweeper, worktrees, composeNodes } = this.#engine
    const reads = new Reads(table, store, clock)
    const cursor = (): number => pipeline.cursor
    const waiter = new Waiter(feed, reads, cursor)
    const needed = new Needed(table)
    const removals = new Removals({ reads, store, clock, sweeper, worktrees, needed, recorded: (uuid) => this.#engine.gateways.remove(uuid), kept: (process) => this.#engine.crewGit.kept(process) })
    this.#engine.retirements.connect(removals)
    const specs = new Specs({ reads, container, settings, paths })
    const forks = new Forks({ pipeline, reads, keys, specs, gateways: this.#engine.gateways, store, worktrees })
    const collector = new Collector({ store, reads, removals, sweeper, clock, log, needed, config: () => settings.gc() })
    this.#resources.defer(() => collector.stop())
    collector.start()
    const mayStart = (): void => this.#mayStart()
    const composes = new Composes({ table, store, pipeline, reads, waiter, forks, keys, gateways: this.#engine.gateways, asked: (body) => operations.asked(body), worktrees, nodes: composeNodes, mayStart })
    const families = new Families({ pipeline, reads, keys, paths, prepare: (body) => operations.prepare(body) })
    const operations: Operations = new Operations({ pipeline, reads, waiter, keys, gateways: this.#engine.gateways, specs, worktrees, store, forks, families, mayStart })
    const crewReads = new CrewReads({ reads, store, clock })
    const crews = new Crews({ pipeline, reads: crewReads })
    this.#engine.desk.connect({ operations, reads, waiter, pipeline, keys, store, removals, crews }, store)
    return {
      reads, feed, store, cursor, log, operations, families, composes,
      waiter, mcpSeat: (place) => this.#engine.desk.seatForPerson(place),
      past: { resumable: (query) => resumable({ table, store }, query), lineage: (ref) => lineage({ table, store, reads }, ref) },
      removals, collector,
      usage: (query) => usageReport({ store, reads }, query),
      archive: new Archive({ store, pipeline, clock, sweeper, get: (uuid) => reads.get(uuid), find: (uuid) => reads.find(uuid), gc: () => settings.gc(), reading: (ref, work) => removals.reading(ref, work) }),
      pin: (uuid, pinned) => pin({ pipeline, reads }, uuid, pinned),
      daemon: () => this.#view(),
      heartbeat: () => heartbeat(table, this.#engine.monitor, clock.now().mono),
      agents: (query) => agentsView(query, { paths, settings }),
      crewUp: async (body) => (await import('./crew-up.ts')).crewUp(body, { pipeline, reads, keys, specs, settings, paths, container, tmpDir: this.#ground.tmpDir, mayStart: () => this.#mayStart() }),
      crewReads, crews, crewReport: (crew) => crewReport(crew, { reads, store, clock, git: this.#engine.crewGit, settled: () => this.#engine.retirements.idle() }),
      roles: async (cwd) => ({ version: 1, ...(await rolePrompts(cwd, paths)) }),
      doctor: (verify) => examine({ paths, container, store, more: () => this.#engine.notifier.examine() }, verify),
      checkModels: (env) => checkModels(env, { paths, keys }),
      stop: (drainMs) => {
        this.stop(drainMs).catch((error: unknown) => log('stopping failed', error))
      },
    }
  }

  #mayStart(): void {
    if (this.#drain) throw new KernelError('UNAVAILABLE', 'the daemon is stopping')
    const { trouble } = this.#engine.diskFull
    if (trouble) throw new KernelError(trouble.code, `the store cannot be written, so nothing new starts: ${trouble.message}`)
  }

  /** What was opened is released also when the drain fails. */
  async #shutdown(drain: Drain): Promise<void> {
    await using _resources = this.#resources
    await drain.run()
  }

  #view(): DaemonView {
    const { paths, container, clock } = this.#ground
    const { table, pipeline } = this.#engine
    return {
      version: 1,
      pid: process.pid,
      reeve: VERSION,
      home: paths.home,
      socket: paths.socket,
      startedAt: iso(this.#startedAt.wall),
      uptimeMs: Math.round(clock.now().mono - this.#startedAt.mono),
      containment: container.kind,
      processes: { live: table.active, suspended: table.suspended, max: table.maxProcesses },
      cursor: pipeline.cursor,
      ...(this.#drain ? { stopping: { leftMs: Math.round(this.#drain.leftMs), waitsFor: this.#drain.waitsFor.map(({ pid }) => pid) } } : {}),
    }
  }
}
