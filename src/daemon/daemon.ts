// Starts the daemon's parts in order (lock, settings, store, containment, process loop, API), and stops them in reverse order. A home has
// one daemon: a second daemon gets STORE_LOCKED and changes nothing.
// Tests: test/e2e/lifecycle/restart.test.ts, test/processes/daemon/refused-start.test.ts, test/e2e/daemon/removed-socket.test.ts,
// test/e2e/daemon/security.test.ts.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { prepareState, type Paths } from '../config/paths.ts'
import { CrewQueries } from './crew/queries.ts'
import { CrewDiffs } from './crew/diff.ts'
import { buildCrewReport } from './crew/report.ts'
import { CrewCommands } from './crew/commands.ts'
import { readRolePrompts } from '../config/crew/roles.ts'
import { openContainmentManager } from '../drivers/contain/manager.ts'
import { probeAll } from '../drivers/contain/probe.ts'
import { EventLoopTurns } from '../drivers/common/event-loop-turns.ts'
import { KernelError } from '../kernel/model/errors.ts'
import { acquireLock } from '../store/files/lock.ts'
import { SCHEMA_VERSION } from '../store/schema.ts'
import { Archive } from './archive/archive.ts'
import { bootAll } from './loop/boot.ts'
import { systemClock, type Clock } from './loop/clock.ts'
import { GarbageCollector } from './operations/collector.ts'
import { ComposeRuns } from './compose/runs.ts'
import { agentsView } from './views/agents.ts'
import { runDoctorChecks, survivorsCheck, type Check } from './views/doctor.ts'
import { discardTmpDir, trashPath } from './host/tmp-trash.ts'
import { ApiSockets } from './incarnation/api-sockets.ts'
import { Drain, DRAIN_MS } from './loop/drain.ts'
import { connectDaemonParts, loadTable, type DaemonParts, type DaemonResources } from './wiring.ts'
import { heartbeatView } from './views/heartbeat.ts'
import { EventLoopWatch } from './host/event-loop-watch.ts'
import { GcExemptions } from './operations/gc-exemptions.ts'
import { addRoutes } from './http/routes.ts'
import { createServer } from './http/server.ts'
import { Operations } from './operations/operations.ts'
import { SupervisorSpawner, type SupervisorSpawnerDeps } from './operations/spawn-supervisor.ts'
import { ForkOperations } from './operations/fork.ts'
import { NeedQueries } from './needs/need-queries.ts'
import { Annotations } from './operations/annotations.ts'
import { Merges } from './operations/merges.ts'
import { Removals } from './operations/removals.ts'
import { MachineFigures, type DaemonViewWithoutFigures } from './host/machine-figures.ts'
import { InstallWatch } from './host/install-watch.ts'
import { SocketWatch } from './host/socket-watch.ts'
import { detectCrashLoop } from './host/crash-loop.ts'
import { ProcessQueries } from './views/process-queries.ts'
import { openStores } from './host/open-stores.ts'
import { Settings } from './host/settings.ts'
import { SpecBuilder } from './operations/spec-builder.ts'
import { isoTime } from './views/format-times.ts'
import { routeQueries } from './views/route-queries.ts'
import { LazyWebService } from './web/lazy-service.ts'
import { VERSION } from '../api/version.ts'
import { Waiter } from './loop/waiter.ts'
import { BUILD } from '../api/build.ts'
import { readHolderRecord } from '../api/client/daemon-holder.ts'
import type { DaemonView } from '../api/views/daemon.ts'
import type { Now } from '../kernel/model/ids.ts'
import type { Limits } from '../kernel/model/words.ts'

export interface DaemonOptions {
  readonly paths: Paths
  readonly log: (message: string, error: unknown) => void
  readonly clock?: Clock
  /** true: also accepts a store that is empty, older than before, or has a damaged log */
  readonly acceptStore?: boolean
  /** the daemon's program file: the daemon ends when this file is removed and nothing runs; null: the file is not watched */
  readonly programFile?: string | null
  /** finds the kinds of containment that work on this machine; default: tries each kind */
  readonly probe?: typeof probeAll
}

export interface Daemon {
  /**
   * Gives the running processes at most `drainMs` to finish, under the hold `daemon-shutdown`. Then it releases all resources.
   * A second call can only shorten the drain.
   */
  stop(drainMs?: number): Promise<void>
  /** resolves when the daemon has stopped, either by `stop` or at a client's request */
  readonly stopped: Promise<void>
}

/**
 * Starts a daemon, which answers requests when the promise resolves. Errors: STORE_LOCKED for a second daemon, and the errors of the
 * store and the configuration. After an error all resources are closed.
 */
export async function startDaemon({
  paths,
  log,
  clock = systemClock,
  acceptStore = false,
  programFile = null,
  probe = probeAll,
}: DaemonOptions): Promise<Daemon> {
  await using stack = new AsyncDisposableStack()
  prepareState(paths)
  stack.use(await acquireLock(paths.lockDir))
  await recordHolder(paths, stack)
  const deps = await openResources({ paths, log, clock, acceptStore, probe }, stack)
  const parts = connectDaemonParts(deps, await loadTable(deps))
  stack.defer(() => parts.close())
  await parts.crewCommands.recover()
  await bootAll({ ...deps, ...parts, isCrashLoop: await detectCrashLoop(deps, stack) })
  parts.homeBudgetWatch.start()
  await deps.local.finishStart()
  parts.notifier.start()
  // Both sweeps list their files before any new work can be planned. So a file without an owner is a leftover of an earlier daemon.
  await parts.crewTrials.removeLeftovers()
  const swept = await parts.worktrees.sweep()
  stack.defer(() => swept.done)
  const daemon = new RunningDaemon(deps, parts, stack.move())
  try {
    await daemon.listen()
    daemon.watchInstall(programFile)
    daemon.watchFence()
    return daemon
  } catch (error) {
    await daemon.stop()
    throw error
  }
}

/** Writes the PID of this program to the holder file. A client can then name and end a daemon that does not answer. */
async function recordHolder({ holderFile }: Paths, stack: AsyncDisposableStack): Promise<void> {
  const record = readHolderRecord(process.pid)
  if (record === null) return
  stack.defer(() => rm(holderFile, { force: true }))
  await writeFile(holderFile, `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

async function openResources(
  { paths, log, clock, acceptStore, probe }: Required<Omit<DaemonOptions, 'programFile'>>,
  stack: AsyncDisposableStack,
): Promise<DaemonResources> {
  const settings = await Settings.read(paths)
  const logMessage = (message: string): void => log(message, null)
  const stores = await openStores({ dir: paths.state, config: settings.now.store, accept: acceptStore, log: logMessage }, stack)
  const timeSlices = new EventLoopTurns()
  const containments = stack.use(
    await openContainmentManager({ stateDir: paths.state, daemonId: uuidv7(), log: logMessage, timeSlices, probe }),
  )
  const tmpDir = join(paths.state, 'tmp')
  const cleanup = await discardTmpDir(tmpDir, { trash: trashPath(paths.state), name: uuidv7(), log })
  stack.defer(() => cleanup.done)
  await mkdir(tmpDir, { recursive: true, mode: 0o700 })
  stack.defer(() => rm(tmpDir, { recursive: true, force: true }))
  const loopWatch = new EventLoopWatch(clock, log)
  stack.defer(() => loopWatch.stop())
  const apiSockets = stack.use(new ApiSockets(paths.socket))
  return { paths, settings, ...stores, containments, clock, timeSlices, loopWatch, apiSockets, tmpDir, log }
}

class RunningDaemon implements Daemon {
  readonly #deps: DaemonResources
  readonly #parts: DaemonParts
  /** closes all open resources, in the reverse order of their opening */
  readonly #resources: AsyncDisposableStack
  readonly #startedAt: Now
  readonly #figures: MachineFigures
  readonly #stopped = Promise.withResolvers<void>()
  /** true: another daemon starts afterwards, and opens the page again */
  #isRestart = false
  #drain: Drain | null = null

  constructor(deps: DaemonResources, parts: DaemonParts, resources: AsyncDisposableStack) {
    this.#deps = deps
    this.#parts = parts
    this.#resources = resources
    this.#startedAt = deps.clock.now()
    this.#figures = new MachineFigures({ state: deps.paths.state, table: parts.table, clock: deps.clock })
  }

  get stopped(): Promise<void> {
    return this.#stopped.promise
  }

  stop(drainMs: number = DRAIN_MS): Promise<void> {
    if (this.#drain) this.#drain.shortenTo(drainMs)
    else {
      this.#drain = new Drain({ ...this.#parts, clock: this.#deps.clock }, drainMs)
      this.#parts.beginDrain(this.#drain)
      this.#shutdown(this.#drain).then(this.#stopped.resolve, this.#stopped.reject)
    }
    return this.stopped
  }

  async listen(): Promise<void> {
    const { paths, log, loopWatch, timeSlices, clock, settings } = this.#deps
    const server = createServer({ log, recordStart: (what) => loopWatch.recordStart(what) })
    server.app.server.on('connection', () => timeSlices.noteArrival())
    const web = new LazyWebService({
      clock,
      log,
      announce: (text) => this.#parts.notifier.announceSession(text),
      file: join(paths.state, 'web.json'),
      route: (request, response) => server.app.routing(request, response),
      resolve: async (ref) => (await routesDeps.reads.resolve(ref)).uuid,
      readOpenings: async () => (await settings.web()).allow,
    })
    const routesDeps = this.#createRoutesDeps(web)
    addRoutes(server.app, routesDeps)
    let socketWatch: SocketWatch | null = null
    this.#resources.defer(async () => {
      socketWatch?.close()
      // The socket file belongs to another daemon now, and closing this server would remove it. So the server stays open until exit.
      if ((await socketWatch?.check()) === 'replaced') return web.close(this.#isRestart)
      await web.close(this.#isRestart)
      await server.close()
      await Promise.all([rm(paths.daemonJson, { force: true }), rm(paths.socket, { force: true })])
    })
    await server.listen(paths.socket)
    this.#deps.apiSockets.attachApi(server.app.server)
    socketWatch = await SocketWatch.open(paths.socket)
    socketWatch.watch(this.#deps.clock, (state) => {
      log(`the socket is ${state}: clients cannot reach this daemon, so it stops`, null)
      this.stop().catch((error: unknown) => log('stopping failed', error))
    })
    await writeFile(paths.daemonJson, `${JSON.stringify(this.#identity())}\n`, { mode: 0o600 })
    this.#parts.sweeper.sweep()
    loopWatch.start()
    web.reopen()
  }

  /** Stops this daemon when its program was removed and nothing runs. */
  watchInstall(file: string | null): void {
    if (file === null) return
    const { clock, log } = this.#deps
    const watch = new InstallWatch({ file, clock, isIdle: () => this.#parts.table.activeCount === 0 })
    this.#resources.defer(() => watch.close())
    watch.watch(() => {
      log(`${file} was removed and nothing runs, so the daemon stops`, null)
      this.stop().catch((error: unknown) => log('stopping failed', error))
    })
  }

  /** Stops this daemon when its store is fenced, for example because its file was replaced: the rows in memory are then out of date. */
  watchFence(): void {
    const end = (error: KernelError): Promise<void> => {
      this.#deps.log('the store is no longer the store of this daemon, so it stops', error)
      return this.stop(0)
    }
    this.#parts.pipeline.fenced.then(end).catch((error: unknown) => this.#deps.log('stopping failed', error))
  }

  #createArchive(reads: ProcessQueries, removals: Removals): Archive {
    const { store, clock, settings } = this.#deps
    const { pipeline, sweeper, rows } = this.#parts
    return new Archive({
      store,
      pipeline,
      clock,
      sweeper,
      get: (uuid) => reads.get(uuid),
      find: (uuid) => reads.find(uuid),
      readRetentionRules: () => settings.gc(),
      onImported: () => rows.reset(),
      protectFromRemoval: (ref, work) => removals.readWithoutRemoval(ref, work),
    })
  }

  async #otherDoctorChecks(reads: ProcessQueries, collector: GarbageCollector): Promise<Check[]> {
    return [...survivorsCheck(reads), ...collector.doctorChecks(), ...(await this.#parts.notifier.doctorChecks())]
  }

  #startCollector(deps: Pick<ConstructorParameters<typeof GarbageCollector>[0], 'reads' | 'removals' | 'exemptions'>): GarbageCollector {
    const { store, local, clock, log, settings } = this.#deps
    const { sweeper } = this.#parts
    const collector = new GarbageCollector({ ...deps, store, local, sweeper, clock, log, readConfig: () => settings.gc() })
    this.#resources.defer(() => collector.stop())
    collector.start()
    return collector
  }

  #createRoutesDeps(web: LazyWebService): Parameters<typeof addRoutes>[1] {
    const { paths, containments, store, local, engine, clock, timeSlices, settings, tmpDir, log } = this.#deps
    const { table, feed, rows, credentials, pipeline, sweeper, worktrees, nodeStarter, rate } = this.#parts
    const { gateways, crewGit, autoRemovals, retirements, toolService, monitor, homeBudgetWatch } = this.#parts
    const slices = timeSlices.newQueue()
    const reads = new ProcessQueries(table, store, clock, slices, rows.work)
    const cursor = (): number => pipeline.cursor
    const waiter = new Waiter(feed, reads, cursor)
    const exemptions = new GcExemptions(table)
    const merges = new Merges(worktrees)
    const removals = new Removals({
      reads,
      store,
      clock,
      sweeper,
      worktrees,
      exemptions,
      findUnsavedChanges: (process) => merges.findUnsavedChanges(process),
      onRemoved: (uuid) => rows.onRemoved(uuid),
      removeRecordings: (uuid) => gateways.removeRecordings(uuid),
      findCrewGitState: (process) => crewGit.findKept(process),
      log,
    })
    retirements.connect(removals)
    autoRemovals.start(removals, table.rows())
    const specs = new SpecBuilder({ reads, containments, settings, paths })
    const forks = new ForkOperations({ pipeline, reads, credentials, specs, gateways, store, worktrees })
    const collector = this.#startCollector({ reads, removals, exemptions })
    const checkMayStart = (): void => this.#checkMayStart()
    const homeLimits = (): Limits => settings.limits
    const composeRuns = new ComposeRuns({
      table,
      store,
      slices,
      pipeline,
      reads,
      waiter,
      forks,
      credentials,
      gateways,
      buildSpec: (body) => operations.buildSpec(body),
      worktrees,
      nodes: nodeStarter,
      homeLimits,
      checkMayStart,
    })
    const prepare: SupervisorSpawnerDeps['prepare'] = (body) => operations.prepare(body)
    const supervisors = new SupervisorSpawner({ pipeline, reads, credentials, paths, homeLimits, prepare })
    const operations: Operations = new Operations({
      pipeline,
      reads,
      waiter,
      credentials,
      gateways,
      specs,
      worktrees,
      store,
      forks,
      supervisors,
      homeLimits,
      checkMayStart,
    })
    const history = { table, store, reads, slices, worktrees, removals, clock, rate, paths }
    const crewDeps = { pipeline, reads, store, credentials, specs, settings, paths, containments, clock, tmpDir, checkMayStart }
    const crewReads = new CrewQueries({ reads, store, clock })
    const agents = (): ReturnType<typeof agentsView> => agentsView({ cwd: paths.state }, { paths, settings })
    const otherChecks = (): Promise<Check[]> => this.#otherDoctorChecks(reads, collector)
    const crewDiffs = new CrewDiffs({ containments, tmpDir, newUuid: uuidv7, git: crewGit, find: (uuid) => reads.find(uuid) })
    const crews = new CrewCommands({ pipeline, reads: crewReads, diffs: crewDiffs, specs, paths, credentials })
    toolService.connect({ operations, reads, waiter, pipeline, credentials, store, removals, crews }, store)
    return {
      reads,
      feed,
      rows,
      store,
      cursor,
      slices,
      log,
      operations,
      supervisors,
      composeRuns,
      parentUuid: null,
      waiter,
      openMcpAccess: (userContext) => toolService.openUserAccess(userContext),
      ...routeQueries({ ...history, readBudgets: () => homeBudgetWatch.readNow(), startedAt: this.#startedAt.wall }),
      removals,
      collector,
      archive: this.#createArchive(reads, removals),
      merges,
      annotations: new Annotations({ pipeline, reads }),
      daemon: (withFigures) => this.#view(withFigures),
      heartbeat: () => heartbeatView(table, monitor, { mono: clock.now().mono, slices }),
      agents: (query) => agentsView(query, { paths, settings }),
      crewUp: async (body, requester) => (await import('./crew/up/crew-up.ts')).startCrew(body, { ...crewDeps, ...requester }),
      crewPlan: async (body) => (await import('./crew/up/crew-up.ts')).planCrew(body, crewDeps),
      crewReads,
      crews,
      crewDiffs,
      needs: new NeedQueries({ table, store, clock, reads, slices, crewReads, crewDiffs }),
      crewReport: (row) => buildCrewReport(row, { reads, store, clock, git: crewGit, waitForRemovals: () => retirements.waitUntilIdle() }),
      roles: async (cwd) => ({ version: 1, ...(await readRolePrompts(cwd, paths)) }),
      doctor: (verify) => runDoctorChecks({ paths, containments, local, engine, tmpDir, agents, otherChecks }, verify),
      providers: { paths, credentials },
      stop: (drainMs, restart) => this.#stopForClient(drainMs, restart),
      web: () => web.load(),
    }
  }

  #stopForClient(drainMs: number | undefined, isRestart: boolean): void {
    this.#isRestart = isRestart
    this.stop(drainMs).catch((error: unknown) => this.#deps.log('stopping failed', error))
  }

  /** Checks that new work may start. Errors: UNAVAILABLE while the daemon is stopping; the store's error while it cannot be written. */
  #checkMayStart(): void {
    if (this.#drain) throw new KernelError('UNAVAILABLE', 'the daemon is stopping')
    const { currentError } = this.#parts.writeFailures
    if (currentError)
      throw new KernelError(currentError.code, `the store cannot be written, so nothing new starts: ${currentError.message}`)
  }

  /** Drains, then releases all resources, even if the drain fails. */
  async #shutdown(drain: Drain): Promise<void> {
    await using _resources = this.#resources
    await drain.run()
  }

  /** The content of daemon.json, and the first part of the daemon's view. */
  #identity(): DaemonViewWithoutFigures {
    const { paths, containments, clock } = this.#deps
    const { table, pipeline } = this.#parts
    return {
      version: 1,
      pid: process.pid,
      reeve: VERSION,
      build: BUILD,
      schema: SCHEMA_VERSION,
      home: paths.home,
      socket: paths.socket,
      startedAt: isoTime(this.#startedAt.wall),
      uptimeMs: Math.round(clock.now().mono - this.#startedAt.mono),
      containment: containments.kind,
      processes: { live: table.activeCount, suspended: table.suspended, max: table.maxProcesses },
      cursor: pipeline.cursor,
    }
  }

  async #view(withFigures: boolean): Promise<DaemonView | DaemonViewWithoutFigures> {
    return {
      ...this.#identity(),
      ...(withFigures ? await this.#figures.read() : {}),
      ...(this.#drain
        ? { stopping: { leftMs: Math.round(this.#drain.leftMs), waitsFor: this.#drain.waitsFor.map(({ pid }) => pid) } }
        : {}),
    }
  }
}
