// Notifications of a real daemon to a real web server, which fails, is down, and comes back; and what `doctor` says of it.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DaemonHome } from '../support/daemon.ts'
import { eventually } from '../support/living.ts'
import type { CheckView } from '../../src/api/views.ts'

interface Got {
  readonly headers: IncomingHttpHeaders
  readonly body: { readonly event: string; readonly text: string; readonly process: { readonly name: string | null } }
}

/** Answers with each status in turn, then with 204. */
class Hook implements AsyncDisposable {
  readonly got: Got[] = []
  statuses: number[] = []
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const status = request.method === 'HEAD' ? 405 : (this.statuses.shift() ?? 204)
        if (request.method === 'POST' && status < 300) this.got.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) as Got['body'] })
        response.writeHead(status, status === 302 ? { location: 'http://127.0.0.1:1/' } : {}).end()
      })
    })
  }

  async listen(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  get told(): string[] {
    return this.got.map(({ body }) => `${body.event} ${body.process.name ?? ''}`)
  }
}

let home: DaemonHome
let hook: Hook

beforeEach(async () => {
  home = await DaemonHome.make()
  hook = new Hook()
})
afterEach(async () => {
  await home[Symbol.asyncDispose]()
  await hook[Symbol.asyncDispose]()
})

function configure(port: number, more = ''): void {
  const { configFile, credentialsFile } = home.where
  mkdirSync(dirname(configFile), { recursive: true, mode: 0o700 })
  writeFileSync(configFile, `notifications:\n  webhook:\n    url: "http://127.0.0.1:${port}/\${HOOK_PATH}"\n    headers: { Authorization: "Bearer \${HOOK_TOKEN}" }\n${more}`)
  writeFileSync(credentialsFile, 'HOOK_TOKEN: secret-token\nHOOK_PATH: secret-path\n')
  chmodSync(credentialsFile, 0o600)
}

async function checks(): Promise<readonly CheckView[]> {
  return (await home.client.get<{ checks: CheckView[] }>('/v1/doctor')).checks.filter(({ name }) => name.startsWith('notifications'))
}

describe('a webhook', () => {
  test('is told of what has finished and what has failed, with its secrets in the headers and nowhere else', async () => {
    configure(await hook.listen())
    await home.start()
    await home.spawn({ argv: ['true'], name: 'good' })
    await home.spawn({ argv: ['false'], name: 'bad' })
    await eventually(() => hook.got.length === 2, 'both were told')
    expect(hook.told.toSorted()).toEqual(['failed bad', 'finished good'])
    const [first] = hook.got
    expect(first?.headers).toMatchObject({ authorization: 'Bearer secret-token', 'content-type': 'application/json' })
    expect(first?.body).toMatchObject({ version: 1, process: { agent: 'command' } })
    expect(JSON.stringify(await checks())).not.toContain('secret')
    expect(home.log()).not.toContain('secret')
  })

  test('says nothing of what a person ends, and of kinds that nobody asked for', async () => {
    configure(await hook.listen(), '    events: [failed]\n')
    await home.start()
    const sleeper = await home.spawn({ argv: ['sleep', '600'], name: 'killed' })
    await home.signal(sleeper.uuid, { signal: 'SIGKILL' })
    await home.ended(sleeper.uuid)
    await home.ended((await home.spawn({ argv: ['true'], name: 'good' })).uuid)
    await home.spawn({ argv: ['false'], name: 'bad' })
    await eventually(() => hook.got.length > 0, 'the failure was told')
    expect(hook.told).toEqual(['failed bad'])
  })

  test('is told of the end of what is restarted when it is not restarted any more', async () => {
    configure(await hook.listen())
    await home.start()
    const { uuid } = await home.spawn({ argv: ['false'], name: 'again', restart: { type: 'on-failure', maxRestarts: 1, backoff: { initialMs: 1 } } })
    await eventually(() => hook.got.length > 0, 'the end was told')
    expect(hook.told).toEqual(['failed again'])
    expect((await home.view(uuid)).pid).toBeGreaterThan(1)
  })

  test('is told of a budget at its soft mark, and at once when it is used up', async () => {
    configure(await hook.listen(), '    events: [budget]\n')
    await home.start()
    const model = home.script([...Array.from({ length: 3 }, () => ({ tools: [{ name: 'ls', input: {} }], usage: { input: 4_000, output: 500 } })), { text: 'done' }])
    const { uuid } = await home.spawn({ model, name: 'dear', limits: { budgetTokens: 10_000 } })
    await home.until(uuid, ({ status }) => status === 'suspended')
    await eventually(() => hook.got.length === 2, 'both were told')
    expect(hook.got.map(({ body }) => body.text)).toEqual([expect.stringMatching(/^dear \(PID 1\) has used \d\d % of a limit: /), expect.stringMatching(/^dear \(PID 1\) is suspended: /)])
  })

  test('that fails is tried again, and nothing is lost or told twice', async () => {
    hook.statuses = [500, 429, 503]
    configure(await hook.listen())
    await home.start()
    await home.spawn({ argv: ['false'], name: 'one' })
    await home.spawn({ argv: ['false'], name: 'two' })
    await eventually(() => hook.got.length === 2, 'both were told')
    expect(hook.told.toSorted()).toEqual(['failed one', 'failed two'])
    expect(home.log()).toContain('a notice cannot be sent: it answered 500; it is tried again')
    await eventually(() => home.log().includes('notices are sent again'), 'the log says so')
  })

  test('that is down holds nobody up, and is told when it is back', async () => {
    const port = await hook.listen()
    configure(port)
    await hook[Symbol.asyncDispose]()
    hook = new Hook()
    await home.start()
    for (const name of ['one', 'two', 'three']) await home.ended((await home.spawn({ argv: ['false'], name })).uuid)
    await eventually(() => home.log().includes('it cannot be reached (ECONNREFUSED)'), 'it was tried')
    expect(await checks()).toMatchObject([{ name: 'notifications webhook', ok: false }])
    await hook.listen(port)
    await eventually(() => hook.got.length === 3, 'all were told')
    expect(hook.told).toEqual(['failed one', 'failed two', 'failed three'])
    expect(await checks()).toMatchObject([{ name: 'notifications webhook', ok: true }])
  })

  test('that sends elsewhere, or refuses, is not followed and not asked again', async () => {
    hook.statuses = [302, 401]
    configure(await hook.listen())
    await home.start()
    for (const name of ['one', 'two', 'three']) await home.ended((await home.spawn({ argv: ['false'], name })).uuid)
    await eventually(() => hook.got.length === 1, 'the third was told')
    expect(hook.told).toEqual(['failed three'])
    expect(home.log()).toContain('it answered 302')
  })
})

test('doctor says what is configured and whether it works', async () => {
  await home.start()
  expect(await checks()).toEqual([{ name: 'notifications', ok: true, detail: 'none are configured' }])
  configure(await hook.listen())
  expect(await checks()).toMatchObject([{ name: 'notifications webhook', ok: true, detail: expect.stringContaining('it answers') as string }])
  writeFileSync(home.where.credentialsFile, 'OTHER: x\n')
  expect(await checks()).toMatchObject([{ ok: false, detail: expect.stringContaining('HOOK_PATH') as string }])
})
