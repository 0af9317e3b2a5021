// A test write that finds out whether the disk accepts writes, and which error the system gives if it does not.
// Test: test/processes/daemon/store-faults.test.ts.
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Writes a file; throws the system's error. Writes at the offset at which the store would grow, so that a limit on file sizes is
 * detected too.
 */
export function tryWrite(dir: string): void {
  const sizes = ['store.db', 'store.db-wal'].map((name) => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0)
  const file = join(dir, 'probe.tmp')
  const fd = openSync(file, 'w', 0o600)
  try {
    writeSync(fd, Buffer.alloc(4_096), 0, 4_096, Math.max(...sizes))
    fsyncSync(fd)
  } finally {
    closeSync(fd)
    rmSync(file, { force: true })
  }
}
