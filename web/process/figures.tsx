// Figures with their names, side by side. Test: test/e2e/web/process/steps.test.ts.
import type { JSX } from 'preact'

export type Figure = readonly [name: string, value: JSX.Element | string]

export function FigureList({ figures }: { readonly figures: readonly Figure[] }): JSX.Element {
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
