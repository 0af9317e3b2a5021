// Performs the fixed operations of test/support/kernel/write-boundaries.ts on a store in a folder, and kills itself with SIGKILL before or
// after one of the writes: `node daemon-killed-at-write.ts DIR NUMBER before|after`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { OperationSequence, openCoreWithCountedWrites } from '../kernel/write-boundaries.ts'

const [dir = '', wantedNumber = '', wantedMoment = ''] = process.argv.slice(2)
mkdirSync(join(dir, 'archive'), { recursive: true })
await using core = await openCoreWithCountedWrites(join(dir, 'state'), async (number, moment) => {
  if (number !== Number(wantedNumber) || moment !== wantedMoment) return
  process.kill(process.pid, 'SIGKILL')
  // The signal may come a little later: no further write may begin until then.
  await new Promise(() => undefined)
})
await new OperationSequence(core, join(dir, 'archive')).play()
