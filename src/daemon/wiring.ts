// Creates and connects the parts of a running daemon that decide and act: table, pipeline, performer, feed, keys, deadlines. Decides
// nothing itself. Test: test/e2e/lifecycle/restart.test.ts.
import { acpDriver } from '../drivers/acp/driver.ts'
import { nativeDriver } from '../drivers/native/driver.ts'
import { commandDriver } from '../drivers/command/driver.ts'
import { driverWithoutProgram } from '../drivers/driver-without-program.ts'
import type { Drivers } from '../drivers/port.ts'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { CrewGit } from './crew/jobs/git.ts'
import { ComposeNodeStarter } from './compose/node-starter.ts'
import { CrewShellCommandRunner } from './crew/jobs/shell-command-runner.ts'
import { TrialWorktrees } from './crew/jobs/trial-worktrees.ts'
import { CrewJobs } from './crew/jobs/jobs.ts'
import { Deadlines } from './loop/deadlines.ts'
import type { Drain } from './loop/drain.ts'
import { WriteFailures } from './loop/write-failures.ts'
import { Feed } from './loop/feed.ts'
import { SpendingRate } from './views/spending-rate.ts'
import { GatewaySessions } from './incarnation/gateway-sessions.ts'
import { RowFeed } from './rows/row-feed.ts'
import { EffectPerformer } from './incarnation/effect-performer.ts'
import { Credentials } from './incarnation/credentials.ts'
import { KeyedQueue } from './loop/keyed-queue.ts'
import { ToolService } from './mcp/tool-service.ts'
import { LivenessMonitor } from './incarnation/liveness-monitor.ts'
import { Notifier } from './notify/notifier.ts'
import { Pipeline } from './loop/pipeline.ts'
import { AutoRemovals } from './operations/auto-removals.ts'
import { Retirements } from './operations/retirements.ts'
import { ProcessQueries } from './views/process-queries.ts'
import { runProgram } from './host/run-program.ts'
import { Sweeper } from './operations/removals.ts'
import { Sampler } from './incarnation/sampler.ts'
import { SpecBuilder } from './operations/spec-builder.ts'
import { HomeBudgetWatch } from './host/home-budget-watch.ts'
import { EMPTY_HOME } from '../kernel/state/home.ts'
import { Table } from './loop/table.ts'
import { Worktrees } from './operations/worktrees.ts'
import type { Paths } from '../config/paths.ts'
import type { ContainmentManager } from '../drivers/contain/containment-contract.ts'
import type { LoadedPage, LocalStore, Store } from '../store/store.ts'
import type { Clock } from './loop/clock.ts'
import type { ApiSockets } from './incarnation/api-sockets.ts'
import type { EventLoopTurns } from '../drivers/common/event-loop-turns.ts'
import type { EventLoopWatch } from './host/event-loop-watch.ts'
import type { Stores } from './host/open-stores.ts'
import type { Settings } from './host/settings.ts'
import type { Process } from '../kernel/model/process.ts'
import type { Uuid } from '../kernel/model/ids.ts'

/** The open resources that the parts need. */
export interface DaemonResources {
  readonly paths: Paths
  readonly settings: Settings
  readonly store: Store
  readonly local: LocalStore
  /** reports on the database that has the store; null: it is a file */
  readonly engine: Stores['engine']
  readonly containments: ContainmentManager
  readonly clock: Clock
  readonly timeSlices: EventLoopTurns
  readonly loopWatch: EventLoopWatch
  readonly apiSockets: ApiSockets
  /** the directory with a temporary folder for each incarnation */
  readonly tmpDir: string
  readonly log: (message: string, error: unknown) => void
}

export interface DaemonParts {
  readonly table: Table
  readonly feed: Feed
  readonly rows: RowFeed
  readonly rate: SpendingRate
  readonly credentials: Credentials
  readonly gateways: GatewaySessions
  readonly toolService: ToolService
  readonly monitor: LivenessMonitor
  readonly notifier: Notifier
  readonly homeBudgetWatch: HomeBudgetWatch
  readonly pipeline: Pipeline
  readonly writeFailures: WriteFailures
  readonly sweeper: Sweeper
  readonly worktrees: Worktrees
  readonly nodeStarter: ComposeNodeStarter
  readonly crewGit: CrewGit
  readonly crewCommands: CrewShellCommandRunner
  readonly crewTrials: TrialWorktrees
  readonly retirements: Retirements
  readonly autoRemovals: AutoRemovals
  /** From now on, committed facts are passed to the drain, and pending restarts are left to the next daemon. */
  beginDrain(drain: Pick<Drain, 'onFacts'>): void
  /** Accepts no more inputs, finishes the queue, and ends all incarnations without reporting their ends to the kernel. */
  close(): Promise<void>
}

/** Loads all rows that are not dead, page by page. The suspended rows of a page are packed before the next page is read. */
export async function loadTable({ store, settings, clock }: Pick<DaemonResources, 'store' | 'settings' | 'clock'>): Promise<LoadedTable> {
  const table = new Table(settings.now.maxProcesses)
  table.home = { ...EMPTY_HOME, book: (await store.home()) ?? EMPTY_HOME.book, budgets: settings.now.budgets }
  table.seenUntil = await store.seenUntil(clock.now().wall)
  for (let pageStart: number | undefined = 0; ;) {
    const { processes, counters, next }: LoadedPage = await store.load(pageStart)
    table.apply(processes, counters.pid)
    table.pack()
    if (next === undefined) return { table, cursor: counters.cursor }
    pageStart = next
  }
}

interface LoadedTable {
  readonly table: Table
  /** the cursor of the newest fact */
  readonly cursor: number
}

type CrewPartDeps = Pick<ConstructorParameters<typeof CrewJobs>[0], 'table' | 'credentials' | 'worktrees' | 'pipeline'> & {
  readonly queue: KeyedQueue
}

function createCrewParts(
  { store, containments, paths, settings, clock, tmpDir, log }: DaemonResources,
  { queue, ...jobDeps }: CrewPartDeps,
): {
  readonly crewGit: CrewGit
  readonly crewCommands: CrewShellCommandRunner
  readonly crewTrials: TrialWorktrees
  readonly crewJobs: CrewJobs
} {
  const crewGit = new CrewGit({ containments, tmpDir, newUuid: uuidv7, queue, worktrees: join(paths.state, 'worktrees') })
  const crewCommands = new CrewShellCommandRunner({ containments, state: paths.state, tmpDir, newUuid: uuidv7, clock, log })
  const crewTrials = new TrialWorktrees({
    find: async (uuid) => jobDeps.table.get(uuid) ?? (await store.process(uuid)),
    git: crewGit,
    worktrees: join(paths.state, 'worktrees'),
  })
  const specs = new SpecBuilder({ reads: new ProcessQueries(jobDeps.table, store, clock), containments, settings, paths })
  return {
    crewGit,
    crewCommands,
    crewTrials,
    crewJobs: new CrewJobs({ ...jobDeps, templates: { specs, paths }, store, git: crewGit, commands: crewCommands, clock, log }),
  }
}

function createDrivers(settings: Settings): Required<Drivers> {
  return {
    native: nativeDriver(settings.forNative),
    acp: acpDriver(settings.forNative),
    command: commandDriver({ prices: () => settings.now.prices }),
    supervisor: driverWithoutProgram,
    crew: driverWithoutProgram,
    compose: driverWithoutProgram,
  }
}

function createWorktrees(
  { containments, store, paths, tmpDir, log }: DaemonResources,
  table: LoadedTable['table'],
  queue: KeyedQueue,
): Worktrees {
  return new Worktrees({ containments, store, state: paths.state, tmpDir, newUuid: uuidv7, queue, rows: () => table.rows(), log })
}

function createNotifier(
  { clock, log, store, settings, containments, tmpDir }: DaemonResources,
  { cursor, get, credentials }: Pick<ConstructorParameters<typeof Notifier>[0], 'cursor' | 'get'> & { readonly credentials: Credentials },
): Notifier {
  return new Notifier({
    clock,
    log,
    store,
    cursor,
    get,
    readFact: async (uuid, seq) => (await store.facts(uuid, seq - 1, 1))[0]?.body,
    readConfig: () => settings.notifications(),
    lookUpSecret: async (name) => (await credentials.locate(name, {}))?.value,
    runProgram: (argv) => runProgram({ containments, cwd: '/', tmpDir }, argv),
  })
}

function createHomeBudgetWatch(
  { clock, settings, paths, log }: DaemonResources,
  table: Table,
  submit: Pipeline['submit'],
): HomeBudgetWatch {
  const watch = new HomeBudgetWatch(
    { table, clock, configFile: paths.configFile, readBudgets: () => settings.budgets(), submit, log },
    settings.now.budgets,
  )
  settings.watchBudgets((budgets) => watch.useBudgets(budgets))
  return watch
}

/** Creates all parts. Nothing runs until the first input is submitted. */
export function connectDaemonParts(deps: DaemonResources, { table, cursor }: LoadedTable): DaemonParts {
  const { paths, settings, store, local, containments, clock, timeSlices, loopWatch, apiSockets, tmpDir, log } = deps
  const get = (uuid: Uuid): Process | undefined => table.get(uuid)
  const feed = new Feed(store, () => clock.now().wall)
  const rows = new RowFeed({ table, store, clock, slices: timeSlices.newQueue(), cursor: () => pipeline.cursor, log })
  const rate = new SpendingRate({ get, now: () => clock.now().mono })
  const credentials = new Credentials({ paths, containments, settings, tmpDir })
  const gateways = new GatewaySessions({ credentials, settings, clock, state: paths.state, log })
  const toolService = new ToolService({ state: paths.state, tmpDir, socket: paths.socket, newId: uuidv7, log })
  const queue = new KeyedQueue()
  const worktrees = createWorktrees(deps, table, queue)
  const retirements = new Retirements({ find: (uuid) => store.process(uuid), worktrees, log })
  const autoRemovals = new AutoRemovals({ clock, get, store, log })
  const crewParts = createCrewParts(deps, { table, credentials, worktrees, queue, pipeline: () => pipeline })
  const { crewTrials, crewJobs } = crewParts
  const nodeStarter = new ComposeNodeStarter({ table, store, credentials, worktrees, request: (body) => pipeline.request(body), log })
  const sampler = new Sampler({ clock, log, get, report: (uuid, pid, report) => submit({ type: 'report', reply: 0, uuid, pid, report }) })
  const performer = new EffectPerformer({
    table,
    store,
    containments,
    drivers: createDrivers(settings),
    feed,
    recordActivity: (uuid, output) => {
      monitor.recordOutput(uuid)
      if (output) rows.onLive(uuid, output)
    },
    sampler,
    clock,
    tmpDir,
    apiSockets,
    credentials,
    gateways,
    toolService,
    worktrees,
    nodeStarter,
    crewJobs,
    log,
  })
  const submit: Pipeline['submit'] = (input) => pipeline.submit(input)
  const monitor = new LivenessMonitor({ clock, submit, log, get, findStopped: (process) => performer.findStopped(process) })
  const notifier = createNotifier(deps, { cursor, get, credentials })
  let drain: Pick<Drain, 'onFacts'> | null = null
  const deadlines = new Deadlines(clock, (uuid) => {
    // During a drain, a process that waits for its restart stays for the next daemon.
    if (drain === null || table.get(uuid)?.life.state !== 'created') submit({ type: 'tick', uuid })
  })
  const homeBudgetWatch = createHomeBudgetWatch(deps, table, submit)
  const writeFailures = new WriteFailures({
    local,
    clock,
    submit,
    resubmit: (inputs) => pipeline.resubmit(inputs),
    log,
    runningUuids: () => table.runningUuids(),
    get,
    refuse: (input, error) => pipeline.refuse(input, error),
  })
  const pipeline = new Pipeline({
    table,
    store,
    clock,
    timeSlices,
    log,
    cursor,
    publish: (facts, processes) => {
      for (const uuid of new Set(facts.map((fact) => fact.uuid))) deadlines.update(uuid, table.get(uuid))
      monitor.onFacts(facts)
      feed.publish(facts)
      rows.onCommit(facts, processes)
      rate.onFacts(facts)
      notifier.onFacts(facts)
      homeBudgetWatch.onFacts(facts)
      retirements.onFacts(facts)
      autoRemovals.onFacts(facts)
      drain?.onFacts(facts)
      crewJobs.onFacts(facts)
      crewTrials.onFacts(facts)
    },
    perform: (effect) => {
      loopWatch.recordStart(`the effect ${effect.type}`)
      performer.perform(effect)
    },
    shorten: (input) => writeFailures.shorten(input),
    defer: (input, error) => {
      loopWatch.recordStart(`the input ${input.type}`)
      return writeFailures.defer(input, error)
    },
  })
  performer.connect(pipeline)
  const sweeper = new Sweeper(store, log)
  return {
    table,
    feed,
    rows,
    rate,
    credentials,
    gateways,
    toolService,
    monitor,
    notifier,
    homeBudgetWatch,
    pipeline,
    writeFailures,
    sweeper,
    worktrees,
    nodeStarter,
    ...crewParts,
    retirements,
    autoRemovals,
    beginDrain: (begun) => {
      drain = begun
    },
    close: async () => {
      rows.close()
      deadlines.stop()
      monitor.stop()
      writeFailures.stop()
      await autoRemovals.stop()
      await homeBudgetWatch.stop()
      await sweeper.stop()
      sampler.flush()
      await crewJobs.stop()
      await pipeline.close()
      await performer.shutdown()
      await Promise.all([retirements.waitUntilIdle(), crewTrials.waitForRemovals()])
      await notifier.stop()
      await gateways.close()
      await toolService.close()
    },
  }
}
