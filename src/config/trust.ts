// Whose programs may be started: a file of a repository can name any, so it counts only in a directory that the user trusts.
// Owns what "in" means: real paths, so that a link out of a trusted directory is not trusted.
// Test: test/tables/config-mcp.test.ts.
import { realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { Paths } from './paths.ts'

const AGENT_FOLDERS = [join('.reeve', 'agents'), join('.claude', 'agents')]

/** The project that a file belongs to: what would have to be trusted. */
export function projectOf(file: string): string {
  const dir = dirname(file)
  const folder = AGENT_FOLDERS.find((one) => dir.endsWith(sep + one))
  return folder === undefined ? dir : dir.slice(0, -folder.length - 1) || sep
}

/** The user's own files always are. */
export async function isTrusted(file: string, { config }: Pick<Paths, 'config'>, trusted: readonly string[]): Promise<boolean> {
  const real = await realOf(dirname(file))
  if (isIn(real, await realOf(config))) return true
  for (const dir of trusted) if (isIn(real, await realOf(dir))) return true
  return false
}

function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

/** `path` is `dir`, or below it; both as they are, whatever links there are. */
export function isIn(path: string, dir: string): boolean {
  return path === dir || !/^\.\.(\/|$)/.test(relative(dir, path))
}
