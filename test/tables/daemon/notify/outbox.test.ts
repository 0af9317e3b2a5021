// The outbox of notices: in order, retried, bounded and debounced, on a manual clock.
import { describe, expect, test } from 'vitest'
import { NotificationOutbox } from '../../../../src/daemon/notify/outbox.ts'
import { ManualClock } from '../../../support/clock.ts'
import { settle } from '../../../support/kernel/daemon-core.ts'
import type { NoticeKind } from '../../../../src/config/keys/notifications.ts'
import type { DeliveryResult } from '../../../../src/daemon/notify/outbox.ts'

const OK: DeliveryResult = { ok: true }
const DOWN: DeliveryResult = { ok: false, why: 'down', retry: true }

function outbox(how: (text: string, tries: number) => DeliveryResult | Promise<DeliveryResult> = () => OK) {
  const clock = new ManualClock()
  const sent: string[] = []
  const log: string[] = []
  let tries = 0
  let pushed = 0
  let current = true
  const box = new NotificationOutbox({
    name: 'webhook',
    clock,
    log: (message) => void log.push(message),
    isCurrent: () => current,
    send: async ({ text }, repeated) => {
      tries += 1
      const result = await how(text, tries)
      if (result.ok) sent.push(repeated > 0 ? `${text} (+${repeated})` : text)
      return result
    },
  })
  const push = (text: string, uuid = text, kind: NoticeKind = 'stalled'): void =>
    box.push({ kind, key: `${uuid} ${kind}`, uuid, pid: 1, name: null, agent: 'a', intent: '', at: 0, cursor: (pushed += 1), text })
  const wind = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      clock.wind(Math.min(500, left))
      await settle()
    }
  }
  return { box, clock, sent, log, push, wind, tries: () => tries, stale: () => (current = false) }
}

describe('sending', () => {
  test('runs in order, one at a time', async () => {
    const { push, sent, wind } = outbox()
    for (const text of ['a', 'b', 'c']) push(text)
    await wind(500)
    expect(sent).toEqual(['a', 'b', 'c'])
  })

  test('a failed notice is retried with growing delays, and no other overtakes it', async () => {
    const { push, sent, log, wind, tries } = outbox((_, tried) => (tried <= 4 ? DOWN : OK))
    push('a')
    push('b')
    await settle()
    expect(tries()).toBe(1)
    await wind(1_000)
    expect(tries()).toBe(2)
    await wind(1_500)
    expect(tries()).toBe(2)
    await wind(500)
    expect(tries()).toBe(3)
    await wind(12_000)
    expect(sent).toEqual(['a', 'b'])
    expect(log).toEqual(['webhook: a notice cannot be sent: down; it is tried again', 'webhook: notices are sent again'])
  })

  test('a refused notice is lost at once, and the next one follows', async () => {
    const { box, push, sent, wind } = outbox((text) => (text === 'a' ? { ok: false, why: 'it answered 401', retry: false } : OK))
    push('a')
    push('b')
    await wind(500)
    expect(sent).toEqual(['b'])
    expect(box.lostCount).toBe(1)
  })

  test('the `retry-after` of a server sets the delay', async () => {
    const { push, sent, wind } = outbox((_, tried) => (tried === 1 ? { ...DOWN, afterMs: 20_000 } : OK))
    push('a')
    await wind(19_500)
    expect(sent).toEqual([])
    await wind(1_000)
    expect(sent).toEqual(['a'])
  })

  test('an exception while sending is a failure that is retried', async () => {
    const { push, sent, wind } = outbox((_, tried) => {
      if (tried === 1) throw new Error('broken')
      return OK
    })
    push('a')
    await wind(2_000)
    expect(sent).toEqual(['a'])
  })
})

describe('bounds', () => {
  test('at most a hundred notices wait; the oldest are dropped first, and the loss is logged once', async () => {
    const { box, push, log, wind } = outbox(() => DOWN)
    for (let index = 0; index < 250; index += 1) push(`n${index}`)
    await settle()
    expect(box.waitingCount).toBe(100)
    expect(box.lostCount).toBe(150)
    expect(log.filter((line) => line.includes('is lost'))).toHaveLength(2)
    await wind(1_000)
  })

  test('a notice is lost after the largest number of attempts', async () => {
    const { box, push, tries, wind } = outbox(() => DOWN)
    push('a')
    await wind(1_000_000)
    expect(tries()).toBe(12)
    expect(box.waitingCount).toBe(0)
    expect(box.lostCount).toBe(1)
  })
})

describe('a repeated notice', () => {
  test('within half a minute is delayed; the last repetition is sent, with the number of repetitions', async () => {
    const { push, sent, wind } = outbox()
    for (const text of ['one', 'two', 'three']) push(text, 'a')
    push('other kind', 'a', 'failed')
    push('other process', 'b')
    await wind(29_000)
    expect(sent).toEqual(['one', 'other kind', 'other process'])
    await wind(2_000)
    expect(sent.at(-1)).toBe('three (+1)')
    push('four', 'a')
    await wind(1_000)
    expect(sent.at(-1)).toBe('four')
  })

  test('is dropped if it no longer holds', async () => {
    const { push, sent, wind, stale } = outbox()
    push('one', 'a', 'waiting')
    push('two', 'a', 'waiting')
    stale()
    await wind(60_000)
    expect(sent).toEqual(['one'])
  })
})

describe('the end', () => {
  test('waiting notices are sent once, without a retry, and the log has the number of the others', async () => {
    const { box, push, sent, log } = outbox((text) => (text === 'b' ? DOWN : OK))
    push('a', 'a')
    push('a again', 'a')
    await box.stop()
    expect(sent).toEqual(['a', 'a again'])
    expect(log).toEqual([])
    const down = outbox(() => DOWN)
    for (const text of ['x', 'y']) down.push(text)
    await settle()
    await down.box.stop()
    expect(down.log.at(-1)).toBe('webhook: 2 notices were not sent before the daemon ended; the next one sends them')
    down.push('z')
    expect(down.tries()).toBe(2)
  })
})
