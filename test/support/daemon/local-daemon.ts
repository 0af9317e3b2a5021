// A daemon in the test's own process, with its own home, called over its real socket. The log is kept, so that a test can check it
// for errors. Disposing of it stops the daemon and removes the home.
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Client } from '../../../src/api/client/client.ts'
import { pathsFrom, type Paths } from '../../../src/config/paths.ts'
import { startDaemon, type Daemon } from '../../../src/daemon/daemon.ts'
import type { DaemonView, EventView } from '../../../src/api/views/daemon.ts'
import type { PauseBody, ProcessView, ResumeBody, SignalBody, SpawnBody, SteerView } from '../../../src/api/views/process.ts'
import type { Status } from '../../../src/kernel/model/status.ts'
import type { Clock } from '../../../src/daemon/loop/clock.ts'
import { testEnv } from '../env.ts'
import { probeOnce } from '../probe-once.ts'
import { tempDir } from '../tmp.ts'

const WAIT_MS = 100_000
/** the time limit of one request */
const REQUEST_MS = WAIT_MS / 2

/** The response to a request that reeve's own client would never send. */
export interface RawAnswer {
  readonly status: number
  readonly body: {
    readonly version: number
    readonly error?: {
      readonly code: string
      readonly message: string
      readonly hint: string
      readonly details?: Readonly<Record<string, unknown>>
    }
  }
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
  /** the file whose removal ends an idle daemon */
  readonly programFile?: string
  /** writes into the store before the daemon starts */
  readonly prepare?: (stateDir: string) => Promise<void>
}

export class LocalDaemon implements AsyncDisposable {
  readonly home: string
  readonly work: string
  readonly paths: Paths
  readonly client: Client
  /** the log lines of errors */
  readonly errors: string[] = []
  readonly logMessages: string[] = []
  readonly #clock: Clock | undefined
  readonly #programFile: string | null
  readonly #remove: () => PromiseLike<void>
  #daemon: Daemon | null = null
  #scriptCount = 0

  private constructor(root: string, { clock, programFile }: LocalDaemonOptions, remove: () => PromiseLike<void>) {
    this.home = join(root, 'home')
    this.work = join(root, 'work')
    this.paths = pathsFrom(testEnv(this.home))
    this.client = new Client({ socketPath: () => this.paths.socket })
    this.#clock = clock
    this.#programFile = programFile ?? null
    this.#remove = remove
  }

  static async start(options: LocalDaemonOptions = {}): Promise<LocalDaemon> {
    const { config } = options
    const dir = await tempDir()
    const local = new LocalDaemon(dir.path, options, () => dir[Symbol.asyncDispose]())
    await mkdir(local.work)
    await mkdir(local.home, { mode: 0o700 })
    if (config !== undefined) await writeFile(local.paths.configFile, config)
    try {
      await options.prepare?.(local.paths.state)
      await local.start()
    } catch (error) {
      await dir[Symbol.asyncDispose]()
      throw error
    }
    return local
  }

  async start(): Promise<void> {
    const log = (message: string, error: unknown): void => {
      this.logMessages.push(message)
      if (error !== null) this.errors.push(`${message}: ${error instanceof Error ? error.stack : String(error)}`)
    }
    this.#daemon = await startDaemon({
      paths: this.paths,
      log,
      programFile: this.#programFile,
      probe: probeOnce,
      ...(this.#clock ? { clock: this.#clock } : {}),
    })
  }

  /** Resolves when the daemon has stopped, whatever the cause. */
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

  /** Writes a script, and returns the name of its model. */
  async writeScript(items: readonly object[]): Promise<string> {
    const file = join(this.work, `script-${(this.#scriptCount += 1)}.yaml`)
    await writeFile(file, JSON.stringify(items))
    return `script:${file}`
  }

  async spawn(body: Partial<SpawnBody> = {}): Promise<ProcessView> {
    const intent = body.argv || body.interactive ? {} : { intent: 'work' }
    const request: SpawnBody = { cwd: this.work, env: testEnv(this.work), ...intent, ...body }
    return (await this.client.post<{ process: ProcessView }>('/v1/processes', request)).process
  }

  /** Spawns a native process that plays these answers. */
  async spawnScripted(items: readonly object[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
    return this.spawn({ model: await this.writeScript(items), ...body })
  }

  spawnShell(command: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> {
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

  async waitForEnd(ref: string): Promise<ProcessView> {
    return this.#waitFor(ref, 'exited')
  }

  async waitUntilReady(ref: string): Promise<ProcessView> {
    return this.#waitFor(ref, 'ready')
  }

  /** Returns the first matching event of the process, past or future. */
  async waitForEvent(
    ref: string,
    isMatch: (event: EventView) => boolean,
    query: Readonly<Record<string, string | number | boolean>> = {},
  ): Promise<EventView> {
    const late = AbortSignal.timeout(WAIT_MS)
    const eventNames: string[] = []
    for await (const event of this.client.events(`/v1/processes/${ref}/events`, {
      query: { after: 0, follow: true, ...query },
      signal: late,
      isLast: isReaped,
    })) {
      if (isMatch(event)) return event
      eventNames.push(String(event['fact'] ?? event.type))
    }
    throw new Error(`no event matched: ${isMatch.toString()}; there were ${eventNames.join(', ')}; ${this.errors.join('\n')}`)
  }

  /** Waits until the process has a status. */
  async waitForStatus(ref: string, status: Status): Promise<ProcessView> {
    return this.waitForView(ref, (view) => view.status === status)
  }

  /** Resolves with the process when the condition holds. Checks it at each of its events. */
  async waitForView(ref: string, isMatch: (view: ProcessView) => boolean): Promise<ProcessView> {
    const after = await this.readCursor()
    let found = await this.view(ref)
    if (isMatch(found)) return found
    const late = AbortSignal.timeout(WAIT_MS)
    const isOver = found.exitedAt !== null && found.status !== 'zombie'
    const events = isOver
      ? []
      : this.client.events(`/v1/processes/${ref}/events`, { query: { after, follow: true }, signal: late, isLast: isReaped })
    try {
      for await (const _ of events) {
        found = await this.view(ref)
        if (isMatch(found)) return found
      }
    } catch (error) {
      if (!late.aborted) throw error
    }
    throw new Error(`process ${found.pid} never matched: ${isMatch.toString()}; it is ${JSON.stringify(found)}; ${this.errors.join('\n')}`)
  }

  /** Returns the cursor of the newest event. */
  async readCursor(): Promise<number> {
    return (await this.client.get<DaemonView>('/v1/daemon')).cursor
  }

  /** Returns the types of the process's facts so far. */
  async readFactTypes(ref: string): Promise<string[]> {
    return (await this.readHistory(ref)).map((event) => String(event['fact']))
  }

  /** Returns all events of a process so far. */
  async readHistory(ref: string): Promise<EventView[]> {
    const events: EventView[] = []
    for await (const event of this.client.events(`/v1/processes/${ref}/events`, { query: { after: 0 } })) events.push(event)
    return events
  }

  async readOutput(ref: string): Promise<string> {
    const events = await this.readHistory(ref)
    return events.map((event) => (event['fact'] === 'process.output' ? String(event['text']) : '')).join('')
  }

  /** Sends a request unchanged: for requests that reeve's own client would never send. */
  async sendRaw({ method = 'GET', path, headers = {}, body }: RawRequest): Promise<RawAnswer> {
    const request = httpRequest({ socketPath: this.paths.socket, method, path, headers })
    const answered = once(request, 'response')
    request.on('error', () => undefined) // the daemon may close the connection before it has read all
    request.end(body)
    const [response] = (await answered) as [IncomingMessage]
    const text = (await response.toArray()).join('')
    return { status: response.statusCode ?? 0, body: JSON.parse(text) as RawAnswer['body'] }
  }

  /** Posts a JSON body unchanged. */
  post(path: string, body: unknown): Promise<RawAnswer> {
    return this.sendRaw({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  }

  async #waitFor(ref: string, condition: string, leftMs = WAIT_MS): Promise<ProcessView> {
    const { process, timedOut } = await this.client.get<{ process: ProcessView; timedOut: boolean }>(
      `/v1/processes/${ref}/wait`,
      { for: condition, timeoutMs: REQUEST_MS },
      { extraMs: REQUEST_MS },
    )
    if (timedOut && leftMs > REQUEST_MS) return this.#waitFor(ref, condition, leftMs - REQUEST_MS)
    if (timedOut)
      throw new Error(
        `process ${process.pid} is not ${condition} after ${WAIT_MS} ms: ${JSON.stringify(process)}; ${this.errors.join('\n')}`,
      )
    return process
  }
}

function isReaped(event: EventView): boolean {
  return event['fact'] === 'process.reaped'
}
