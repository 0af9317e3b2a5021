// `reeve daemon`: start, stop and look at it. Test: test/e2e/cli-daemon.test.ts.
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
import { elapsed, plural } from '../format.ts'
import { LogFile, readable } from '../log-file.ts'
import type { Output } from '../output.ts'
import type { Call } from '../verbs.ts'

/** How long a daemon may take to let its agents reach a boundary, and to end them. */
const STOP_MS = 2 * 60_000
const ASK_EVERY_MS = 50

const ACTIONS: Readonly<Record<string, (call: Call) => Promise<number>>> = {
  start: async ({ out, reeve }) => show(await reeve.daemon(), out),
  stop: async ({ out }) => {
    const stopped = await stop(out)
    if (out.json) await out.value({ stopped })
    return 0
  },
  restart: async ({ out, reeve }) => {
    const stopped = await stop(out)
    return show(await reeve.daemon(), out, { stopped })
  },
  status,
  logs,
  run: async () => {
    const { daemonScript } = await import('../start-daemon.ts')
    process.argv = [process.execPath, daemonScript(), '--foreground']
    await import(pathToFileURL(daemonScript()).href)
    // From here on this is the daemon, and it ends the program itself.
    return new Promise<never>(() => {})
  },
}

export async function run(call: Call): Promise<number> {
  const [name = ''] = call.args.words
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  if (action) return action(call)
  const near = nearest(name, Object.keys(ACTIONS))
  throw new UsageError(`daemon ${name}: there is ${Object.keys(ACTIONS).join(', ')}`, near && `Did you mean \`reeve daemon ${near}\`?`)
}

async function status({ out }: Call): Promise<number> {
  const found = await answering(connect({ start: false }))
  if (!found) throw new Failure(4, 'the daemon is not running', 'It starts by itself at first use, or with `reeve daemon start`.')
  return show(found, out)
}

/** Says what it cuts short, and resolves when the daemon has ended: its PID, or null if there was none. */
async function stop(out: Output): Promise<number | null> {
  const reeve = connect({ start: false })
  const found = await answering(reeve)
  if (!found) {
    await out.words('the daemon is not running')
    return null
  }
  await warn(await reeve.list({ fields: ['pid', 'state', 'status', 'driver'] }), out)
  await reeve.stopDaemon()
  const deadline = performance.now() + STOP_MS
  while (isAlive(found.pid) || (await answering(reeve))) {
    if (performance.now() > deadline) throw new Failure(1, `the daemon (PID ${found.pid}) has not ended after ${STOP_MS / 60_000} minutes`)
    await delay(ASK_EVERY_MS)
  }
  if (!out.json) await out.words('the daemon has ended')
  return found.pid
}

/** A command has no session: suspended or not, it does not survive the daemon. */
async function warn(views: readonly Pick<ProcessView, 'pid' | 'state' | 'status' | 'driver'>[], out: Output): Promise<void> {
  const living = views.filter((view) => !hasEnded(view))
  const commands = living.filter(({ driver }) => driver === 'command')
  const agents = living.filter(({ driver, status }) => driver !== 'command' && status !== 'suspended')
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
  await out.line(`reeve ${view.reeve} runs as PID ${view.pid} since ${view.startedAt} (${elapsed(view.uptimeMs)})`)
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
