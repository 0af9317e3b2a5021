// The access check: which requests over TCP pass, by their headers, the spelling of their path, and the right of their session.
import { describe, expect, test } from 'vitest'
import { ROUTES } from '../../../../src/daemon/http/routes.ts'
import { localAddresses } from '../../../../src/daemon/web/addresses.ts'
import {
  checkAccess,
  includesRight,
  type AccessCheckDeps,
  type RequestHead,
  type AccessVerdict,
} from '../../../../src/daemon/web/access-check.ts'
import { pathParts } from '../../../../src/daemon/web/request-path.ts'
import { findRoute } from '../../../../src/daemon/web/find-route.ts'
import type { WebSession } from '../../../../src/daemon/web/sessions.ts'
import { WEB_RIGHTS } from '../../../../src/kernel/model/words.ts'

const PORT = 7338
const PROXY = 'box.tail.example'
const HOST = `127.0.0.1:${PORT}`
const TOKEN = 'the-right-token-of-the-session'

const SESSION: WebSession = {
  id: '7f3a',
  right: 'all',
  only: null,
  redact: false,
  ttlMs: null,
  label: null,
  way: 'loopback',
  remembered: false,
  createdAt: 0,
  lastSeenAt: 0,
  expiresAt: null,
  address: '127.0.0.1',
  userAgent: '',
}

function depsWith(session: Partial<WebSession> = {}, more: Partial<AccessCheckDeps> = {}): AccessCheckDeps {
  return {
    addresses: localAddresses(PORT, [PROXY]),
    routes: ROUTES,
    openings: [],
    findSession: (token) => (token === TOKEN ? { ...SESSION, ...session } : null),
    countWrongToken: () => false,
    isAsset: (path) => path === '/assets/main-AB12.js',
    ...more,
  }
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** A request as the page sends it, with other headers: undefined leaves one out, a list repeats it. */
function headOf(method: string, url: string, headers: Headers = {}): RequestHead {
  const all: Headers = {
    host: HOST,
    'user-agent': 'x',
    authorization: `Bearer ${TOKEN}`,
    'sec-fetch-site': 'same-origin',
    ...(method === 'GET' ? {} : { origin: `http://${HOST}` }),
    ...(method === 'POST' ? { 'content-type': 'application/json', 'content-length': '2' } : {}),
    ...headers,
  }
  const rawHeaders = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((one) => [name, String(one)]),
  )
  return { method, url, rawHeaders }
}

const check = (method: string, url: string, headers?: Headers, deps = depsWith()): AccessVerdict['type'] =>
  checkAccess(headOf(method, url, headers), deps).type

describe('a request of the page', () => {
  test.each([
    ['GET', '/v1/processes'],
    ['GET', '/v1/processes/a%20b/steps?after=3'],
    ['POST', '/v1/processes/12/pause'],
    ['DELETE', '/v1/processes/12'],
  ])('%s %s passes', (method, url) => {
    expect(checkAccess(headOf(method, url), depsWith())).toMatchObject({ type: 'api', session: { id: '7f3a' } })
  })

  test.each(['127.0.0.1', 'localhost', '[::1]'])('at %s passes, with its own origin', (name) => {
    expect(check('POST', '/v1/processes/12/pause', { host: `${name}:${PORT}`, origin: `http://${name}:${PORT}` })).toBe('api')
  })

  test('through a proxy needs its name, the origin with HTTPS, and a session of that way', () => {
    const deps = depsWith({}, { findSession: (token, way) => (token === TOKEN && way === 'proxy' ? { ...SESSION, way } : null) })
    const headers = { host: PROXY, origin: `https://${PROXY}` }
    expect(checkAccess(headOf('POST', '/v1/processes/12/pause', headers), deps)).toMatchObject({ type: 'api', way: 'proxy' })
    expect(check('POST', '/v1/processes/12/pause', { host: PROXY, origin: `http://${PROXY}` }, deps)).toBe('refused')
    expect(check('POST', '/v1/processes/12/pause', { host: PROXY, origin: `http://${HOST}` }, deps)).toBe('refused')
    expect(check('POST', '/v1/processes/12/pause', { host: `${PROXY}:${PORT}`, origin: `https://${PROXY}:${PORT}` }, deps)).toBe('refused')
    expect(check('POST', '/v1/processes/12/pause', {}, deps), 'its token on loopback').toBe('refused')
  })

  test.each<[string, string, Headers]>([
    ['another host', 'GET', { host: 'evil.test' }],
    ['another host at the port', 'GET', { host: `evil.test:${PORT}` }],
    ['a name that begins like ours', 'GET', { host: `127.0.0.1.evil.test:${PORT}` }],
    ['a name that ends like ours', 'GET', { host: `evil.localhost:${PORT}` }],
    ['a name with a dot at its end', 'GET', { host: `localhost.:${PORT}` }],
    ['capital letters', 'GET', { host: `LOCALHOST:${PORT}` }],
    ['no port', 'GET', { host: '127.0.0.1' }],
    ['another port', 'GET', { host: `127.0.0.1:${PORT + 1}` }],
    ['another spelling of the address', 'GET', { host: `127.1:${PORT}` }],
    ['0.0.0.0', 'GET', { host: `0.0.0.0:${PORT}` }],
    ['a user in the host', 'GET', { host: `127.0.0.1:${PORT}@evil.test` }],
    ['no host', 'GET', { host: undefined }],
    ['an empty host', 'GET', { host: '' }],
    ['two hosts', 'GET', { host: [HOST, HOST] }],
    ['an upgrade', 'GET', { upgrade: 'websocket' }],
    ['a request that was passed on', 'GET', { forwarded: 'for=10.0.0.7' }],
    ['the address of another client', 'GET', { 'x-forwarded-for': '10.0.0.7' }],
    ['the name of another host', 'GET', { 'x-forwarded-host': 'box' }],
    ['a real address', 'GET', { 'x-real-ip': '10.0.0.7' }],
    ['a way', 'GET', { via: '1.1 proxy' }],
    ['another origin', 'GET', { origin: 'http://evil.test' }],
    ['another port as origin', 'GET', { origin: 'http://127.0.0.1:5173' }],
    ['another name of ours as origin', 'GET', { origin: `http://localhost:${PORT}` }],
    ['https as origin', 'GET', { origin: `https://${HOST}` }],
    ['the origin null', 'POST', { origin: 'null' }],
    ['an empty origin', 'POST', { origin: '' }],
    ['two origins', 'POST', { origin: [`http://${HOST}`, 'http://evil.test'] }],
    ['no origin', 'POST', { origin: undefined }],
    ['no origin', 'DELETE', { origin: undefined }],
    ['cross-site', 'GET', { 'sec-fetch-site': 'cross-site' }],
    ['same-site', 'GET', { 'sec-fetch-site': 'same-site' }],
    ['a typed address', 'GET', { 'sec-fetch-site': 'none' }],
    ['text', 'POST', { 'content-type': 'text/plain' }],
    ['a form', 'POST', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a type that begins like JSON', 'POST', { 'content-type': 'application/jsonx' }],
    ['no type', 'POST', { 'content-type': undefined }],
    ['two types', 'POST', { 'content-type': ['application/json', 'text/plain'] }],
    ['a body', 'GET', { 'content-length': '2' }],
    ['a body in chunks', 'GET', { 'transfer-encoding': 'chunked' }],
    ['a type', 'GET', { 'content-type': 'application/json' }],
    ['text', 'DELETE', { 'content-type': 'text/plain', 'content-length': '2' }],
    ['a body without type', 'DELETE', { 'content-length': '2' }],
    ['no token', 'GET', { authorization: undefined }],
    ['an empty token', 'GET', { authorization: 'Bearer ' }],
    ['a wrong token', 'GET', { authorization: `Bearer ${TOKEN}x` }],
    ['the beginning of the token', 'GET', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ['another scheme', 'GET', { authorization: `Basic ${TOKEN}` }],
    ['a token in capitals', 'GET', { authorization: `bearer ${TOKEN}` }],
    ['two tokens', 'GET', { authorization: [`Bearer ${TOKEN}`, 'Bearer other'] }],
  ])('with %s in a %s is refused', (_, method, headers) => {
    const path = method === 'POST' ? '/v1/processes/12/pause' : '/v1/processes/12'
    expect(checkAccess(headOf(method, path, headers), depsWith())).toEqual({ type: 'refused' })
  })

  test.each(['OPTIONS', 'HEAD', 'PUT', 'PATCH', 'TRACE', 'get'])('with the method %s is refused', (method) => {
    expect(check(method, '/v1/processes', { origin: `http://${HOST}` })).toBe('refused')
    expect(check(method, '/', { origin: `http://${HOST}` })).toBe('refused')
  })

  test('with too many wrong tokens gets another answer; without a token it does not', () => {
    const deps = depsWith({}, { countWrongToken: () => true })
    expect(check('GET', '/v1/processes', { authorization: 'Bearer xxxxxxxxxxxxxxxxxxxxxxx' }, deps)).toBe('too many')
    expect(check('GET', '/v1/processes', { authorization: undefined }, deps)).toBe('refused')
    expect(check('GET', '/v1/processes', {}, deps)).toBe('api')
  })

  test('for no route is refused without a token, and finds nothing with one', () => {
    expect(check('GET', '/v1/nothing', { authorization: undefined })).toBe('refused')
    expect(check('GET', '/v1/nothing')).toBe('nothing there')
    expect(check('GET', '/v1')).toBe('nothing there')
    expect(check('GET', '/v2/processes')).toBe('nothing there')
  })
})

describe('a path', () => {
  test.each([
    '',
    'v1/processes',
    'http://127.0.0.1:7338/v1/processes',
    '*',
    '//v1/processes',
    '/v1//processes',
    '/v1/processes/',
    '/x/../v1/processes',
    '/./v1/processes',
    '/v1/..',
    '/%2e%2e/v1',
    '/x/%2E%2E/v1/processes',
    '/x/.%2e/v1/processes',
    '/%76%31/processes',
    '/v1%2fprocesses',
    '/v1\\processes',
    '/v1%5cprocesses',
    '/v1/processes%00',
    '/v1/processes/%ff',
    '/v1/processes/%',
    '/v1/processes/%zz',
    '/v1/processes#x',
    '/v1/processes/a b',
    '/v1/processes/\u00fc',
    `/v1/${'x'.repeat(20_000)}`,
  ])('%j is refused', (url) => {
    expect(pathParts(url)).toBeNull()
    expect(check('GET', url)).toBe('refused')
  })

  test.each<[string, string[]]>([
    ['/', []],
    ['/?q=a//b/../c', []],
    ['/v1/processes/a%20b', ['v1', 'processes', 'a%20b']],
    ['/v1/processes/%C3%BC', ['v1', 'processes', '%C3%BC']],
    ['/p/0198c1a2-7b54', ['p', '0198c1a2-7b54']],
    ['/crews/...', ['crews', '...']],
  ])('%j has its parts', (url, parts) => {
    expect(pathParts(url)).toEqual(parts)
  })
})

describe('the document', () => {
  test.each<[string, Headers, AccessVerdict['type']]>([
    ['typed', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, 'document'],
    ['opened from a file', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, 'document'],
    ['of a program', { 'sec-fetch-site': undefined }, 'document'],
    ['in a frame', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, 'refused'],
    ['by fetch of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' }, 'refused'],
    ['as an image', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, 'refused'],
    ['by another name', { host: `evil.test:${PORT}` }, 'refused'],
  ])('$0: $2', (_, headers, type) => {
    for (const url of ['/', '/needs', '/p/0198c1a2/step/41', '/?q=x'])
      expect(check('GET', url, { authorization: undefined, ...headers })).toBe(type)
  })

  test('needs no token, and neither do the files; nothing else is there', () => {
    const headers = { authorization: undefined }
    expect(check('GET', '/assets/main-AB12.js', headers)).toBe('asset')
    expect(check('GET', '/assets/main-AB12.js', { 'sec-fetch-site': 'cross-site' })).toBe('refused')
    expect(check('GET', '/assets/main-AB12.js', { 'sec-fetch-site': 'same-site' })).toBe('refused')
    expect(check('GET', '/assets/other.js', headers)).toBe('nothing there')
    expect(check('GET', '/favicon.ico', headers)).toBe('nothing there')
    expect(check('POST', '/', headers)).toBe('nothing there')
  })
})

describe('the rights', () => {
  test('include those before them', () => {
    expect(WEB_RIGHTS.map((held) => WEB_RIGHTS.filter((needed) => includesRight(held, needed)).length)).toEqual([1, 2, 3, 4, 5])
  })

  test.each(ROUTES.map((route) => [route.id, route] as const))('for the route %s are checked for each session', (_, route) => {
    const path = route.path.replaceAll(/:\w+/g, '12')
    const verdictOf = (session: Partial<WebSession>, more: Partial<AccessCheckDeps> = {}): AccessVerdict =>
      checkAccess(headOf(route.method, path), depsWith(session, more))
    if (route.right === 'anyone') {
      expect(verdictOf({})).toMatchObject({ type: 'api', session: null })
      return
    }
    for (const right of WEB_RIGHTS) {
      const isAllowed = route.right !== 'socket' && includesRight(right, route.right) && route.closed === undefined
      expect(verdictOf({ right }).type, right).toBe(isAllowed ? 'api' : 'no right')
    }
    if (route.right === 'socket') return
    const open = route.closed === undefined ? {} : { openings: [route.closed] }
    expect(verdictOf({}, open).type).toBe('api')
    expect(verdictOf({ only: SESSION.id }, open).type).toBe(route.within ? 'api' : 'no right')
  })

  test('of routes that change something are more than `read`, and a session for a subtree only reads', () => {
    const changing = ROUTES.filter(({ method, right }) => method !== 'GET' && right === 'read')
    expect(changing.map(({ id }) => id)).toEqual([])
    expect(ROUTES.filter(({ within, method, right }) => within && (method !== 'GET' || right !== 'read')).map(({ id }) => id)).toEqual([])
  })

  test('a redacted session reads no events and no diff', () => {
    const deps = depsWith({ redact: true, right: 'read' })
    expect(check('GET', '/v1/events?follow=1', {}, deps)).toBe('no right')
    expect(check('GET', '/v1/processes/12/diff', {}, deps)).toBe('no right')
    expect(check('GET', '/v1/processes/12/steps', {}, deps)).toBe('api')
  })
})

test('a route is found by its exact parts, and a fixed part comes before a parameter', () => {
  const routes = [
    { id: 'ref', method: 'GET', path: '/v1/x/:ref' },
    { id: 'plan', method: 'GET', path: '/v1/x/plan' },
  ]
  expect(findRoute(routes, 'GET', ['v1', 'x', 'plan'])?.id).toBe('plan')
  expect(findRoute(routes, 'GET', ['v1', 'x', 'other'])?.id).toBe('ref')
  expect(findRoute(routes, 'POST', ['v1', 'x', 'other'])).toBeUndefined()
  expect(findRoute(routes, 'GET', ['v1', 'x', 'a', 'b'])).toBeUndefined()
})
