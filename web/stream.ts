// A tab's end of the stream: connects to the worker that all tabs share. In a browser without shared workers, such as Chrome on Android,
// each tab has a worker of its own. Makes the only Trusted Types policy of the page, which accepts
// the address of that worker and nothing else. Test: test/e2e/web/page.test.ts.
import type { Credentials } from './peer.ts'
import type { FromWorker, ToWorker } from './shared.ts'

/** The address of the worker; the build puts it here. */
declare const REEVE_WORKER: string

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): URL }
}

/** Connects to the worker. Returns the function that leaves it. */
export function connectWorker(credentials: Credentials, onMessage: (message: FromWorker) => void): () => void {
  const port = startWorker()
  const send = (message: ToWorker): void => port.postMessage(message)
  port.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => onMessage(data))
  send({ type: 'hello', credentials })
  const leave = (): void => send({ type: 'bye' })
  addEventListener('pagehide', leave)
  // A page that comes back from the browser's memory is a tab again.
  addEventListener('pageshow', ({ persisted }) => persisted && send({ type: 'hello', credentials }))
  return leave
}

function startWorker(): MessagePort {
  const options = { name: 'reeve', type: 'module' } as const
  // A worker of one tab is its own port.
  if (!('SharedWorker' in globalThis)) return new Worker(workerAddress(), options) as unknown as MessagePort
  const { port } = new SharedWorker(workerAddress(), options)
  port.start()
  return port
}

function workerAddress(): URL | string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const rule = (url: string): string => {
    if (url !== REEVE_WORKER) throw new TypeError('this is not a script of the page')
    return url
  }
  return trustedTypes?.createPolicy('reeve-worker', { createScriptURL: rule }).createScriptURL(REEVE_WORKER) ?? REEVE_WORKER
}
