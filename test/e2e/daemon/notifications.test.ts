// Notifications of a real daemon to a real web server, which fails, is down, and returns. `doctor` reports their state.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { missedFacts } from '../../../src/daemon/notify/missed-facts.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { CrewUpBody, CrewUpView } from '../../../src/api/views/crew-up.ts'
import type { CheckView } from '../../../src/api/views/daemon.ts'
import type { FactBody, StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { Store } from '../../../src/store/store.ts'

interface ReceivedNotice {
  readonly headers: IncomingHttpHeaders
  readonly body: {
    readonly event: string
    readonly text: string
    readonly command?: string
    readonly process: { readonly name: string | null }
  }
}

/** A web server that answers with each of `statuses` in turn, and then with 204. */
class WebhookServer implements AsyncDisposable {
  readonly got: ReceivedNotice[] = []
  statuses: number[] = []
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const status = request.method === 'HEAD' ? 405 : (this.statuses.shift() ?? 204)
        if (request.method === 'POST' && status < 300)
          this.got.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) as ReceivedNotice['body'] })
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

  get notified(): string[] {
    return this.got.map(({ body }) => `${body.event} ${body.process.name ?? ''}`)
  }
}

let home: DaemonHome
let hook: WebhookServer

beforeEach(async () => {
  home = await DaemonHome.create()
  hook = new WebhookServer()
})
afterEach(async () => {
  await home[Symbol.asyncDispose]()
  await hook[Symbol.asyncDispose]()
})

function writeConfig(port: number, extraConfig = ''): void {
  const { configFile, credentialsFile } = home.paths
  mkdirSync(dirname(configFile), { recursive: true, mode: 0o700 })
  writeFileSync(
    configFile,
    `notifications:\n  webhook:\n    url: "http://127.0.0.1:${port}/\${HOOK_PATH}"\n    headers: { Authorization: "Bearer \${HOOK_TOKEN}" }\n${extraConfig}`,
  )
  writeFileSync(credentialsFile, 'HOOK_TOKEN: secret-token\nHOOK_PATH: secret-path\n')
  chmodSync(credentialsFile, 0o600)
}

async function readDoctorChecks(): Promise<readonly CheckView[]> {
  return (await home.client.get<{ checks: CheckView[] }>('/v1/doctor')).checks.filter(({ name }) => name.startsWith('notifications'))
}

describe('a webhook', () => {
  test('gets completed and failed processes, with its secrets in the headers and nowhere else', async () => {
    writeConfig(await hook.listen())
    await home.start()
    await home.spawn({ argv: ['true'], name: 'good' })
    await home.spawn({ argv: ['false'], name: 'bad' })
    await waitUntil(() => hook.got.length === 2, 'both were sent')
    expect(hook.notified.toSorted()).toEqual(['failed bad', 'finished good'])
    const [first] = hook.got
    expect(first?.headers).toMatchObject({ authorization: 'Bearer secret-token', 'content-type': 'application/json' })
    expect(first?.body).toMatchObject({ version: 1, process: { agent: 'command' } })
    expect(JSON.stringify(await readDoctorChecks())).not.toContain('secret')
    expect(home.readLog()).not.toContain('secret')
  })

  test('gets nothing about ends by the user, nor about kinds that are not configured', async () => {
    writeConfig(await hook.listen(), '    events: [failed]\n')
    await home.start()
    const sleeper = await home.spawn({ argv: ['sleep', '600'], name: 'killed' })
    await home.signal(sleeper.uuid, { signal: 'SIGKILL' })
    await home.waitForEnd(sleeper.uuid)
    await home.waitForEnd((await home.spawn({ argv: ['true'], name: 'good' })).uuid)
    await home.spawn({ argv: ['false'], name: 'bad' })
    await waitUntil(() => hook.got.length > 0, 'the failure was sent')
    expect(hook.notified).toEqual(['failed bad'])
  })

  test('gets the end of a restarted process when it is no longer restarted', async () => {
    writeConfig(await hook.listen())
    await home.start()
    const { uuid } = await home.spawn({
      argv: ['false'],
      name: 'again',
      restart: { type: 'on-failure', maxRestarts: 1, backoff: { initialMs: 1 } },
    })
    await waitUntil(() => hook.got.length > 0, 'the end was sent')
    expect(hook.notified).toEqual(['failed again'])
    expect((await home.view(uuid)).pid).toBeGreaterThan(1)
  })

  test('gets each question of a crew, with its text and the command that answers', async () => {
    writeConfig(await hook.listen(), '    events: [waiting]\n')
    await home.start()
    writeFileSync(join(home.work, 'idle.yaml'), 'steps: [{ text: I wait. }]\n')
    const tasks = ['which', 'where', 'why'].map((id) => ({ id, title: `A question`, text: `${id} of the two?`, kind: 'human' as const }))
    await home.client.post<CrewUpView>('/v1/crews', {
      name: 'fix',
      cwd: home.work,
      worktrees: false,
      workers: { generic: 1 },
      model: `script:${join(home.work, 'idle.yaml')}`,
      tasks,
      env: {},
    } satisfies CrewUpBody)
    await waitUntil(() => hook.got.length === 3, 'each was sent')
    expect(hook.got.map(({ body }) => body.text.replace(/PID \d+/, 'PID'))).toEqual(
      ['which', 'where', 'why'].map((id) => `fix (PID) asks: ${id}: ${id} of the two? (reeve answer --ask ${id} fix)`),
    )
    expect(hook.got[0]?.body).toMatchObject({ event: 'waiting', command: 'reeve answer --ask which fix', process: { name: 'fix' } })
    await home.signal('fix', { signal: 'SIGKILL' })
    await home.waitForEnd('fix')
  })

  test('gets a notice when a budget reaches its soft mark, and when it is used up', async () => {
    writeConfig(await hook.listen(), '    events: [budget]\n')
    await home.start()
    const model = home.writeScript([
      ...Array.from({ length: 3 }, () => ({ tools: [{ name: 'ls', input: {} }], usage: { input: 4_000, output: 500 } })),
      { text: 'done' },
    ])
    const { uuid } = await home.spawn({ model, name: 'dear', limits: { budgetTokens: 10_000 } })
    await home.waitForView(uuid, ({ status }) => status === 'suspended')
    await waitUntil(() => hook.got.length === 2, 'both were sent')
    expect(hook.got.map(({ body }) => body.text)).toEqual([
      expect.stringMatching(/^dear \(PID 1\) has used \d\d % of a limit: /),
      expect.stringMatching(/^dear \(PID 1\) is suspended: /),
    ])
  })

  test('that fails is tried again, and nothing is lost or sent twice', async () => {
    hook.statuses = [500, 429, 503]
    writeConfig(await hook.listen())
    await home.start()
    await home.spawn({ argv: ['false'], name: 'one' })
    await home.spawn({ argv: ['false'], name: 'two' })
    await waitUntil(() => hook.got.length === 2, 'both were sent')
    expect(hook.notified.toSorted()).toEqual(['failed one', 'failed two'])
    expect(home.readLog()).toContain('a notice cannot be sent: it answered 500; it is tried again')
    await waitUntil(() => home.readLog().includes('notices are sent again'), 'the log reports it')
  })

  test('that is down delays no process, and gets its notices later', async () => {
    const port = await hook.listen()
    writeConfig(port)
    await hook[Symbol.asyncDispose]()
    hook = new WebhookServer()
    await home.start()
    for (const name of ['one', 'two', 'three']) await home.waitForEnd((await home.spawn({ argv: ['false'], name })).uuid)
    await waitUntil(() => home.readLog().includes('it cannot be reached (ECONNREFUSED)'), 'it was tried')
    expect(await readDoctorChecks()).toMatchObject([{ name: 'notifications webhook', ok: false }])
    await hook.listen(port)
    await waitUntil(() => hook.got.length === 3, 'all were sent')
    expect(hook.notified).toEqual(['failed one', 'failed two', 'failed three'])
    expect(await readDoctorChecks()).toMatchObject([{ name: 'notifications webhook', ok: true }])
  })

  test('whose answer is a redirect or a refusal does not get the notice again', async () => {
    hook.statuses = [302, 401]
    writeConfig(await hook.listen())
    await home.start()
    for (const name of ['one', 'two', 'three']) await home.waitForEnd((await home.spawn({ argv: ['false'], name })).uuid)
    await waitUntil(() => hook.got.length === 1, 'the third was sent')
    expect(hook.notified).toEqual(['failed three'])
    expect(home.readLog()).toContain('it answered 302')
  })
})

describe('notices that the last daemon did not send', () => {
  /** Returns a port on which nothing listens yet. */
  async function findFreePort(): Promise<number> {
    const port = await hook.listen()
    writeConfig(port)
    await hook[Symbol.asyncDispose]()
    hook = new WebhookServer()
    return port
  }

  test('are sent once after the next start, whether the daemon was killed or stopped', async () => {
    const port = await findFreePort()
    await home.start()
    await home.waitForEnd((await home.spawn({ argv: ['false'], name: 'one' })).uuid)
    await waitUntil(() => home.readLog().includes('it cannot be reached (ECONNREFUSED)'), 'it was tried')
    await home.kill()
    await home.start()
    await home.waitForEnd((await home.spawn({ argv: ['false'], name: 'two' })).uuid)
    await home.stop()
    expect(home.readLog()).toContain('webhook: 2 notices were not sent before the daemon ended; the next one sends them')
    await hook.listen(port)
    await home.start()
    await waitUntil(() => hook.got.length === 2, 'both were sent')
    expect(hook.notified).toEqual(['failed one', 'failed two'])
    await home.stop()
    await home.start()
    await home.waitForEnd((await home.spawn({ argv: ['false'], name: 'three' })).uuid)
    await waitUntil(() => hook.got.length > 2, 'the next one was sent')
    expect(hook.notified).toEqual(['failed one', 'failed two', 'failed three'])
  })

  test('are sent for processes that a crash interrupted, but not for those that continue', async () => {
    writeConfig(await hook.listen())
    await home.start()
    const { uuid } = await home.spawn({ argv: ['sleep', '600'], name: 'cut' })
    const restartedProcess = await home.spawn({
      argv: ['sleep', '600'],
      name: 'kept',
      restart: { type: 'always', backoff: { initialMs: 1 } },
    })
    for (const one of [uuid, restartedProcess.uuid]) await home.waitForView(one, ({ status }) => status === 'working')
    await home.kill()
    await home.start()
    await waitUntil(() => hook.got.length > 0, 'it was sent')
    await home.waitForView(restartedProcess.uuid, ({ status }) => status === 'working')
    await home.waitForEnd((await home.spawn({ argv: ['false'], name: 'last' })).uuid)
    await waitUntil(() => hook.got.length > 1, 'the last was sent')
    expect(hook.notified).toEqual(['failed cut', 'failed last'])
    expect(hook.got[0]?.body.text).toMatch(/^cut \(PID \d+\) has failed: interrupted/)
  })

  test('are dropped when their question was answered, or when they are older than a day', async () => {
    const body = (fields: object): FactBody => fields as FactBody
    const row = (life: object): Process => ({ life }) as unknown as Process
    const fact = (cursor: number, at: number, fields: object): StoredFact => ({
      uuid: 'u',
      pid: 1,
      seq: cursor,
      at,
      cursor,
      body: body(fields),
    })
    const day = 24 * 3_600_000
    const facts = [
      fact(1, 0, { type: 'process.exited' }),
      fact(2, day, { type: 'process.exited' }),
      fact(3, day, { type: 'process.waiting' }),
      fact(4, day, { type: 'process.exited' }),
    ]
    const notifiedCursors = async (life: object): Promise<number[]> => {
      const parts = {
        store: {
          since: async ({ afterCursor }: { afterCursor: number }) => facts.filter(({ cursor }) => cursor > afterCursor),
          process: async () => row(life),
        } as unknown as Store,
        get: () => undefined,
        now: () => day + 1,
      }
      const cursors: number[] = []
      for await (const page of missedFacts(parts, 0, 3)) cursors.push(...page.map((one) => one.fact.cursor))
      return cursors
    }
    expect(await notifiedCursors({ state: 'dead' })).toEqual([2])
    expect(await notifiedCursors({ state: 'running', activity: 'waiting' })).toEqual([3])
    expect(await notifiedCursors({ state: 'running', activity: 'working' })).toEqual([])
  })
})

test('doctor reports the configuration and whether it works', async () => {
  await home.start()
  expect(await readDoctorChecks()).toEqual([{ name: 'notifications', ok: true, detail: 'none are configured' }])
  writeConfig(await hook.listen())
  expect(await readDoctorChecks()).toMatchObject([
    { name: 'notifications webhook', ok: true, detail: expect.stringContaining('the server answers') as string },
  ])
  writeFileSync(home.paths.credentialsFile, 'OTHER: x\n')
  expect(await readDoctorChecks()).toMatchObject([{ ok: false, detail: expect.stringContaining('HOOK_PATH') as string }])
})
