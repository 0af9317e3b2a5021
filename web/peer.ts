// Checks who answers at this address before a token is sent there. While the daemon is away, another program can take its port. The daemon
// proves that it knows the session, by a MAC over a new nonce and this address. Used by the page and by its worker.
// Must never send a token. Test: test/e2e/web/access/return.test.ts.
import type { ErrorBody } from '../src/api/views/daemon.ts'
import type { WebHelloBody, WebHelloView } from '../src/api/views/web.ts'
import { helloText } from '../src/api/web-hello.ts'
import { RequestError } from './request-error.ts'

/** The session to which the daemon must prove itself. */
export interface Credentials {
  readonly token: string
  /** the id of the session; not secret */
  readonly id: string
}

/** Another program answers at this address, or the daemon without proof. */
export class ForeignPeerError extends Error {}

const NONCE_BYTES = 32
/** a proof stays valid for this time after the last byte from the proven daemon, in ms */
const PROVEN_MS = 5_000

/** when the proven daemon last sent something, by the wall clock; null: it must prove itself first */
let provenAt: number | null = null
/** the requested proofs that have not come yet, by token */
const proofs = new Map<string, Promise<void>>()
/** the longest wait for the daemon's proof, in ms */
const HELLO_MS = 5_000

/** Sets when the proven daemon last sent something, by the wall clock in ms; null: its stream is lost, so it must prove itself again. */
export function setProvenAt(at: number | null): void {
  provenAt = at
}

/**
 * Resolves when the daemon has proven that it knows the session. Errors: RequestError if it does not know the session; ForeignPeerError
 * for any other answer; TypeError or TimeoutError without an answer.
 */
export async function provePeer(credentials: Credentials): Promise<void> {
  const age = provenAt === null ? Infinity : Date.now() - provenAt
  // A clock that was set back makes the age negative, and proves nothing.
  if (age >= 0 && age < PROVEN_MS) return
  const { token } = credentials
  const proof = proofs.get(token) ?? requestProof(credentials).finally(() => proofs.delete(token))
  proofs.set(token, proof)
  await proof
}

async function requestProof({ token, id }: Credentials): Promise<void> {
  const nonce = base64url(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)))
  const response = await fetch('/v1/web/hello', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ session: id, nonce } satisfies WebHelloBody),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout(HELLO_MS),
  })
  // An answer that is not JSON does not come from the daemon.
  const answer = (await response.json().catch(() => null)) as Partial<WebHelloView & ErrorBody> | null
  // Counts as no answer, so that the caller tries again.
  if (response.status === 429) throw new TypeError('the daemon has too many requests')
  if (response.status === 403 && answer?.error?.code === 'FORBIDDEN') throw new RequestError(403, answer.error)
  if (!response.ok || !(await isProof(answer?.mac, { token, nonce }))) throw new ForeignPeerError('another program answers')
  setProvenAt(Date.now())
}

async function isProof(mac: unknown, { token, nonce }: { readonly token: string; readonly nonce: string }): Promise<boolean> {
  if (typeof mac !== 'string' || !/^[\w-]{43}$/.test(mac)) return false
  const text = new TextEncoder()
  const hash = await crypto.subtle.digest('SHA-256', text.encode(token))
  const key = await crypto.subtle.importKey('raw', hash, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  return crypto.subtle.verify('HMAC', key, bytesOf(mac), text.encode(helloText(location.host, nonce)))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
}
