// Measures the overhead of the gateway against a minimal proxy of `node:http`, with two kinds of calls. A request of 200 KB has a short
// answer: measured are the CPU time, and the times until the first byte and the end, also with 20 calls at once. An answer of 32 MB has
// chunks of one event: measured is the CPU time per MB. The client and the provider run in separate processes, so that the measured CPU
// time is only that of the proxy. Run: `npm run bench gateway`.
import { fork } from 'node:child_process'
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, RequestOptions, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../src/daemon/loop/clock.ts'
import { Gateway } from '../src/drivers/gateway/gateway.ts'
import { costUsd, ratesFor } from '../src/drivers/native/models/prices.ts'
import { ROUNDS, median, printTable } from './support/measure.ts'
import type { Row } from './support/measure.ts'

const CALLS = 300
const STREAM_MB = 32
const MB = 1024 * 1024
const TEXT = 'some words of an answer'
const EVENT = Buffer.from(
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${TEXT}"}}\n\n`,
)
const START =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}\n\n'
const END =
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
/** A typical request of an agent: a history of 200 KB. */
const HISTORY = JSON.stringify({
  model: 'claude-sonnet-4-5',
  max_tokens: 32_000,
  stream: true,
  messages: Array.from({ length: 100 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text: 'a line of a file, "quoted"\\n'.repeat(70) }],
  })),
})

interface Sample {
  readonly firstMs: number
  readonly endMs: number
}

/** A message to the client process, which makes the calls and answers with their samples. */
interface ClientRequest {
  readonly url: string
  readonly token: string
  readonly calls: number
  readonly atOnce: number
}

if (process.argv[2] === 'provider') await runProvider()
else if (process.argv[2] === 'client') runClient()
else await bench()

async function runProvider(): Promise<void> {
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(START)
      const mb = Number(new URL(request.url ?? '', 'http://x').searchParams.get('mb') ?? 0)
      stream(response, Math.floor((mb * MB) / EVENT.length))
    })
  })
  process.send?.({ port: await listen(server) })
}

function stream(response: ServerResponse, count: number): void {
  let leftCount = count
  const write = (): void => {
    while (leftCount > 0 && !response.destroyed) {
      leftCount -= 1
      if (!response.write(EVENT)) return void response.once('drain', write)
    }
    response.end(END)
  }
  write()
}

function runClient(): void {
  const agent = new Agent({ keepAlive: true })
  process.on('message', (request: ClientRequest) => {
    const samples: Sample[] = []
    const work = async (): Promise<void> => {
      while (samples.length < request.calls) samples.push(await sendOnce(request, agent))
    }
    Promise.all(Array.from({ length: request.atOnce }, work)).then(
      () => process.send?.({ samples }),
      (error: unknown) => {
        throw error
      },
    )
  })
}

function sendOnce({ url, token }: ClientRequest, agent: Agent): Promise<Sample> {
  return new Promise((resolve, reject) => {
    const since = performance.now()
    const options: RequestOptions = {
      method: 'POST',
      agent,
      headers: { 'x-api-key': token, 'content-type': 'application/json', 'content-length': Buffer.byteLength(HISTORY) },
    }
    const request = httpRequest(url, options, (answer) => {
      let firstMs = 0
      answer.on('data', () => {
        firstMs ||= performance.now() - since
      })
      answer.once('end', () => resolve({ firstMs, endMs: performance.now() - since }))
      answer.once('error', reject)
    })
    request.once('error', reject)
    request.end(HISTORY)
  })
}

/** The minimal proxy: it pipes the bodies of request and response. */
async function startBareProxy(target: string): Promise<{ readonly url: string; readonly server: Server }> {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port } = new URL(target)
  const server = createServer((request, response) => {
    const { host: _, ...headers } = request.headers
    const upstream = httpRequest(
      { hostname, port, path: request.url, method: request.method, headers, agent },
      (answer: IncomingMessage) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    request.pipe(upstream)
  })
  return { url: `http://127.0.0.1:${await listen(server)}`, server }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))
}

async function bench(): Promise<void> {
  const provider = fork(import.meta.filename, ['provider'])
  const client = fork(import.meta.filename, ['client'])
  const { port } = await receiveMessage<{ port: number }>(provider)
  const target = `http://127.0.0.1:${port}`
  const bareProxyServer = await startBareProxy(target)
  const gateway = new Gateway({
    clock: systemClock,
    prices: { rates: ratesFor, cost: costUsd },
    rateLimits: () => ({}),
    log: console.error,
  })
  const access = await gateway.open({
    uuid: 'bench',
    pid: 1,
    recorder: null,
    onActivity: () => undefined,
    providers: [{ config: { name: 'anthropic', kind: 'anthropic', baseURL: `${target}/v1`, apiKeyEnv: 'KEY' }, key: 'key' }],
    // `bench step` measures the commit of a grant; this benchmark measures only the gateway itself.
    port: {
      requestCall: () => Promise.resolve({ ack: 'go', maxOutputTokens: 32_000 }),
      report: () => Promise.resolve('ok'),
      waitUntilUnpaused: () => Promise.resolve(),
      signal: new AbortController().signal,
    },
  })
  const urls = { bare: `${bareProxyServer.url}/v1/messages`, ours: `${access.url('anthropic')}/v1/messages` }
  const measure = async (
    proxy: keyof typeof urls,
    mb: number,
    calls: number,
    atOnce: number,
  ): Promise<{ readonly samples: readonly Sample[]; readonly cpuMs: number }> => {
    const cpuBefore = process.cpuUsage()
    client.send({ url: `${urls[proxy]}${mb > 0 ? `?mb=${mb}` : ''}`, token: access.token, calls, atOnce } satisfies ClientRequest)
    const { samples } = await receiveMessage<{ samples: readonly Sample[] }>(client)
    const { user, system } = process.cpuUsage(cpuBefore)
    return { samples, cpuMs: (user + system) / 1_000 }
  }
  const rounds: Record<string, Record<'bare' | 'ours', number>[]> = { first: [], end: [], parallel: [], cpuCall: [], cpuMb: [] }
  for (const proxy of ['bare', 'ours'] as const) await measure(proxy, 1, 50, 1)
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const)
    const values = Object.fromEntries(Object.keys(rounds).map((name) => [name, { bare: 0, ours: 0 }]))
    for (const proxy of order) {
      const smallSample = await measure(proxy, 0, CALLS, 1)
      const concurrentSample = await measure(proxy, 0, CALLS, 20)
      const largeSample = await measure(proxy, STREAM_MB, 1, 1)
      const set = (name: string, value: number): void => {
        ;(values[name] ?? { bare: 0, ours: 0 })[proxy] = value
      }
      set('first', median(smallSample.samples.map(({ firstMs }) => firstMs)))
      set('end', median(smallSample.samples.map(({ endMs }) => endMs)))
      set('parallel', median(concurrentSample.samples.map(({ endMs }) => endMs)))
      set('cpuCall', smallSample.cpuMs / CALLS)
      set('cpuMb', largeSample.cpuMs / STREAM_MB)
    }
    for (const [name, value] of Object.entries(values)) rounds[name]?.push(value)
  }
  const row = (what: string, name: string, bar: number): Row => {
    const medianOf = (proxy: 'bare' | 'ours'): number => median((rounds[name] ?? []).map((one) => one[proxy]))
    const ratio = medianOf('ours') / medianOf('bare')
    return {
      what,
      floor: `${medianOf('bare').toFixed(2)} ms`,
      ours: `${medianOf('ours').toFixed(2)} ms`,
      ratio,
      bar: `≤ ${bar}`,
      ok: ratio <= bar,
    }
  }
  printTable(`A call through the gateway, and through a bare proxy (request of ${Math.round(HISTORY.length / 1024)} KB)`, [
    row('until the first byte, p50', 'first', 3),
    row('until the end, p50', 'end', 3),
    row('until the end, 20 at once, p50', 'parallel', 3),
    row('CPU per call', 'cpuCall', 4),
    row(`CPU per MB of a stream (${Math.round(MB / EVENT.length)} events)`, 'cpuMb', 1.5),
  ])
  provider.kill()
  client.kill()
  bareProxyServer.server.close()
  bareProxyServer.server.closeAllConnections()
  await gateway.close()
  process.exit(0)
}

function receiveMessage<T>(child: ReturnType<typeof fork>): Promise<T> {
  return new Promise((resolve) => child.once('message', (value) => resolve(value as T)))
}
