// Parses sizes such as `5GiB`, `500MB` and `1.5 TiB`; a number without a unit is bytes.
// Test: test/tables/config/bytes.test.ts.

const BYTES_BY_UNIT: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** Returns the size in whole bytes; null for an invalid text. */
export function parseBytes(text: string): number | null {
  const [, count, unit = ''] = /^(\d{1,15}(?:\.\d{1,3})?)\s?([a-z]{0,3})$/i.exec(text.trim()) ?? []
  const factor = BYTES_BY_UNIT[unit.toLowerCase()]
  if (count === undefined || factor === undefined) return null
  const bytes = Math.round(Number(count) * factor)
  return Number.isSafeInteger(bytes) ? bytes : null
}
