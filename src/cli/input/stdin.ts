// Checks whether stdin has input, so that a command that ignores stdin can warn. Does not read the input, because it may be for another
// program, as in `while read LINE; do reeve run …; done`. Test: test/e2e/cli/run.test.ts.
import { fstatSync, readFileSync } from 'node:fs'

/**
 * Whether stdin is a pipe of the shell, or a file with unread content. A terminal and /dev/null have no input. A socket counts as empty:
 * programs often start their children with one.
 */
export function hasInput(): boolean {
  try {
    const stat = fstatSync(0)
    return stat.isFIFO() || (stat.isFile() && stat.size > readPosition())
  } catch {
    // A closed stdin has no input.
    return false
  }
}

/** Returns the offset in the file at which the next read starts; 0 if unknown. */
function readPosition(): number {
  try {
    return Number(/^pos:\s*(\d+)/m.exec(readFileSync('/proc/self/fdinfo/0', 'utf8'))?.[1] ?? 0)
  } catch {
    // Only Linux has this file. Elsewhere stdin counts as unread.
    return 0
  }
}
