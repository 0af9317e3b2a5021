// The client for the page of `reeve web`: `connect().web`. Makes links and ends sessions; the sessions themselves belong to browsers.
// Must stay quick to load, like the library. Test: test/e2e/web/access/listener.test.ts.
import type { Client } from './client.ts'
import type { WebLinkUsesView, WebOpenBody, WebOpenedView, WebRevokedView, WebStoppedView, WebView } from '../views/web.ts'

interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

/** the longest wait of one request, in ms */
const POLL_MS = 60_000

export class Web {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Opens the page on this machine, and makes a link for one use within `usableMs`. The link is `url` with `#k=` and `code`. If the answer
   * has a `number`, the link has `#n=` instead, and the browser asks for that number. `right`: what a session of the link may do. Errors:
   * `PERMISSION` for a program of a process; `UNAVAILABLE` without a free port; `INVALID` for options that exclude each other, or an
   * unusable certificate.
   */
  open(body: WebOpenBody = {}, options: CallOptions = {}): Promise<WebOpenedView> {
    return this.#client.post('/v1/web/open', body, options)
  }

  /** Returns the address of the page, and its sessions. */
  get(options: CallOptions = {}): Promise<WebView> {
    return this.#client.get('/v1/web', {}, options)
  }

  /** Waits until a link has more than `uses` uses or `wrongNumbers` wrong numbers, or until `timeoutMs` are over. Errors: `NOT_FOUND`. */
  waitForLink(
    link: string,
    {
      uses = 0,
      wrongNumbers = 0,
      timeoutMs = POLL_MS,
      signal,
    }: CallOptions & { uses?: number; wrongNumbers?: number; timeoutMs?: number } = {},
  ): Promise<WebLinkUsesView> {
    return this.#client.get(
      `/v1/web/links/${encodeURIComponent(link)}/wait`,
      { uses, wrongNumbers, timeoutMs },
      { signal, extraMs: timeoutMs, isPoll: true },
    )
  }

  /** Ends a session, or without `id` all of them. Errors: `NOT_FOUND`. */
  revoke(id?: string, options: CallOptions = {}): Promise<WebRevokedView> {
    return this.#client.delete(id === undefined ? '/v1/web/sessions' : `/v1/web/sessions/${encodeURIComponent(id)}`, options)
  }

  /** Closes the page: its port, its links and its sessions. */
  stop(options: CallOptions = {}): Promise<WebStoppedView> {
    return this.#client.post('/v1/web/stop', {}, options)
  }
}
