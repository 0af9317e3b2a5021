// The page's port under attack: every route by every kind of wrong request gets the refusal and nothing else, and the store has no new
// fact. Then a stolen token: what it cannot do.
import { connect } from 'node:net'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DaemonView } from '../../../src/api/views/daemon.ts'
import type { NeedsView } from '../../../src/api/views/needs.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { ROUTES } from '../../../src/daemon/http/routes.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { sendRawHead, type RawHead } from '../../support/web/raw-requests.ts'
import { WebAccess } from '../../support/web/web-access.ts'

let daemon: LocalDaemon
let web: WebAccess
let token: string
let reader: string
let expired: string
let process: ProcessView

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  web = await WebAccess.open(daemon)
  token = (await web.startSession()).token
  reader = (await web.startSession({ right: 'read' })).token
  const ended = await web.startSession()
  expired = ended.token
  await daemon.client.delete(`/v1/web/sessions/${ended.session.id}`)
  const { uuid } = await daemon.spawnScripted([{ text: 'I wait.' }], { interactive: true, name: 'victim' })
  // No fact of its start may come later.
  process = await daemon.waitUntilReady(uuid)
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const readCursor = async (): Promise<number> => (await daemon.client.get<DaemonView>('/v1/daemon')).cursor

type Pairs = readonly (readonly [string, string])[]

interface Attack {
  /** the headers instead of those of a good request */
  readonly without?: readonly string[]
  readonly with?: (port: number) => Pairs
  readonly path?: (path: string) => string
  readonly body?: string
  /** only for requests of this method */
  readonly method?: string
}

const cross = (site: string): Attack => ({ without: ['sec-fetch-site'], with: () => [['sec-fetch-site', site]] })
const host = (name: (port: number) => string): Attack => ({ without: ['host'], with: (port) => [['host', name(port)]] })
const origin = (value: (port: number) => string): Attack => ({ without: ['origin'], with: (port) => [['origin', value(port)]] })
const type = (value: string): Attack => ({ without: ['content-type'], with: () => [['content-type', value]], method: 'POST' })
const bearer = (value: () => string): Attack => ({ without: ['authorization'], with: () => [['authorization', `Bearer ${value()}`]] })

const ATTACKS: Readonly<Record<string, Attack>> = {
  'no token': { without: ['authorization'] },
  'a wrong token': bearer(() => 'x'.repeat(43)),
  'an ended session': bearer(() => expired),
  'an empty token': bearer(() => ''),
  'the host evil.test': host(() => 'evil.test'),
  'a host that begins as ours': host((port) => `127.0.0.1.evil.test:${port}`),
  'the host localhost.': host((port) => `localhost.:${port}`),
  'no host': { without: ['host'] },
  'two hosts': { with: (port) => [['host', `127.0.0.1:${port}`]] },
  'another origin': origin(() => 'http://evil.test'),
  'the origin of another port': origin(() => 'http://127.0.0.1:5173'),
  'the origin null': origin(() => 'null'),
  'cross-site': cross('cross-site'),
  'same-site': cross('same-site'),
  'text/plain': type('text/plain'),
  'a form': type('multipart/form-data; boundary=x'),
  'a GET with a body': { body: '{}', method: 'GET', with: () => [['content-type', 'application/json']] },
  'a path with ..': { path: (path) => `/x/..${path}` },
  'a path with //': { path: (path) => `/${path}` },
  'a path with %2e%2e': { path: (path) => `/x/%2e%2e${path}` },
  'a proxy in front of us': { with: () => [['x-forwarded-for', '10.0.0.7']] },
  'a whole URL': { path: (path) => `http://127.0.0.1${path}` },
}

/** A request that would be good, but for the attack. */
function headOf({ method, path }: { readonly method: string; readonly path: string }, attack: Attack): RawHead {
  const good: Pairs = [
    ['host', web.host],
    ['authorization', `Bearer ${token}`],
    ['sec-fetch-site', 'same-origin'],
    ...(method === 'GET' ? [] : ([['origin', web.origin]] as const)),
    ...(method === 'POST' ? ([['content-type', 'application/json']] as const) : []),
  ]
  const headers = [...good.filter(([name]) => !attack.without?.includes(name)), ...(attack.with?.(web.port) ?? [])]
  const body = attack.body ?? (method === 'POST' ? '{}' : undefined)
  return { method, path: (attack.path ?? ((one) => one))(path), headers, ...(body === undefined ? {} : { body }) }
}

const pathOf = (path: string): string => path.replace(':ref', 'victim').replace(':id', 'x')

test.each(Object.entries(ATTACKS))('every route refuses %s, and nothing happens', async (_, attack) => {
  const before = await readCursor()
  const bodies = new Set<string>()
  const attacked = ROUTES.filter(({ method, right }) => {
    // The one route without a token has no token to be wrong, and is tested below.
    const isAboutToken = attack.without?.includes('authorization') ?? false
    return (attack.method === undefined || attack.method === method) && !(isAboutToken && right === 'anyone')
  })
  expect(attacked.length).toBeGreaterThan(20)
  for (const route of attacked) {
    const reply = await sendRawHead(web.port, headOf({ method: route.method, path: pathOf(route.path) }, attack))
    // The fourth wrong token within a second has its own answer.
    expect([403, ...(attack.without?.includes('authorization') ? [429] : [])], `${route.method} ${route.path}`).toContain(reply.status)
    expect(reply.headers.get('access-control-allow-origin')).toBeUndefined()
    expect(reply.headers.get('connection')).toBe('close')
    if (reply.status === 403) bodies.add(reply.body)
  }
  const refusal =
    '{"version":1,"error":{"code":"FORBIDDEN","message":"the request is refused","hint":"`reeve web` opens the page with a new link."}}'
  expect([...bodies].filter((body) => body !== refusal)).toEqual([])
  expect(await readCursor()).toBe(before)
})

test('a session that may read changes nothing: every other route names the missing right', async () => {
  const before = await readCursor()
  for (const { method, path, right } of ROUTES.filter((route) => route.right !== 'read' && route.right !== 'anyone')) {
    const { status, body } = await web.request(reader, method, pathOf(path))
    expect([status, body], `${method} ${path}`).toMatchObject([403, { error: { code: 'PERMISSION' } }])
    expect(JSON.stringify(body)).toContain(right === 'socket' ? 'Unix socket' : `\`${right}\``)
  }
  expect(await readCursor()).toBe(before)
})

test('preflight requests and unusual methods are refused, and no answer allows another origin', async () => {
  for (const method of ['OPTIONS', 'PUT', 'PATCH', 'HEAD', 'TRACE']) {
    const reply = await sendRawHead(
      web.port,
      headOf({ method, path: '/v1/processes' }, { with: () => [['access-control-request-method', 'POST']] }),
    )
    expect(reply.status, method).toBe(403)
    expect([...reply.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  }
})

test('HTTP/1.0 without a host, a broken head and an upgrade get no answer of the API', async () => {
  const old = await sendRawHead(web.port, { path: '/v1/processes', version: '1.0', headers: [['authorization', `Bearer ${token}`]] })
  expect(old.status).toBe(403)
  const upgrade = headOf({ method: 'GET', path: '/v1/events' }, { with: () => [['upgrade', 'websocket']] })
  expect((await sendRawHead(web.port, upgrade)).status).toBe(403)
  const socket = connect({ host: '127.0.0.1', port: web.port })
  socket.end(`CONNECT 127.0.0.1:${web.port} HTTP/1.1\r\nhost: ${web.host}\r\n\r\n`)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'close')
  expect(Buffer.concat(chunks).toString()).not.toContain('200')
})

test('a second request behind a refused one with a body is not read', async () => {
  const before = await readCursor()
  const inner = `POST /v1/processes/victim/signal HTTP/1.1\r\nhost: ${web.host}\r\norigin: ${web.origin}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 19\r\n\r\n{"signal":"SIGTERM"}`
  const reply = await sendRawHead(web.port, {
    method: 'POST',
    path: '/v1/processes/victim/pause',
    headers: [
      ['host', web.host],
      ['content-type', 'text/plain'],
    ],
    body: inner,
  })
  expect(reply.status).toBe(403)
  expect(reply.body.match(/HTTP\/1\.1/g)).toBeNull()
  expect(await readCursor()).toBe(before)
})

test('before a session is known, no long body is read', async () => {
  for (const path of ['/v1/web/hello', '/v1/web/session'])
    for (const length of [['content-length', '8000000'] as const, ['transfer-encoding', 'chunked'] as const]) {
      const { headers } = headOf({ method: 'POST', path }, { without: ['authorization'] })
      // The refusal comes although the body never does.
      const reply = await sendRawHead(web.port, { method: 'POST', path, headers: [...headers, length] })
      expect([path, ...length, reply.status]).toEqual([path, ...length, 403])
      expect(reply.headers.get('connection')).toBe('close')
    }
})

describe('a stolen token', () => {
  test('of all rights runs no command, and changes no environment', async () => {
    const before = await readCursor()
    const attempts: readonly (readonly [string, string, object])[] = [
      ['POST', '/v1/processes', { cwd: daemon.work, argv: ['touch', `${daemon.work}/made`] }],
      ['POST', '/v1/processes', { cwd: daemon.work, intent: 'x', env: { LD_PRELOAD: '/tmp/x.so' } }],
      ['POST', '/v1/processes', { cwd: '/', intent: 'x' }],
      ['POST', '/v1/processes', { cwd: daemon.work, intent: 'x', model: 'script:/tmp/x.yaml' }],
      ['POST', '/v1/processes/victim/resume', { fork: true, env: { PATH: '/tmp' } }],
      ['POST', '/v1/processes/victim/export', { dir: '/tmp/out' }],
      ['POST', '/v1/import', { dir: '/tmp/out' }],
      ['POST', '/v1/mcp/seats', { cwd: daemon.work }],
      ['POST', '/v1/compose', { cwd: daemon.work }],
      ['POST', '/v1/crews', { cwd: daemon.work }],
      ['POST', '/v1/daemon/stop', {}],
      ['POST', '/v1/web/open', { right: 'all' }],
    ]
    for (const [method, path, body] of attempts)
      expect([path, await web.request(token, method, path, body)]).toMatchObject([
        path,
        { status: 403, body: { error: { code: 'PERMISSION' } } },
      ])
    expect(await readCursor()).toBe(before)
  })

  test('starts no program of the repository, wherever its agent file is', async () => {
    const evil = join(daemon.work, 'node_modules', 'evil')
    for (const dir of [daemon.work, evil]) {
      await mkdir(join(dir, '.reeve', 'agents'), { recursive: true })
      await writeFile(
        join(dir, '.reeve', 'agents', 'evil.md'),
        `---\ndriver: command\ncommand: [touch, ${daemon.work}/made-by-evil]\n---\n`,
      )
    }
    const before = await readCursor()
    expect(await web.request(token, 'POST', '/v1/processes', { cwd: evil, agent: 'evil', intent: 'x' })).toMatchObject({
      status: 403,
      body: { error: { code: 'PERMISSION' } },
    })
    expect(await web.request(token, 'POST', '/v1/processes', { cwd: daemon.work, agent: 'evil', intent: 'x' })).toMatchObject({
      body: { error: { code: 'AGENT_INVALID', message: expect.stringContaining('is not trusted') } },
    })
    expect(await readCursor()).toBe(before)
    await rm(join(daemon.work, '.reeve'), { recursive: true })
  })

  test('for a subtree finds no other process', async () => {
    const { token: narrow } = await web.startSession({ right: 'read', only: 'victim' })
    const other = await daemon.spawnShell('true', { name: 'other' })
    expect(await web.request(narrow, 'GET', '/v1/processes/victim')).toMatchObject({ status: 200 })
    expect(await web.request(narrow, 'GET', '/v1/processes?all=1')).toMatchObject({ body: { processes: [{ uuid: process.uuid }] } })
    const rows = JSON.stringify((await web.request(narrow, 'GET', '/v1/rows?scope=all&shape=objects')).body)
    expect([rows.includes(process.uuid), rows.includes(other.uuid), rows.includes('"sums"')]).toEqual([true, false, false])
    for (const ref of ['other', other.uuid, String(other.pid), 'none'])
      expect(await web.request(narrow, 'GET', `/v1/processes/${ref}`)).toMatchObject({
        status: 404,
        body: { error: { message: `no process "${ref}"` } },
      })
    for (const path of ['/v1/events', '/v1/search?text=x', '/v1/usage', '/v1/daemon', '/v1/processes/victim/lineage'])
      expect(await web.request(narrow, 'GET', path)).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION' } } })
  })

  test('for a subtree reads no name, UUID or limit of those above', async () => {
    const talk = [{ text: 'I wait.' }]
    const above = await daemon.spawnScripted(talk, { interactive: true, name: 'above-secret', limits: { budgetUsd: 12.5 } })
    const inner = await daemon.spawnScripted(talk, { interactive: true, name: 'inner-one', parent: above.uuid })
    await daemon.waitUntilReady(inner.uuid)
    await daemon.client.post(`/v1/processes/${above.uuid}/pause`, { subtree: true })
    await daemon.waitForStatus(inner.uuid, 'suspended')
    const { token: narrow } = await web.startSession({ right: 'read', only: inner.uuid })
    const secrets = [above.uuid, above.uuid.slice(-8), 'above-secret', '12.5']
    const mentioned = (text: string): string[] => secrets.filter((secret) => text.includes(secret))
    const own = `/v1/processes/${inner.uuid}`
    for (const path of [own, `${own}/signals`, `${own}/events`, '/v1/processes?all=1', '/v1/rows?scope=recent', '/v1/needs?all=1']) {
      const reply = await fetch(`${web.origin}${path}`, { headers: { authorization: `Bearer ${narrow}` } })
      expect([path, reply.status]).toEqual([path, 200])
      const text = await reply.text()
      expect([path, mentioned(text)]).toEqual([path, []])
      if (!path.includes('needs')) expect(text).toContain(inner.uuid)
    }
    expect(mentioned(JSON.stringify(await daemon.client.get(own)))).toEqual(secrets)
    await daemon.signal(above.uuid, 'SIGKILL')
    await daemon.signal(inner.uuid, 'SIGKILL')
  })

  test('for a subtree does not notice what happens elsewhere', async () => {
    const { token: narrow } = await web.startSession({ right: 'read', only: 'victim' })
    const abort = new AbortController()
    const reply = await fetch(`${web.origin}/v1/rows?follow=1&shape=objects`, {
      headers: { authorization: `Bearer ${narrow}` },
      signal: abort.signal,
    })
    const events: { type: string; cursor: string; seq: number; needIds?: string[]; up?: { labels?: object }[] }[] = []
    let text = ''
    for await (const chunk of reply.body ?? []) {
      if (text === '' && events.length === 0) {
        await daemon.waitForEnd((await daemon.spawnShell('true')).uuid)
        await daemon.client.post('/v1/processes/victim/labels', { labels: { seen: 'yes' } })
      }
      text += Buffer.from(chunk).toString()
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) events.push(JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? '{}') as (typeof events)[number])
      if (events.some(({ up }) => up?.some(({ labels }) => labels !== undefined))) break
    }
    abort.abort()
    expect(events.filter(({ type }) => type !== 'alive').map(({ type, cursor, seq }) => [type, cursor, seq])).toEqual([
      ['reset', 'own-1', 1],
      ['rows', 'own-2', 2],
    ])
  })

  test('for a subtree sees only the needs of the subtree, and a redacted token does not see what they are about', async () => {
    const asking = async (name: string, parent?: string): Promise<string> => {
      const script = [{ tools: [{ name: 'bash', input: { command: `touch secret-of-${name}` } }] }, { text: 'done' }]
      const under = parent === undefined ? {} : { parent }
      const { uuid } = await daemon.spawnScripted(script, { name, permissions: 'ask', ...under })
      await daemon.waitForStatus(uuid, 'waiting')
      return uuid
    }
    const above = await asking('above')
    const inner = await asking('inner', above)
    const beside = await asking('beside')
    const { needs } = await daemon.client.get<NeedsView>('/v1/needs')
    const idOf = (uuid: string): string => needs.find((need) => need.uuid === uuid)?.id ?? ''
    const { token: narrow } = await web.startSession({ right: 'read', only: inner })
    const listed = await web.request(narrow, 'GET', '/v1/needs?all=1')
    expect(listed).toMatchObject({ status: 200, body: { total: 1, snoozed: 0, needs: [{ uuid: inner, root: inner, rootName: 'inner' }] } })
    expect(await web.request(narrow, 'GET', `/v1/needs/${idOf(inner)}`)).toMatchObject({ status: 200, body: { need: { uuid: inner } } })
    for (const hidden of [above, beside, 'above', 'beside']) expect(JSON.stringify(listed)).not.toContain(hidden)
    for (const id of [idOf(above), idOf(beside), 'missing'])
      expect(await web.request(narrow, 'GET', `/v1/needs/${id}`)).toMatchObject({
        status: 404,
        body: { error: { message: `nothing with the id ${id} waits for the user` } },
      })
    for (const ref of [above, 'beside', 'missing'])
      expect(await web.request(narrow, 'GET', `/v1/needs?under=${ref}`)).toMatchObject({
        status: 404,
        body: { error: { message: `no process "${ref}"` } },
      })
    const { token: redacted } = await web.startSession({ right: 'read', redact: true })
    for (const path of ['/v1/needs', `/v1/needs/${idOf(inner)}`]) {
      const answer = await web.request(redacted, 'GET', path)
      expect(answer).toMatchObject({ status: 200 })
      expect(JSON.stringify(answer)).not.toContain('secret-of')
    }
    for (const uuid of [inner, above, beside]) await daemon.signal(uuid, 'SIGKILL')
  })

  test('cannot pass for a process or for another client, and its session is in the journal', async () => {
    const { token: steering, session } = await web.startSession({ right: 'steer' })
    const headers = {
      authorization: `Bearer ${steering}`,
      origin: web.origin,
      'content-type': 'application/json',
      'x-reeve-client': 'cli/1 pid=1',
      'x-reeve-process': process.uuid,
    }
    const reply = await fetch(`${web.origin}/v1/processes/victim/pause`, { method: 'POST', headers, body: '{}' })
    expect(reply.status).toBe(200)
    const { recent } = await daemon.client.get<{ recent: { via?: string; by: string }[] }>('/v1/processes/victim/signals')
    expect(recent.at(-1)).toMatchObject({ signal: 'SIGPAUSE', by: 'user', via: `web:${session.id}` })
  })

  test('has its session in the journal with each message and resume, and a client of the socket has none', async () => {
    const { token: steering, session } = await web.startSession({ right: 'steer' })
    expect(await web.request(steering, 'POST', '/v1/processes/victim/resume', {})).toMatchObject({ status: 200 })
    expect(await web.request(steering, 'POST', '/v1/processes/victim/send', { text: 'from the page' })).toMatchObject({ status: 200 })
    await daemon.client.post('/v1/processes/victim/send', { text: 'from elsewhere' })
    const sent: unknown[] = []
    for await (const event of daemon.client.events('/v1/processes/victim/events', { query: { after: 0 } }))
      if (event.type === 'process.queue' && 'text' in event) sent.push([event.text, 'via' in event ? event.via : null])
      else if ('fact' in event && event.fact === 'process.released') sent.push(['released', event.via])
    expect(sent).toEqual(
      expect.arrayContaining([
        ['released', `web:${session.id}`],
        ['from the page', `web:${session.id}`],
        ['from elsewhere', null],
      ]),
    )
  })

  test('does to many processes what its right allows for one', async () => {
    const { token: steering, session } = await web.startSession({ right: 'steer' })
    const batch = (verb: string): ReturnType<WebAccess['request']> => web.request(steering, 'POST', '/v1/batch', { verb, refs: ['victim'] })
    expect(await batch('pause')).toMatchObject({ status: 200, body: { results: [{ ok: true }] } })
    const { recent } = await daemon.client.get<{ recent: { via?: string }[] }>('/v1/processes/victim/signals')
    expect(recent.at(-1)).toMatchObject({ signal: 'SIGPAUSE', via: `web:${session.id}` })
    expect(await batch('resume')).toMatchObject({ status: 200 })
    const message = '`remove` needs the right `all`; this session has `steer`'
    expect(await batch('remove')).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION', message } } })
    expect(await web.request(reader, 'POST', '/v1/batch', { verb: 'pause', refs: ['victim'] })).toMatchObject({ status: 403 })
  })

  test('has its session in the journal with a fork, a name, a limit, a pin, and a need that is seen or snoozed', async () => {
    const { token: all, session } = await web.startSession({ right: 'all' })
    const { uuid } = await daemon.spawnScripted([{ tools: [{ name: 'ls', input: {} }] }, { text: 'done' }], { name: 'marked' })
    await daemon.waitForEnd(uuid)
    const post = (path: string, body: object): ReturnType<WebAccess['request']> =>
      web.request(all, 'POST', `/v1/processes/${uuid}/${path}`, body)
    const via = `web:${session.id}`
    expect(await post('snooze', { until: '2100-01-01T00:00:00Z' })).toMatchObject({ status: 200 })
    for (const [path, body] of [
      ['pin', { pinned: true }],
      ['seen', {}],
      ['labels', { labels: { area: 'docs' } }],
      ['rename', { name: 'other-name' }],
    ] as const)
      expect([path, (await post(path, body)).status]).toEqual([path, 200])
    const { uuid: held } = await daemon.spawnShell('sleep 600')
    await daemon.pause(held)
    expect(await web.request(all, 'POST', `/v1/processes/${held}/resume`, { limits: { timeoutMs: 600_000 } })).toMatchObject({
      status: 200,
    })
    const forked = (await post('resume', { fork: true, fromStep: 1 })).body as { process: ProcessView }
    const viaByFact = new Map<unknown, unknown>()
    for await (const event of daemon.client.events('/v1/events', { query: { after: 0 } }))
      if ([uuid, held, forked.process.uuid].includes(event.uuid) && 'fact' in event && 'by' in event)
        viaByFact.set(event.fact, 'via' in event ? event.via : null)
    for (const name of ['pinned', 'seen', 'snoozed', 'described', 'limited', 'released', 'forked'])
      expect([name, viaByFact.get(`process.${name}`)]).toEqual([name, via])
    expect(viaByFact.get('process.spawned')).toBeNull()
    await daemon.signal(held, 'SIGKILL')
  })

  test('cannot be forged over the socket: the name of a session is ignored there', async () => {
    await daemon.sendRaw({
      method: 'POST',
      path: '/v1/processes/victim/pause',
      headers: { 'content-type': 'application/json', 'x-reeve-client': 'web:7f3a' },
      body: '{}',
    })
    const { recent } = await daemon.client.get<{ recent: { via?: string }[] }>('/v1/processes/victim/signals')
    expect(recent.at(-1)).toMatchObject({ via: 'api' })
  })
})

test('`web.allow: [commands]` allows commands, and nothing else', async () => {
  await using open = await LocalDaemon.start({ config: 'web: { allow: [commands] }\n' })
  const access = await WebAccess.open(open)
  const all = (await access.startSession()).token
  const body = { cwd: open.work, argv: ['true'] }
  expect(await access.request(all, 'POST', '/v1/processes', body)).toMatchObject({ status: 201 })
  expect(await access.request((await access.startSession({ right: 'steer' })).token, 'POST', '/v1/processes', body)).toMatchObject({
    status: 403,
  })
  expect(await access.request(all, 'POST', '/v1/processes', { ...body, env: {} })).toMatchObject({ status: 403 })
  expect(await access.request(all, 'POST', '/v1/daemon/stop')).toMatchObject({ status: 403 })
})
