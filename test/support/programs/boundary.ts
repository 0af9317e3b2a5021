// Lives the fixed life of test/support/kernel/boundaries.ts in a folder, and kills itself with SIGKILL at one boundary of its
// writes: `node boundary.ts DIR NUMBER before|after`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Life, openCounted } from '../kernel/boundaries.ts'

const [dir = '', wanted = '', when = ''] = process.argv.slice(2)
mkdirSync(join(dir, 'archive'), { recursive: true })
await using core = await openCounted(join(dir, 'state'), async (number, moment) => {
  if (number !== Number(wanted) || moment !== when) return
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => undefined)
})
await new Life(core, join(dir, 'archive')).live()
