// `reeve daemon`: starts, stops and shows the daemon, and installs it as a service (src/cli/service/install.ts). Test:
// test/e2e/cli/daemon.test.ts.
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { readHolder } from '../../../api/client/daemon-holder.ts'
import { BUILD, isOtherBuild } from '../../../api/build.ts'
import type { DaemonView } from '../../../api/views/daemon.ts'
import { closestWord } from '../../../kernel/util/did-you-mean.ts'
import { pathsFrom } from '../../../config/paths.ts'
import { connect } from '../../../index.ts'
import { Failure, UsageError } from '../../errors.ts'
import { formatMoment } from '../../../faces/format.ts'
import { DaemonLog, readableLine } from '../../service/daemon-log.ts'
import type { Output } from '../../print/output.ts'
import { notListeningError, readDaemonView, stopDaemon } from '../../service/stop-daemon.ts'
import type { VerbCall } from '../../table/verb.ts'

/** the default of `--drain`: long enough that most turns and tools end by themselves */
const DRAIN_MS = 10 * 60_000
const POLL_MS = 50
/** the option of the daemon to start with a damaged or old store */
const ACCEPT_STORE = '--accept-store'

const ACTIONS: Readonly<Record<string, (call: VerbCall) => Promise<number>>> = {
  start: async ({ args, out, reeve }) => {
    if (args.on('accept-store')) await startWithStoreAsItIs()
    return printDaemon(await reeve.daemon(), out)
  },
  stop: async (call) => {
    const { pid, killed } = await stopDaemon(call, { drainMs: parseDrainMs(call) })
    if (call.out.json) await call.out.value({ stopped: pid, ...(killed ? { killed } : {}) })
    return 0
  },
  restart: async (call) => {
    // Checked first: with an invalid configuration the new daemon could not start.
    await (await import('./config.ts')).checkConfig()
    const { pid, killed } = await stopDaemon(call, { drainMs: parseDrainMs(call), restart: true })
    return printDaemon(await call.reeve.daemon(), call.out, { stopped: pid, ...(killed ? { killed } : {}) })
  },
  upgrade,
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
      stop: () => stopDaemon(call, { drainMs: args.duration('drain') ?? DRAIN_MS, restart: true }),
      start: async () => (await reeve.daemon()).pid,
      findPid: async () => (await readDaemonView(connect({ start: false })))?.pid ?? null,
    })
  },
  uninstall: async (call) => {
    const { uninstallService } = await import('../../service/install.ts')
    return uninstallService(call.out, {
      now: call.args.on('now'),
      stop: () => stopDaemon(call, { drainMs: call.args.duration('drain') ?? DRAIN_MS }),
    })
  },
}

/** the flags of each action */
const ACTION_FLAGS: Readonly<Record<string, readonly string[]>> = {
  start: ['accept-store'],
  run: ['accept-store'],
  stop: ['drain', 'now'],
  restart: ['drain', 'now'],
  upgrade: ['drain', 'now', 'force'],
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
  const found = await readDaemonView(connect({ start: false }))
  if (found)
    throw new Failure(
      1,
      `the daemon already runs (PID ${found.pid}) with the current store`,
      'Stop it with `reeve daemon stop`; restore copies of the store while no daemon runs.',
    )
  const { startDaemon } = await import('../../service/start-daemon.ts')
  await startDaemon(process.env, [ACCEPT_STORE])
}

async function upgrade(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  const drainMs = parseDrainMs(call)
  await (await import('./config.ts')).checkConfig()
  const { upgradeDaemon } = await import('../../service/upgrade-daemon.ts')
  const { view, from } = await upgradeDaemon({
    out,
    force: args.on('force'),
    stop: () => stopDaemon(call, { drainMs, restart: true }),
    start: () => reeve.daemon(),
  })
  if (out.json) await out.value({ ...view, upgradedFrom: from })
  else if (view) await printDaemon(view, out)
  return 0
}

async function status({ out }: VerbCall): Promise<number> {
  const found = await readDaemonView(connect({ start: false }))
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

async function logs({ args, out }: VerbCall): Promise<number> {
  const file = new DaemonLog(pathsFrom().logFile)
  const lines = file.readNewLines()
  const tail = args.number('tail') ?? Infinity
  await printLogLines(lines.slice(Math.max(0, lines.length - tail)), out)
  if (!args.on('follow')) return 0
  for (;;) {
    await delay(POLL_MS)
    await printLogLines(file.readNewLines(), out)
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
    await out.line(`build        ${view.build ?? 'unknown'}, this command has ${BUILD}: \`reeve daemon upgrade\` replaces the daemon`)
  await out.line(`home         ${view.home}`)
  await out.line(`socket       ${view.socket}`)
  await out.line(`containment  ${view.containment}`)
  await out.line(`processes    ${live} live (at most ${max}), ${suspended} suspended`)
  return 0
}
