// Resolves the paths of a process's permissions when its spec is made: against its working directory, with symbolic links followed.
// A link that changes later can therefore not change a permission. The kernel only receives real, absolute paths.
// Test: test/e2e/lifecycle/permissions.test.ts.
import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { resolveRealPath } from '../../drivers/native/tools/path-guard.ts'
import { isBelow } from '../../kernel/state/permissions.ts'
import type { PathAccess } from '../../kernel/model/spec-parts.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** Returns the spec with resolved paths in its permissions. */
export async function withRealPaths(spec: ProcessSpec): Promise<ProcessSpec> {
  const { paths } = spec.capabilities ?? {}
  if (!paths) return spec
  const home = spec.env['HOME'] ?? homedir()
  const real = (path: string): Promise<string> =>
    resolveRealPath(resolve(spec.cwd, path === '~' || path.startsWith('~/') ? join(home, path.slice(2)) : path))
  const [read, write] = await Promise.all([paths.read, paths.write].map(async (list) => list && Promise.all(list.map(real))))
  return withPaths(spec, read, write)
}

/** Returns the spec of a fork whose permissions for the origin's worktree `from` are changed to the fork's own worktree. */
export function withOwnWorktree(spec: ProcessSpec, from: string | undefined): ProcessSpec {
  const to = spec.worktree?.dir
  const { paths } = spec.capabilities ?? {}
  if (!paths || from === undefined || to === undefined || from === to) return spec
  const moved = (roots?: readonly string[]): readonly string[] | undefined =>
    roots?.map((root) => (isBelow([from], root) ? join(to, relative(from, root)) : root))
  return withPaths(spec, moved(paths.read), moved(paths.write))
}

function withPaths(spec: ProcessSpec, read: readonly string[] | undefined, write: readonly string[] | undefined): ProcessSpec {
  const paths: PathAccess = { ...(read && { read }), ...(write && { write }) }
  return { ...spec, capabilities: { ...spec.capabilities, paths } }
}
