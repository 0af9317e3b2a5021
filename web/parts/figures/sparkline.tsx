// A few values as small bars, such as what each of the last minutes has cost. Test: test/e2e/web/fleet.test.ts.
import type { JSX } from 'preact'

export interface SparklineProps {
  readonly values: readonly number[]
  /** what the bars are, for screen readers */
  readonly label: string
}

export function Sparkline({ values, label }: SparklineProps): JSX.Element | null {
  const most = Math.max(...values, 0)
  if (most === 0) return null
  return (
    <svg class="sparkline" viewBox={`0 0 ${values.length * 3} 16`} role="img" aria-label={label}>
      <title>{label}</title>
      {values.map((value, index) => {
        const height = value === 0 ? 1 : Math.max(2, (16 * value) / most)
        return <rect key={index} class={value === 0 ? 'none' : ''} x={index * 3} y={16 - height} width="2" height={height} />
      })}
    </svg>
  )
}
