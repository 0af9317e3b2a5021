// Connects a tab to the worker, which all tabs share and which reads the stream of rows. In a browser without shared workers, such as
// Chrome on Android, each tab has its own. Makes the only Trusted Types policy of the page, which accepts only the address of the worker.
// Test: test/e2e/web/page.test.ts.
import { provePeer, type Credentials } from './peer.ts'
import { stateAfter, type FromWorker, type LinkState, type ToWorker } from './worker-messages.ts'

/** The address of the worker; the build puts it here. */
declare const REEVE_WORKER: string

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): URL }
}

/** the time until a worker that failed is started again, in ms */
const RETRY_MS = 1_000

/**
 * Connects to the worker. Returns the function that leaves it. A worker whose code did not load is reported as a lost link, and started
 * again.
 */
export function connectWorker(credentials: Credentials, onMessage: (message: FromWorker) => void): () => void {
  const address = workerAddress()
  let port: MessagePort
  let lastByteAt: number | null = null
  const send = (message: ToWorker): void => port.postMessage(message)
  const start = (): void => {
    port = startWorker(address, () => void restart())
    port.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
      if (data.type !== 'link') return onMessage(data)
      // A worker that was started again has heard nothing yet.
      lastByteAt = data.link.lastByteAt ?? lastByteAt
      onMessage({ type: 'link', link: { state: data.link.state, lastByteAt } })
    })
    send({ type: 'hello', credentials })
  }
  const restart = async (): Promise<void> => {
    for (let state: LinkState['state'] | null = 'lost'; state !== null; state = await stateUnlessProven(credentials)) {
      onMessage({ type: 'link', link: { state, lastByteAt } })
      if (state === 'refused') return
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
    start()
  }
  start()
  const leave = (): void => send({ type: 'bye' })
  addEventListener('pagehide', leave)
  // A page that comes back from the browser's memory is a tab again.
  addEventListener('pageshow', ({ persisted }) => persisted && send({ type: 'hello', credentials }))
  return leave
}

/** Only the daemon may send the code of the worker. Returns null when it has proven itself, otherwise the state of the link. */
async function stateUnlessProven(credentials: Credentials): Promise<LinkState['state'] | null> {
  try {
    await provePeer(credentials)
    return null
  } catch (error) {
    return stateAfter(error)
  }
}

function startWorker(address: URL | string, onError: () => void): MessagePort {
  const options = { name: 'reeve', type: 'module' } as const
  const worker = 'SharedWorker' in globalThis ? new SharedWorker(address, options) : new Worker(address, options)
  const fail = (): void => {
    if (worker instanceof Worker) worker.terminate()
    onError()
  }
  worker.addEventListener('error', fail, { once: true })
  // A worker of one tab is its own port.
  if (worker instanceof Worker) return worker as unknown as MessagePort
  worker.port.start()
  return worker.port
}

function workerAddress(): URL | string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const rule = (url: string): string => {
    if (url !== REEVE_WORKER) throw new TypeError('this is not a script of the page')
    return url
  }
  return trustedTypes?.createPolicy('reeve-worker', { createScriptURL: rule }).createScriptURL(REEVE_WORKER) ?? REEVE_WORKER
}
