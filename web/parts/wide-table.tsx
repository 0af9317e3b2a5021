// A table that scrolls within a region if its window is too narrow. On a phone each row is a block instead, with a line for each cell and
// the title of its column. The styles are in web/styles/tables.css. Test: test/e2e/web/looks.test.ts.
import type { ComponentChildren, JSX } from 'preact'

interface WideTableProps {
  /** what screen readers call the region */
  readonly label: string
  /** what stands above the table */
  readonly heading?: ComponentChildren
  /** the titles of all columns, in order; each row has one cell for each title, and its row header must be a `th` */
  readonly titles: readonly string[]
  /** the titles of the columns that are aligned as numbers; none if absent */
  readonly numbers?: readonly string[]
  /** `times`: a table of periods, which scrolls beyond 22rem */
  readonly kind?: 'times'
  /** `tbody`, and perhaps `tfoot` */
  readonly children: ComponentChildren
}

export function WideTable({ label, heading, titles, numbers = [], kind, children }: WideTableProps): JSX.Element {
  return (
    <div class={`wide-table ${kind ?? ''}`} tabIndex={0} role="region" aria-label={label} style={{ ...titleProperties(titles) }}>
      {heading}
      <table>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col" class={numbers.includes(title) ? 'number' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        {children}
      </table>
    </div>
  )
}

/** Returns the titles as properties of the style sheet: `--title-1` is that of the first column. */
function titleProperties(titles: readonly string[]): Record<string, string> {
  return Object.fromEntries(titles.map((title, index) => [`--title-${index + 1}`, JSON.stringify(title)]))
}
