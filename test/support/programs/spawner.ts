// A small daemon that kills itself in the middle of a spawn. Arguments: stateDir, kind, token, turns of the event loop to live
// on after the spawn has begun, `first`, `later` (a program of the incarnation runs already) or `frozen` (and it stands still).
// Says in JSON lines what a real daemon would have recorded by then.
import { setImmediate } from 'node:timers/promises'
import { writeSync } from 'node:fs'
import { openContainer } from '../../../src/drivers/contain/container.ts'
import type { ContainmentKind } from '../../../src/kernel/types.ts'
import { announced, UUID } from '../contained.ts'
import { testEnv } from '../env.ts'

const [stateDir = '', kind = '', token = '', turns = '', when = ''] = process.argv.slice(2)
const record = (what: object) => writeSync(1, `${JSON.stringify(what)}\n`)
const container = await openContainer({ stateDir, daemonId: String(process.pid), log: (message) => console.error(message) })
const intent = container.plan(UUID, 1, kind as ContainmentKind)
const containment = await container.open(intent, stateDir)
record({ intent })
// Who does both, and loses his parent, is nobody's in a group.
const script = `${kind === 'group' ? '' : 'env -i'} setsid sleep 3600.${token} & setsid sleep 3600.${token} & echo up; sleep 3600.${token}`
const spawn = async () => {
  const program = await containment.spawn({ argv: ['sh', '-c', script], cwd: stateDir, env: testEnv(stateDir), stdin: 'pipe' })
  record({ handle: program.handle })
  return program
}
if (when !== 'first') await announced(await spawn(), 'up')
if (when === 'frozen') await containment.freeze()
spawn().catch((error: unknown) => console.error(error))
for (let turn = 0; turn < Number(turns); turn++) await setImmediate()
process.kill(process.pid, 'SIGKILL')
