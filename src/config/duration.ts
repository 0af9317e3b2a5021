// Parses durations such as `90s`, `10m`, `1h30m`, `250ms` and `2d`. A number without a unit is refused.
// Test: test/tables/config/duration.test.ts.

const MS_BY_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns the duration in ms; null for an invalid text. A number has at most ten digits. */
export function parseDuration(text: string): number | null {
  if (!/^(\d{1,10}(\.\d{1,3})?(ms|s|m|h|d))+$/.test(text)) return null
  const parts = [...text.matchAll(/([\d.]+)(ms|s|m|h|d)/g)]
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (MS_BY_UNIT[unit ?? ''] ?? 0), 0))
}
