// Runs a gateway with one incarnation for tests. The harness plays the kernel, and the providers are real HTTP servers. `sendRequest`
// returns the bytes of an answer, and whether the connection was cut.
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Prices } from '../../../src/drivers/gateway/call.ts'
import { Gateway } from '../../../src/drivers/gateway/gateway.ts'
import type { GatewayAccess } from '../../../src/drivers/gateway/gateway.ts'
import type { RateLimit } from '../../../src/drivers/gateway/rate-limiter.ts'
import type { CallRecorder } from '../../../src/drivers/gateway/call-recorder.ts'
import type { ProviderConfig } from '../../../src/drivers/native/models/resolve-model.ts'
import type { CallRequest, CallGrant, Report } from '../../../src/kernel/model/reports.ts'
import { ManualClock } from '../clock.ts'

export const PROVIDER_KEY = 'the-real-key-of-the-provider'
type FinishedCall = Extract<Report, { type: 'call.finished' }>

export interface GatewayHarnessOptions {
  /** the base URL of each provider */
  readonly urls: Readonly<Partial<Record<'anthropic' | 'openai' | 'chat' | 'google', string>>>
  readonly rateLimits?: Readonly<Record<string, RateLimit>>
  readonly recorder?: CallRecorder
  /** replaces the harness's own price table */
  readonly prices?: Partial<Prices>
  /** decides about a call; null grants it as requested */
  readonly decide?: (request: CallRequest) => CallGrant | null
}

const PROVIDER_KINDS = { anthropic: 'anthropic', openai: 'openai', chat: 'openai-compatible', google: 'google' } as const

export class GatewayHarness implements AsyncDisposable {
  readonly clock = new ManualClock()
  readonly gateway: Gateway
  readonly callRequests: Extract<CallRequest, { type: 'call.started' }>[] = []
  readonly reports: Report[] = []
  readonly logMessages: string[] = []
  /** the number of answer chunks that passed through */
  chunkCount = 0
  readonly abortController = new AbortController()
  access!: GatewayAccess
  /** unresolved while the process is held: `waitUntilUnpaused` waits until `release` resolves it */
  #released = Promise.withResolvers<void>()
  isHeld = false
  #waiters: { isMet: () => boolean; resolve: () => void }[] = []
  readonly #options: GatewayHarnessOptions

  private constructor(options: GatewayHarnessOptions) {
    this.#options = options
    this.gateway = new Gateway({
      clock: this.clock,
      prices: {
        rates: () => Promise.resolve({ perInputToken: 0.001, perCacheWriteToken: 0.002, perOutputToken: 0.01 }),
        cost: (_, { inputTokens, outputTokens }) => Promise.resolve(inputTokens * 0.001 + outputTokens * 0.01),
        ...options.prices,
      },
      rateLimits: () => options.rateLimits ?? {},
      log: (message, error) => this.logMessages.push(`${message} ${String(error)}`),
    })
  }

  static async open(options: GatewayHarnessOptions): Promise<GatewayHarness> {
    const harness = new GatewayHarness(options)
    harness.access = await harness.addIncarnation(7)
    return harness
  }

  addIncarnation(pid: number, abortController = this.abortController): Promise<GatewayAccess> {
    const providers = Object.entries(this.#options.urls).map(([name, url]) => {
      const config: ProviderConfig = {
        name,
        kind: PROVIDER_KINDS[name as keyof typeof PROVIDER_KINDS],
        baseURL: `${url}/v1`,
        apiKeyEnv: 'KEY',
      }
      return { config: name === 'google' ? { ...config, baseURL: `${url}/v1beta` } : config, key: PROVIDER_KEY }
    })
    return this.gateway.open({
      uuid: `process-${pid}`,
      pid,
      providers,
      recorder: this.#options.recorder ?? null,
      onActivity: () => {
        this.chunkCount += 1
      },
      port: {
        requestCall: (request) => Promise.resolve(this.#begin(request)),
        report: (report) => {
          this.reports.push(report)
          this.#resolveWaiters()
          return Promise.resolve('ok')
        },
        waitUntilUnpaused: (isDrained) => this.#waitUntilReleased(isDrained),
        signal: abortController.signal,
      },
    })
  }

  get finishedCalls(): readonly FinishedCall[] {
    return this.reports.filter((one) => one.type === 'call.finished')
  }

  /** Resolves when this number of calls has been reported as ended. */
  waitForCalls(count: number): Promise<void> {
    return this.waitFor(() => this.finishedCalls.length >= count)
  }

  /** Checks the condition after each request and each report. */
  waitFor(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ isMet, resolve })
      this.#resolveWaiters()
    })
  }

  hold(): void {
    this.isHeld = true
  }

  release(): void {
    this.isHeld = false
    this.#released.resolve()
    this.#released = Promise.withResolvers()
  }

  url(name: string, path: string): string {
    return `${this.access.url(name) ?? ''}${path}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway.close()
  }

  #begin(request: CallRequest): CallGrant {
    if (request.type !== 'call.started') throw new Error(`${request.type} at the gateway`)
    this.callRequests.push(request)
    this.#resolveWaiters()
    if (this.isHeld) return { ack: 'held', reason: 'paused by a test' }
    return this.#options.decide?.(request) ?? { ack: 'go', maxOutputTokens: request.ask.maxOutputTokens }
  }

  async #waitUntilReleased(isDrained: () => boolean = () => true): Promise<void> {
    while (this.isHeld) {
      if (isDrained()) this.reports.push({ type: 'drained' })
      this.#resolveWaiters()
      await this.#released.promise
    }
  }

  #resolveWaiters(): void {
    const [ready, rest] = [this.#waiters.filter((one) => one.isMet()), this.#waiters.filter((one) => !one.isMet())]
    this.#waiters = rest
    for (const one of ready) one.resolve()
  }
}

export interface GatewayResponse {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** whether the connection ended before the answer was complete */
  readonly isCut: boolean
}

export interface GatewayRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
  readonly agent?: Agent
  /** called when the status has arrived; then the test reads the body itself */
  readonly onResponse?: (answer: IncomingMessage) => void
  readonly signal?: AbortSignal
}

/** Rejects if no answer comes. */
export function sendRequest(
  url: string,
  { method = 'POST', headers = {}, body = '', agent, onResponse, signal }: GatewayRequest = {},
): Promise<GatewayResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      { method, headers: { ...headers } as Record<string, string>, agent: agent ?? new Agent(), ...(signal ? { signal } : {}) },
      (answer) => {
        const chunks: Buffer[] = []
        const resolveResponse = (isCut: boolean): void =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            rawHeaders: answer.rawHeaders,
            body: Buffer.concat(chunks),
            isCut,
          })
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.once('end', () => resolveResponse(!answer.complete))
        answer.once('error', () => resolveResponse(true))
        onResponse?.(answer)
      },
    )
    request.once('error', reject)
    request.end(body)
  })
}

export interface RawProvider extends AsyncDisposable {
  readonly url: string
  readonly server: Server
  /** the number of connections that it has received so far */
  readonly connectionCount: number
}

/** A provider whose HTTP behaviour the test controls. */
export async function startRawProvider(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<RawProvider> {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer)
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    get connectionCount() {
      return connections
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Reads a request's whole body. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
