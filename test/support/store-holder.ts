// A program for tests: takes the lock or the store in the folder of its argument, says so, and stays until its input ends.
import { acquireLock } from '../../src/store/lock.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'

const [what, dir = ''] = process.argv.slice(2)
await using _held = what === 'lock' ? await acquireLock(dir) : await openSqliteStore({ dir })
process.stdout.write('held\n')
for await (const _ of process.stdin);
