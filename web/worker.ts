// The worker that all tabs share: it holds the one stream to the daemon, opens it again when it breaks, and passes events to each tab.
// Must never keep a token that no tab has. Test: test/e2e/web/page.test.ts.
import { readStream, RequestError } from './api.ts'
import type { FromWorker, LinkState, ToWorker } from './shared.ts'

/** The stream; its path is one place, so that it can become the stream of rows. */
const STREAM = '/v1/events?follow=1'
const RETRY_MS = 1_000
/** a tab that was closed says nothing, so its port is dropped when the browser has collected it */
const ports = new Map<MessagePort, string>()
let link: LinkState = { state: 'opening', lastByteAt: null }
let stream: AbortController | null = null

function broadcast(message: FromWorker): void {
  for (const port of ports.keys()) port.postMessage(message)
}

function setLink(next: Partial<LinkState>): void {
  link = { ...link, ...next }
  broadcast({ type: 'link', link })
}

/** Follows the stream with a token until it is refused or replaced. */
async function follow(token: string, { signal }: AbortController): Promise<void> {
  while (!signal.aborted) {
    try {
      await readStream(token, STREAM, {
        signal,
        onByte: () => setLink({ state: 'open', lastByteAt: Date.now() }),
        onEvent: ({ type, data }) => broadcast({ type: 'event', name: type, data }),
      })
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof RequestError && error.isRefused) {
        stream = null
        setLink({ state: 'refused' })
        return
      }
    }
    setLink({ state: 'lost' })
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    broadcast({ type: 'changed' })
  }
}

/** Follows with the token of the tab that came last: an older one may have been revoked. */
function start(token: string): void {
  stream?.abort()
  stream = new AbortController()
  setLink({ state: 'opening' })
  follow(token, stream).catch(() => setLink({ state: 'lost' }))
}

function onMessage(port: MessagePort, message: ToWorker): void {
  if (message.type === 'bye') {
    ports.delete(port)
    if (ports.size > 0) return
    stream?.abort()
    stream = null
    return
  }
  const isNew = ![...ports.values()].includes(message.token)
  ports.set(port, message.token)
  if (stream === null || isNew) start(message.token)
  else port.postMessage({ type: 'link', link } satisfies FromWorker)
}

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  port?.addEventListener('message', ({ data }: MessageEvent<ToWorker>) => onMessage(port, data))
  port?.start()
})
