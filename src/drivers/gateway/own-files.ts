// Small files of the user's own that say how an agent calls its models. Read at once and never waited for: only what is a file
// is read, of a size that settings have. Must never write. Test: test/tables/gateway-clients.test.ts.
import { closeSync, constants, fstatSync, openSync, readFileSync, readdirSync } from 'node:fs'

/** More than any of them has. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_NAMES = 1_000

/** Null: there is no such file, or none to read. */
export function readOwn(path: string): string | null {
  try {
    // A pipe in its place would keep all waiting.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const about = fstatSync(file)
      return about.isFile() && about.size <= MAX_BYTES ? readFileSync(file, 'utf8') : null
    } finally {
      closeSync(file)
    }
  } catch {
    return null
  }
}

export function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path).slice(0, MAX_NAMES)
  } catch {
    return []
  }
}
