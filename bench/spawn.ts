// How long it takes until an owned program runs, against a plain spawn: to the first byte that it writes, interleaved.
// Usage: node bench/spawn.ts [rounds, 300 if not given]. Prints a table; ratios are to plain spawn in the same run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openContainer } from '../src/drivers/contain/container.ts'
import type { Container } from '../src/drivers/contain/contain.ts'
import type { ContainmentKind } from '../src/kernel/types.ts'

const ROUNDS = Number(process.argv[2] ?? 300)
const WARM_UP_ROUNDS = 20
const ARGV = ['/bin/echo', 'up'] as const
const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }

type Contender = () => Promise<number>

async function plain(): Promise<number> {
  const begun = performance.now()
  const child = spawn(ARGV[0], ARGV.slice(1), { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  const took = performance.now() - begun
  await exited
  return took
}

function owned(container: Container, kind: ContainmentKind, stateDir: string): Contender {
  let pid = 0
  return async () => {
    const begun = performance.now()
    const containment = await container.open(container.plan('01920000-0000-7000-8000-000000000000', ++pid, kind), stateDir)
    const program = await containment.spawn({ argv: ARGV, cwd: stateDir, env, stdin: 'null' })
    await once(program.stdout, 'data')
    const took = performance.now() - begun
    await program.exited
    await containment.dispose()
    return took
  }
}

async function interleave(contenders: ReadonlyMap<string, Contender>): Promise<Map<string, number[]>> {
  const times = new Map([...contenders.keys()].map((name): [string, number[]] => [name, []]))
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const [name, contender] of contenders) {
      const took = await contender()
      if (round >= 0) times.get(name)?.push(took)
    }
  }
  return times
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

const stateDir = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const container = await openContainer({ stateDir, daemonId: 'bench', log: console.error })
try {
  const contenders = new Map<string, Contender>([['plain', plain]])
  for (const { kind, ok } of container.probes) if (ok) contenders.set(kind, owned(container, kind, stateDir))
  const times = await interleave(contenders)
  const sorted = new Map([...times].map(([name, list]) => [name, list.toSorted((a, b) => a - b)]))
  const reference = quantile(sorted.get('plain') ?? [], 0.5)
  console.table([...sorted].map(([name, list]) => ({
    spawn: name, rounds: list.length, p50Ms: quantile(list, 0.5).toFixed(2), p99Ms: quantile(list, 0.99).toFixed(2), ratio: (quantile(list, 0.5) / reference).toFixed(2),
  })))
} finally {
  await container[Symbol.asyncDispose]()
  await rm(stateDir, { recursive: true, force: true })
}
