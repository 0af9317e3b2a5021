// A gateway with one incarnation at it for tests: the kernel's side is the test's own, providers are real HTTP servers, and the
// client is one that shows each byte and how the answer ended.
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Gateway } from '../../src/drivers/gateway/gateway.ts'
import type { GatewaySeat } from '../../src/drivers/gateway/gateway.ts'
import type { RateLimit } from '../../src/drivers/gateway/lanes.ts'
import type { Recorder } from '../../src/drivers/gateway/record.ts'
import type { ProviderConfig } from '../../src/drivers/native/models.ts'
import type { Asking, Permit, Report } from '../../src/kernel/reports.ts'
import { HandClock } from './clock.ts'

export const KEY = 'the-real-key-of-the-provider'
type Finished = Extract<Report, { type: 'call.finished' }>

export interface BenchOptions {
  /** where the providers are, by name */
  readonly urls: Readonly<Partial<Record<'anthropic' | 'openai' | 'chat' | 'google', string>>>
  readonly rateLimits?: Readonly<Record<string, RateLimit>>
  readonly recorder?: Recorder
  /** null: go, with all that was asked for */
  readonly permit?: (asking: Asking) => Permit | null
}

const KINDS = { anthropic: 'anthropic', openai: 'openai', chat: 'openai-compatible', google: 'google' } as const

export class GatewayBench implements AsyncDisposable {
  readonly clock = new HandClock()
  readonly gateway: Gateway
  readonly asked: Extract<Asking, { type: 'call.started' }>[] = []
  readonly reports: Report[] = []
  readonly logged: string[] = []
  /** how often something of an answer went by */
  heard = 0
  readonly end = new AbortController()
  seat!: GatewaySeat
  /** the process is held: `clear` waits for `release` */
  #held = Promise.withResolvers<void>()
  isHeld = false
  #waiting: { isSo: () => boolean; resolve: () => void }[] = []
  readonly #options: BenchOptions

  private constructor(options: BenchOptions) {
    this.#options = options
    this.gateway = new Gateway({
      clock: this.clock,
      prices: {
        rates: () => Promise.resolve({ perInputToken: 0.001, perCacheWriteToken: 0.002, perOutputToken: 0.01 }),
        cost: (_, { inputTokens, outputTokens }) => Promise.resolve(inputTokens * 0.001 + outputTokens * 0.01),
      },
      rateLimits: () => options.rateLimits ?? {},
      log: (message, error) => this.logged.push(`${message} ${String(error)}`),
    })
  }

  static async open(options: BenchOptions): Promise<GatewayBench> {
    const bench = new GatewayBench(options)
    bench.seat = await bench.sit(7)
    return bench
  }

  /** One more incarnation. */
  sit(pid: number, end = this.end): Promise<GatewaySeat> {
    const providers = Object.entries(this.#options.urls).map(([name, url]) => {
      const config: ProviderConfig = { name, kind: KINDS[name as keyof typeof KINDS], baseURL: `${url}/v1`, apiKeyEnv: 'KEY' }
      return { config: name === 'google' ? { ...config, baseURL: `${url}/v1beta` } : config, key: KEY }
    })
    return this.gateway.open({
      uuid: `process-${pid}`, pid, providers, recorder: this.#options.recorder ?? null,
      heard: () => { this.heard += 1 },
      port: {
        begin: (asking) => Promise.resolve(this.#begin(asking)),
        report: (report) => {
          this.reports.push(report)
          this.#look()
          return Promise.resolve('ok')
        },
        clear: (isStill) => this.#clear(isStill),
        signal: end.signal,
      },
    })
  }

  get finished(): readonly Finished[] {
    return this.reports.filter((one) => one.type === 'call.finished')
  }

  /** Resolves when so many calls have been told to have ended. */
  ended(count: number): Promise<void> {
    return this.until(() => this.finished.length >= count)
  }

  /** Looked at whenever something is asked or told. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ isSo, resolve })
      this.#look()
    })
  }

  hold(): void {
    this.isHeld = true
  }

  release(): void {
    this.isHeld = false
    this.#held.resolve()
    this.#held = Promise.withResolvers()
  }

  url(name: string, path: string): string {
    return `${this.seat.url(name) ?? ''}${path}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway.close()
  }

  #begin(asking: Asking): Permit {
    if (asking.type !== 'call.started') throw new Error(`${asking.type} at the gateway`)
    this.asked.push(asking)
    this.#look()
    if (this.isHeld) return { ack: 'held', reason: 'paused by a test' }
    return this.#options.permit?.(asking) ?? { ack: 'go', maxOutputTokens: asking.ask.maxOutputTokens }
  }

  async #clear(isStill: () => boolean = () => true): Promise<void> {
    while (this.isHeld) {
      if (isStill()) this.reports.push({ type: 'drained' })
      this.#look()
      await this.#held.promise
    }
  }

  #look(): void {
    const [ready, rest] = [this.#waiting.filter((one) => one.isSo()), this.#waiting.filter((one) => !one.isSo())]
    this.#waiting = rest
    for (const one of ready) one.resolve()
  }
}

export interface Got {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** the connection ended before the answer */
  readonly isCut: boolean
}

export interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
  readonly agent?: Agent
  /** called when the status is there; the answer is read from here on */
  readonly begun?: (answer: IncomingMessage) => void
  readonly signal?: AbortSignal
}

/** Rejects when nothing was answered. */
export function ask(url: string, { method = 'POST', headers = {}, body = '', agent, begun, signal }: Asked = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: { ...headers } as Record<string, string>, agent: agent ?? new Agent(), ...(signal ? { signal } : {}) }, (answer) => {
      const chunks: Buffer[] = []
      const done = (isCut: boolean): void => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, rawHeaders: answer.rawHeaders, body: Buffer.concat(chunks), isCut })
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.once('end', () => done(!answer.complete))
      answer.once('error', () => done(true))
      begun?.(answer)
    })
    request.once('error', reject)
    request.end(body)
  })
}

export interface RawProvider extends AsyncDisposable {
  readonly url: string
  readonly server: Server
  /** connections that were made to it so far */
  readonly connections: number
}

/** A provider that does what the test wants, on the level of HTTP. */
export async function rawProvider(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<RawProvider> {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer)
  let connections = 0
  server.on('connection', () => { connections += 1 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    get connections() { return connections },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}

/** All of a request's body. */
export async function bodyOfRequest(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
