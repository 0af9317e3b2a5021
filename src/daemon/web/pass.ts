// Keeps what the access check has decided about a request over TCP: its session, and the route that it may use. The routes read it here,
// because nothing that a client sends can make such a pass. Must stay small: the daemon loads this file at its start.
// Test: test/e2e/web/security.test.ts.
import type { Uuid } from '../../kernel/model/ids.ts'
import type { WebOpening, WebRight, WebWay } from '../../kernel/model/words.ts'

/** What a link grants to the session that it starts. */
export interface Grant {
  readonly right: WebRight
  /** the root of the only subtree that the session sees; null: it sees all processes */
  readonly only: Uuid | null
  /** leaves out inputs and results of tools, output, and contents of files */
  readonly redact: boolean
  /** the longest life of the session in ms; null: it ends when it was idle for too long */
  readonly ttlMs: number | null
  /** the user's own name for it */
  readonly label: string | null
  /** the only way by which the link and its session work */
  readonly way: WebWay
  /** true: the session lasts until 30 days without a use, even without an open page; never on loopback: any program may have the port */
  readonly remembered: boolean
}

/** The permission of a request that the access check let through. */
export interface Pass {
  /** the session; null for a request that needs none, such as the one that starts a session */
  readonly session: (Grant & { readonly id: string }) | null
  /** how the request came */
  readonly way: WebWay
  /** the id of the only route that may answer */
  readonly routeId: string
  /** what the user's configuration opens to sessions */
  readonly openings: readonly WebOpening[]
}

const passes = new WeakMap<object, Pass>()

/** Records the pass of a request. Only the listener may call this, after the access check. */
export function recordPass(request: object, pass: Pass): void {
  passes.set(request, pass)
}

/** The pass of a request; undefined if it came over a Unix socket. */
export function passOf(request: object): Pass | undefined {
  return passes.get(request)
}
