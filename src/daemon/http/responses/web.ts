// Schemas of the page's links and sessions, for src/api/views/web.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { WEB_RIGHTS, WEB_WAYS } from '../../../kernel/model/words.ts'
import { count, ms, text, time, version } from './fields.ts'

const right = z.enum(WEB_RIGHTS).describe('what it may do; each right includes those before it')

const session = z
  .object({
    id: text,
    right,
    only: text.nullable().describe('the UUID of the process whose subtree it sees; null: it sees all'),
    redact: z.boolean(),
    label: text.nullable(),
    way: z.enum(WEB_WAYS).describe('the way by which it was started; it works by no other'),
    remembered: z.boolean().describe('true: it ends after 30 days without a request; false: after 12 hours'),
    createdAt: time,
    lastSeenAt: time,
    expiresAt: time.nullable().describe('when it ends at the latest; null: it ends only after a time without a request'),
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
  WebSessionView: session,
  WebOpenedView: webOpened,
  WebStartedView: webStarted,
  WebHelloView: webHello,
  WebView: web,
  WebRevokedView: webRevoked,
  WebStoppedView: webStopped,
  WebLinkUsesView: webLinkUses,
}
