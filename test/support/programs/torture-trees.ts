// Runs many torture trees at once, each in its own containment. Arguments: stateDir, kind, token, trees, ending. The program prints
// `planted` when all trees run. It ends the trees when it reads a line, prints `done`, and exits when its stdin ends. The caller looks
// for remaining processes.
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openContainmentManager } from '../../../src/drivers/contain/manager.ts'
import type { Containment } from '../../../src/drivers/contain/containment-contract.ts'
import { waitForOutput, PROCESS_UUID } from '../agents/containment-harness.ts'
import { testEnv } from '../env.ts'
import type { Ending } from '../contain/torture.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const [stateDir = '', kind = '', token = '', trees = '', ending = ''] = process.argv.slice(2)
const SCRIPT = fileURLToPath(new URL('torture.sh', import.meta.url))
const MODES: Readonly<Record<Ending, string>> = { kill: 'stay', stop: 'stay', end: 'end', crash: 'crash', daemon: 'stay' }
const END_TREE: Readonly<Record<Ending, (containment: Containment) => Promise<unknown>>> = {
  kill: (containment) => containment.stop({ signal: 'SIGKILL', graceMs: 0 }),
  stop: (containment) => containment.stop({ signal: 'SIGTERM', graceMs: 300 }),
  end: (containment) => containment.dispose(),
  crash: (containment) => containment.dispose(),
  daemon: () => Promise.reject(new Error('it should have been killed')),
}

async function startTree(pid: number): Promise<Containment> {
  const containment = await containments.open(containments.plan(PROCESS_UUID, pid, kind as ContainmentKind), stateDir)
  const argv = ['sh', SCRIPT, token, MODES[ending as Ending], 'all']
  await waitForOutput(await containment.spawn({ argv, cwd: stateDir, env: testEnv(stateDir), stdin: 'null' }), 'planted')
  return containment
}

const containments = await openContainmentManager({ stateDir, daemonId: String(process.pid), log: (message) => console.error(message) })
const planted = await Promise.all(Array.from({ length: Number(trees) }, (_, index) => startTree(index + 1)))
console.log('planted')
const lines = createInterface(process.stdin)
const closed = once(lines, 'close')
await once(lines, 'line')
await Promise.all(planted.map(END_TREE[ending as Ending]))
console.log('done')
await closed
await containments[Symbol.asyncDispose]()
