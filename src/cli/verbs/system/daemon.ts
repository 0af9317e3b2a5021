// `reeve daemon`: starts, stops and shows the daemon, and installs it as a service (src/cli/service/install.ts). Test:
// test/e2e/cli/daemon.test.ts.
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ApiError } from '../../../api/client/client.ts'
import { readHolder, isStopped, readHolderRecord, type Holder } from '../../../api/client/daemon-holder.ts'
import { describeHang } from '../../../api/client/hung-daemon.ts'
import { BUILD, isOtherBuild } from '../../../api/build.ts'
import type { DaemonView } from '../../../api/views/daemon.ts'
import type { ProcessView } from '../../../api/views/process.ts'
import { closestWord } from '../../../config/did-you-mean.ts'
import { pathsFrom } from '../../../config/paths.ts'
import { connect, type Reeve } from '../../../index.ts'
import { hasEnded } from '../../print/describe.ts'
import { Failure, UsageError } from '../../errors.ts'
import { formatElapsed, countOf, formatMoment } from '../../print/format.ts'
import { DaemonLog, readableLine } from '../../print/daemon-log.ts'
import type { Output } from '../../print/output.ts'
import { withWaitNotice } from '../../follow/wait-notice.ts'
import type { VerbCall } from '../../table/verb.ts'
import { CAPABILITIES } from '../../../kernel/model/capabilities.ts'

/** the default of `--drain`: long enough that most turns and tools end by themselves */
const DRAIN_MS = 10 * 60_000
/** the time limit after the drain, for ending programs and closing the store */
const END_MS = 2 * 60_000
/** the time limit of a stop without drain; the daemon is then killed */
const FORCED_END_MS = 30_000
const POLL_MS = 50
/** the option of the daemon to start with a damaged or old store */
const ACCEPT_STORE = '--accept-store'

const ACTIONS: Readonly<Record<string, (call: VerbCall) => Promise<number>>> = {
  start: async ({ args, out, reeve }) => {
    if (args.on('accept-store')) await startWithStoreAsItIs()
    return printDaemon(await reeve.daemon(), out)
  },
  stop: async (call) => {
    const { pid, killed } = await stop(call, parseDrainMs(call))
    if (call.out.json) await call.out.value({ stopped: pid, ...(killed ? { killed } : {}) })
    return 0
  },
  restart: async (call) => {
    // Checked first: with an invalid configuration the new daemon could not start.
    await (await import('./config.ts')).checkConfig()
    const { pid, killed } = await stop(call, parseDrainMs(call))
    return printDaemon(await call.reeve.daemon(), call.out, { stopped: pid, ...(killed ? { killed } : {}) })
  },
  status,
  logs,
  run: async ({ args }) => {
    const { daemonScript } = await import('../../service/start-daemon.ts')
    // In a systemd unit the daemon writes its log file, which `reeve daemon logs` reads.
    process.argv = [
      process.execPath,
      daemonScript(),
      ...(process.env['REEVE_UNIT'] ? [] : ['--foreground']),
      ...(args.on('accept-store') ? [ACCEPT_STORE] : []),
    ]
    await import(pathToFileURL(daemonScript()).href)
    // This program is the daemon now, and the daemon ends it.
    return new Promise<never>(() => {})
  },
  install: async (call) => {
    const { args, out, reeve } = call
    const { installService } = await import('../../service/install.ts')
    return installService(out, {
      print: args.on('print'),
      now: args.on('now'),
      stop: () => stop(call, args.duration('drain') ?? DRAIN_MS),
      start: async () => (await reeve.daemon()).pid,
      findPid: async () => (await daemonView(connect({ start: false })))?.pid ?? null,
    })
  },
  uninstall: async (call) => {
    const { uninstallService } = await import('../../service/install.ts')
    return uninstallService(call.out, { now: call.args.on('now'), stop: () => stop(call, call.args.duration('drain') ?? DRAIN_MS) })
  },
}

/** the flags of each action */
const ACTION_FLAGS: Readonly<Record<string, readonly string[]>> = {
  start: ['accept-store'],
  run: ['accept-store'],
  stop: ['drain', 'now'],
  restart: ['drain', 'now'],
  logs: ['follow', 'tail'],
  install: ['print', 'drain', 'now'],
  uninstall: ['drain', 'now'],
}

export async function run(call: VerbCall): Promise<number> {
  const [name = ''] = call.args.words
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  const wrongFlag = Object.values(ACTION_FLAGS)
    .flat()
    .find((flag) => call.args.on(flag) && !(ACTION_FLAGS[name] ?? []).includes(flag))
  if (action && wrongFlag) {
    const actionsWithFlag = Object.keys(ACTION_FLAGS).filter((actionName) => ACTION_FLAGS[actionName]?.includes(wrongFlag))
    throw new UsageError(
      `daemon ${name} takes no --${wrongFlag}`,
      `It belongs to ${actionsWithFlag.map((actionName) => `\`reeve daemon ${actionName}\``).join(', ')}.`,
    )
  }
  if (action) return action(call)
  const near = closestWord(name, Object.keys(ACTIONS))
  throw new UsageError(`daemon ${name}: choose from ${Object.keys(ACTIONS).join(', ')}`, near && `Did you mean \`reeve daemon ${near}\`?`)
}

/** Starts the daemon with the store as it is. Errors: exit 1 if a daemon already runs. */
async function startWithStoreAsItIs(): Promise<void> {
  const found = await daemonView(connect({ start: false }))
  if (found)
    throw new Failure(
      1,
      `the daemon already runs (PID ${found.pid}) with the current store`,
      'Stop it with `reeve daemon stop`; restore copies of the store while no daemon runs.',
    )
  const { startDaemon } = await import('../../service/start-daemon.ts')
  await startDaemon(process.env, [ACCEPT_STORE])
}

async function status({ out }: VerbCall): Promise<number> {
  const found = await daemonView(connect({ start: false }))
  const holder = found ? null : readHolder(pathsFrom().holderFile)
  if (holder) throw notListeningError(holder)
  if (!found)
    throw new Failure(4, 'the daemon is not running', 'It starts at the first command that needs it, or with `reeve daemon start`.')
  return printDaemon(found, out)
}

function parseDrainMs({ args }: VerbCall): number {
  if (args.on('now') && args.on('drain')) throw new UsageError('--now and --drain exclude each other', '--now is the same as --drain 0s.')
  return args.on('now') ? 0 : (args.duration('drain') ?? DRAIN_MS)
}

/** The result of a stop. */
interface StopResult {
  /** the PID of the stopped daemon; null if none was running */
  readonly pid: number | null
  /** whether SIGKILL was necessary */
  readonly killed?: true
}

/** Stops the daemon, and resolves when it has ended. A stop without drain uses SIGKILL if the daemon hangs or does not end. */
async function stop(call: Pick<VerbCall, 'out'>, drainMs: number): Promise<StopResult> {
  const { holderFile } = pathsFrom()
  const holder = readHolder(holderFile)
  const isForced = drainMs === 0
  try {
    return await stopGracefully(call, { drainMs, endMs: isForced && holder ? FORCED_END_MS : END_MS })
  } catch (error) {
    const hangs = error instanceof ApiError && error.code === 'HANGS'
    if (!holder || !(hangs || error instanceof NotEndedError)) throw error
    if (!isForced)
      throw hangs
        ? new ApiError('HANGS', error.message, {
            hint: '`reeve daemon stop --now` kills it; its processes are interrupted, and can be resumed.',
          })
        : error
    await (await import('../../service/kill-daemon.ts')).killHolder(holder, holderFile)
    if (!call.out.json)
      await call.out.message(`${error.message}. It was killed (SIGKILL); its processes are interrupted, and can be resumed.`)
    return { pid: holder.pid, killed: true }
  }
}

/** The error that the daemon has not ended within the time limit, or does not listen although it has the lock. */
class NotEndedError extends Failure {}

/** Stops the daemon gracefully, and warns about the processes that the stop suspends or ends. */
async function stopGracefully(
  { out }: Pick<VerbCall, 'out'>,
  time: { readonly drainMs: number; readonly endMs: number },
): Promise<StopResult> {
  const reeve = connect({ start: false })
  const found = await withWaitNotice(out, () => 'the daemon is starting, or ending', findDaemon(reeve, time.endMs))
  if (!found) {
    await out.message('the daemon is not running')
    return { pid: null }
  }
  await warnAboutProcesses(
    await reeve.list({ fields: ['pid', 'state', 'status', 'driver', 'format', 'interactive', 'sessionId', 'turn'] }),
    out,
  )
  await reeve.stopDaemon({ drainMs: time.drainMs })
  let stopping: DaemonView['stopping']
  await withWaitNotice(
    out,
    () => waitText(stopping),
    waitForEnd(reeve, found.pid, time, (view) => (stopping = view?.stopping)),
  )
  if (!out.json) await out.message('the daemon has ended')
  return { pid: found.pid }
}

/** Finds the daemon. A daemon that has the lock but does not listen is starting or ending, and is waited for. */
async function findDaemon(reeve: Reeve, endMs: number): Promise<DaemonView | undefined> {
  const deadline = performance.now() + endMs
  for (;;) {
    const view = await daemonView(reeve)
    const holder = readHolder(pathsFrom().holderFile)
    if (view || !holder) return view
    if (isStopped(holder) || performance.now() > deadline) throw notListeningError(holder)
    await delay(POLL_MS)
  }
}

/** Returns the error about a daemon that has the lock but does not listen. */
function notListeningError(holder: Holder): Error {
  if (!isStopped(holder))
    return new NotEndedError(
      4,
      `the daemon (PID ${holder.pid}) does not listen: it is starting, or ending`,
      '`reeve daemon stop --now` kills it if that lasts.',
    )
  const { message, hint } = describeHang(holder)
  return new ApiError('HANGS', message, { hint })
}

async function waitForEnd(
  reeve: Reeve,
  pid: number,
  { drainMs, endMs }: { readonly drainMs: number; readonly endMs: number },
  onView: (view: DaemonView | undefined) => void,
): Promise<void> {
  const deadline = performance.now() + drainMs + endMs
  for (;;) {
    const view = await daemonView(reeve)
    // The daemon closes its socket before it ends, and only its end releases the lock.
    if (!view && readHolderRecord(pid) === null) return
    onView(view)
    if (performance.now() > deadline) {
      throw new NotEndedError(
        1,
        `the daemon (PID ${pid}) has not ended within ${formatElapsed(endMs)} after its drain`,
        '`reeve daemon logs` may show why; `reeve daemon stop --now` kills it without losing acknowledged data.',
      )
    }
    await delay(POLL_MS)
  }
}

function waitText(stopping: DaemonView['stopping']): string {
  if (!stopping || stopping.waitsFor.length === 0) return 'the daemon is ending'
  return `waiting for PID ${stopping.waitsFor.join(', ')}; at most ${formatElapsed(stopping.leftMs)} (\`reeve daemon stop --now\` cuts it short)`
}

/** Warns about the processes that a stop suspends, and about those that it ends because they cannot continue later. */
async function warnAboutProcesses(
  views: readonly Pick<ProcessView, 'pid' | 'state' | 'status' | 'driver' | 'format' | 'interactive' | 'sessionId' | 'turn'>[],
  out: Output,
): Promise<void> {
  const living = views.filter((view) => !hasEnded(view) && !CAPABILITIES[view.driver].supervisesChildren)
  const hasSession = ({ driver, format, interactive }: (typeof views)[number]): boolean =>
    CAPABILITIES[driver].acceptsMessages || (format !== null && interactive)
  const canContinue = (view: (typeof views)[number]): boolean =>
    CAPABILITIES[view.driver].recordsContext || view.sessionId !== null || (hasSession(view) && view.turn === 0)
  const commands = living.filter((view) => !canContinue(view))
  const agents = living.filter((view) => canContinue(view) && view.status !== 'suspended')
  const pids = (list: readonly Pick<ProcessView, 'pid'>[]): string => list.map(({ pid }) => pid).join(', ')
  if (agents.length > 0)
    await out.message(
      `${countOf(agents.length, 'agent')} will be suspended, and ${agents.length === 1 ? 'continues' : 'continue'} at the next start: PID ${pids(agents)}`,
    )
  if (commands.length > 0) {
    const [they, them] = commands.length === 1 ? ['it', 'it'] : ['they', 'them']
    await out.message(
      `${countOf(commands.length, 'command')} will be ended, because ${they} cannot continue later (\`reeve resume --rerun\` runs ${them} again): PID ${pids(commands)}`,
    )
  }
}

async function logs({ args, out }: VerbCall): Promise<number> {
  const file = new DaemonLog(pathsFrom().logFile)
  const lines = file.next()
  const tail = args.number('tail') ?? Infinity
  await printLogLines(lines.slice(Math.max(0, lines.length - tail)), out)
  if (!args.on('follow')) return 0
  for (;;) {
    await delay(POLL_MS)
    await printLogLines(file.next(), out)
  }
}

async function printLogLines(lines: readonly string[], out: Output): Promise<void> {
  for (const line of lines) await out.line(out.json ? line : readableLine(line))
}

async function printDaemon(view: DaemonView, out: Output, more: object = {}): Promise<number> {
  if (out.json) {
    await out.value({ ...view, ...more })
    return 0
  }
  const { live, suspended, max } = view.processes
  await out.line(`reeve ${view.reeve} runs as PID ${view.pid} since ${formatMoment(view.startedAt, Date.now())}`)
  if (isOtherBuild(view.build))
    await out.line(`build        ${view.build ?? 'unknown'}, this command has ${BUILD}: \`reeve daemon restart\` updates the daemon`)
  await out.line(`home         ${view.home}`)
  await out.line(`socket       ${view.socket}`)
  await out.line(`containment  ${view.containment}`)
  await out.line(`processes    ${live} live (at most ${max}), ${suspended} suspended`)
  return 0
}

async function daemonView(reeve: Reeve): Promise<DaemonView | undefined> {
  try {
    return await reeve.daemon()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAVAILABLE') return undefined
    throw error
  }
}
