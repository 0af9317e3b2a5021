// A tab's end of the stream: connects to the worker that all tabs share. Makes the only Trusted Types policy of the page, which accepts
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
  const worker = new SharedWorker(workerAddress(), { name: 'reeve', type: 'module' })
  const send = (message: ToWorker): void => worker.port.postMessage(message)
  worker.port.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => onMessage(data))
  worker.port.start()
  send({ type: 'hello', credentials })
  const leave = (): void => send({ type: 'bye' })
  addEventListener('pagehide', leave)
  // A page that comes back from the browser's memory is a tab again.
  addEventListener('pageshow', ({ persisted }) => persisted && send({ type: 'hello', credentials }))
  return leave
}

function workerAddress(): URL | string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const rule = (url: string): string => {
    if (url !== REEVE_WORKER) throw new TypeError('this is not a script of the page')
    return url
  }
  return trustedTypes?.createPolicy('reeve-worker', { createScriptURL: rule }).createScriptURL(REEVE_WORKER) ?? REEVE_WORKER
}
