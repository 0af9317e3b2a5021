// A small daemon that owns one torture tree (torture.sh) and runs until it is killed. Arguments: stateDir; the kind of containment, or
// auto; the token that marks the tree's members; all|held: with or without the member that only a cgroup can hold. Prints in one JSON line
// what a real daemon would have recorded. SIGTERM ends the tree by the stop ladder, prints the outcome, and ends the daemon.
import { fileURLToPath } from 'node:url'
import { openContainmentManager } from '../../../src/drivers/contain/manager.ts'
import { waitForOutput, PROCESS_UUID } from '../agents/containment-harness.ts'
import { testEnv } from '../env.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const [stateDir = '', kind = '', token = '', torturedMembers = ''] = process.argv.slice(2)
const script = fileURLToPath(new URL('torture.sh', import.meta.url))
const containments = await openContainmentManager({ stateDir, daemonId: String(process.pid), log: (message) => console.error(message) })
const intent = containments.plan(PROCESS_UUID, 1, kind as ContainmentKind | 'auto')
const containment = await containments.open(intent, stateDir)
const program = await containment.spawn({
  argv: ['sh', script, token, 'stay', torturedMembers],
  cwd: stateDir,
  env: testEnv(stateDir),
  stdin: 'null',
})
await waitForOutput(program, 'planted')
console.log(JSON.stringify({ intent, handle: program.handle }))
const keepAlive = setInterval(() => {}, 60_000)
process.once('SIGTERM', async () => {
  const { outcome } = await containment.stop({ signal: 'SIGTERM', graceMs: 300 })
  await containments[Symbol.asyncDispose]()
  console.log(outcome)
  clearInterval(keepAlive)
})
