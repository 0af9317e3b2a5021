// Schemas of the page's links and sessions, for src/api/views/web.ts. Test: test/e2e/daemon/openapi.test.ts.
import { isIP } from 'node:net'
import { z } from 'zod'
import { NONCE_PATTERN } from '../../../api/web-hello.ts'
import { WEB_RIGHTS, WEB_WAYS } from '../../../kernel/model/words.ts'
import { count, ms, text, time, version } from './fields.ts'

const DAY_MS = 86_400_000
const port = z.int().min(1).max(65_535)
const file = z.string().regex(/^\//, 'an absolute path').max(4_096)
/** A DNS name; the last label has a letter, so that it is not an IP address. */
const PROXY_HOST = /^(?=.{4,255}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*(:[1-9]\d{0,4})?$/
const right = z.enum(WEB_RIGHTS).describe('what it may do; each right includes those before it')

export const webOpenBody = z
  .strictObject({
    right: right.exactOptional().describe('default: `all`'),
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
    remember: z.boolean().exactOptional().describe('true: its session lives until 30 days without a request; with `proxyHost` or `tls`'),
  })
  .describe('POST /v1/web/open.')

export const webCodeBody = z
  .strictObject({
    code: z.string().min(1).max(200),
    number: z
      .string()
      .regex(/^\d{6}$/)
      .exactOptional()
      .describe('the six digits on the terminal, for a link through a proxy'),
  })
  .describe('POST /v1/web/session: the code of a link.')

export const webHelloBody = z
  .strictObject({
    session: z
      .string()
      .regex(/^[0-9a-f]{4}$/)
      .describe('the id of a session; not its token'),
    nonce: z.string().regex(NONCE_PATTERN).describe('at least 128 random bits, as base64url'),
  })
  .describe('POST /v1/web/hello.')

export const webLinkQuery = z.strictObject({
  uses: z.coerce.number().int().min(0).max(1_000).default(0),
  wrongNumbers: z.coerce.number().int().min(0).max(1_000).default(0),
  timeoutMs: z.coerce.number().int().min(0).max(60_000).default(60_000),
})

const session = z
  .object({
    id: text,
    right,
    only: text.nullable().describe('the UUID of the process whose subtree it sees; null: it sees all'),
    redact: z.boolean(),
    label: text.nullable(),
    way: z.enum(WEB_WAYS).describe('the way by which it was started; it works by no other'),
    remembered: z.boolean().describe('true: it lives until 30 days without a request'),
    createdAt: time,
    lastSeenAt: time,
    expiresAt: time.nullable().describe('null: it ends after 12 hours without a request'),
    address: text,
    userAgent: text,
  })
  .describe('A session of the page.')

const webOpened = z.object({
  version,
  url: text.describe('the address of the page; the link is this address with `#k=` and the code'),
  code: text.describe('the code, for one use'),
  number: text
    .nullable()
    .describe('six digits that the browser asks for, if the link goes through a proxy: the link is then `url` with `#n=` and the code'),
  localPort: count.describe('the port on loopback'),
  link: text.describe('the id of the link; not a part of its code'),
  usableMs: ms.describe('the time until the code is void'),
})
const webStarted = z.object({ version, token: text.describe('the bearer token of the session'), session })
const web = z.object({
  version,
  url: text.nullable().describe('the address of the page; null: it is closed'),
  proxyHosts: z.array(text).describe('the names of proxies that end TLS'),
  tls: text.nullable().describe('the address with TLS'),
  sessions: z.array(session),
  reusedLinks: count.describe('the number of links that were used more than once: they may have been seen'),
})
const webHello = z.object({
  version,
  mac: text.describe(
    'HMAC-SHA-256 of `reeve-hello-1`, the Host and the nonce, each on a line; the key is the SHA-256 of the token; base64url',
  ),
})
const webRevoked = z.object({ version, revoked: count })
const webStopped = z.object({ version, wasOpen: z.boolean() })
const webLinkUses = z.object({
  version,
  uses: count,
  wrongNumbers: count.describe('how often it was opened with a wrong number'),
  usableMs: ms,
})

export const webAnswers = { webOpened, webStarted, webHello, web, webRevoked, webStopped, webLinkUses }

export const WEB_TYPES = {
  WebOpenBody: webOpenBody,
  WebCodeBody: webCodeBody,
  WebHelloBody: webHelloBody,
  WebSessionView: session,
  WebOpenedView: webOpened,
  WebStartedView: webStarted,
  WebHelloView: webHello,
  WebView: web,
  WebRevokedView: webRevoked,
  WebStoppedView: webStopped,
  WebLinkUsesView: webLinkUses,
}
