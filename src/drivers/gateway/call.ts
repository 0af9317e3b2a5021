// Runs a model call through the gateway. Waits at the rate limiter, gets the kernel's grant, forwards the request and meters the answer.
// Each call is granted before it begins, and its end is recorded before the client gets the end of the answer. A call whose metering fails
// must never be free. A call whose price cannot be looked up must never be sent.
// Tests: test/processes/gateway/waiting-calls.test.ts, test/processes/gateway/metering.test.ts, test/processes/gateway/formats.test.ts.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { KernelError } from '../../kernel/model/errors.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import type { TokenCounts } from '../native/models/usage.ts'
import { lowerMaxTokens, readRequest, decodeBody } from './request-body.ts'
import type { GatewayModelRequest } from './request-body.ts'
import { createErrorAnswer } from './errors.ts'
import type { ErrorAnswer } from './errors.ts'
import { FORMATS, parseUsage } from './formats.ts'
import { finishResponse, forwardRequest } from './forward.ts'
import type { ForwardOutcome, AnswerTap, Upstreams } from './forward.ts'
import { requestHeaders } from './headers.ts'
import type { RateLimiter, GatewayClock, Ticket } from './rate-limiter.ts'
import type { MeteredUsage } from './usage-meter.ts'
import { WaitTimeout } from './wait-timeout.ts'
import type { CallRecording } from './call-recorder.ts'
import { keyHeader } from './routes.ts'
import type { GatewayRoute } from './routes.ts'
import type { GatewaySession, SessionProvider } from './session.ts'
import { createMeterTap } from './meter-tap.ts'
import { ErrorAnswerReader, isRefusalUnclear } from './error-body.ts'
import type { MeterTap } from './meter-tap.ts'
import type { CallEstimate } from '../../kernel/model/process.ts'
import type { CallUsage } from '../../kernel/model/usage.ts'

/** Looks up prices; each method resolves to null for a model without a known price. */
export interface Prices {
  /** The prices of a call, in USD per token. */
  rates(
    calledModel: { readonly provider: string; readonly model: string; readonly baseURL: string },
    inputTokens: number,
  ): Promise<{ readonly perInputToken: number; readonly perCacheWriteToken: number; readonly perOutputToken: number } | null>
  /** The cost of a call, in USD. */
  cost(
    calledModel: { readonly provider: string; readonly model: string; readonly baseURL: string },
    tokens: TokenCounts,
  ): Promise<number | null>
}

/** The parts that a call needs. */
export interface CallDeps {
  readonly session: GatewaySession
  readonly provider: SessionProvider
  readonly route: GatewayRoute
  /** the provider's URL for this request */
  readonly target: URL
  readonly rateLimiter: RateLimiter
  readonly prices: Prices
  readonly clock: GatewayClock
  readonly upstreams: Upstreams
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** the body as the client sent it */
  readonly body: Buffer
  /** frees the memory of the body, after the body has been sent */
  readonly release: () => void
  readonly maxBodyBytes: number
  readonly log: (message: string, error: unknown) => void
}

/**
 * The `retry-after` header of the error for a call that cannot begin yet, in seconds. The client repeats the call after this error, but
 * drops a connection that is silent for 300 s.
 */
export const RETRY_AFTER_S = 1
/** The wait at the rate limiter after which a note is recorded for the process, in ms. */
const NOTE_AFTER_MS = 20_000

/** Answers a model call of a client. */
export async function answerCall(deps: CallDeps): Promise<void> {
  const { session, route, response, clock } = deps
  const decodedBody = await decodeBody(deps.body, deps.request.headers['content-encoding'], deps.maxBodyBytes)
  const parsed = await readRequest(decodedBody ?? deps.body, route.format, route.model)
  const estimate: RequestEstimate = {
    ...parsed,
    tokensByBytes: parsed.inputTokens,
    inputTokens: session.correctEstimate(parsed.inputTokens),
  }
  using timeout = new WaitTimeout(clock, response, session.signal)
  const granted = await admitCall(deps, estimate, timeout)
  if (granted === null) response.destroy()
  else if ('status' in granted) sendError(response, granted)
  else await new Call(deps, estimate, granted).run(decodedBody)
}

/** Sends an error of the gateway, unless the client has disconnected. */
export function sendError(response: ServerResponse, { status, headers, body }: ErrorAnswer): void {
  if (response.destroyed) return
  response.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) })
  response.end(body)
}

/** A request whose estimate `inputTokens` is corrected by the counts of earlier calls of the process. */
interface RequestEstimate extends GatewayModelRequest {
  /** the input tokens, estimated only from the bytes of the request */
  readonly tokensByBytes: number
}

/** The kernel's grant of a call. */
interface GrantedCall {
  /** the name of the call, unique within the process */
  readonly call: string
  readonly ticket: Ticket
  /** the granted output tokens; null for no limit */
  readonly maxOutputTokens: number | null
  /** the prices with which the kernel granted the call; null if its model has no known price */
  readonly usd: CallEstimate['usd']
  /** the error of the price lookup; null if it succeeded */
  readonly priceFailure: { readonly error: unknown } | null
}

/**
 * Waits until the call may begin. Resolves to null if the client has disconnected or the process is ending. Resolves to an error answer if
 * the call is refused.
 */
async function admitCall(deps: CallDeps, estimate: GatewayModelRequest, timeout: WaitTimeout): Promise<GrantedCall | ErrorAnswer | null> {
  const {
    session,
    rateLimiter,
    provider: { config },
    route,
  } = deps
  const tokens = estimate.inputTokens + (estimate.maxOutputTokens ?? 0)
  const retryLater = (message: string, retryS = RETRY_AFTER_S): ErrorAnswer => createErrorAnswer(route.format, 'wait', message, retryS)
  let waitReason = `${config.name} is at its rate limit`
  try {
    for (;;) {
      if (rateLimiter.closedMs > timeout.leftMs)
        return retryLater(`${config.name} takes no calls now because its rate limit is reached`, Math.ceil(rateLimiter.closedMs / 1_000))
      const ticket = await waitForTurn(deps, tokens, timeout)
      const grant = await requestGrant(deps, estimate, ticket)
      if (grant.ack === 'go') return { call: grant.call, ticket, maxOutputTokens: grant.maxOutputTokens, ...grant.priced }
      if (grant.ack !== 'held')
        return grant.reason === null
          ? null
          : createErrorAnswer(route.format, 'budget', `reeve ends process ${session.pid}: ${grant.reason}`)
      waitReason = holdMessage(session, grant.reason ?? 'it is paused')
      await session.waitUntilUnheld(timeout.signal)
    }
  } catch (error) {
    if (timeout.signal.aborted) return timeout.hasExpired ? retryLater(waitReason) : null
    // Too many calls are open, or the store cannot be written now: a later attempt may succeed.
    if (error instanceof KernelError) return retryLater(`reeve cannot begin the call: ${error.message}`)
    throw error
  }
}

/** Waits for the call's turn at the provider. A long wait is recorded as a note of the process. */
async function waitForTurn(
  { session, rateLimiter, clock, provider: { config } }: CallDeps,
  tokens: number,
  timeout: WaitTimeout,
): Promise<Ticket> {
  const cancelNote = clock.after(NOTE_AFTER_MS, () => session.note(`waits for its turn at ${config.name}: the rate limit is reached`))
  try {
    return await rateLimiter.waitForTurn(session.uuid, tokens, timeout.signal)
  } finally {
    cancelNote()
  }
}

/** The error message about a hold, which the agent shows to its user. */
function holdMessage(session: GatewaySession, reason: string): string {
  return `reeve holds process ${session.pid}: ${reason}`
}

/** Asks the kernel to grant the call. Cancels the ticket unless the call is granted. */
async function requestGrant(
  { session, provider: { config }, prices }: CallDeps,
  { model, inputTokens, maxOutputTokens }: GatewayModelRequest,
  ticket: Ticket,
): Promise<Awaited<ReturnType<GatewaySession['requestGrant']>> & { readonly call: string; readonly priced: RequestPrice }> {
  const call = session.nextCallName()
  try {
    const priced = await lookUpPrice(prices.rates({ provider: config.name, model, baseURL: config.baseURL }, inputTokens))
    const grant = await session.requestGrant({ call, model, provider: config.name, ask: { inputTokens, maxOutputTokens, usd: priced.usd } })
    if (grant.ack !== 'go') ticket.cancel()
    return { ...grant, call, priced }
  } catch (error) {
    ticket.cancel()
    throw error
  }
}

type RequestPrice = Pick<GrantedCall, 'usd' | 'priceFailure'>

/** Looks up the prices of a call. Never rejects: a call with a failed lookup also begins, so that its end is recorded. */
async function lookUpPrice(lookup: ReturnType<Prices['rates']>): Promise<RequestPrice> {
  try {
    const rates = await lookup
    const usd = rates && { perInputToken: Math.max(rates.perInputToken, rates.perCacheWriteToken), perOutputToken: rates.perOutputToken }
    return { usd, priceFailure: null }
  } catch (error) {
    return { usd: null, priceFailure: { error } }
  }
}

/** The error of a call that was not sent, because the client disconnected first. */
const NEVER_SENT = 'never sent'

/** A granted call, from the grant to its end. */
class Call {
  readonly #deps: CallDeps
  readonly #estimate: RequestEstimate
  readonly #granted: GrantedCall
  #meterTap: MeterTap | null = null
  #recording: CallRecording | null = null
  #errorBody: ErrorAnswerReader | null = null
  /** monotonic ms */
  #sentAt = 0
  /** from sending the request to the first byte of a successful answer; null: none has arrived */
  #firstTokenMs: number | null = null

  constructor(deps: CallDeps, estimate: RequestEstimate, granted: GrantedCall) {
    this.#deps = deps
    this.#estimate = estimate
    this.#granted = granted
  }

  /** Runs the call to its end. `decodedBody` is null if the body could not be decoded. */
  async run(decodedBody: Buffer | null): Promise<void> {
    const { response } = this.#deps
    const { priceFailure } = this.#granted
    if (priceFailure !== null) return this.#endUnsent(priceFailure.error)
    const outcome = await this.#forward(decodedBody).catch((error: unknown): ForwardOutcome => ({
      end: 'unreachable',
      status: null,
      error: String(error),
    }))
    this.#recording?.end()
    const usage = await this.#measureUsage(outcome)
    const { call, ticket } = this.#granted
    const { status, error } = outcome
    const account = (await this.#errorBody?.isAccountRefused(outcome)) ? { account: true as const } : {}
    const firstToken = this.#firstTokenMs === null ? {} : { firstTokenMs: this.#firstTokenMs }
    const recorded = this.#deps.session.finishCall({ call, usage, status, ...(error === null ? {} : { error }), ...account, ...firstToken })
    ticket.finish(usage.inputTokens + usage.outputTokens)
    if (outcome.end === 'unreachable')
      sendError(
        response,
        createErrorAnswer(
          this.#deps.route.format,
          'unreachable',
          `${this.#deps.provider.config.name} cannot be reached: ${error ?? 'no answer'}`,
        ),
      )
    else finishResponse(response, outcome)
    await recorded
  }

  /** Ends a call whose price lookup failed. The call is not sent, because no budget could limit it. */
  async #endUnsent(error: unknown): Promise<void> {
    const { log, provider, response, route, session } = this.#deps
    const { call, ticket } = this.#granted
    log(`a call to ${provider.config.name} was not sent: its price cannot be looked up`, error)
    const message = `reeve cannot look up the price of ${this.#estimate.model}: ${errorText(error)}`
    const recorded = session.finishCall({ call, usage: { ...NO_TOKENS, costUsd: 0 }, status: null, error: message })
    ticket.cancel()
    sendError(response, createErrorAnswer(route.format, 'failed', message))
    await recorded
  }

  /** Sends the request to the provider, and forwards the answer. */
  async #forward(decodedBody: Buffer | null): Promise<ForwardOutcome> {
    const {
      request,
      response,
      target,
      provider: { config, key },
      upstreams,
      session,
      clock,
    } = this.#deps
    const body = await this.#bodyToSend(decodedBody)
    if (response.destroyed) return { end: 'gone', status: null, error: NEVER_SENT }
    const headers = requestHeaders(request.rawHeaders, {
      host: target.host,
      key: key === null ? null : keyHeader(config.kind, key),
      bytes: body.length,
      isDecoded: body !== this.#deps.body,
    })
    const method = request.method ?? 'POST'
    this.#recording =
      (await session.recorder?.recordRequest(
        this.#granted.call,
        { method, path: target.pathname + target.search, provider: config.name, at: clock.now().wall },
        body,
      )) ?? null
    this.#sentAt = clock.now().mono
    return forwardRequest(upstreams, { method, url: target, headers, body }, response, (answer) => this.#startAnswer(answer))
  }

  /** The body to send: the client's own, or a decoded copy with a lower output limit. */
  async #bodyToSend(decodedBody: Buffer | null): Promise<Buffer> {
    const {
      body,
      route,
      provider: { config },
    } = this.#deps
    const { maxOutputTokens: granted } = this.#granted
    const { maxOutputTokens: requested } = this.#estimate
    if (decodedBody === null || granted === null || (requested !== null && requested <= granted)) return body
    // OpenAI's own models require the newer name of the field. Many compatible servers know only the older name.
    const missingField = route.format === 'chat' && !config.baseURL.includes('api.openai.com') ? 'max_tokens' : undefined
    return lowerMaxTokens(decodedBody, route.format, granted, missingField)
  }

  /** Called when the headers of the answer have arrived. Returns the tap for its body. */
  #startAnswer(answer: IncomingMessage): AnswerTap {
    const { rateLimiter, route, session, clock } = this.#deps
    const status = answer.statusCode ?? 0
    rateLimiter.learnFrom(status, answer.headers)
    const tap = status < 300 ? createMeterTap(route.format, answer) : null
    this.#meterTap = tap
    const errorBody = isRefusalUnclear(status) ? new ErrorAnswerReader(answer) : null
    this.#errorBody = errorBody
    const recording = this.#recording
    this.#deps.release()
    return {
      write: (chunk) => {
        session.noteActivity()
        if (tap !== null) this.#firstTokenMs ??= Math.round(clock.now().mono - this.#sentAt)
        recording?.addAnswer(chunk)
        errorBody?.write(chunk)
        return tap?.write(chunk) ?? true
      },
      ready: () => tap?.ready() ?? Promise.resolve(),
    }
  }

  /** The usage of the call. Never rejects: if the metering fails, the call is charged with an estimate, so that it is never free. */
  async #measureUsage(outcome: ForwardOutcome): Promise<CallUsage> {
    const { tokens, reportedUsd, estimated } = await this.#countTokens(outcome).catch((error: unknown) => this.#estimateHighest(error))
    const usage = { ...tokens, ...(estimated ? { estimated } : {}) }
    if (reportedUsd !== null) return { ...usage, costUsd: reportedUsd }
    const { provider, prices } = this.#deps
    const { name, baseURL } = provider.config
    return prices.cost({ provider: name, model: this.#estimate.model, baseURL }, tokens).then(
      (costUsd) => ({ ...usage, costUsd }),
      (error: unknown) => ({ ...usage, costUsd: this.#costByGrantedPrices(tokens, error), estimated: true }),
    )
  }

  /** Counts the tokens of the call. Rejects if the metering fails. */
  async #countTokens(outcome: ForwardOutcome): Promise<CountedUsage> {
    const { session, route } = this.#deps
    if (this.#meterTap === null) return this.#countUnanswered(outcome)
    const metered = await this.#meterTap.readUsage(outcome.end === 'whole')
    const count = toCountedUsage(FORMATS[route.format], metered, this.#estimate)
    const { tokens, estimated } = count
    if (!estimated)
      session.learnTokenRatio(this.#estimate.tokensByBytes, tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens)
    return count
  }

  /** The usage of a call without an answer. The input is charged if the provider may have accepted the call. */
  #countUnanswered({ end, status, error }: ForwardOutcome): CountedUsage {
    if (end !== 'gone' || status !== null || error === NEVER_SENT) return { tokens: NO_TOKENS, reportedUsd: 0, estimated: false }
    return { tokens: { ...NO_TOKENS, inputTokens: this.#estimate.inputTokens }, reportedUsd: null, estimated: true }
  }

  /**
   * The highest possible usage: the estimated input, and the longest answer that the call may get. A lower estimate might hide that a
   * budget is exceeded.
   */
  #estimateHighest(error: unknown): CountedUsage {
    this.#logMeteringError(error)
    const limits = [this.#granted.maxOutputTokens, this.#estimate.maxOutputTokens].filter((limit) => limit !== null)
    const outputTokens = limits.length === 0 ? 0 : Math.min(...limits)
    return { tokens: { ...NO_TOKENS, inputTokens: this.#estimate.inputTokens, outputTokens }, reportedUsd: null, estimated: true }
  }

  /** The cost of the tokens at the prices of the grant; null if there are none. */
  #costByGrantedPrices(tokens: TokenCounts, error: unknown): number | null {
    this.#logMeteringError(error)
    const { usd } = this.#granted
    const inputTokens = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens
    return usd && inputTokens * usd.perInputToken + tokens.outputTokens * usd.perOutputToken
  }

  #logMeteringError(error: unknown): void {
    this.#deps.log(`a call to ${this.#deps.provider.config.name} could not be metered: its estimate is charged`, error)
  }
}

const NO_TOKENS: TokenCounts = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** The counted usage of a call. */
interface CountedUsage {
  readonly tokens: TokenCounts
  /** the cost that the provider reported, in USD; null if it reported none */
  readonly reportedUsd: number | null
  /** true if the counts are estimated */
  readonly estimated: boolean
}

/** Combines the provider's counts with the estimates, which replace missing or unfinished counts. */
function toCountedUsage(
  format: (typeof FORMATS)[keyof typeof FORMATS],
  { usage, isFinal, outputTokens }: MeteredUsage,
  estimate: GatewayModelRequest,
): CountedUsage {
  const counted = usage && parseUsage(format, usage)
  if (counted === null)
    return {
      tokens: { inputTokens: estimate.inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 },
      reportedUsd: null,
      estimated: true,
    }
  if (isFinal) return { tokens: counted.tokens, reportedUsd: counted.costUsd, estimated: false }
  return {
    tokens: { ...counted.tokens, outputTokens: Math.max(counted.tokens.outputTokens, outputTokens) },
    reportedUsd: null,
    estimated: true,
  }
}
