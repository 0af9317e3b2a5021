// Decides which files may name programs to start. A file of a repository can name any program, so its directory must be trusted. Compares
// real paths: a link from a trusted directory to another place is not trusted.
// Test: test/tables/config/mcp/servers.test.ts.
import { realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { Paths } from './paths.ts'

const AGENT_FOLDERS = [join('.reeve', 'agents'), join('.claude', 'agents')]

/** Returns the project directory of a file: the directory that the user must trust. */
export function projectDirectory(file: string): string {
  const dir = dirname(file)
  const folder = AGENT_FOLDERS.find((path) => dir.endsWith(sep + path))
  return folder === undefined ? dir : dir.slice(0, -folder.length - 1) || sep
}

/** Whether a file is in a trusted directory or in the user's configuration directory. */
export async function isTrusted(file: string, { config }: Pick<Paths, 'config'>, trusted: readonly string[]): Promise<boolean> {
  const real = await resolveLinks(dirname(file))
  if (isInDirectory(real, await resolveLinks(config))) return true
  for (const dir of trusted) if (isInDirectory(real, await resolveLinks(dir))) return true
  return false
}

function resolveLinks(path: string): Promise<string> {
  // A path that does not exist is compared as it is.
  return realpath(path).catch(() => path)
}

/** Whether `path` is the directory `dir` or below it. Does not resolve links. */
export function isInDirectory(path: string, dir: string): boolean {
  return path === dir || !/^\.\.(\/|$)/.test(relative(dir, path))
}
