// Sessions: their tokens, their ends, and the limit of wrong tokens.
import { expect, test } from 'vitest'
import type { Grant } from '../../../../src/daemon/web/pass.ts'
import { IDLE_MS, Sessions } from '../../../../src/daemon/web/sessions.ts'
import { FailedAttempts } from '../../../../src/daemon/web/failed-attempts.ts'
import { ManualClock } from '../../../support/clock.ts'

const GRANT: Grant = { right: 'read', only: null, redact: false, ttlMs: null, label: null, way: 'loopback', remembered: false }
const VISITOR = { address: '127.0.0.1', userAgent: 'test' }

function makeSessions(): { readonly clock: ManualClock; readonly sessions: Sessions } {
  const clock = new ManualClock()
  return { clock, sessions: new Sessions(clock) }
}

test('a token finds only its own session, and no listed session contains a token', () => {
  const { sessions } = makeSessions()
  const [one, two] = [sessions.create(GRANT, VISITOR), sessions.create({ ...GRANT, right: 'all' }, VISITOR)]
  expect(Buffer.from(one.token, 'base64url')).toHaveLength(32)
  expect(sessions.find(one.token, 'loopback')).toMatchObject({ id: one.session.id, right: 'read' })
  expect(sessions.find(two.token, 'loopback')).toMatchObject({ id: two.session.id, right: 'all' })
  for (const wrong of ['', one.session.id, `${one.token}x`, one.token.slice(1), one.token.toUpperCase()])
    expect(sessions.find(wrong, 'loopback')).toBeNull()
  expect(JSON.stringify(sessions.all)).not.toContain(one.token)
})

test('a session ends when it is idle, unless an answer to it is open', () => {
  const { clock, sessions } = makeSessions()
  const { token, session } = sessions.create(GRANT, VISITOR)
  clock.wind(IDLE_MS - 1)
  expect(sessions.find(token, 'loopback')).not.toBeNull()
  const release = sessions.holdOpen(session.id, () => undefined)
  clock.wind(IDLE_MS * 3)
  expect(sessions.all).toHaveLength(1)
  release()
  clock.wind(IDLE_MS - 1)
  expect(sessions.all).toHaveLength(1)
  clock.wind(1)
  expect(sessions.find(token, 'loopback')).toBeNull()
})

test('a session with `ttlMs` ends at that time, used or not, and its open answers end with it', () => {
  const { clock, sessions } = makeSessions()
  const { token, session } = sessions.create({ ...GRANT, ttlMs: 60_000 }, VISITOR)
  let ended = 0
  sessions.holdOpen(session.id, () => (ended += 1))
  expect(sessions.nextEnd).toBe(clock.now().mono + 60_000)
  clock.wind(59_999)
  expect(sessions.find(token, 'loopback')).not.toBeNull()
  clock.wind(1)
  expect(sessions.find(token, 'loopback')).toBeNull()
  expect(ended).toBe(1)
  expect(sessions.nextEnd).toBe(Infinity)
})

test('a revoked session is unknown; all can be revoked', () => {
  const { sessions } = makeSessions()
  const made = Array.from({ length: 3 }, () => sessions.create(GRANT, VISITOR))
  expect(sessions.revoke(made[0]?.session.id ?? '')).toBe(1)
  expect(made.map(({ token }) => sessions.find(token, 'loopback') !== null)).toEqual([false, true, true])
  expect(sessions.revoke('none')).toBe(0)
  expect(sessions.revoke(null)).toBe(2)
  expect(sessions.all).toEqual([])
})

test('the oldest session ends when there are too many', () => {
  const { sessions } = makeSessions()
  const made = Array.from({ length: 257 }, () => sessions.create(GRANT, VISITOR))
  expect(sessions.all).toHaveLength(256)
  expect(sessions.find(made[0]?.token ?? '', 'loopback')).toBeNull()
  expect(sessions.find(made[1]?.token ?? '', 'loopback')).not.toBeNull()
})

test('three wrong tokens in a second are allowed, the fourth is too many, and after a second three are allowed again', () => {
  const clock = new ManualClock()
  const wrong = new FailedAttempts(clock)
  const count = (times: number): boolean[] => Array.from({ length: times }, () => wrong.count())
  expect(count(5)).toEqual([false, false, false, true, true])
  clock.wind(1_000)
  expect(count(4)).toEqual([false, false, false, true])
})
