// Durations as people write them: `90s`, `10m`, `1h30m`, `250ms`, `2d`. A number alone has no unit and is refused.
// Test: test/tables/config-agents.test.ts.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds, or null if it is no duration. At most ten digits before each unit. */
export function parseDuration(text: string): number | null {
  if (!/^(\d{1,10}(\.\d{1,3})?(ms|s|m|h|d))+$/.test(text)) return null
  const parts = [...text.matchAll(/([\d.]+)(ms|s|m|h|d)/g)]
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0))
}
