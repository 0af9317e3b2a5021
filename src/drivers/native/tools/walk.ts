// Walks through the files below a directory, in order, without following links. Test: test/tables/native-tools.test.ts.
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { Places } from '../../../kernel/permits.ts'
import { listWithin } from './reach.ts'

/** Directories that no search enters. */
export const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules'])

/** Yields regular files; a directory that cannot be read is passed over. */
export async function* walk(directory: string, signal: AbortSignal, places?: Places): AsyncGenerator<string> {
  const pending = [directory]
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    signal.throwIfAborted()
    const entries = await (places ? listWithin(current, places) : readdir(current, { withFileTypes: true })).catch(() => [])
    const below: string[] = []
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const full = path.join(current, entry.name)
      if (entry.isFile()) yield full
      else if (entry.isDirectory() && !SKIPPED.has(entry.name)) below.push(full)
    }
    pending.push(...below.reverse())
  }
}
