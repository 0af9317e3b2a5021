// The messages between the page and its worker, and what a failure means for the link. The worker holds the only stream of this browser. A
// browser opens six connections to an origin, and all tabs together take one of them. Test: test/e2e/web/page.test.ts.
import { ForeignPeerError, type Credentials } from './peer.ts'
import { RequestError } from './request-error.ts'
import type { RowEvent } from '../src/api/row-events.ts'

/** From a tab to the worker. `hello`: the tab is there, with its session; `bye`: it goes. */
export type ToWorker = { readonly type: 'hello'; readonly credentials: Credentials } | { readonly type: 'bye' }

/** The state of the link to the daemon. */
export interface LinkState {
  /** `refused`: the daemon no longer knows the session; `foreign`: another program answers in its place */
  readonly state: 'opening' | 'open' | 'lost' | 'refused' | 'foreign'
  /** when the last byte came, in ms since the epoch by this browser's clock; null: none yet */
  readonly lastByteAt: number | null
}

/** From the worker to a tab. The first `rows` of a tab has all rows. */
export type FromWorker = { readonly type: 'link'; readonly link: LinkState } | { readonly type: 'rows'; readonly event: RowEvent }

/** The state of a link after a request or a proof has failed. */
export function stateAfter(error: unknown): 'lost' | 'refused' | 'foreign' {
  if (error instanceof RequestError && error.isRefused) return 'refused'
  return error instanceof ForeignPeerError ? 'foreign' : 'lost'
}
