// The JSON of the API: the links and sessions of the page. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not
// edit. Test: test/e2e/web/access/listener.test.ts.
import type { WebRight } from '../../kernel/model/words.ts'

/** POST /v1/web/open. */
export interface WebOpenBody {
  /** default: `all` */
  right?: WebRight
  /** a process: the session sees only it and the processes below it */
  only?: string
  /** true: without inputs or results of tools, output, or contents of files */
  redact?: boolean
  /** the life of the session; default: it ends after 12 hours without a request */
  ttlMs?: number
  label?: string
  /** the port on loopback that must be used; default: 7338, or any free one */
  port?: number
  /** the name of a proxy of the user that ends TLS; its link needs a number as well */
  proxyHost?: string
  /** an address of this machine, with a certificate and its key */
  tls?: { address: string; port: number; cert: string; key: string }
  /** true: its session ends only after 30 days without a request; needs `proxyHost` or `tls` */
  remember?: boolean
}

/** POST /v1/web/session: the code of a link. */
export interface WebCodeBody {
  code: string
  /** the six digits on the terminal, for a link through a proxy */
  number?: string
}

/** POST /v1/web/hello. */
export interface WebHelloBody {
  /** the id of a session; not its token */
  session: string
  /** at least 128 random bits, as base64url */
  nonce: string
}

/** A session of the page. */
export interface WebSessionView {
  id: string
  /** what it may do; each right includes those before it */
  right: WebRight
  /** the UUID of the process whose subtree it sees; null: it sees all */
  only: string | null
  redact: boolean
  label: string | null
  /** the way by which it was started; it works by no other */
  way: 'loopback' | 'proxy' | 'tls'
  /** true: it ends after 30 days without a request; false: after 12 hours */
  remembered: boolean
  createdAt: string
  lastSeenAt: string
  /** when it ends at the latest; null: it ends only after a time without a request */
  expiresAt: string | null
  address: string
  userAgent: string
}

export interface WebOpenedView {
  version: 1
  /** the address of the page; the link is this address with `#k=` and the code */
  url: string
  /** the code, for one use */
  code: string
  /** six digits that the browser asks for, if the link goes through a proxy: the link is then `url` with `#n=` and the code */
  number: string | null
  /** the port on loopback */
  localPort: number
  /** the id of the link; not a part of its code */
  link: string
  /** the time until the code is void */
  usableMs: number
}

export interface WebStartedView {
  version: 1
  /** the bearer token of the session */
  token: string
  session: WebSessionView
}

export interface WebHelloView {
  version: 1
  /** HMAC-SHA-256 of `reeve-hello-1`, the Host and the nonce, each on a line; the key is the SHA-256 of the token; base64url */
  mac: string
}

export interface WebView {
  version: 1
  /** the address of the page; null: it is closed */
  url: string | null
  /** the names of proxies that end TLS */
  proxyHosts: string[]
  /** the address with TLS */
  tls: string | null
  sessions: WebSessionView[]
  /** the number of links that were used more than once: they may have been seen */
  reusedLinks: number
}

export interface WebRevokedView {
  version: 1
  revoked: number
}

export interface WebStoppedView {
  version: 1
  wasOpen: boolean
}

export interface WebLinkUsesView {
  version: 1
  uses: number
  /** how often it was opened with a wrong number */
  wrongNumbers: number
  usableMs: number
}
