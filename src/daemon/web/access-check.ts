// The access check of the page: one function that decides about each request over TCP, before it is routed. It checks the spelling of the
// path, then Host, Origin, Sec-Fetch-Site, content type, token and right, in this order. On loopback it also refuses what a proxy marks. A
// request that fails a check up to the token gets the same refusal, whatever was wrong. Only too many wrong tokens get another one.
// Must not answer, start or change anything. Test: test/tables/daemon/web/access-check.test.ts, test/e2e/web/security.test.ts.
import type { WebOpening, WebRight, WebWay } from '../../kernel/model/words.ts'
import { WEB_RIGHTS } from '../../kernel/model/words.ts'
import type { WebAddresses } from './addresses.ts'
import { pathParts } from './request-path.ts'
import { findRoute, type RouteAccess } from './find-route.ts'
import { isOpenToRedacted } from './redact.ts'
import type { WebSession } from './sessions.ts'

/** The head of a request. `rawHeaders`: names and values as they were sent, with repeated ones. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
}

export interface AccessCheckDeps {
  /** the addresses of the listener */
  readonly addresses: WebAddresses
  readonly routes: readonly RouteAccess[]
  readonly openings: readonly WebOpening[]
  readonly findSession: (token: string, way: WebWay) => WebSession | null
  /** counts a wrong token; true: there were too many recently */
  readonly countWrongToken: () => boolean
  readonly isAsset: (path: string) => boolean
}

export type AccessVerdict =
  | { readonly type: 'api'; readonly route: RouteAccess; readonly session: WebSession | null; readonly way: WebWay }
  | { readonly type: 'document' }
  | { readonly type: 'asset'; readonly path: string }
  | { readonly type: 'refused' }
  | { readonly type: 'too many' }
  | { readonly type: 'nothing there' }
  | { readonly type: 'no right'; readonly message: string; readonly hint: string }

/** The first parts of the page's own addresses; each gets the same document. */
const PAGES: ReadonlySet<string | undefined> = new Set([
  undefined,
  'needs',
  'p',
  'compare',
  'crews',
  'runs',
  'supervisors',
  'cost',
  'night',
  'machines',
  'start',
  'settings',
])
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'DELETE'])
const BEARER = /^Bearer ([\w-]{20,200})$/
const JSON_TYPE = /^application\/json\s*(;|$)/i
const REFUSED = { type: 'refused' } as const
/** Headers of a program that passes requests on. On loopback it would give the page to whoever reaches that program. */
const FORWARDED = /^(forwarded|via|x-real-ip|x-forwarded-.*)$/
/** The largest body that is read before a session is known, in bytes. */
const MAX_STRANGER_BODY = 4_096

export function checkAccess(head: RequestHead, deps: AccessCheckDeps): AccessVerdict {
  const parts = pathParts(head.url)
  const headers = readHeaders(head.rawHeaders)
  if (parts === null || headers === null || !METHODS.has(head.method)) return REFUSED
  const address = deps.addresses.get(headers.get('host') ?? '')
  if (address === undefined || headers.has('upgrade')) return REFUSED
  if (address.way === 'loopback' && [...headers.keys()].some((name) => FORWARDED.test(name))) return REFUSED
  const origin = headers.get('origin')
  if (origin === undefined ? head.method !== 'GET' : origin !== address.origin) return REFUSED
  const isApi = parts[0] === 'v1'
  const isDocument = !isApi && head.method === 'GET' && PAGES.has(parts[0])
  if (!isFromHere(headers, isDocument) || !hasAllowedBody(head.method, headers)) return REFUSED
  if (isApi) return checkApi({ method: head.method, parts, headers, way: address.way }, deps)
  if (isDocument) return { type: 'document' }
  const path = `/${parts.join('/')}`
  return head.method === 'GET' && deps.isAsset(path) ? { type: 'asset', path } : { type: 'nothing there' }
}

/** Checks the token of a request of the API, and then the right of its session. */
function checkApi(
  {
    method,
    parts,
    headers,
    way,
  }: { readonly method: string; readonly parts: readonly string[]; readonly headers: ReadonlyMap<string, string>; readonly way: WebWay },
  deps: AccessCheckDeps,
): AccessVerdict {
  const route = findRoute(deps.routes, method, parts)
  if (route?.right === 'anyone') return isShort(headers) ? { type: 'api', route, session: null, way } : REFUSED
  const token = BEARER.exec(headers.get('authorization') ?? '')?.[1]
  const session = token === undefined ? null : deps.findSession(token, way)
  if (!session) return token !== undefined && deps.countWrongToken() ? { type: 'too many' } : REFUSED
  if (!route) return { type: 'nothing there' }
  const missing = missingRight(route, session, deps.openings)
  return missing ?? { type: 'api', route, session, way }
}

/** What a session lacks for a route; null: nothing. */
function missingRight(
  { id, right, closed, within }: RouteAccess,
  session: WebSession,
  openings: readonly WebOpening[],
): Extract<AccessVerdict, { type: 'no right' }> | null {
  const lacks = (message: string, hint: string): ReturnType<typeof missingRight> => ({ type: 'no right', message, hint })
  if (right === 'socket' || right === 'anyone') return lacks(`${id} is only open on the Unix socket`, 'Use `reeve` on the machine itself.')
  if (!includesRight(session.right, right))
    return lacks(`${id} needs the right \`${right}\`; this session has \`${session.right}\``, 'A new link of `reeve web` has more rights.')
  if (closed !== undefined && !openings.includes(closed))
    return lacks(
      `this is closed to the page (${id})`,
      `\`web: { allow: [${closed}] }\` in config.yaml opens it, after \`reeve web --stop\` and \`reeve web\`; see docs/guides/web.md.`,
    )
  if (session.only !== null && within !== true)
    return lacks(`this session sees one process and those below it, and ${id} reads others`, 'A link without `--only` sees all.')
  if (session.redact && !isOpenToRedacted(id)) return lacks(`this session sees no inputs or results, and ${id} has them`, 'Read the steps.')
  return null
}

/** Whether a right includes another. */
export function includesRight(held: WebRight, needed: WebRight): boolean {
  return WEB_RIGHTS.indexOf(held) >= WEB_RIGHTS.indexOf(needed)
}

/**
 * Whether the browser states that the request comes from the page itself, or states nothing. A link in a file or on another site may open
 * the document, too. The document has nothing of the user's, cannot be framed, and is cut off from the window that opened it.
 */
function isFromHere(headers: ReadonlyMap<string, string>, isDocument: boolean): boolean {
  const site = headers.get('sec-fetch-site')
  if (site === undefined || site === 'same-origin') return true
  if (!isDocument) return false
  const isNavigation = headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document'
  return site === 'none' || isNavigation
}

/** A GET has no body; a POST has JSON; a DELETE has JSON or none. */
function hasAllowedBody(method: string, headers: ReadonlyMap<string, string>): boolean {
  const hasBody = headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) !== 0
  if (method === 'GET') return !hasBody && !headers.has('content-type')
  const type = headers.get('content-type')
  return type === undefined ? method === 'DELETE' && !hasBody : JSON_TYPE.test(type)
}

/** Whether the body is short. Its length must be stated: the HTTP parser then reads no more. */
function isShort(headers: ReadonlyMap<string, string>): boolean {
  return !headers.has('transfer-encoding') && Number(headers.get('content-length') ?? 0) <= MAX_STRANGER_BODY
}

/** The headers by their names in lower case; null if one of `DECIDING` occurs twice. */
function readHeaders(raw: readonly string[]): ReadonlyMap<string, string> | null {
  const headers = new Map<string, string>()
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase()
    if (headers.has(name) && DECIDING.has(name)) return null
    headers.set(name, raw[index + 1] ?? '')
  }
  return headers
}

/** The headers that decide about a request. */
const DECIDING: ReadonlySet<string> = new Set([
  'host',
  'origin',
  'authorization',
  'content-type',
  'content-length',
  'transfer-encoding',
  'sec-fetch-site',
  'sec-fetch-mode',
  'sec-fetch-dest',
])
