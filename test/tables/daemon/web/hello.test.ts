// The proof that the daemon gives to a session: it depends on the token, the address and the nonce. WebCrypto
// computes the same.
import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { helloText, NONCE_PATTERN } from '../../../../src/api/web-hello.ts'
import { Sessions } from '../../../../src/daemon/web/sessions.ts'
import { ManualClock } from '../../../support/clock.ts'

const NONCE_PATTERN_A = 'A'.repeat(43)
const HOST = '127.0.0.1:7338'

async function webCryptoMac(token: string, host: string, nonce: string): Promise<string> {
  const hash = createHash('sha256').update(token).digest()
  const key = await crypto.subtle.importKey('raw', hash, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return Buffer.from(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(helloText(host, nonce)))).toString('base64url')
}

describe('the MAC', () => {
  test('has a fixed form, which pages of other builds verify', async () => {
    expect(helloText(HOST, NONCE_PATTERN_A)).toBe(`reeve-hello-1\n127.0.0.1:7338\n${NONCE_PATTERN_A}`)
    expect(await webCryptoMac('token', HOST, NONCE_PATTERN_A)).toBe('Al0CsYt1uLIsR--xEmZpAJYrOhr8oF5UgvXhv70evp4')
  })

  test.each<[string, string, string, string]>([
    ['token', 'token2', HOST, NONCE_PATTERN_A],
    ['name of this machine', 'token', 'localhost:7338', NONCE_PATTERN_A],
    ['port', 'token', '127.0.0.1:7339', NONCE_PATTERN_A],
    ['nonce', 'token', HOST, `${NONCE_PATTERN_A.slice(1)}B`],
  ])('differs for another %s', async (_, token, host, nonce) => {
    expect(await webCryptoMac(token, host, nonce)).not.toBe(await webCryptoMac('token', HOST, NONCE_PATTERN_A))
  })

  test('has the hash of the token as its key, as the page computes it; an unknown, revoked or ended session has no key', async () => {
    const clock = new ManualClock()
    const sessions = new Sessions(clock)
    const createSession = (ttlMs: number | null): ReturnType<Sessions['create']> =>
      sessions.create(
        { right: 'all', only: null, redact: false, ttlMs, label: null, way: 'loopback', remembered: false },
        { address: '127.0.0.1', userAgent: '' },
      )
    const [one, two] = [createSession(null), createSession(1_000)]
    const key = sessions.proofKey(one.session.id)
    if (!key) throw new Error('the session has no key')
    expect(key).toEqual(createHash('sha256').update(one.token).digest())
    expect(createHmac('sha256', key).update(helloText(HOST, NONCE_PATTERN_A)).digest('base64url')).toBe(
      await webCryptoMac(one.token, HOST, NONCE_PATTERN_A),
    )
    expect(sessions.proofKey('none')).toBeNull()
    clock.wind(1_000)
    expect(sessions.proofKey(two.session.id)).toBeNull()
    sessions.revoke(one.session.id)
    expect(sessions.proofKey(one.session.id)).toBeNull()
  })
})

test.each([
  ['A'.repeat(22), true],
  ['A'.repeat(86), true],
  ['A'.repeat(21), false],
  ['A'.repeat(87), false],
  [`${'A'.repeat(30)}\n${'A'.repeat(30)}`, false],
  ['', false],
])('the nonce %j is accepted: %s', (nonce, isAccepted) => {
  expect(NONCE_PATTERN.test(nonce)).toBe(isAccepted)
})
