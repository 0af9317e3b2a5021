// What containment costs, against a plain child process in the same run, interleaved: from the spawn to the first byte that
// the program writes, from the kill to nobody left, and the end of 100 programs at once. Bars are those of the design.
// Usage: node bench/spawn.ts [rounds, 300 if not given].
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openContainer } from '../src/drivers/contain/container.ts'
import type { Container, Containment } from '../src/drivers/contain/contain.ts'
import type { ContainmentKind } from '../src/kernel/types.ts'

const ROUNDS = Number(process.argv[2] ?? 300)
const WARM_UP_ROUNDS = 20
const MANY = 100
const MANY_ROUNDS = 5
/** Writes at once, and lives on. */
const ARGV = ['/usr/bin/tail', '-f', import.meta.filename] as const
const UUID = '01920000-0000-7000-8000-000000000000'
const SPAWN_BARS: Readonly<Record<string, number>> = { cgroup: 1.5, pidns: 2.5 }
const STOP_BAR = 3
const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }

/** One program that runs. */
interface Running {
  /** resolves when nobody is left of it */
  kill(): Promise<void>
  release(): Promise<unknown>
}

type Contender = () => Promise<Running>

async function plain(): Promise<Running> {
  const child = spawn(ARGV[0], ARGV.slice(1), { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  await once(child.stdout, 'data')
  return { kill: () => killPlain(child), release: () => Promise.resolve() }
}

async function killPlain(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  process.kill(-(child.pid ?? Number.NaN), 'SIGKILL')
  await exited
}

function owned(container: Container, kind: ContainmentKind, stateDir: string): Contender {
  let pid = 0
  return async () => {
    const containment: Containment = await container.open(container.plan(UUID, ++pid, kind), stateDir)
    const program = await containment.spawn({ argv: ARGV, cwd: stateDir, env, stdin: 'null' })
    await once(program.stdout, 'data')
    return {
      async kill() {
        const { outcome } = await containment.stop({ signal: 'SIGKILL', graceMs: 0 })
        if (outcome !== 'killed') throw new Error(`${kind}: ${outcome}`)
      },
      release: () => containment.dispose(),
    }
  }
}

interface Times {
  readonly spawned: number[]
  readonly killed: number[]
  readonly many: number[]
}

async function timed<T>(times: number[] | null, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  const result = await work()
  times?.push(performance.now() - begun)
  return result
}

async function oneRound(contender: Contender, times: Times | null): Promise<void> {
  const running = await timed(times?.spawned ?? null, contender)
  await timed(times?.killed ?? null, () => running.kill())
  await running.release()
}

async function manyRound(contender: Contender, times: Times): Promise<void> {
  const running: Running[] = []
  for (let n = 0; n < MANY; n++) running.push(await contender())
  await timed(times.many, () => Promise.all(running.map((one) => one.kill())))
  await Promise.all(running.map((one) => one.release()))
}

async function interleave(contenders: ReadonlyMap<string, Contender>): Promise<Map<string, Times>> {
  const times = new Map([...contenders.keys()].map((name): [string, Times] => [name, { spawned: [], killed: [], many: [] }]))
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const [name, contender] of contenders) await oneRound(contender, round < 0 ? null : times.get(name) ?? null)
  }
  for (let round = 0; round < MANY_ROUNDS; round++) {
    for (const [name, contender] of contenders) await manyRound(contender, times.get(name) ?? { spawned: [], killed: [], many: [] })
  }
  return times
}

function quantile(list: readonly number[], q: number): number {
  const sorted = list.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

function columns(list: readonly number[], reference: readonly number[], bar: number | undefined): Record<string, string> {
  const ratio = quantile(list, 0.5) / quantile(reference, 0.5)
  return { p50Ms: quantile(list, 0.5).toFixed(2), p99Ms: quantile(list, 0.99).toFixed(2), ratio: ratio.toFixed(2), bar: bar === undefined ? '' : `≤ ${bar}`, holds: bar === undefined ? '' : ratio <= bar ? 'yes' : 'NO' }
}

function print(title: string, times: ReadonlyMap<string, Times>, of: (times: Times) => readonly number[], bar: (name: string) => number | undefined): void {
  const reference = times.get('plain')
  if (reference === undefined) return
  console.log(title)
  console.table(Object.fromEntries([...times].map(([name, each]) => [name, columns(of(each), of(reference), bar(name))])))
}

const stateDir = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const container = await openContainer({ stateDir, daemonId: 'bench', log: console.error })
try {
  const contenders = new Map<string, Contender>([['plain', plain]])
  for (const { kind, ok } of container.probes) if (ok) contenders.set(kind, owned(container, kind, stateDir))
  const times = await interleave(contenders)
  print('from the spawn until it runs', times, ({ spawned }) => spawned, (name) => SPAWN_BARS[name])
  print('from the kill until nobody is left', times, ({ killed }) => killed, () => undefined)
  print(`stop ${MANY} at once, until all are gone`, times, ({ many }) => many, (name) => (name === 'plain' ? undefined : STOP_BAR))
} finally {
  await container[Symbol.asyncDispose]()
  await rm(stateDir, { recursive: true, force: true })
}
