// Schemas of the page's links and sessions, for src/api/views/web.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { NONCE } from '../../../api/web-hello.ts'
import { WEB_RIGHTS } from '../../../kernel/model/words.ts'
import { count, ms, text, time, version } from './fields.ts'

const DAY_MS = 86_400_000
const right = z.enum(WEB_RIGHTS).describe('what it may do; each right has those before it')

export const webOpenBody = z
  .strictObject({
    right: right.exactOptional().describe('default: `all`'),
    only: z.string().min(1).max(200).exactOptional().describe('a process: the session sees only it and the processes below it'),
    redact: z.boolean().exactOptional().describe('true: without inputs and results of tools, output, and contents of files'),
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
  })
  .describe('POST /v1/web/open.')

export const webCodeBody = z.strictObject({ code: z.string().min(1).max(200) }).describe('POST /v1/web/session: the code of a link.')

export const webHelloBody = z
  .strictObject({
    session: z
      .string()
      .regex(/^[0-9a-f]{4}$/)
      .describe('the id of a session; not its token'),
    nonce: z.string().regex(NONCE).describe('at least 128 random bits, as base64url'),
  })
  .describe('POST /v1/web/hello.')

export const webLinkQuery = z.strictObject({
  uses: z.coerce.number().int().min(0).max(1_000).default(0),
  timeoutMs: z.coerce.number().int().min(0).max(60_000).default(60_000),
})

const session = z
  .object({
    id: text,
    right,
    only: text.nullable().describe('the UUID of the process whose subtree it sees; null: it sees all'),
    redact: z.boolean(),
    label: text.nullable(),
    createdAt: time,
    lastSeenAt: time,
    expiresAt: time.nullable().describe('null: it ends after 12 hours without a request'),
    address: text,
    userAgent: text,
  })
  .describe('A session of the page.')

const webOpened = z.object({
  version,
  url: text.describe('the address of the page; the link is this with `#k=` and the code'),
  code: text.describe('the code, for one use'),
  link: text.describe('the id of the link; not a part of its code'),
  usableMs: ms.describe('the time until the code is void'),
})
const webStarted = z.object({ version, token: text.describe('the bearer token of the session'), session })
const web = z.object({
  version,
  url: text.nullable().describe('the address of the page; null: it is closed'),
  sessions: z.array(session),
  reusedLinks: count.describe('the number of links that were used more than once: they may have been seen'),
})
const webHello = z.object({
  version,
  mac: text.describe(
    'HMAC-SHA-256 of `reeve-hello-1`, the Host and the nonce, a line each; the key is the SHA-256 of the token; base64url',
  ),
})
const webRevoked = z.object({ version, revoked: count })
const webStopped = z.object({ version, wasOpen: z.boolean() })
const webLinkUses = z.object({ version, uses: count, usableMs: ms })

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
