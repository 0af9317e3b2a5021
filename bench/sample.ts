// Measures the CPU time to sample 50 agents, each a shell with a child, for each kind of containment. One value is without a memory limit.
// The other is near a limit, where memory is measured exactly. The results are medians. There is no reference: no other tool measures
// whole trees.
// Usage: node bench/sample.ts [rounds, default 20].
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { openContainmentManager } from '../src/drivers/contain/manager.ts'
import type { Containment } from '../src/drivers/contain/containment-contract.ts'
import { SAMPLE_MS } from '../src/daemon/incarnation/sampler.ts'
import { inFolder, median } from './support/measure.ts'
import type { ContainmentKind } from '../src/kernel/model/words.ts'

const ROUNDS = Number(process.argv[2] ?? 20)
const AGENTS = 50
const UUID = '01920000-0000-7000-8000-000000000000'
const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }
const SCRIPT = 'sleep 3600 & echo up; wait'

async function measureAll(containments: readonly Containment[]): Promise<number> {
  const cpuBefore = process.cpuUsage()
  for (const each of containments) each.measure()
  const { user, system } = process.cpuUsage(cpuBefore)
  // A read of the whole process table is shared within one turn, not between turns.
  await setImmediate()
  return (user + system) / 1_000
}

async function medianCost(containments: readonly Containment[]): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureAll(containments))
  return median(rounds)
}

await inFolder(async (dir) => {
  await using manager = await openContainmentManager({ stateDir: dir, daemonId: 'bench', log: () => {} })
  console.log(`CPU time to measure ${AGENTS} agents once, ms (and the share of a core at one measurement every ${SAMPLE_MS / 1_000} s)`)
  let pid = 0
  for (const kind of manager.probes.filter(({ ok }) => ok).map((probe): ContainmentKind => probe.kind)) {
    const containments = await Promise.all(
      Array.from({ length: AGENTS }, async () => {
        const containment = await manager.open(manager.plan(UUID, ++pid, kind), dir)
        const program = await containment.spawn({ argv: ['/bin/sh', '-c', SCRIPT], cwd: dir, env, stdin: 'null' })
        await once(program.stdout, 'data')
        return containment
      }),
    )
    const plain = await medianCost(containments)
    for (const each of containments) each.limitMemory(1)
    const exactMs = await medianCost(containments)
    console.log(
      `${kind.padEnd(8)} ${plain.toFixed(2)} (${((100 * plain) / SAMPLE_MS).toFixed(3)} %)   all of them near a memory limit: ${exactMs.toFixed(2)}`,
    )
    await Promise.all(containments.map((each) => each.dispose()))
  }
})
