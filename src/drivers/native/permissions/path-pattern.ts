// Patterns of paths in the rules of a process: `*` and `?` within a name, `**` for any number of names. Unlike those of `glob`, they
// also match names with a leading dot, because a rule must not overlook a hidden file. Pure.
// Test: test/tables/drivers/native/permissions/path-pattern.test.ts.
import path from 'node:path'

/** Whether a pattern matches an absolute path. A relative pattern is below `cwd`. */
export function matchesPathPattern(pattern: string, file: string, cwd: string): boolean {
  const names = file.split('/').filter((name) => name !== '')
  const parts = path
    .resolve(cwd, pattern)
    .split('/')
    .filter((name) => name !== '')
  return matchesNames(parts, names)
}

function matchesNames(parts: readonly string[], names: readonly string[]): boolean {
  // The numbers of parts that the names so far can have matched.
  let reached = skipDoubleStars(parts, new Set([0]))
  for (const name of names) {
    const next = new Set<number>()
    for (const count of reached) {
      const part = parts[count]
      if (part === '**') next.add(count)
      else if (part !== undefined && matchesName(part, name)) next.add(count + 1)
    }
    reached = skipDoubleStars(parts, next)
  }
  return reached.has(parts.length)
}

/** Adds the counts after each `**`, because `**` may also match no name. */
function skipDoubleStars(parts: readonly string[], counts: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set(counts)
  for (const count of all) if (parts[count] === '**') all.add(count + 1)
  return all
}

function matchesName(part: string, name: string): boolean {
  const escaped = part.replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
  return new RegExp(`^${escaped.replaceAll(/\*+/g, '.*').replaceAll('?', '.')}$`, 'su').test(name)
}
