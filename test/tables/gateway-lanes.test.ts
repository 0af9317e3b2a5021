// Rate limits, shared fairly: turns, windows, what a provider says when it refuses. On a clock wound by hand.
import { describe, expect, test } from 'vitest'
import { Lane, waitMs } from '../../src/drivers/gateway/lanes.ts'
import type { RateLimit, Ticket } from '../../src/drivers/gateway/lanes.ts'
import { HandClock } from '../support/clock.ts'

const never = new AbortController().signal

class Track {
  readonly clock = new HandClock()
  readonly begun: string[] = []
  readonly tickets = new Map<string, Ticket>()
  readonly lane: Lane

  constructor(limit: RateLimit) {
    this.lane = new Lane(this.clock, () => limit)
  }

  /** `a1` is the first call of process a. */
  async enter(name: string, tokens = 0, signal = never): Promise<void> {
    const ticket = await this.lane.enter(name[0] ?? '', tokens, signal)
    this.begun.push(name)
    this.tickets.set(name, ticket)
  }

  async all(...names: string[]): Promise<void> {
    for (const name of names) this.enter(name).catch(() => undefined)
    await turn()
  }

  async leave(name: string, tokens: number | null = null): Promise<void> {
    this.tickets.get(name)?.leave(tokens)
    await turn()
  }

  async wind(ms: number): Promise<void> {
    this.clock.wind(ms)
    await turn()
  }
}

const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve) })

test('without a limit all begin at once', async () => {
  const track = new Track({})
  await track.all('a1', 'a2', 'b1')
  expect(track.begun).toEqual(['a1', 'a2', 'b1'])
})

describe('calls at the same time', () => {
  test('processes take turns, and the calls of one keep their order', async () => {
    const track = new Track({ concurrent: 1 })
    await track.all('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1')
    for (let ends = 0; ends < 7; ends++) await track.leave(track.begun.at(-1) ?? '')
    expect(track.begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  test('one that is cancelled or ends twice makes room once', async () => {
    const track = new Track({ concurrent: 2 })
    await track.all('a1', 'a2', 'b1', 'b2', 'c1')
    track.tickets.get('a1')?.cancel()
    await track.leave('a1')
    expect(track.begun).toEqual(['a1', 'a2', 'b1'])
  })

  test('a client that has gone leaves the queue, and holds nobody up', async () => {
    const track = new Track({ concurrent: 1 })
    const gone = new AbortController()
    await track.all('a1')
    const left = track.enter('b1', 0, gone.signal)
    await track.all('c1')
    gone.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    await track.leave('a1')
    expect(track.begun).toEqual(['a1', 'c1'])
    await expect(track.enter('d1', 0, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  })
})

describe('a minute', () => {
  test('has so many requests, wherever it begins', async () => {
    const track = new Track({ requestsPerMinute: 2 })
    await track.all('a1')
    await track.wind(30_000)
    await track.all('a2', 'a3', 'b1')
    expect(track.begun).toEqual(['a1', 'a2'])
    await track.wind(30_000)
    expect(track.begun).toEqual(['a1', 'a2', 'a3'])
    await track.wind(29_999)
    expect(track.begun).toHaveLength(3)
    await track.wind(1)
    expect(track.begun).toEqual(['a1', 'a2', 'a3', 'b1'])
  })

  test('has so many tokens: the estimate counts until the end, then what was used', async () => {
    const track = new Track({ tokensPerMinute: 100 })
    await track.enter('a1', 90)
    track.enter('a2', 50).catch(() => undefined)
    await turn()
    expect(track.begun).toEqual(['a1'])
    await track.leave('a1', 40)
    expect(track.begun).toEqual(['a1', 'a2'])
  })

  test('a call that is larger than the limit begins when it is alone', async () => {
    const track = new Track({ tokensPerMinute: 100 })
    await track.enter('a1', 10)
    track.enter('a2', 1_000).catch(() => undefined)
    await track.wind(59_999)
    expect(track.begun).toEqual(['a1'])
    await track.wind(1)
    expect(track.begun).toEqual(['a1', 'a2'])
  })

  test('one that was cancelled has not begun', async () => {
    const track = new Track({ requestsPerMinute: 1 })
    await track.enter('a1')
    await track.all('a2')
    track.tickets.get('a1')?.cancel()
    await turn()
    expect(track.begun).toEqual(['a1', 'a2'])
  })
})

describe('a provider that refuses', () => {
  test('is asked by nobody until it said so', async () => {
    const track = new Track({})
    await track.enter('a1')
    track.lane.learn(429, { 'retry-after': '7' })
    await track.all('a2', 'b1')
    expect([track.begun, track.lane.closedMs]).toEqual([['a1'], 7_000])
    await track.wind(7_000)
    expect([track.begun, track.lane.closedMs]).toEqual([['a1', 'a2', 'b1'], 0])
  })

  test('the latest end counts', () => {
    const { lane } = new Track({})
    lane.learn(429, { 'retry-after': '7' })
    lane.learn(429, { 'retry-after': '3' })
    lane.learn(200, { 'retry-after': '100' })
    expect(lane.closedMs).toBe(7_000)
  })

  test('is asked again after a quarter of an hour, whatever it said', () => {
    const { lane } = new Track({})
    lane.learn(429, { 'retry-after': '604800' })
    expect(lane.closedMs).toBe(900_000)
  })

  const WALL = Date.parse('2026-01-01T00:00:00Z')
  test.each<[number, Record<string, string>, number | null]>([
    [429, { 'retry-after': '12' }, 12_000],
    [529, { 'retry-after': '1.5' }, 1_500],
    [503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:20 GMT' }, 20_000],
    [429, { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [429, { 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [429, { 'anthropic-ratelimit-requests-remaining': '0', 'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:30Z', 'anthropic-ratelimit-tokens-remaining': '5', 'anthropic-ratelimit-tokens-reset': '2026-01-01T01:00:00Z' }, 30_000],
    [429, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '20ms' }, 360_000],
    [429, {}, null],
    [429, { 'retry-after': 'soon' }, null],
    [500, { 'retry-after': '12' }, null],
    [529, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s' }, null],
  ])('%d with %j', (status, headers, ms) => {
    expect(waitMs(status, headers, WALL)).toBe(ms)
  })
})
