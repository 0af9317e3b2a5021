// A daemon inside the test's own process, in a home of its own, talked to over its real socket. What it logs is kept, so
// that a test can say that nothing went wrong. Disposing of it stops the daemon and removes the home.
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Client } from '../../src/api/client.ts'
import { paths, type Paths } from '../../src/config/paths.ts'
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts'
import type { EventView, PauseBody, ProcessView, ResumeBody, SignalBody, SpawnBody, Status, SteerView } from '../../src/api/views.ts'
import type { Clock } from '../../src/daemon/clock.ts'
import { testEnv } from './env.ts'
import { tempDir } from './tmp.ts'

const WAIT_MS = 50_000

/** What comes back of a request that no client of ours would send. */
export interface RawAnswer {
  readonly status: number
  readonly body: { readonly version: number; readonly error?: { readonly code: string; readonly message: string; readonly hint: string; readonly details?: Readonly<Record<string, unknown>> } }
}

export interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface LocalDaemonOptions {
  /** the text of config.yaml */
  readonly config?: string
  readonly clock?: Clock
}

export class LocalDaemon implements AsyncDisposable {
  readonly home: string
  readonly work: string
  readonly paths: Paths
  readonly client: Client
  /** what it logged with an error */
  readonly errors: string[] = []
  readonly logged: string[] = []
  readonly #clock: Clock | undefined
  readonly #remove: () => PromiseLike<void>
  #daemon: Daemon | null = null
  #scripts = 0

  private constructor(root: string, clock: Clock | undefined, remove: () => PromiseLike<void>) {
    this.home = join(root, 'home')
    this.work = join(root, 'work')
    this.paths = paths(testEnv(this.home))
    this.client = new Client({ socketPath: () => this.paths.socket })
    this.#clock = clock
    this.#remove = remove
  }

  static async start({ config, clock }: LocalDaemonOptions = {}): Promise<LocalDaemon> {
    const dir = await tempDir()
    const local = new LocalDaemon(dir.path, clock, () => dir[Symbol.asyncDispose]())
    await mkdir(local.work)
    await mkdir(local.home, { mode: 0o700 })
    if (config !== undefined) await writeFile(local.paths.configFile, config)
    try {
      await local.start()
    } catch (error) {
      await dir[Symbol.asyncDispose]()
      throw error
    }
    return local
  }

  async start(): Promise<void> {
    const log = (message: string, error: unknown): void => {
      this.logged.push(message)
      if (error !== null) this.errors.push(`${message}: ${error instanceof Error ? error.stack : String(error)}`)
    }
    this.#daemon = await startDaemon({ paths: this.paths, log, ...(this.#clock ? { clock: this.#clock } : {}) })
  }

  /** Resolves when the daemon has stopped, by whomever. */
  get stopped(): Promise<void> {
    return this.#daemon?.stopped ?? Promise.resolve()
  }

  async stop(): Promise<void> {
    await this.#daemon?.stop()
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.#remove()
  }

  /** Writes a script and gives the name of its model. */
  async script(items: readonly object[]): Promise<string> {
    const file = join(this.work, `script-${(this.#scripts += 1)}.yaml`)
    await writeFile(file, JSON.stringify(items))
    return `script:${file}`
  }

  async spawn(body: Partial<SpawnBody> = {}): Promise<ProcessView> {
    const intent = body.argv || body.interactive ? {} : { intent: 'work' }
    const whole: SpawnBody = { cwd: this.work, env: testEnv(this.work), ...intent, ...body }
    return (await this.client.post<{ process: ProcessView }>('/v1/processes', whole)).process
  }

  /** A native process that plays these answers. */
  async play(items: readonly object[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
    return this.spawn({ model: await this.script(items), ...body })
  }

  sh(command: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> {
    return this.spawn({ argv: ['sh', '-c', command], ...body })
  }

  async view(ref: string | number): Promise<ProcessView> {
    return (await this.client.get<{ process: ProcessView }>(`/v1/processes/${ref}`)).process
  }

  pause(ref: string, body: PauseBody = {}): Promise<SteerView> {
    return this.client.post(`/v1/processes/${ref}/pause`, body)
  }

  resume(ref: string, body: ResumeBody = {}): Promise<SteerView> {
    return this.client.post(`/v1/processes/${ref}/resume`, body)
  }

  signal(ref: string, signal: SignalBody['signal'], body: Omit<SignalBody, 'signal'> = {}): Promise<SteerView> {
    return this.client.post(`/v1/processes/${ref}/signal`, { signal, ...body })
  }

  send(ref: string, text: string): Promise<{ id: string; queueCount: number }> {
    return this.client.post(`/v1/processes/${ref}/send`, { text })
  }

  async ended(ref: string): Promise<ProcessView> {
    return this.#waited(ref, 'exited')
  }

  async ready(ref: string): Promise<ProcessView> {
    return this.#waited(ref, 'ready')
  }

  /** Waits for an event of the process, also one that is past; gives the first that is as told. */
  async event(ref: string, isIt: (event: EventView) => boolean, query: Readonly<Record<string, string | number | boolean>> = {}): Promise<EventView> {
    const late = AbortSignal.timeout(WAIT_MS)
    const seen: string[] = []
    for await (const event of this.client.events(`/v1/processes/${ref}/events`, { query: { after: 0, follow: true, ...query }, signal: late, isLast: isReaped })) {
      if (isIt(event)) return event
      seen.push(String(event['fact'] ?? event.type))
    }
    throw new Error(`no event was so: ${isIt.toString()}; there were ${seen.join(', ')}; ${this.errors.join('\n')}`)
  }

  /** Waits until the process has a status. */
  async until(ref: string, status: Status): Promise<ProcessView> {
    return this.untilSo(ref, (view) => view.status === status)
  }

  /** Looks at the process again at each of its events until it is so. */
  async untilSo(ref: string, isSo: (view: ProcessView) => boolean): Promise<ProcessView> {
    const now = await this.view(ref)
    if (isSo(now)) return now
    let found = now
    const late = AbortSignal.timeout(WAIT_MS)
    for await (const _ of this.client.events(`/v1/processes/${ref}/events`, { query: { after: 0, follow: true }, signal: late, isLast: isReaped })) {
      found = await this.view(ref)
      if (isSo(found)) return found
    }
    throw new Error(`process ${found.pid} never was so: ${isSo.toString()}; it is ${JSON.stringify(found)}; ${this.errors.join('\n')}`)
  }

  /** The facts so far, by their types. */
  async facts(ref: string): Promise<string[]> {
    return (await this.history(ref)).map((event) => String(event['fact']))
  }

  /** All events of a process so far. */
  async history(ref: string): Promise<EventView[]> {
    const events: EventView[] = []
    for await (const event of this.client.events(`/v1/processes/${ref}/events`, { query: { after: 0 } })) events.push(event)
    return events
  }

  async output(ref: string): Promise<string> {
    const events = await this.history(ref)
    return events.map((event) => (event['fact'] === 'process.output' ? String(event['text']) : '')).join('')
  }

  /** A request as it is given: for what our own client would never send. */
  async raw({ method = 'GET', path, headers = {}, body }: RawRequest): Promise<RawAnswer> {
    const request = httpRequest({ socketPath: this.paths.socket, method, path, headers })
    const answered = once(request, 'response')
    request.on('error', () => undefined) // the daemon may close the connection before it has read all
    request.end(body)
    const [response] = (await answered) as [IncomingMessage]
    const text = (await response.toArray()).join('')
    return { status: response.statusCode ?? 0, body: JSON.parse(text) as RawAnswer['body'] }
  }

  /** A JSON body that is posted as it is. */
  post(path: string, body: unknown): Promise<RawAnswer> {
    return this.raw({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  }

  async #waited(ref: string, what: string): Promise<ProcessView> {
    const { process, timedOut } = await this.client.get<{ process: ProcessView; timedOut: boolean }>(`/v1/processes/${ref}/wait`, { for: what, timeoutMs: WAIT_MS }, { extraMs: WAIT_MS })
    if (timedOut) throw new Error(`process ${process.pid} is not ${what} after ${WAIT_MS} ms: ${JSON.stringify(process)}; ${this.errors.join('\n')}`)
    return process
  }
}

function isReaped(event: EventView): boolean {
  return event['fact'] === 'process.reaped'
}
