// Codes of links: for one use within a minute. A second use is noticed, also when the minute is over.
import { expect, test } from 'vitest'
import { CODE_MS, Codes } from '../../../../src/daemon/web/codes.ts'
import type { Grant } from '../../../../src/daemon/web/pass.ts'
import { ManualClock } from '../../../support/clock.ts'

const GRANT: Grant = { right: 'read', only: null, redact: false, ttlMs: null, label: null }

function makeCodes(): { readonly clock: ManualClock; readonly codes: Codes; readonly uses: number[] } {
  const clock = new ManualClock()
  const uses: number[] = []
  return { clock, codes: new Codes(clock, (link) => uses.push(link.uses)), uses }
}

test('a code has 128 bits, and is not part of what names its link', () => {
  const { codes } = makeCodes()
  const all = Array.from({ length: 50 }, () => codes.create(GRANT))
  expect(new Set(all.map(({ code }) => code)).size).toBe(50)
  for (const { code, link } of all) {
    expect(Buffer.from(code, 'base64url')).toHaveLength(16)
    expect(JSON.stringify(link)).not.toContain(code)
  }
})

test('a code grants once; the second use is refused and reported, an unknown code is only refused', () => {
  const { codes, uses } = makeCodes()
  const { code, link } = codes.create(GRANT)
  expect(codes.redeem(`${code}x`)).toBeNull()
  expect(codes.redeem('')).toBeNull()
  expect(uses).toEqual([])
  expect(codes.redeem(code)).toEqual(GRANT)
  expect(codes.redeem(code)).toBeNull()
  expect(uses).toEqual([1, 2])
  expect(codes.reused.map(({ id }) => id)).toEqual([link.id])
})

test.each([
  ['just before the end', CODE_MS - 1, GRANT],
  ['at the end', CODE_MS, null],
  ['a day after the beginning', 86_400_000, null],
])('a code used %s of its minute', (_, ms, granted) => {
  const { clock, codes } = makeCodes()
  const { code } = codes.create(GRANT)
  clock.wind(ms)
  expect(codes.redeem(code)).toEqual(granted)
})

test('a second use is noticed hours later; a jump of the wall clock changes nothing', () => {
  const { clock, codes, uses } = makeCodes()
  const { code } = codes.create(GRANT)
  clock.jump(86_400_000)
  expect(codes.redeem(code)).toEqual(GRANT)
  clock.wind(11 * 3_600_000)
  expect(codes.redeem(code)).toBeNull()
  expect(uses).toEqual([1, 2])
})

test('after all are forgotten, no code grants', () => {
  const { codes } = makeCodes()
  const { code } = codes.create(GRANT)
  codes.clear()
  expect(codes.redeem(code)).toBeNull()
})
