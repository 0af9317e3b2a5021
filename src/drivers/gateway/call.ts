// One call of a model through the gateway, from its body to its end: its turn in the provider's lane, the kernel's permit, the
// way there and back, and what it cost. It is asked for before it begins, and its end is told before the client sees it.
// Tests: test/processes/gateway-*.test.ts.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { KernelError } from '../../kernel/errors.ts'
import type { CallUsage } from '../../kernel/types.ts'
import type { Buckets } from '../native/usage.ts'
import { lowered, readRequest, unpacked } from './ask.ts'
import type { ModelRequest } from './ask.ts'
import { errorAnswer } from './errors.ts'
import type { ErrorAnswer } from './errors.ts'
import { FORMATS, usageOf } from './formats.ts'
import { finish, forward } from './forward.ts'
import type { Outcome, Tap, Upstreams } from './forward.ts'
import { requestHeaders } from './headers.ts'
import type { Lane, LaneClock, Ticket } from './lanes.ts'
import type { Seen } from './meter.ts'
import { Patience } from './patience.ts'
import type { Recording } from './record.ts'
import { keyHeader } from './routes.ts'
import type { Route } from './routes.ts'
import type { Seat, SeatProvider } from './seat.ts'
import { meterTap } from './tap.ts'
import type { MeterTap } from './tap.ts'

/** What a model costs; null is not known. */
export interface Prices {
  rates(priced: { readonly provider: string; readonly model: string; readonly baseURL: string }, inputTokens: number): Promise<{ readonly perInputToken: number; readonly perCacheWriteToken: number; readonly perOutputToken: number } | null>
  cost(priced: { readonly provider: string; readonly model: string; readonly baseURL: string }, tokens: Buckets): Promise<number | null>
}

export interface CallParts {
  readonly seat: Seat
  readonly provider: SeatProvider
  readonly route: Route
  readonly target: URL
  readonly lane: Lane
  readonly prices: Prices
  readonly clock: LaneClock
  readonly upstreams: Upstreams
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body: Buffer
  /** the body is needed no more */
  readonly release: () => void
  readonly maxBodyBytes: number
}

/** Clients drop a silent connection after 300 s, and ask again after an answer that says when. */
export const RETRY_S = 1
/** Waiting for so long is worth a word. */
const NOTE_MS = 20_000

export async function answerCall(parts: CallParts): Promise<void> {
  const { seat, route, response, clock } = parts
  const plain = await unpacked(parts.body, parts.request.headers['content-encoding'], parts.maxBodyBytes)
  const read = readRequest(plain ?? parts.body, route.format, route.model)
  const asked: Expected = { ...read, byBytes: read.inputTokens, inputTokens: seat.estimate(read.inputTokens) }
  using patience = new Patience(clock, response, seat.signal)
  const begun = await admitted(parts, asked, patience)
  if (begun === null) response.destroy()
  else if ('status' in begun) send(response, begun)
  else await new Call(parts, asked, begun).run(plain)
}

export function send(response: ServerResponse, { status, headers, body }: ErrorAnswer): void {
  if (response.destroyed) return
  response.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) })
  response.end(body)
}

/** What a request is thought to take: by its bytes, and by what those of this process were found to have. */
interface Expected extends ModelRequest {
  readonly byBytes: number
}

interface Begun {
  readonly call: string
  readonly ticket: Ticket
  /** null: as long as it likes */
  readonly maxOutputTokens: number | null
}

/** Null: nobody waits for an answer any more, or is to have one. */
async function admitted(parts: CallParts, asked: ModelRequest, patience: Patience): Promise<Begun | ErrorAnswer | null> {
  const { seat, lane, provider: { config }, route } = parts
  const tokens = asked.inputTokens + (asked.maxOutputTokens ?? 0)
  const late = (words: string, retryS = RETRY_S): ErrorAnswer => errorAnswer(route.format, 'wait', words, retryS)
  let why = `${config.name} is asked as often as its rate limit allows`
  try {
    for (;;) {
      if (lane.closedMs > patience.leftMs) return late(`${config.name} takes no calls now: its rate limit is reached`, Math.ceil(lane.closedMs / 1_000))
      const ticket = await turnOf(parts, tokens, patience)
      const permit = await permitOf(parts, asked, ticket)
      if (permit.ack === 'go') return { call: permit.call, ticket, maxOutputTokens: permit.maxOutputTokens }
      if (permit.ack !== 'held') return permit.reason === null ? null : errorAnswer(route.format, 'budget', `reeve ends process ${seat.pid}: ${permit.reason}`)
      why = wordsFor(seat, permit.reason ?? 'it is paused')
      await seat.clear(patience.signal)
    }
  } catch (error) {
    if (patience.signal.aborted) return patience.isLate ? late(why) : null
    // Too many calls are open, or nothing can be written now: who asks again later may find it otherwise.
    if (error instanceof KernelError) return late(`reeve cannot begin the call: ${error.message}`)
    throw error
  }
}

/** Its turn at the provider; who looks at the process is told when that takes long. */
async function turnOf({ seat, lane, clock, provider: { config } }: CallParts, tokens: number, patience: Patience): Promise<Ticket> {
  const disarm = clock.after(NOTE_MS, () => seat.note(`waits for its turn at ${config.name}: the rate limit is reached`))
  try {
    return await lane.enter(seat.uuid, tokens, patience.signal)
  } finally {
    disarm()
  }
}

/** What the agent shows to its user. */
function wordsFor(seat: Seat, reason: string): string {
  return `reeve holds process ${seat.pid}: ${reason}`
}

async function permitOf({ seat, provider: { config }, prices }: CallParts, { model, inputTokens, maxOutputTokens }: ModelRequest, ticket: Ticket): Promise<Awaited<ReturnType<Seat['begin']>> & { readonly call: string }> {
  const call = seat.name()
  try {
    const usd = await prices.rates({ provider: config.name, model, baseURL: config.baseURL }, inputTokens)
    const ask = { inputTokens, maxOutputTokens, usd: usd && { perInputToken: Math.max(usd.perInputToken, usd.perCacheWriteToken), perOutputToken: usd.perOutputToken } }
    const permit = await seat.begin({ call, model, provider: config.name, ask })
    if (permit.ack !== 'go') ticket.cancel()
    return { ...permit, call }
  } catch (error) {
    ticket.cancel()
    throw error
  }
}

/** A call that may begin, to its end. */
class Call {
  readonly #parts: CallParts
  readonly #asked: Expected
  readonly #begun: Begun
  #tap: MeterTap | null = null
  #recording: Recording | null = null

  constructor(parts: CallParts, asked: Expected, begun: Begun) {
    this.#parts = parts
    this.#asked = asked
    this.#begun = begun
  }

  /** `plain`: the body as JSON; null where it is packed in a way that nobody here knows. */
  async run(plain: Buffer | null): Promise<void> {
    const { response } = this.#parts
    const outcome = await this.#carried(plain).catch((error: unknown): Outcome => ({ end: 'unreachable', status: null, error: String(error) }))
    this.#recording?.end()
    const usage = await this.#usage(outcome).catch(() => null)
    const { call, ticket } = this.#begun
    const { status, error } = outcome
    const told = this.#parts.seat.finished({ call, usage: usage ?? NOTHING, status, ...(error === null ? {} : { error }) })
    ticket.leave(usage && usage.inputTokens + usage.outputTokens)
    if (outcome.end === 'unreachable') send(response, errorAnswer(this.#parts.route.format, 'unreachable', `${this.#parts.provider.config.name} cannot be reached: ${error ?? 'no answer'}`))
    else finish(response, outcome)
    await told
  }

  async #carried(plain: Buffer | null): Promise<Outcome> {
    const { request, response, target, provider: { config, key }, upstreams, seat, clock } = this.#parts
    if (response.destroyed) return { end: 'gone', status: null, error: 'never sent' }
    const body = this.#bodyToSend(plain)
    const headers = requestHeaders(request.rawHeaders, { host: target.host, key: key === null ? null : keyHeader(config.kind, key), bytes: body.length, isDecoded: body !== this.#parts.body })
    const method = request.method ?? 'POST'
    this.#recording = (await seat.recorder?.begin(this.#begun.call, { method, path: target.pathname + target.search, provider: config.name, at: clock.now().wall }, body)) ?? null
    return forward(upstreams, { method, url: target, headers, body }, response, (answer) => this.#answered(answer))
  }

  #bodyToSend(plain: Buffer | null): Buffer {
    const { body, route, provider: { config } } = this.#parts
    const { maxOutputTokens: most } = this.#begun
    const { maxOutputTokens: wanted } = this.#asked
    if (plain === null || most === null || (wanted !== null && wanted <= most)) return body
    // OpenAI's own models want the newer name, many others know the older one alone.
    const absent = route.format === 'chat' && !config.baseURL.includes('api.openai.com') ? 'max_tokens' : undefined
    return lowered(plain, route.format, most, absent)
  }

  #answered(answer: IncomingMessage): Tap {
    const { lane, route, seat } = this.#parts
    const status = answer.statusCode ?? 0
    lane.learn(status, answer.headers)
    const tap = status < 300 ? meterTap(route.format, answer) : null
    this.#tap = tap
    const recording = this.#recording
    this.#parts.release()
    return {
      write: (chunk) => {
        seat.heard()
        recording?.answer(chunk)
        return tap?.write(chunk) ?? true
      },
      ready: () => tap?.ready() ?? Promise.resolve(),
    }
  }

  async #usage(outcome: Outcome): Promise<CallUsage> {
    const { seat, provider: { config }, route, prices } = this.#parts
    if (this.#tap === null) return this.#unanswered(outcome)
    const seen = await this.#tap.seen(outcome.end === 'whole')
    const { tokens, said, estimated } = counted(FORMATS[route.format], seen, this.#asked)
    if (!estimated) seat.learn(this.#asked.byBytes, tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens)
    const costUsd = said ?? await prices.cost({ provider: config.name, model: this.#asked.model, baseURL: config.baseURL }, tokens)
    return { ...tokens, costUsd, ...(estimated ? { estimated } : {}) }
  }

  /** Nothing was answered: it is charged for what it had sent, if that may have been taken. */
  async #unanswered({ end, status, error }: Outcome): Promise<CallUsage> {
    if (end !== 'gone' || status !== null || error === 'never sent') return NOTHING
    const { provider: { config }, prices } = this.#parts
    const tokens = { ...NOTHING, inputTokens: this.#asked.inputTokens }
    return { ...tokens, costUsd: await prices.cost({ provider: config.name, model: this.#asked.model, baseURL: config.baseURL }, tokens), estimated: true }
  }
}

const NOTHING: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

interface Counted {
  readonly tokens: Buckets
  /** by the provider's own word, in USD */
  readonly said: number | null
  readonly estimated: boolean
}

function counted(format: (typeof FORMATS)[keyof typeof FORMATS], { usage, isFinal, outputTokens }: Seen, asked: ModelRequest): Counted {
  const known = usage && usageOf(format, usage)
  if (known === null) return { tokens: { inputTokens: asked.inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 }, said: null, estimated: true }
  if (isFinal) return { tokens: known.buckets, said: known.costUsd, estimated: false }
  return { tokens: { ...known.buckets, outputTokens: Math.max(known.buckets.outputTokens, outputTokens) }, said: null, estimated: true }
}
