// Makes the paths of documentation pages in messages and help usable. A text names a page as docs/FOLDER/NAME.md. That path is relative to
// the package, not to the user's directory. Test: test/tables/cli/print/docs-pages.test.ts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../service/package-root.ts'

const PAGE = /(?<![\w/.-])docs\/[\w./-]+\.md/g

/** Replaces the pages that a text names by their paths on this machine. */
export function withDocsPaths(text: string, root: string = packageRoot()): string {
  return text.replaceAll(PAGE, (page) => (existsSync(join(root, page)) ? join(root, page) : page))
}

/** Returns a line with the path of the folder docs/; null if the text names none of its pages. */
export function docsFolderNote(text: string, root: string = packageRoot()): string | null {
  return text.search(PAGE) === -1 ? null : `The folder docs/ is ${join(root, 'docs')}`
}
