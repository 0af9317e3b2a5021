// Finds the name of the client that sent a request, and notices when the client has gone. For the handlers of routes.
// Tests: test/e2e/daemon/api.test.ts, test/e2e/daemon/events.test.ts.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { passOf } from '../web/pass.ts'

/** A valid client name: at most 100 printable characters. */
const CLIENT_NAME = /^[\x20-\x7e]{1,100}$/

/**
 * Returns the name of the client, to show it to users. Default: `api`. A session of the page has the name `web:ID`, which the daemon sets.
 * Other clients name themselves, so their names must not be trusted.
 */
export function clientNameOf({ headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>): string {
  const session = passOf(raw)?.session
  if (session) return `web:${session.id}`
  const name = headers['x-reeve-client']
  // No other client may take the name of a session.
  return typeof name === 'string' && CLIENT_NAME.test(name) && !name.startsWith('web:') ? name : 'api'
}

/** Returns a signal that aborts when the client has gone. */
export function clientGoneSignal(reply: FastifyReply): AbortSignal {
  const abortController = new AbortController()
  if (reply.raw.destroyed) abortController.abort()
  reply.raw.once('close', () => abortController.abort())
  return abortController.signal
}
