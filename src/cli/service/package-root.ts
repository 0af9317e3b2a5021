// Finds the directory of the installed package (or checkout), and the pages of its docs/ folder. Messages name pages as
// docs/FOLDER/NAME.md, which is relative to that directory and not to the user's. Test: test/tables/cli/service/package-root.test.ts.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** the greatest number of directories between this file and the root of the package */
const MAX_PARENTS = 6
const PAGE = /(?<![\w/.-])docs\/[\w./-]+\.md/g

export function packageRoot(): string {
  let dir = import.meta.dirname
  for (let level = 0; level < MAX_PARENTS && !existsSync(join(dir, 'package.json')); level++) dir = dirname(dir)
  return dir
}

/** Replaces the pages that a text names by their paths on this machine. */
export function withPagePaths(text: string, root: string = packageRoot()): string {
  return text.replaceAll(PAGE, (page) => (existsSync(join(root, page)) ? join(root, page) : page))
}

/** Returns where the pages of docs/ are, if a text names one; null: it names none. */
export function pagesNote(text: string, root: string = packageRoot()): string | null {
  return text.search(PAGE) === -1 ? null : `The folder docs/ is ${join(root, 'docs')}`
}
