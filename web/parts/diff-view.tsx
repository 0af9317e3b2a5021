// The diff of one file, unified or side by side; only the visible lines are drawn. Tests: test/e2e/web/files.test.ts,
// bench/page-process.ts.
import { signal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import type { HTMLAttributes, JSX } from 'preact'
import { columnsOf, parseDiffLines, splitRows, type DiffLine, type SplitRow } from '../../src/faces/unified-diff.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { isNarrow } from '../frame/narrow.ts'
import { RowWindow } from './row-window.tsx'

const LINE_HEIGHT = 20
/** the lines of a block, which is drawn as one: one turn of a wheel shows about one new block */
const BLOCK_LINES = 10
/** a longer diff is drawn by blocks, whose lines do not wrap */
const MAX_WRAPPED = 300
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
  if (isNarrow.value && lines.length <= MAX_WRAPPED) return <WrappedDiff path={path} lines={lines} />
  return isSplit ? <SplitDiff path={path} lines={lines} /> : <UnifiedDiff path={path} lines={lines} />
}

interface LinesProps {
  readonly path: string
  readonly lines: readonly DiffLine[]
}

/** All lines of a short diff, which wrap: a phone has no room for long lines. Blocks need lines of one height. */
function WrappedDiff({ path, lines }: LinesProps): JSX.Element {
  return (
    <div class="diff wrapped" tabIndex={0} role="region" aria-label={`Diff of ${path}`}>
      {lines.map(DiffRow)}
    </div>
  )
}

function UnifiedDiff({ path, lines }: LinesProps): JSX.Element {
  return <BlockWindow class="diff" label={`Diff of ${path}`} rows={lines} draw={DiffRow} />
}

function SplitDiff({ path, lines }: LinesProps): JSX.Element {
  const rows = useMemo(() => splitRows(lines), [lines])
  const widest = useMemo(() => columnsOf(lines), [lines])
  const x = useRef(0)
  return (
    <BlockWindow
      class="diff split"
      label={`Diff of ${path}`}
      rows={rows}
      draw={SplitDiffRow}
      style={{ '--widest': `${widest}ch` }}
      attributes={{
        onScroll: ({ currentTarget }) => {
          // A change of --x makes the browser compute the style of all lines again. Most scrolling is vertical and does not need that.
          if (currentTarget.scrollLeft === x.current) return
          x.current = currentTarget.scrollLeft
          currentTarget.style.setProperty('--x', `${x.current}px`)
          currentTarget.classList.toggle('moved', x.current !== 0)
        },
      }}
    />
  )
}

interface BlockWindowProps<Row> {
  readonly class: string
  readonly label: string
  readonly rows: readonly Row[]
  readonly draw: (row: Row) => JSX.Element
  readonly style?: Readonly<Record<string, string>>
  readonly attributes?: HTMLAttributes<HTMLDivElement>
}

/** A list of lines that is drawn by blocks: a block that stays visible costs nothing while the list is scrolled. */
function BlockWindow<Row>({ class: name, label, rows, draw, style = {}, attributes = {} }: BlockWindowProps<Row>): JSX.Element {
  return (
    <RowWindow
      class={name}
      count={Math.ceil(rows.length / BLOCK_LINES)}
      rowHeight={LINE_HEIGHT * BLOCK_LINES}
      height={LINE_HEIGHT * rows.length}
      overscan={1}
      selected={null}
      attributes={{ tabIndex: 0, 'aria-label': label, role: 'region', ...attributes, style: { ...style, '--lines': rows.length } }}
      draw={(index, top) => <Block key={index} index={index} top={top} rows={rows} draw={draw} />}
    />
  )
}

interface BlockProps<Row> extends Pick<BlockWindowProps<Row>, 'rows' | 'draw'> {
  readonly index: number
  readonly top: number
}

function Block<Row>({ index, top, rows, draw }: BlockProps<Row>): JSX.Element {
  // Preact does not draw the same element again.
  return useMemo(
    () => (
      <div class="diff-block" style={{ top: `${top}px` }}>
        {rows.slice(index * BLOCK_LINES, (index + 1) * BLOCK_LINES).map((row) => draw(row))}
      </div>
    ),
    [index, top, rows, draw],
  )
}

const SIGNS: Readonly<Record<DiffLine['kind'], string>> = { head: '', hunk: '', same: ' ', added: '+', removed: '-', note: '' }

/** A number at the end of its five columns. */
const numberText = (value: number | null | undefined): string => `${value ?? ''}`.padStart(5)

/**
 * The code of a line. Its number and its sign have eight columns together, and so has the old number before them. Tabs therefore stop at
 * the same columns as in the file.
 */
function Code({ line, number }: { readonly line: DiffLine; readonly number: number | null }): JSX.Element {
  return (
    <>
      <span class="number quiet">{numberText(number)}</span>
      {` ${SIGNS[line.kind].padEnd(2)}`}
      <span class="code">{visibleText(line.text)}</span>
    </>
  )
}

function DiffRow(line: DiffLine): JSX.Element {
  return (
    <div class={`diff-line ${line.kind}`}>
      <span class="number quiet">{`${numberText(line.old)}   `}</span>
      {Code({ line, number: line.new })}
    </div>
  )
}

function SplitDiffRow({ left, right }: SplitRow): JSX.Element {
  if (left?.kind === 'hunk')
    return (
      <div class="diff-line split hunk">
        <span class="code">{visibleText(left.text)}</span>
      </div>
    )
  return (
    <div class="diff-line split">
      {Side({ line: left, number: left?.old })}
      {Side({ line: right, number: right?.new })}
    </div>
  )
}

function Side({ line, number }: { readonly line: DiffLine | null; readonly number: number | null | undefined }): JSX.Element {
  return line ? <div class={`side ${line.kind}`}>{Code({ line, number: number ?? null })}</div> : <div class="side none" />
}
