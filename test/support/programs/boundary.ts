// Performs the fixed operations of test/support/kernel/boundaries.ts on a store in a folder, and kills itself with SIGKILL before or
// after one of the writes: `node boundary.ts DIR NUMBER before|after`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DaemonLife, openCounted } from '../kernel/boundaries.ts'

const [dir = '', wantedNumber = '', wantedMoment = ''] = process.argv.slice(2)
mkdirSync(join(dir, 'archive'), { recursive: true })
await using core = await openCounted(join(dir, 'state'), async (number, moment) => {
  if (number !== Number(wantedNumber) || moment !== wantedMoment) return
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => undefined)
})
await new DaemonLife(core, join(dir, 'archive')).play()
