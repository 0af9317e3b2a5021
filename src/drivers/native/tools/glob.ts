// The tool `glob`: finds files and directories by a pattern. Skips `.git`, `node_modules` and paths that `.gitignore` excludes.
// A link to a directory is followed where the pattern names it. `**` never follows links, because they may form a loop.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import { stat } from 'node:fs/promises'
import type { Dirent } from 'node:fs'
import path from 'node:path'
import type { FileContext, GlobInput } from './file-inputs.ts'
import { IgnoreRules } from './gitignore.ts'
import { matchEntry, parseGlob } from './glob-pattern.ts'
import type { EntryMatch, GlobRoot } from './glob-pattern.ts'
import { checkPath } from './path-guard.ts'
import { RefusedError } from './tool-error.ts'
import { SKIPPED_DIRS, listEntries } from './walk-files.ts'
import type { PathAccess } from '../../../kernel/model/spec-parts.ts'

/** The maximum number of paths in a result. */
const MAX_PATHS = 1_000

interface Search {
  readonly dir: string
  readonly paths: PathAccess | undefined
  readonly found: Set<string>
  /** the error for the first directory or link that the process may not read */
  refused: RefusedError | null
}

/** A directory that must still be searched. */
interface PendingDir {
  /** the path as the model sees it */
  readonly name: string
  readonly positions: GlobRoot['positions']
  /** the `.gitignore` rules of the directories above it */
  readonly outerRules: IgnoreRules
}

export async function globFiles(input: GlobInput, { cwd, paths }: FileContext): Promise<string> {
  const search: Search = { dir: path.resolve(cwd, input.path), paths, found: new Set(), refused: null }
  if (paths) await checkPath(search.dir, 'read', paths)
  for (const root of parseGlob(input.pattern)) await searchBelow(search, root)
  const names = [...search.found].slice(0, MAX_PATHS).toSorted().join('\n')
  if (search.found.size > MAX_PATHS) return `${names}\n[… more than ${MAX_PATHS} files match …]`
  if (search.found.size === 0 && search.refused !== null) throw search.refused
  return names || 'no files match'
}

async function searchBelow(search: Search, { base, positions }: GlobRoot): Promise<void> {
  const top = path.join(base)
  if (top.split('/').some((name) => SKIPPED_DIRS.has(name))) return
  if (positions.some(({ alternative, next }) => next === alternative.segments.length) && (await isDirectory(search, top)))
    search.found.add(top)
  const outerRules = await IgnoreRules.above(path.resolve(search.dir, top), search.paths)
  const pending: PendingDir[] = [{ name: top, positions, outerRules }]
  for (let current = pending.pop(); current !== undefined && search.found.size <= MAX_PATHS; current = pending.pop()) {
    const subdirectories: PendingDir[] = []
    const entries = await listOrSkip(search, current.name)
    const dir = path.resolve(search.dir, current.name)
    const rules = await current.outerRules.inside(dir, entries)
    for (const entry of entries) {
      if (SKIPPED_DIRS.has(entry.name) || rules.excludes(path.join(dir, entry.name), entry.isDirectory())) continue
      const next = await matchAndDescend(search, { ...current, outerRules: rules }, entry)
      if (next !== null) subdirectories.push(next)
    }
    pending.push(...subdirectories.reverse())
  }
}

/** Lists a directory. Returns no entries if that fails, and keeps the first error about a directory that the process may not read. */
async function listOrSkip(search: Search, name: string): Promise<readonly Dirent[]> {
  try {
    return await listEntries(path.resolve(search.dir, name), search.paths)
  } catch (error) {
    if (error instanceof RefusedError) search.refused ??= error
    return []
  }
}

/** Records an entry if it matches. Returns the entry if it is a directory that may contain other matches. */
async function matchAndDescend(search: Search, parent: PendingDir, entry: Dirent): Promise<PendingDir | null> {
  const name = path.join(parent.name, entry.name)
  const match = matchEntry(parent.positions, entry.name)
  const isLink = entry.isSymbolicLink()
  const isDir = entry.isDirectory() || (isLink && dependsOnType(match) && (await isDirectory(search, name)))
  if ((match.matchesFile || (isDir && match.matchesDir)) && (!isLink || (await isReadable(search, name)))) search.found.add(name)
  const positions = isLink ? match.linked : match.inside
  return isDir && positions.length > 0 ? { name, positions, outerRules: parent.outerRules } : null
}

/** True if the result depends on whether the link leads to a directory. */
function dependsOnType({ matchesFile, matchesDir, linked }: EntryMatch): boolean {
  return linked.length > 0 || (matchesDir && !matchesFile)
}

async function isDirectory({ dir }: Search, name: string): Promise<boolean> {
  return stat(path.resolve(dir, name)).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

/** False if the process may not read the target of a link. */
async function isReadable(search: Search, name: string): Promise<boolean> {
  const { dir, paths } = search
  if (!paths) return true
  const error: unknown = await checkPath(path.resolve(dir, name), 'read', paths).then(
    () => null,
    (refusal: unknown) => refusal,
  )
  if (error instanceof RefusedError) search.refused ??= error
  return error === null
}
