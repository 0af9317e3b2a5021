// Routes of the page's links and sessions, and the schemas of their requests; routes.ts registers them. Over TCP, a browser starts a
// session, and checks that it still talks to the same daemon. With the right `all` it also lists and ends sessions. Links are made only
// over the socket, so that no session makes another.
// Test: test/e2e/web/access/listener.test.ts, test/e2e/daemon/openapi.test.ts.
import { isIP } from 'node:net'
import { z } from 'zod'
import { NONCE_PATTERN } from '../../api/web-hello.ts'
import { WEB_RIGHTS } from '../../kernel/model/words.ts'
import { clientGoneSignal } from './client.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { passOf } from '../web/pass.ts'
import { defineRoute, type ApiRoute } from './route.ts'

/** the largest number of characters of a browser's User-Agent that are kept */
const MAX_USER_AGENT_CHARS = 200

const DAY_MS = 86_400_000
const port = z.int().min(1).max(65_535)
const file = z.string().regex(/^\//, 'an absolute path').max(4_096)
/** A DNS name; the last label has a letter, so that it is not an IP address. */
const PROXY_HOST = /^(?=.{4,255}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*(:[1-9]\d{0,4})?$/

const webOpenBody = z
  .strictObject({
    right: z.enum(WEB_RIGHTS).exactOptional().describe('default: `all`'),
    only: z.string().min(1).max(200).exactOptional().describe('a process: the session sees only it and the processes below it'),
    redact: z.boolean().exactOptional().describe('true: without inputs or results of tools, output, or contents of files'),
    ttlMs: z
      .int()
      .min(1_000)
      .max(30 * DAY_MS)
      .exactOptional()
      .describe('the life of the session; default: it ends after 12 hours without a request'),
    label: z
      .string()
      .regex(/^[^\0-\x1f\x7f]{1,100}$/)
      .exactOptional(),
    port: port.exactOptional().describe('the port on loopback that must be used; default: 7338, or any free one'),
    proxyHost: z
      .string()
      .regex(PROXY_HOST, 'a name with a dot, in lower case, with a port if that is not 443')
      .exactOptional()
      .describe('the name of a proxy of the user that ends TLS; its link needs a number as well'),
    tls: z
      .strictObject({ address: z.string().refine((text) => isIP(text) !== 0, 'expected an IP address'), port, cert: file, key: file })
      .exactOptional()
      .describe('an address of this machine, with a certificate and its key'),
    remember: z
      .boolean()
      .exactOptional()
      .describe('true: its session ends only after 30 days without a request; needs `proxyHost` or `tls`'),
  })
  .describe('POST /v1/web/open.')

const webCodeBody = z
  .strictObject({
    code: z.string().min(1).max(200),
    number: z
      .string()
      .regex(/^\d{6}$/)
      .exactOptional()
      .describe('the six digits on the terminal, for a link through a proxy'),
  })
  .describe('POST /v1/web/session: the code of a link.')

const webHelloBody = z
  .strictObject({
    session: z
      .string()
      .regex(/^[0-9a-f]{4}$/)
      .describe('the id of a session; not its token'),
    nonce: z.string().regex(NONCE_PATTERN).describe('at least 128 random bits, as base64url'),
  })
  .describe('POST /v1/web/hello.')

const webLinkQuery = z.strictObject({
  uses: z.coerce.number().int().min(0).max(1_000).default(0),
  wrongNumbers: z.coerce.number().int().min(0).max(1_000).default(0),
  timeoutMs: z.coerce.number().int().min(0).max(60_000).default(60_000),
})

/** The bodies by the names of their types in src/api/views/web.ts. */
export const WEB_BODIES = { WebOpenBody: webOpenBody, WebCodeBody: webCodeBody, WebHelloBody: webHelloBody }

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
