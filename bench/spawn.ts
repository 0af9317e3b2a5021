// Compares each kind of containment with a plain child process, and with pm2 if `node scripts/install-peers.ts` has installed it. The
// contenders take turns in each round, so that a change of the machine's load affects all of them.
// Measures the time from a spawn until the program runs, and from a kill until no process is left, of one program and of 100.
// Also measures the survivors of the torture tree, and the manager's memory.
// Usage: node bench/spawn.ts [rounds, default 200].
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openContainmentManager } from '../src/drivers/contain/manager.ts'
import type { ContainmentManager } from '../src/drivers/contain/containment-contract.ts'
import { killRemaining, findProcessesWith, newToken, findSleepersWith, TORTURE_SLEEPERS } from '../test/support/living-processes.ts'
import { waitUntil } from '../test/support/wait-until.ts'
import { startDaemon, statusKb } from './support/daemon.ts'
import { startPm2 } from './support/pm2.ts'
import type { Pm2 } from './support/pm2.ts'
import { inFolder, median, percentile, timed } from './support/measure.ts'
import type { ContainmentKind } from '../src/kernel/model/words.ts'

const ROUNDS = Number(process.argv[2] ?? 200)
const WARM_UP_ROUNDS = 10
/** The number of programs at once, and the number of rounds with them. */
const BATCH_SIZE = 100
const BATCH_ROUNDS = 5
/** The first of every ten spawns in a row is not measured. */
const SPAWNS_IN_ROW = 10
/** Time for killed processes to disappear, and for memory to settle. */
const SETTLE_MS = 1_500
/** A program that writes at once and keeps running. */
const ARGV = ['/usr/bin/tail', '-f', import.meta.filename] as const
const TORTURE = resolve(import.meta.dirname, '../test/support/programs/torture.sh')
const UUID = '01920000-0000-7000-8000-000000000000'
/** The wanted median of each kind, as a multiple of the median of a plain child process. */
const SPAWN_BARS: Readonly<Record<string, number>> = { cgroup: 1.5, pidns: 2.5 }
const STOP_BARS: Readonly<Record<string, number>> = { cgroup: 3, pidns: 3, group: 3 }
/** The wanted median of every kind, as a multiple of pm2's. */
const PM2_BARS = { spawn: 0.5, stop: 0.1 }
const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }

/** A running program. */
interface Running {
  /** resolves when no OS process of the program is left */
  kill(): Promise<void>
  /** frees what the manager keeps for an ended program */
  release(): Promise<unknown>
}

interface Contender {
  start(argv: readonly string[]): Promise<Running>
  /** ends all programs at once; absent: they are ended one by one */
  killAll?(): Promise<void>
}

const plainContender: Contender = {
  async start([program = '', ...args]) {
    const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    await once(child.stdout, 'data')
    return { kill: () => killPlain(child), release: () => Promise.resolve() }
  },
}

async function killPlain(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  process.kill(-(child.pid ?? Number.NaN), 'SIGKILL')
  await exited
}

function containmentContender(manager: ContainmentManager, kind: ContainmentKind, dir: string): Contender {
  let pid = 0
  return {
    async start(argv) {
      const containment = await manager.open(manager.plan(UUID, ++pid, kind), dir)
      const program = await containment.spawn({ argv, cwd: dir, env, stdin: 'null' })
      await once(program.stdout, 'data')
      return {
        async kill() {
          const { outcome } = await containment.stop({ signal: 'SIGKILL', graceMs: 0 })
          if (outcome !== 'killed') throw new Error(`${kind}: ${outcome}`)
        },
        release: () => containment.dispose(),
      }
    },
  }
}

function pm2Contender(pm2: Pm2): Contender {
  return {
    async start(argv) {
      const name = await pm2.start(argv)
      return { kill: () => pm2.remove(name), release: () => Promise.resolve() }
    },
    killAll: () => pm2.remove('all'),
  }
}

/** Measured times of a contender, in ms. */
interface Times {
  /** spawns in turns with the other contenders */
  readonly alone: number[]
  /** spawns directly after each other */
  readonly inRow: number[]
  /** kills of one program */
  readonly killed: number[]
  /** kills of all programs of a batch */
  readonly many: number[]
}

async function runSingleRound({ start }: Contender, times: Times | null): Promise<void> {
  let running: Running | null = null
  const spawnMs = await timed(async () => {
    running = await start(ARGV)
  })
  const killMs = await timed(() => running?.kill())
  await (running as Running | null)?.release()
  times?.alone.push(spawnMs)
  times?.killed.push(killMs)
}

async function runBatchRound({ start, killAll }: Contender, times: Times): Promise<void> {
  const running: Running[] = []
  for (let n = 0; n < BATCH_SIZE; n++) {
    const ms = await timed(async () => {
      running.push(await start(ARGV))
    })
    if (n % SPAWNS_IN_ROW > 0) times.inRow.push(ms)
  }
  times.many.push(await timed(() => (killAll ? killAll() : Promise.all(running.map((one) => one.kill())))))
  await Promise.all(running.map((one) => one.release()))
}

async function interleave(contenders: ReadonlyMap<string, Contender>): Promise<Map<string, Times>> {
  const times = new Map([...contenders.keys()].map((name): [string, Times] => [name, { alone: [], inRow: [], killed: [], many: [] }]))
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const [name, contender] of contenders) await runSingleRound(contender, round < 0 ? null : (times.get(name) ?? null))
  }
  for (let round = 0; round < BATCH_ROUNDS; round++) {
    for (const [name, contender] of contenders) await runBatchRound(contender, times.get(name) as Times)
  }
  return times
}

/** The number of processes that survive a kill of a tree with ten ways to leave a parent. */
async function countSurvivors({ start }: Contender): Promise<number> {
  const token = newToken()
  try {
    // The shell prints `up` itself, because the tree prints to /dev/stdout, which cannot be opened if stdout is a socket.
    const tree = await start(['/bin/sh', '-c', 'echo up; exec sh "$@"', 'sh', TORTURE, token, 'stay', 'all'])
    await waitUntil(() => findSleepersWith(token).length === TORTURE_SLEEPERS + 1, 'the tree stands')
    await tree.kill()
    await delay(SETTLE_MS)
    const leftCount = findSleepersWith(token).length
    await tree.release()
    return leftCount
  } finally {
    if (findProcessesWith(token).length > 0) killRemaining(token)
  }
}

type Bars = Readonly<Record<string, number>>

function print(
  title: string,
  times: ReadonlyMap<string, Times>,
  of: (times: Times) => readonly number[],
  bars: Bars,
  pm2Bar: number | null,
): void {
  const [floor, peer] = ['plain', 'pm2'].map((name) => times.get(name)).map((each) => (each ? median(of(each)) : Number.NaN))
  console.log(`\n${title}`)
  console.table(
    Object.fromEntries(
      [...times].map(([name, each]) => {
        const [p50, p99] = [median(of(each)), percentile(of(each), 0.99)]
        const bar = bars[name]
        const isOurs = name in STOP_BARS && pm2Bar !== null && times.has('pm2')
        return [
          name,
          {
            'p50 ms': p50.toFixed(2),
            'p99 ms': p99.toFixed(2),
            '× plain': (p50 / (floor ?? 1)).toFixed(2),
            wanted: bar === undefined ? '' : `≤ ${bar}`,
            reached: bar === undefined ? '' : p50 / (floor ?? 1) <= bar ? 'yes' : 'NO',
            '× pm2': (p50 / (peer ?? 1)).toFixed(2),
            // The space makes another key of the same heading.
            'wanted ': isOurs ? `≤ ${pm2Bar}` : '',
            'reached ': isOurs ? (p50 / (peer ?? 1) <= pm2Bar ? 'yes' : 'NO') : '',
          },
        ]
      }),
    ),
  )
}

async function measureReeveKb(home: string): Promise<readonly [number, number]> {
  await using daemon = await startDaemon(home)
  await delay(SETTLE_MS)
  const idleRssKb = statusKb(daemon.pid, 'VmRSS')
  const body = { argv: [...ARGV], cwd: home, env }
  for (let done = 0; done < BATCH_SIZE; done += 10)
    await Promise.all(Array.from({ length: 10 }, () => daemon.client.post('/v1/processes', body)))
  await delay(SETTLE_MS)
  return [idleRssKb, statusKb(daemon.pid, 'VmRSS')]
}

async function measurePm2Kb(pm2: Pm2): Promise<readonly [number, number]> {
  await delay(SETTLE_MS)
  const idleRssKb = pm2.residentKb()
  for (let n = 0; n < BATCH_SIZE; n++) await pm2.start(ARGV)
  await delay(SETTLE_MS)
  const loadedRssKb = pm2.residentKb()
  await pm2.remove('all')
  return [idleRssKb, loadedRssKb]
}

const mb = ([idle, full]: readonly [number, number]): object => ({
  'no child': `${(idle / 1024).toFixed(1)} MB`,
  [`${BATCH_SIZE} children`]: `${(full / 1024).toFixed(1)} MB`,
  'for each': `${((full - idle) / BATCH_SIZE).toFixed(0)} KB`,
})

async function main(dir: string): Promise<void> {
  for (const name of ['state', 'pm2', 'home']) await mkdir(join(dir, name), { mode: 0o700 })
  await using manager = await openContainmentManager({ stateDir: join(dir, 'state'), daemonId: 'bench', log: console.error })
  await using pm2 = await startPm2(join(dir, 'pm2'))
  const memory = pm2 === null ? {} : { pm2: mb(await measurePm2Kb(pm2)) }
  const contenders = new Map<string, Contender>([['plain', plainContender]])
  for (const { kind, ok } of manager.probes) if (ok) contenders.set(kind, containmentContender(manager, kind, dir))
  if (pm2 === null) console.log('pm2 is not installed: node scripts/install-peers.ts')
  else contenders.set('pm2', pm2Contender(pm2))
  const times = await interleave(contenders)
  print('from the spawn until it runs, one alone', times, ({ alone }) => alone, SPAWN_BARS, PM2_BARS.spawn)
  print('the same, directly after another spawn', times, ({ inRow }) => inRow, SPAWN_BARS, PM2_BARS.spawn)
  print('from the kill until no process is left', times, ({ killed }) => killed, {}, null)
  print(`stop ${BATCH_SIZE} at once, until all are gone`, times, ({ many }) => many, STOP_BARS, PM2_BARS.stop)
  console.log('\nprocesses of the torture tree that survive its kill')
  const leftCounts: [string, string][] = []
  for (const [name, contender] of contenders) leftCounts.push([name, `${await countSurvivors(contender)} of ${TORTURE_SLEEPERS + 1}`])
  console.table(Object.fromEntries(leftCounts))
  console.log('\nresident memory of the manager')
  console.table({ reeve: mb(await measureReeveKb(join(dir, 'home'))), ...memory })
}

await inFolder(main)
// pm2's client leaves handles open, which would keep this process alive.
process.exit()
