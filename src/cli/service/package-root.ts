// Finds the directory of the installed package, or of the checkout. Test: test/tables/cli/service/package-root.test.ts.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** the greatest number of directories between this file and the root of the package */
const MAX_PARENTS = 6

/** Returns the nearest directory above this file with a package.json; without one, the last directory that was looked at. */
export function packageRoot(): string {
  let dir = import.meta.dirname
  for (let level = 0; level < MAX_PARENTS && !existsSync(join(dir, 'package.json')); level++) dir = dirname(dir)
  return dir
}
