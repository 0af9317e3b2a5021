// Requests of the page: JSON by `fetch` with the token of the session as a header, to this origin alone. Streams of events are read by
// `fetch` as well, so that the token is in no address. Used by the page and by its worker. Test: test/e2e/web/page.test.ts.
import type { ErrorBody } from '../src/api/views/daemon.ts'
import { provePeer, type Credentials } from './peer.ts'
import { RequestError } from './request-error.ts'

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: object
  readonly signal?: AbortSignal
}

/** Sends a request, and returns its answer. Errors: RequestError; ForeignPeerError; TypeError or TimeoutError if nothing answers. */
export async function request<T>(credentials: Credentials, path: string, options: RequestOptions = {}): Promise<T> {
  return (await (await send(credentials, path, options)).json()) as T
}

/** One event of a stream. */
export interface StreamEvent {
  readonly type: string
  readonly data: string
}

/**
 * Reads a stream of server-sent events to its end. `onByte` is called for the head of the response, and for each piece of its body.
 * Errors: those of `request`, and of a stream that breaks.
 */
export async function readStream(
  credentials: Credentials,
  path: string,
  handlers: { readonly onEvent: (event: StreamEvent) => void; readonly onByte: () => void; readonly signal: AbortSignal },
): Promise<void> {
  const response = await send(credentials, path, { signal: handlers.signal })
  handlers.onByte()
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const piece = await reader?.read()
    if (piece === undefined || piece.done) return
    handlers.onByte()
    const blocks = (rest + piece.value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = eventOf(block)
      if (event) handlers.onEvent(event)
    }
  }
}

/** Reads one block of a stream; null for a comment. */
function eventOf(block: string): StreamEvent | null {
  const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/s.exec(line))
  const data = fields.filter((field) => field?.[1] === 'data').map((field) => field?.[2] ?? '')
  if (data.length === 0) return null
  return { type: fields.find((field) => field?.[1] === 'event')?.[2] ?? 'message', data: data.join('\n') }
}

async function send(credentials: Credentials, path: string, { method = 'GET', body, signal }: RequestOptions): Promise<Response> {
  await provePeer(credentials)
  const response = await fetch(path, {
    method,
    headers: { authorization: `Bearer ${credentials.token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    ...(signal ? { signal } : {}),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
  })
  if (!response.ok) throw await errorOf(response)
  return response
}

async function errorOf(response: Response): Promise<RequestError> {
  const nothing = { code: 'INTERNAL', message: `the daemon answered ${response.status}`, hint: '' }
  // The body of an error may be no JSON, such as that of a proxy.
  const body = (await response.json().catch(() => ({ error: nothing }))) as Pick<ErrorBody, 'error'>
  return new RequestError(response.status, body.error)
}
