// Rate limits that processes share fairly: turns, time windows, and refusals by a provider. The test sets the clock.
import { describe, expect, test } from 'vitest'
import { RateLimiter, requestedWaitMs } from '../../../../src/drivers/gateway/rate-limiter.ts'
import type { RateLimit, Ticket } from '../../../../src/drivers/gateway/rate-limiter.ts'
import { ManualClock } from '../../../support/clock.ts'

const NEVER = new AbortController().signal

/** Records the order in which a rate limiter admits calls. */
class RecordedLimiter {
  readonly clock = new ManualClock()
  readonly begunCalls: string[] = []
  readonly grants = new Map<string, Ticket>()
  readonly limiter: RateLimiter

  constructor(limit: RateLimit) {
    this.limiter = new RateLimiter(this.clock, () => limit)
  }

  /** Requests the turn of a call. `a1` is the first call of process `a`. */
  async request(name: string, tokens = 0, signal = NEVER): Promise<void> {
    const grant = await this.limiter.waitForTurn(name[0] ?? '', tokens, signal)
    this.begunCalls.push(name)
    this.grants.set(name, grant)
  }

  async requestAll(...names: string[]): Promise<void> {
    for (const name of names) this.request(name).catch(() => undefined)
    await waitForEventLoop()
  }

  async finish(name: string, tokens: number | null = null): Promise<void> {
    this.grants.get(name)?.finish(tokens)
    await waitForEventLoop()
  }

  async advance(ms: number): Promise<void> {
    this.clock.wind(ms)
    await waitForEventLoop()
  }
}

const waitForEventLoop = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

test('without a limit all calls begin at once', async () => {
  const recorded = new RecordedLimiter({})
  await recorded.requestAll('a1', 'a2', 'b1')
  expect(recorded.begunCalls).toEqual(['a1', 'a2', 'b1'])
})

describe('calls at the same time', () => {
  test('processes take turns, and the calls of one keep their order', async () => {
    const recorded = new RecordedLimiter({ concurrent: 1 })
    await recorded.requestAll('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1')
    for (let endCount = 0; endCount < 7; endCount++) await recorded.finish(recorded.begunCalls.at(-1) ?? '')
    expect(recorded.begunCalls).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  test('a call that is cancelled or ends twice makes room for only one other call', async () => {
    const recorded = new RecordedLimiter({ concurrent: 2 })
    await recorded.requestAll('a1', 'a2', 'b1', 'b2', 'c1')
    recorded.grants.get('a1')?.cancel()
    await recorded.finish('a1')
    expect(recorded.begunCalls).toEqual(['a1', 'a2', 'b1'])
  })

  test('a client that has disconnected leaves the queue, and delays no other call', async () => {
    const recorded = new RecordedLimiter({ concurrent: 1 })
    const client = new AbortController()
    await recorded.requestAll('a1')
    const refused = recorded.request('b1', 0, client.signal)
    await recorded.requestAll('c1')
    client.abort(new Error('disconnected'))
    await expect(refused).rejects.toThrow('disconnected')
    await recorded.finish('a1')
    expect(recorded.begunCalls).toEqual(['a1', 'c1'])
    await expect(recorded.request('d1', 0, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  })
})

describe('each minute', () => {
  test('has at most the allowed requests, whenever it begins', async () => {
    const recorded = new RecordedLimiter({ requestsPerMinute: 2 })
    await recorded.requestAll('a1')
    await recorded.advance(30_000)
    await recorded.requestAll('a2', 'a3', 'b1')
    expect(recorded.begunCalls).toEqual(['a1', 'a2'])
    await recorded.advance(30_000)
    expect(recorded.begunCalls).toEqual(['a1', 'a2', 'a3'])
    await recorded.advance(29_999)
    expect(recorded.begunCalls).toHaveLength(3)
    await recorded.advance(1)
    expect(recorded.begunCalls).toEqual(['a1', 'a2', 'a3', 'b1'])
  })

  test('has at most the allowed tokens: the estimate counts until the end, then the usage', async () => {
    const recorded = new RecordedLimiter({ tokensPerMinute: 100 })
    await recorded.request('a1', 90)
    recorded.request('a2', 50).catch(() => undefined)
    await waitForEventLoop()
    expect(recorded.begunCalls).toEqual(['a1'])
    await recorded.finish('a1', 40)
    expect(recorded.begunCalls).toEqual(['a1', 'a2'])
  })

  test('a call larger than the limit begins when no other call counts', async () => {
    const recorded = new RecordedLimiter({ tokensPerMinute: 100 })
    await recorded.request('a1', 10)
    recorded.request('a2', 1_000).catch(() => undefined)
    await recorded.advance(59_999)
    expect(recorded.begunCalls).toEqual(['a1'])
    await recorded.advance(1)
    expect(recorded.begunCalls).toEqual(['a1', 'a2'])
  })

  test('a cancelled call does not count', async () => {
    const recorded = new RecordedLimiter({ requestsPerMinute: 1 })
    await recorded.request('a1')
    await recorded.requestAll('a2')
    recorded.grants.get('a1')?.cancel()
    await waitForEventLoop()
    expect(recorded.begunCalls).toEqual(['a1', 'a2'])
  })
})

describe('a provider that refuses', () => {
  test('gets no call before its reset time', async () => {
    const recorded = new RecordedLimiter({})
    await recorded.request('a1')
    recorded.limiter.learnFrom(429, { 'retry-after': '7' })
    await recorded.requestAll('a2', 'b1')
    expect([recorded.begunCalls, recorded.limiter.closedMs]).toEqual([['a1'], 7_000])
    await recorded.advance(7_000)
    expect([recorded.begunCalls, recorded.limiter.closedMs]).toEqual([['a1', 'a2', 'b1'], 0])
  })

  test('gets no call before the latest of several reset times', () => {
    const { limiter } = new RecordedLimiter({})
    limiter.learnFrom(429, { 'retry-after': '7' })
    limiter.learnFrom(429, { 'retry-after': '3' })
    limiter.learnFrom(200, { 'retry-after': '100' })
    expect(limiter.closedMs).toBe(7_000)
  })

  test('gets a call again after 15 minutes, whatever its reset time', () => {
    const { limiter } = new RecordedLimiter({})
    limiter.learnFrom(429, { 'retry-after': '604800' })
    expect(limiter.closedMs).toBe(900_000)
  })

  const WALL = Date.parse('2026-01-01T00:00:00Z')
  test.each<[number, Record<string, string>, number | null]>([
    [429, { 'retry-after': '12' }, 12_000],
    [529, { 'retry-after': '1.5' }, 1_500],
    [503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:20 GMT' }, 20_000],
    [429, { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [429, { 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [
      429,
      {
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:30Z',
        'anthropic-ratelimit-tokens-remaining': '5',
        'anthropic-ratelimit-tokens-reset': '2026-01-01T01:00:00Z',
      },
      30_000,
    ],
    [
      429,
      {
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '20ms',
      },
      360_000,
    ],
    [429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(WALL / 1_000 + 20) }, 20_000],
    [429, {}, null],
    [429, { 'retry-after': 'soon' }, null],
    [500, { 'retry-after': '12' }, null],
    [529, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s' }, null],
  ])('with the status %d and the headers %j gets no call for %j ms', (status, headers, ms) => {
    expect(requestedWaitMs(status, headers, WALL)).toBe(ms)
  })
})
