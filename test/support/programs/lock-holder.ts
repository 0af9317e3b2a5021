// A program for tests: acquires the lock of a folder, or opens the store in it, reports that, and stays until its input ends.
// Arguments: `lock`, or another word for the store; and the folder.
import { acquireLock } from '../../../src/store/files/lock.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'

const [what, dir = ''] = process.argv.slice(2)
await using _held = what === 'lock' ? await acquireLock(dir) : await openSqliteStore({ dir })
process.stdout.write('held\n')
for await (const _ of process.stdin);
