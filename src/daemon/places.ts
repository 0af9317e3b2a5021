// Where the paths of a process's rules are: against its working directory, with links followed, once, when they are recorded, so
// that nobody moves them later. Owns that what a spec says of places is real and absolute before the kernel has it.
// Test: test/e2e/permits.test.ts.
import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { realPlace } from '../drivers/native/tools/reach.ts'
import { isBelow } from '../kernel/permits.ts'
import type { Places } from '../kernel/permits.ts'
import type { ProcessSpec } from '../kernel/types.ts'

export async function withRealPlaces(spec: ProcessSpec): Promise<ProcessSpec> {
  const { paths } = spec.capabilities ?? {}
  if (!paths) return spec
  const home = spec.env['HOME'] ?? homedir()
  const real = (path: string): Promise<string> => realPlace(resolve(spec.cwd, path === '~' || path.startsWith('~/') ? join(home, path.slice(2)) : path))
  const [read, write] = await Promise.all([paths.read, paths.write].map((list) => list && Promise.all(list.map(real))))
  return withPlaces(spec, read, write)
}

/** A fork with files has a worktree of its own: what was in the one of its origin is there. */
export function withOwnWorktree(spec: ProcessSpec, from: string | undefined): ProcessSpec {
  const to = spec.worktree?.dir
  const { paths } = spec.capabilities ?? {}
  if (!paths || from === undefined || to === undefined || from === to) return spec
  const moved = (roots?: readonly string[]): readonly string[] | undefined => roots?.map((root) => (isBelow([from], root) ? join(to, relative(from, root)) : root))
  return withPlaces(spec, moved(paths.read), moved(paths.write))
}

function withPlaces(spec: ProcessSpec, read: readonly string[] | undefined, write: readonly string[] | undefined): ProcessSpec {
  const paths: Places = { ...(read && { read }), ...(write && { write }) }
  return { ...spec, capabilities: { ...spec.capabilities, paths } }
}
