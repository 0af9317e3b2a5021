// What waits to be sent: in order, tried again, bounded, debounced; on a clock that is wound by hand.
import { describe, expect, test } from 'vitest'
import { Outbox } from '../../src/daemon/notify/outbox.ts'
import { HandClock } from '../support/clock.ts'
import { settled } from '../support/kernel/daemon-core.ts'
import type { NoticeKind } from '../../src/config/notifications.ts'
import type { Sent } from '../../src/daemon/notify/outbox.ts'

const OK: Sent = { ok: true }
const DOWN: Sent = { ok: false, why: 'down', retry: true }

function outbox(how: (text: string, tries: number) => Sent | Promise<Sent> = () => OK) {
  const clock = new HandClock()
  const sent: string[] = []
  const log: string[] = []
  let tries = 0
  let current = true
  const box = new Outbox({
    name: 'webhook', clock, log: (message) => void log.push(message), isCurrent: () => current,
    send: async ({ text }, repeated) => {
      tries += 1
      const result = await how(text, tries)
      if (result.ok) sent.push(repeated > 0 ? `${text} (+${repeated})` : text)
      return result
    },
  })
  const push = (text: string, uuid = text, kind: NoticeKind = 'stalled'): void => box.push({ kind, key: `${uuid} ${kind}`, uuid, pid: 1, name: null, agent: 'a', intent: '', at: 0, text })
  const wind = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      clock.wind(Math.min(500, left))
      await settled()
    }
  }
  return { box, clock, sent, log, push, wind, tries: () => tries, stale: () => (current = false) }
}

describe('sending', () => {
  test('is in order, one at a time', async () => {
    const { push, sent, wind } = outbox()
    for (const text of ['a', 'b', 'c']) push(text)
    await wind(500)
    expect(sent).toEqual(['a', 'b', 'c'])
  })

  test('what fails is tried again later and later, and nothing overtakes it', async () => {
    const { push, sent, log, wind, tries } = outbox((_, tried) => (tried <= 4 ? DOWN : OK))
    push('a')
    push('b')
    await settled()
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

  test('what is refused is lost at once, and the next one goes', async () => {
    const { box, push, sent, wind } = outbox((text) => (text === 'a' ? { ok: false, why: 'it answered 401', retry: false } : OK))
    push('a')
    push('b')
    await wind(500)
    expect(sent).toEqual(['b'])
    expect(box.lost).toBe(1)
  })

  test('a server says how long to wait', async () => {
    const { push, sent, wind } = outbox((_, tried) => (tried === 1 ? { ...DOWN, afterMs: 20_000 } : OK))
    push('a')
    await wind(19_500)
    expect(sent).toEqual([])
    await wind(1_000)
    expect(sent).toEqual(['a'])
  })

  test('a send that breaks is a failure like any other', async () => {
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
  test('a hundred wait, the oldest go first, and what is lost is said and not repeated for each', async () => {
    const { box, push, log, wind } = outbox(() => DOWN)
    for (let index = 0; index < 250; index += 1) push(`n${index}`)
    await settled()
    expect(box.waiting).toBe(100)
    expect(box.lost).toBe(150)
    expect(log.filter((line) => line.includes('is lost'))).toHaveLength(2)
    await wind(1_000)
  })

  test('a notice is given up after so many tries, and not tried for ever', async () => {
    const { box, push, tries, wind } = outbox(() => DOWN)
    push('a')
    await wind(1_000_000)
    expect(tries()).toBe(12)
    expect(box.waiting).toBe(0)
    expect(box.lost).toBe(1)
  })
})

describe('the same again', () => {
  test('within half a minute is put off; the last of them follows, and says how many there were', async () => {
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

  test('is dropped if it is no longer so', async () => {
    const { push, sent, wind, stale } = outbox()
    push('one', 'a', 'waiting')
    push('two', 'a', 'waiting')
    stale()
    await wind(60_000)
    expect(sent).toEqual(['one'])
  })
})

describe('the end', () => {
  test('what waits is sent once more without patience, and what is left is said', async () => {
    const { box, push, sent, log } = outbox((text) => (text === 'b' ? DOWN : OK))
    push('a', 'a')
    push('a again', 'a')
    await box.stop()
    expect(sent).toEqual(['a', 'a again'])
    expect(log).toEqual([])
    const down = outbox(() => DOWN)
    for (const text of ['x', 'y']) down.push(text)
    await settled()
    await down.box.stop()
    expect(down.log.at(-1)).toBe('webhook: 2 notices were not sent before the daemon ended')
    down.push('z')
    expect(down.tries()).toBe(2)
  })
})
