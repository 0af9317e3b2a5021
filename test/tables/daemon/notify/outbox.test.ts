// The outbox of notices: in order, retried, bounded and debounced, on a manual clock.
import { describe, expect, test } from 'vitest'
import { NotificationOutbox } from '../../../../src/daemon/notify/outbox.ts'
import { ManualClock } from '../../../support/clock.ts'
import { waitUntilSettled } from '../../../support/kernel/daemon-core.ts'
import type { NoticeKind } from '../../../../src/config/keys/notifications.ts'
import type { DeliveryResult } from '../../../../src/daemon/notify/outbox.ts'

const OK: DeliveryResult = { ok: true }
const DOWN: DeliveryResult = { ok: false, why: 'down', retry: true }

function newOutbox(deliver: (text: string, tryCount: number) => DeliveryResult | Promise<DeliveryResult> = () => OK) {
  const clock = new ManualClock()
  const sentTexts: string[] = []
  const log: string[] = []
  let tryCount = 0
  let pushed = 0
  let current = true
  const box = new NotificationOutbox({
    name: 'webhook',
    clock,
    log: (message) => void log.push(message),
    isCurrent: () => current,
    send: async ({ text }, repeated) => {
      tryCount += 1
      const result = await deliver(text, tryCount)
      if (result.ok) sentTexts.push(repeated > 0 ? `${text} (+${repeated})` : text)
      return result
    },
  })
  const pushNotice = (text: string, uuid = text, kind: NoticeKind = 'stalled'): void =>
    box.push({ kind, key: `${uuid} ${kind}`, uuid, pid: 1, name: null, agent: 'a', intent: '', at: 0, cursor: (pushed += 1), text })
  const advanceClock = async (ms: number): Promise<void> => {
    for (let remainingMs = ms; remainingMs > 0; remainingMs -= 500) {
      clock.wind(Math.min(500, remainingMs))
      await waitUntilSettled()
    }
  }
  return { box, clock, sentTexts, log, pushNotice, advanceClock, tryCount: () => tryCount, makeStale: () => (current = false) }
}

describe('sending', () => {
  test('keeps the order of the notices', async () => {
    const { pushNotice, sentTexts, advanceClock } = newOutbox()
    for (const text of ['a', 'b', 'c']) pushNotice(text)
    await advanceClock(500)
    expect(sentTexts).toEqual(['a', 'b', 'c'])
  })

  test('a failed notice is retried with growing delays, and no other overtakes it', async () => {
    const { pushNotice, sentTexts, log, advanceClock, tryCount } = newOutbox((_, tried) => (tried <= 4 ? DOWN : OK))
    pushNotice('a')
    pushNotice('b')
    await waitUntilSettled()
    expect(tryCount()).toBe(1)
    await advanceClock(1_000)
    expect(tryCount()).toBe(2)
    await advanceClock(1_500)
    expect(tryCount()).toBe(2)
    await advanceClock(500)
    expect(tryCount()).toBe(3)
    await advanceClock(12_000)
    expect(sentTexts).toEqual(['a', 'b'])
    expect(log).toEqual(['webhook: a notice cannot be sent: down; it is tried again', 'webhook: notices are sent again'])
  })

  test('a refused notice is lost at once, and the next one follows', async () => {
    const { box, pushNotice, sentTexts, advanceClock } = newOutbox((text) =>
      text === 'a' ? { ok: false, why: 'it answered 401', retry: false } : OK,
    )
    pushNotice('a')
    pushNotice('b')
    await advanceClock(500)
    expect(sentTexts).toEqual(['b'])
    expect(box.lostCount).toBe(1)
  })

  test('the `retry-after` of a server sets the delay', async () => {
    const { pushNotice, sentTexts, advanceClock } = newOutbox((_, tried) => (tried === 1 ? { ...DOWN, afterMs: 20_000 } : OK))
    pushNotice('a')
    await advanceClock(19_500)
    expect(sentTexts).toEqual([])
    await advanceClock(1_000)
    expect(sentTexts).toEqual(['a'])
  })

  test('an exception while sending is a failure that is retried', async () => {
    const { pushNotice, sentTexts, advanceClock } = newOutbox((_, tried) => {
      if (tried === 1) throw new Error('broken')
      return OK
    })
    pushNotice('a')
    await advanceClock(2_000)
    expect(sentTexts).toEqual(['a'])
  })
})

describe('bounds', () => {
  test('at most a hundred notices wait; the others are lost, and the first of each hundred losses is logged', async () => {
    const { box, pushNotice, log, advanceClock } = newOutbox(() => DOWN)
    for (let index = 0; index < 250; index += 1) pushNotice(`n${index}`)
    await waitUntilSettled()
    expect(box.waitingCount).toBe(100)
    expect(box.lostCount).toBe(150)
    expect(log.filter((line) => line.includes('is lost'))).toHaveLength(2)
    await advanceClock(1_000)
  })

  test('a notice is lost after 12 attempts', async () => {
    const { box, pushNotice, tryCount, advanceClock } = newOutbox(() => DOWN)
    pushNotice('a')
    await advanceClock(1_000_000)
    expect(tryCount()).toBe(12)
    expect(box.waitingCount).toBe(0)
    expect(box.lostCount).toBe(1)
  })
})

describe('a repeated notice', () => {
  test('within half a minute is delayed; the last repetition is sent, with the number of repetitions', async () => {
    const { pushNotice, sentTexts, advanceClock } = newOutbox()
    for (const text of ['one', 'two', 'three']) pushNotice(text, 'a')
    pushNotice('other kind', 'a', 'failed')
    pushNotice('other process', 'b')
    await advanceClock(29_000)
    expect(sentTexts).toEqual(['one', 'other kind', 'other process'])
    await advanceClock(2_000)
    expect(sentTexts.at(-1)).toBe('three (+1)')
    pushNotice('four', 'a')
    await advanceClock(1_000)
    expect(sentTexts.at(-1)).toBe('four')
  })

  test('is dropped if it no longer holds', async () => {
    const { pushNotice, sentTexts, advanceClock, makeStale } = newOutbox()
    pushNotice('one', 'a', 'waiting')
    pushNotice('two', 'a', 'waiting')
    makeStale()
    await advanceClock(60_000)
    expect(sentTexts).toEqual(['one'])
  })
})

describe('the stop of the outbox', () => {
  test('sends waiting notices once, without a retry, and logs the number of unsent notices', async () => {
    const { box, pushNotice, sentTexts, log } = newOutbox((text) => (text === 'b' ? DOWN : OK))
    pushNotice('a', 'a')
    pushNotice('a again', 'a')
    await box.stop()
    expect(sentTexts).toEqual(['a', 'a again'])
    expect(log).toEqual([])
    const failingOutbox = newOutbox(() => DOWN)
    for (const text of ['x', 'y']) failingOutbox.pushNotice(text)
    await waitUntilSettled()
    await failingOutbox.box.stop()
    expect(failingOutbox.log.at(-1)).toBe('webhook: 2 notices were not sent before the daemon ended; the next one sends them')
    failingOutbox.pushNotice('z')
    expect(failingOutbox.tryCount()).toBe(2)
  })
})
