// Owns many torture trees at once, each in a containment of its own. Arguments: stateDir, kind, token, trees, ending.
// Says `planted` when all stand, ends them when a line comes, says `done`, and goes when its stdin ends. What is left is not
// its business: who started it looks.
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openContainer } from '../../../src/drivers/contain/container.ts'
import type { Containment } from '../../../src/drivers/contain/contain.ts'
import type { ContainmentKind } from '../../../src/kernel/types.ts'
import { announced, UUID } from '../contained.ts'
import { testEnv } from '../env.ts'
import type { Ending } from '../torture.ts'

const [stateDir = '', kind = '', token = '', trees = '', ending = ''] = process.argv.slice(2)
const SCRIPT = fileURLToPath(new URL('torture.sh', import.meta.url))
const MODES: Readonly<Record<Ending, string>> = { kill: 'stay', stop: 'stay', end: 'end', crash: 'crash', daemon: 'stay' }
const END: Readonly<Record<Ending, (containment: Containment) => Promise<unknown>>> = {
  kill: (containment) => containment.stop({ signal: 'SIGKILL', graceMs: 0 }),
  stop: (containment) => containment.stop({ signal: 'SIGTERM', graceMs: 300 }),
  end: (containment) => containment.dispose(),
  crash: (containment) => containment.dispose(),
  daemon: () => Promise.reject(new Error('it was to be killed')),
}

async function plant(pid: number): Promise<Containment> {
  const containment = await container.open(container.plan(UUID, pid, kind as ContainmentKind), stateDir)
  const argv = ['sh', SCRIPT, token, MODES[ending as Ending], 'all']
  await announced(await containment.spawn({ argv, cwd: stateDir, env: testEnv(stateDir), stdin: 'null' }), 'planted')
  return containment
}

const container = await openContainer({ stateDir, daemonId: String(process.pid), log: (message) => console.error(message) })
const containments = await Promise.all(Array.from({ length: Number(trees) }, (_, index) => plant(index + 1)))
console.log('planted')
const lines = createInterface(process.stdin)
const closed = once(lines, 'close')
await once(lines, 'line')
await Promise.all(containments.map(END[ending as Ending]))
console.log('done')
await closed
await container[Symbol.asyncDispose]()
