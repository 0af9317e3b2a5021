// The diff of one file, unified or side by side; only the visible lines are drawn. Tests: test/e2e/web/files.test.ts, bench/page.ts.
import { signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { JSX } from 'preact'
import { columnsOf, parseDiffLines, splitRows, type DiffLine, type SplitRow } from '../../src/faces/unified-diff.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { RowWindow } from './row-window.tsx'

const LINE_HEIGHT = 20
const LAYOUTS = ['unified', 'split'] as const
const STORAGE_KEY = 'reeve.diff'

/** How this browser shows diffs where there is room. */
const layout = signal(LAYOUTS.find((name) => name === localStorage.getItem(STORAGE_KEY)) ?? 'unified')

const wide = matchMedia('(width >= 75rem)')
/** Whether two files fit side by side. */
const isWide = signal(wide.matches)
wide.addEventListener('change', () => (isWide.value = wide.matches))

/** The buttons for the layout of diffs; none where only one fits. */
export function DiffLayout(): JSX.Element | null {
  if (!isWide.value) return null
  const choose = (name: (typeof LAYOUTS)[number]): void => {
    localStorage.setItem(STORAGE_KEY, name)
    layout.value = name
  }
  return (
    <span class="buttons" role="group" aria-label="Layout of diffs">
      {LAYOUTS.map((name) => (
        <button key={name} type="button" class="kind-filter" aria-pressed={layout.value === name} onClick={() => choose(name)}>
          {name}
        </button>
      ))}
    </span>
  )
}

interface DiffViewProps {
  readonly path: string
  /** the diff of the file as git writes it */
  readonly text: string
  /** what is shown if no line differs */
  readonly none: string
  /** true: side by side, if the user has chosen that */
  readonly canSplit?: boolean
}

export function DiffView({ path, text, none, canSplit = false }: DiffViewProps): JSX.Element {
  const lines = useMemo(() => parseDiffLines(text).filter(({ kind }) => kind !== 'head'), [text])
  const isSplit = canSplit && isWide.value && layout.value === 'split'
  if (lines.length === 0) return <p class="quiet">{none}</p>
  return isSplit ? <SplitDiff path={path} lines={lines} /> : <UnifiedDiff path={path} lines={lines} />
}

interface LinesProps {
  readonly path: string
  readonly lines: readonly DiffLine[]
}

function UnifiedDiff({ path, lines }: LinesProps): JSX.Element {
  return (
    <RowWindow
      class="diff"
      count={lines.length}
      rowHeight={LINE_HEIGHT}
      selected={null}
      attributes={{ tabIndex: 0, 'aria-label': `Diff of ${path}`, role: 'region' }}
      draw={(index, top, slot) => {
        const line = lines[index]
        return line ? <DiffRow key={slot} line={line} top={top} /> : <></>
      }}
    />
  )
}

function SplitDiff({ path, lines }: LinesProps): JSX.Element {
  const rows = useMemo(() => splitRows(lines), [lines])
  const widest = useMemo(() => columnsOf(lines), [lines])
  return (
    <RowWindow
      class="diff split"
      count={rows.length}
      rowHeight={LINE_HEIGHT}
      selected={null}
      attributes={{
        tabIndex: 0,
        'aria-label': `Diff of ${path}`,
        role: 'region',
        style: { '--widest': `${widest}ch` },
        onScroll: ({ currentTarget }) => currentTarget.style.setProperty('--x', `${currentTarget.scrollLeft}px`),
      }}
      draw={(index, top, slot) => {
        const row = rows[index]
        return row ? <SplitDiffRow key={slot} row={row} top={top} /> : <></>
      }}
    />
  )
}

const SIGNS: Readonly<Record<DiffLine['kind'], string>> = { head: '', hunk: '', same: ' ', added: '+', removed: '-', note: '' }

function DiffRow({ line, top }: { readonly line: DiffLine; readonly top: number }): JSX.Element {
  return (
    <div class={`diff-line ${line.kind}`} style={{ transform: `translateY(${top}px)` }}>
      <span class="number quiet">{line.old ?? ''}</span>
      <span class="number quiet">{line.new ?? ''}</span>
      <span class="sign">{SIGNS[line.kind]}</span>
      <span class="code">{visibleText(line.text)}</span>
    </div>
  )
}

function SplitDiffRow({ row: { left, right }, top }: { readonly row: SplitRow; readonly top: number }): JSX.Element {
  if (left?.kind === 'hunk')
    return (
      <div class="diff-line split hunk" style={{ transform: `translateY(${top}px)` }}>
        <span class="code">{visibleText(left.text)}</span>
      </div>
    )
  return (
    <div class="diff-line split" style={{ transform: `translateY(${top}px)` }}>
      {[left, right].map((line, side) => (
        <div key={side} class={`side ${line?.kind ?? 'none'}`}>
          <span class="number quiet">{(side === 0 ? line?.old : line?.new) ?? ''}</span>
          <span class="sign">{line ? SIGNS[line.kind] : ''}</span>
          <span class="code">{line ? visibleText(line.text) : ''}</span>
        </div>
      ))}
    </div>
  )
}
