// Matches a request to its API route before the server does, so that the access check (access-check.ts) knows which right it needs.
// Later, restrict.ts checks that the server chose the same route. Test: test/tables/daemon/web/access-check.test.ts.
import type { WebOpening, WebRight } from '../../kernel/model/words.ts'

/** What the access check must know about a route; src/daemon/http/route.ts explains the fields. */
export interface RouteAccess {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly right: WebRight | 'socket' | 'anyone'
  readonly closed?: WebOpening
  readonly within?: true
}

/** Finds a route by method and the parts of a path. A literal part of a route takes precedence over a parameter. */
export function findRoute<R extends Pick<RouteAccess, 'method' | 'path'>>(
  routes: readonly R[],
  method: string,
  parts: readonly string[],
): R | undefined {
  const matching = routes.filter((route) => route.method === method && matches(route.path, parts))
  return matching.toSorted((one, other) => parameterCount(one.path) - parameterCount(other.path))[0]
}

function matches(path: string, parts: readonly string[]): boolean {
  const routeParts = path.slice(1).split('/')
  return routeParts.length === parts.length && routeParts.every((part, index) => part.startsWith(':') || part === parts[index])
}

function parameterCount(path: string): number {
  return path.split('/:').length
}
