// A program for tests: acquires the lock or the store in the folder of its argument, reports that, and stays until its input ends.
import { acquireLock } from '../../../src/store/files/lock.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'

const [what, dir = ''] = process.argv.slice(2)
await using _held = what === 'lock' ? await acquireLock(dir) : await openSqliteStore({ dir })
process.stdout.write('held\n')
for await (const _ of process.stdin);
