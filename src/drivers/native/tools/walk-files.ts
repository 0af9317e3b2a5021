// Walks the files below a directory, depth first: a directory's files in order of their names, then its subdirectories. Does not
// follow symbolic links.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import { readdir } from 'node:fs/promises'
import type { Dirent } from 'node:fs'
import path from 'node:path'
import { IgnoreRules } from './gitignore.ts'
import { listWithin } from './path-guard.ts'
import type { PathAccess } from '../../../kernel/model/spec-parts.ts'

/** Names of directories that are never searched. */
export const SKIPPED_DIRS: ReadonlySet<string> = new Set(['.git', 'node_modules'])

/** The entries of a directory, sorted by name. Errors: those of `readdir`; `RefusedError` if the process may not read the directory. */
export async function listEntries(directory: string, paths: PathAccess | undefined): Promise<readonly Dirent[]> {
  const entries = await (paths ? listWithin(directory, paths) : readdir(directory, { withFileTypes: true }))
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Yields the regular files that no `.gitignore` excludes. Skips the directories in `SKIPPED_DIRS`, and unreadable ones. */
export async function* walkFiles(directory: string, paths: PathAccess | undefined): AsyncGenerator<string> {
  const pending = [{ dir: directory, outerRules: await IgnoreRules.above(directory, paths) }]
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    // An unreadable directory is skipped.
    const entries = await listEntries(current.dir, paths).catch(() => [])
    const rules = await current.outerRules.inside(current.dir, entries)
    const subdirectories: typeof pending = []
    for (const entry of entries) {
      const fullPath = path.join(current.dir, entry.name)
      if (rules.excludes(fullPath, entry.isDirectory())) continue
      if (entry.isFile()) yield fullPath
      else if (entry.isDirectory() && !SKIPPED_DIRS.has(entry.name)) subdirectories.push({ dir: fullPath, outerRules: rules })
    }
    pending.push(...subdirectories.reverse())
  }
}
