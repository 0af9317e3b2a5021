// Draws numbers as a line of small bars for terminals. Pure. Test: test/tables/faces/sparkline.test.ts.

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const
const ASCII_BARS = ['_', '.', '-', '=', '+', '*', '%', '#'] as const

/** A bar for each value, whose height is its share of the largest value. Empty if all are 0. Only 0 has the lowest bar. */
export function sparkline(values: readonly number[], isAscii: boolean): string {
  const most = Math.max(0, ...values)
  if (most === 0) return ''
  const bars = isAscii ? ASCII_BARS : BARS
  const last = bars.length - 1
  return values.map((value) => bars[value <= 0 ? 0 : Math.max(1, Math.round((value / most) * last))]).join('')
}
