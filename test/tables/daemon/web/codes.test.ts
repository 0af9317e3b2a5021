// Codes of links: for one use within a minute. A second use is noticed, also when the minute is over.
import { expect, test } from 'vitest'
import { CODE_MS, Codes } from '../../../../src/daemon/web/codes.ts'
import type { Grant } from '../../../../src/daemon/web/pass.ts'
import { ManualClock } from '../../../support/clock.ts'

const GRANT: Grant = { right: 'read', only: null, redact: false, ttlMs: null, label: null, way: 'loopback', remembered: false }

function makeCodes(): { readonly clock: ManualClock; readonly codes: Codes; readonly uses: number[] } {
  const clock = new ManualClock()
  const uses: number[] = []
  return { clock, codes: new Codes(clock, (link) => uses.push(link.uses)), uses }
}

test('a code has 128 bits, and is not in the record of its link', () => {
  const { codes } = makeCodes()
  const all = Array.from({ length: 50 }, () => codes.create(GRANT))
  expect(new Set(all.map(({ code }) => code)).size).toBe(50)
  for (const { code, link } of all) {
    expect(Buffer.from(code, 'base64url')).toHaveLength(16)
    expect(JSON.stringify(link)).not.toContain(code)
  }
})

test('a code grants once; its second use is refused and reported, and an unknown code is only refused', () => {
  const { codes, uses } = makeCodes()
  const { code, link } = codes.create(GRANT)
  expect(codes.redeem({ code: `${code}x`, way: 'loopback' })).toBeNull()
  expect(codes.redeem({ code: '', way: 'loopback' })).toBeNull()
  expect(uses).toEqual([])
  expect(codes.redeem({ code, way: 'loopback' })).toEqual(GRANT)
  expect(codes.redeem({ code, way: 'loopback' })).toBeNull()
  expect(uses).toEqual([1, 2])
  expect(codes.reused.map(({ id }) => id)).toEqual([link.id])
})

test.each([
  ['just before the end of its minute grants', CODE_MS - 1, GRANT],
  ['at the end of its minute grants nothing', CODE_MS, null],
  ['a day later grants nothing', 86_400_000, null],
])('a code that is used %s', (_, ms, granted) => {
  const { clock, codes } = makeCodes()
  const { code } = codes.create(GRANT)
  clock.wind(ms)
  expect(codes.redeem({ code, way: 'loopback' })).toEqual(granted)
})

test('a second use is noticed hours later; a jump of the wall clock changes nothing', () => {
  const { clock, codes, uses } = makeCodes()
  const { code } = codes.create(GRANT)
  clock.jump(86_400_000)
  expect(codes.redeem({ code, way: 'loopback' })).toEqual(GRANT)
  clock.wind(11 * 3_600_000)
  expect(codes.redeem({ code, way: 'loopback' })).toBeNull()
  expect(uses).toEqual([1, 2])
})

test('a code that was cleared with all others grants nothing', () => {
  const { codes } = makeCodes()
  const { code } = codes.create(GRANT)
  codes.clear()
  expect(codes.redeem({ code, way: 'loopback' })).toBeNull()
})

test('a code of one way grants nothing on another', () => {
  const { codes, uses } = makeCodes()
  const { code, number } = codes.create(GRANT)
  expect(number).toBeNull()
  expect(codes.redeem({ code, way: 'proxy' })).toBeNull()
  expect(codes.redeem({ code, way: 'tls' })).toBeNull()
  expect(uses).toEqual([])
})

test('a code through a proxy needs the number of the terminal; three wrong ones make it void', () => {
  const { codes, clock } = makeCodes()
  const grant: Grant = { ...GRANT, way: 'proxy' }
  const [one, two] = [codes.create(grant), codes.create(grant)]
  expect(one.number).toMatch(/^\d{6}$/)
  const wrong = one.number === '000000' ? '000001' : '000000'
  const redeem = (code: string, number?: string | null): Grant | null => codes.redeem({ code, way: 'proxy', ...(number ? { number } : {}) })
  expect([redeem(one.code), redeem(one.code, wrong)]).toEqual([null, null])
  expect(redeem(one.code, one.number)).toEqual(grant)
  expect(redeem(one.code, one.number)).toBeNull()
  const other = two.number === '000000' ? '000001' : '000000'
  for (let count = 0; count < 3; count += 1) expect(redeem(two.code, other)).toBeNull()
  expect(redeem(two.code, two.number)).toBeNull()
  // The terminal reports each wrong number, and that the link is void.
  expect(codes.find(one.link.id)).toMatchObject({ uses: 2, wrongNumbers: 2 })
  expect(codes.find(two.link.id)).toMatchObject({ uses: 0, wrongNumbers: 3, endsAt: clock.now().mono })
})
