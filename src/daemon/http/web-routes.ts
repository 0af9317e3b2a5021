// Routes of the page's links and sessions; routes.ts registers them. Over TCP, a browser starts a session, and checks that it still talks
// to the same daemon. With the right `all` it also lists and ends sessions. Links are made only over the socket, so that no session makes
// another.
// Test: test/e2e/web/access/listener.test.ts, test/e2e/daemon/openapi.test.ts.
import { clientGoneSignal } from './event-stream.ts'
import { webCodeBody, webHelloBody, webLinkQuery, webOpenBody } from './responses/web.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { passOf } from '../web/pass.ts'
import { defineRoute, type ApiRoute } from './route.ts'

/** the largest number of characters of a browser's User-Agent that are kept */
const MAX_USER_AGENT_CHARS = 200

export const WEB_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'openWeb',
    method: 'POST',
    path: '/v1/web/open',
    right: 'socket',
    summary: 'Opens the page on this machine if it is closed, and makes a link to it for one use.',
    body: webOpenBody,
    answer: 'webOpened',
    status: 201,
    errors: ['NOT_FOUND', 'AMBIGUOUS', 'COLLECTED', 'PERMISSION', 'AGENT_INVALID', 'CONFLICT'],
    example: { right: 'read', ttlMs: 7_200_000 },
    handle: async ({ web }, { body }) => (await web()).open(body),
  }),
  defineRoute({
    id: 'startWebSession',
    method: 'POST',
    path: '/v1/web/session',
    right: 'anyone',
    summary: 'Starts a session of the page with the code of a link; only over TCP.',
    body: webCodeBody,
    answer: 'webStarted',
    status: 201,
    errors: ['RESOURCE_EXHAUSTED'],
    handle: async ({ web }, { body, request }) => {
      const pass = passOf(request.raw)
      if (!pass) throw new KernelError('INVALID', 'a session can only be started over TCP')
      return (await web()).start(
        { ...body, way: pass.way },
        {
          address: request.raw.socket.remoteAddress ?? 'unknown',
          userAgent: (request.headers['user-agent'] ?? '').replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_USER_AGENT_CHARS),
        },
      )
    },
  }),
  defineRoute({
    id: 'proveToWebSession',
    method: 'POST',
    path: '/v1/web/hello',
    right: 'anyone',
    summary: 'Proves to a session of the page that this daemon knows it, at this address; only over TCP.',
    body: webHelloBody,
    answer: 'webHello',
    errors: ['RESOURCE_EXHAUSTED'],
    handle: async ({ web }, { body, request }) => {
      if (!passOf(request.raw)) throw new KernelError('INVALID', 'the proof for a session is only given over TCP')
      return (await web()).prove(body, request.headers.host ?? '')
    },
  }),
  defineRoute({
    id: 'getWeb',
    method: 'GET',
    path: '/v1/web',
    right: 'all',
    summary: 'Returns the address of the page, if it is open, and its sessions.',
    answer: 'web',
    errors: [],
    handle: async ({ web }) => (await web()).view(),
  }),
  defineRoute({
    id: 'waitForWebLink',
    method: 'GET',
    path: '/v1/web/links/:id/wait',
    right: 'socket',
    summary: 'Answers when a link has more than `uses` uses or `wrongNumbers` wrong numbers, or when `timeoutMs` are over.',
    query: webLinkQuery,
    answer: 'webLinkUses',
    errors: ['NOT_FOUND'],
    handle: async ({ web }, { id, query, reply }) => (await web()).waitForUse(id, query, clientGoneSignal(reply)),
  }),
  defineRoute({
    id: 'revokeWebSession',
    method: 'DELETE',
    path: '/v1/web/sessions/:id',
    right: 'all',
    summary: 'Ends a session of the page, with its streams.',
    answer: 'webRevoked',
    errors: ['NOT_FOUND'],
    handle: async ({ web }, { id }) => (await web()).revoke(id),
  }),
  defineRoute({
    id: 'revokeWebSessions',
    method: 'DELETE',
    path: '/v1/web/sessions',
    right: 'all',
    summary: 'Ends all sessions of the page.',
    answer: 'webRevoked',
    errors: [],
    handle: async ({ web }) => (await web()).revoke(null),
  }),
  defineRoute({
    id: 'stopWeb',
    method: 'POST',
    path: '/v1/web/stop',
    right: 'socket',
    summary: 'Closes the page: its port, its links and its sessions.',
    answer: 'webStopped',
    errors: [],
    handle: async ({ web }) => (await web()).stop(),
  }),
]
