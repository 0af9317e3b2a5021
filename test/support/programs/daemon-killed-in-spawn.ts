// A small daemon that kills itself in the middle of a spawn. Arguments: the state directory, the kind of containment, a token in the
// command lines of the programs, the turns of the event loop between the start of the spawn and the kill, and a mode. Modes: `first` (the
// containment is empty), `later` (it has a program), `frozen` (its program is frozen). Prints in JSON lines what a real daemon would have
// recorded.
import { setImmediate } from 'node:timers/promises'
import { writeSync } from 'node:fs'
import { openContainmentManager } from '../../../src/drivers/contain/manager.ts'
import { waitForOutput, PROCESS_UUID } from '../agents/containment-harness.ts'
import { testEnv } from '../env.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const [stateDir = '', kind = '', token = '', turns = '', mode = ''] = process.argv.slice(2)
const record = (what: object) => writeSync(1, `${JSON.stringify(what)}\n`)
const containments = await openContainmentManager({ stateDir, daemonId: String(process.pid), log: (message) => console.error(message) })
const intent = containments.plan(PROCESS_UUID, 1, kind as ContainmentKind)
const containment = await containments.open(intent, stateDir)
record({ intent })
// In a group, a program that clears its environment, starts a session and loses its parent can no longer be found.
const script = `${kind === 'group' ? '' : 'env -i'} setsid sleep 3600.${token} & setsid sleep 3600.${token} & echo up; sleep 3600.${token}`
const spawn = async () => {
  const program = await containment.spawn({ argv: ['sh', '-c', script], cwd: stateDir, env: testEnv(stateDir), stdin: 'pipe' })
  record({ handle: program.handle })
  return program
}
if (mode !== 'first') await waitForOutput(await spawn(), 'up')
if (mode === 'frozen') await containment.freeze()
spawn().catch((error: unknown) => console.error(error))
for (let turn = 0; turn < Number(turns); turn++) await setImmediate()
process.kill(process.pid, 'SIGKILL')
