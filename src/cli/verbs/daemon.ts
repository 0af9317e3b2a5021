// `reeve daemon`: start, stop and look at it, and install it as a service (cli/install.ts). Test: test/e2e/cli-daemon.test.ts.
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ApiError } from '../../api/client.ts'
import type { DaemonView, ProcessView } from '../../api/views.ts'
import { nearest } from '../../config/nearest.ts'
import { paths } from '../../config/paths.ts'
import { connect, type Reeve } from '../../index.ts'
import { hasEnded } from '../describe.ts'
import { Failure, UsageError } from '../errors.ts'
import { elapsed, plural, when } from '../format.ts'
import { LogFile, readable } from '../log-file.ts'
import type { Output } from '../output.ts'
import { patiently } from '../patience.ts'
import type { Call } from '../verbs.ts'

/** How long what is in flight may take, unless it is said: a turn is paid for, and a tool should end by itself. */
const DRAIN_MS = 10 * 60_000
/** Beyond the drain: to end what runs, and to close the store. */
const END_MS = 2 * 60_000
const ASK_EVERY_MS = 50

const ACTIONS: Readonly<Record<string, (call: Call) => Promise<number>>> = {
  start: async ({ out, reeve }) => show(await reeve.daemon(), out),
  stop: async (call) => {
    const stopped = await stop(call, drainOf(call))
    if (call.out.json) await call.out.value({ stopped })
    return 0
  },
  restart: async (call) => {
    // One that cannot start again is not stopped.
    await (await import('./config.ts')).check()
    const stopped = await stop(call, drainOf(call))
    return show(await call.reeve.daemon(), call.out, { stopped })
  },
  status,
  logs,
  run: async () => {
    const { daemonScript } = await import('../start-daemon.ts')
    // As a unit it writes its own log, which is where `reeve daemon logs` looks.
    process.argv = [process.execPath, daemonScript(), ...(process.env['REEVE_UNIT'] ? [] : ['--foreground'])]
    await import(pathToFileURL(daemonScript()).href)
    // From here on this is the daemon, and it ends the program itself.
    return new Promise<never>(() => {})
  },
  install: async (call) => {
    const { args, out, reeve } = call
    const { install } = await import('../install.ts')
    return install(out, {
      print: args.on('print'), now: args.on('now'), stop: () => stop(call, args.duration('drain') ?? DRAIN_MS),
      start: async () => (await reeve.daemon()).pid, running: async () => (await answering(connect({ start: false })))?.pid ?? null,
    })
  },
  uninstall: async (call) => {
    const { uninstall } = await import('../install.ts')
    return uninstall(call.out, { now: call.args.on('now'), stop: () => stop(call, call.args.duration('drain') ?? DRAIN_MS) })
  },
}

/** Which of the verb's flags an action takes. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  stop: ['drain', 'now'], restart: ['drain', 'now'], logs: ['follow', 'tail'], install: ['print', 'drain', 'now'], uninstall: ['drain', 'now'],
}

export async function run(call: Call): Promise<number> {
  const [name = ''] = call.args.words
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  const odd = Object.values(TAKES).flat().find((flag) => call.args.on(flag) && !(TAKES[name] ?? []).includes(flag))
  if (action && odd) {
    const takers = Object.keys(TAKES).filter((taker) => TAKES[taker]?.includes(odd))
    throw new UsageError(`daemon ${name} takes no --${odd}`, `It is for ${takers.map((taker) => `\`reeve daemon ${taker}\``).join(', ')}.`)
  }
  if (action) return action(call)
  const near = nearest(name, Object.keys(ACTIONS))
  throw new UsageError(`daemon ${name}: there is ${Object.keys(ACTIONS).join(', ')}`, near && `Did you mean \`reeve daemon ${near}\`?`)
}

async function status({ out }: Call): Promise<number> {
  const found = await answering(connect({ start: false }))
  if (!found) throw new Failure(4, 'the daemon is not running', 'It starts by itself at first use, or with `reeve daemon start`.')
  return show(found, out)
}

function drainOf({ args }: Call): number {
  if (args.on('now') && args.on('drain')) throw new UsageError('--now and --drain do not go together', '--now is the same as --drain 0s.')
  return args.on('now') ? 0 : (args.duration('drain') ?? DRAIN_MS)
}

/** Says what it cuts short, and resolves when the daemon has ended: its PID, or null if there was none. */
async function stop({ out }: Pick<Call, 'out'>, drainMs: number): Promise<number | null> {
  const reeve = connect({ start: false })
  const found = await answering(reeve)
  if (!found) {
    await out.words('the daemon is not running')
    return null
  }
  await warn(await reeve.list({ fields: ['pid', 'state', 'status', 'driver', 'format', 'interactive', 'sessionId', 'turn'] }), out)
  await reeve.stopDaemon({ drainMs })
  let stopping: DaemonView['stopping']
  await patiently(out, () => waiting(stopping), ended(reeve, found.pid, drainMs, (view) => (stopping = view?.stopping)))
  if (!out.json) await out.words('the daemon has ended')
  return found.pid
}

async function ended(reeve: Reeve, pid: number, drainMs: number, seen: (view: DaemonView | undefined) => void): Promise<void> {
  const deadline = performance.now() + drainMs + END_MS
  for (;;) {
    const view = await answering(reeve)
    if (!view && !isAlive(pid)) return
    seen(view)
    if (performance.now() > deadline) {
      throw new Failure(1, `the daemon (PID ${pid}) has not ended ${END_MS / 60_000} minutes after its drain`, `\`reeve daemon logs\` may say why; \`kill -9 ${pid}\` ends it, and nothing that was acknowledged is lost.`)
    }
    await delay(ASK_EVERY_MS)
  }
}

function waiting(stopping: DaemonView['stopping']): string {
  if (!stopping || stopping.waitsFor.length === 0) return 'the daemon is ending'
  return `waiting for PID ${stopping.waitsFor.join(', ')}; at most ${elapsed(stopping.leftMs)} (\`reeve daemon stop --now\` cuts it short)`
}

/** The others have no program of their own: they go on by themselves. */
const PROGRAMS: ReadonlySet<ProcessView['driver']> = new Set(['native', 'acp', 'command'])

/** What has no session does not survive the daemon, suspended or not. */
async function warn(views: readonly Pick<ProcessView, 'pid' | 'state' | 'status' | 'driver' | 'format' | 'interactive' | 'sessionId' | 'turn'>[], out: Output): Promise<void> {
  const living = views.filter((view) => !hasEnded(view) && PROGRAMS.has(view.driver))
  const talks = ({ driver, format, interactive }: (typeof views)[number]): boolean => driver === 'acp' || (driver === 'command' && format !== null && interactive)
  const comesBack = (view: (typeof views)[number]): boolean => view.driver === 'native' || view.sessionId !== null || (talks(view) && view.turn === 0)
  const commands = living.filter((view) => !comesBack(view))
  const agents = living.filter((view) => comesBack(view) && view.status !== 'suspended')
  const pids = (list: readonly Pick<ProcessView, 'pid'>[]): string => list.map(({ pid }) => pid).join(', ')
  if (agents.length > 0) await out.words(`${plural(agents.length, 'agent')} will be suspended, and ${agents.length === 1 ? 'goes' : 'go'} on at the next start: PID ${pids(agents)}`)
  if (commands.length > 0) {
    const [they, them] = commands.length === 1 ? ['it', 'it'] : ['they', 'them']
    await out.words(`${plural(commands.length, 'command')} will be ended, as ${they} cannot go on later (\`reeve resume --rerun\` runs ${them} again): PID ${pids(commands)}`)
  }
}

async function logs({ args, out }: Call): Promise<number> {
  const file = new LogFile(paths().logFile)
  const lines = file.next()
  const tail = args.number('tail') ?? Infinity
  await print(lines.slice(Math.max(0, lines.length - tail)), out)
  if (!args.on('follow')) return 0
  for (;;) {
    await delay(ASK_EVERY_MS)
    await print(file.next(), out)
  }
}

async function print(lines: readonly string[], out: Output): Promise<void> {
  for (const line of lines) await out.line(out.json ? line : readable(line))
}

async function show(view: DaemonView, out: Output, more: object = {}): Promise<number> {
  if (out.json) {
    await out.value({ ...view, ...more })
    return 0
  }
  const { live, suspended, max } = view.processes
  await out.line(`reeve ${view.reeve} runs as PID ${view.pid} since ${when(view.startedAt, Date.now())}`)
  await out.line(`home         ${view.home}`)
  await out.line(`socket       ${view.socket}`)
  await out.line(`containment  ${view.containment}`)
  await out.line(`processes    ${live} live (at most ${max}), ${suspended} suspended`)
  return 0
}

async function answering(reeve: Reeve): Promise<DaemonView | undefined> {
  try {
    return await reeve.daemon()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAVAILABLE') return undefined
    throw error
  }
}

/** Its last breath comes after its socket's: what it locks is free only then. Zombies of a lazy init do not count. */
function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat[stat.lastIndexOf(')') + 2] !== 'Z'
  } catch {
    return false
  }
}
