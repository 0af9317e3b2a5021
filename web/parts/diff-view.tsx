// The unified diff of one file; only the visible lines are drawn. Test: test/e2e/web/files.test.ts.
import { useMemo } from 'preact/hooks'
import type { JSX } from 'preact'
import { parseDiffLines, type DiffLine } from '../../src/faces/unified-diff.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { RowWindow } from './row-window.tsx'

const LINE_HEIGHT = 20

/** `text`: the diff of the file as git writes it. `none`: what is shown if no line differs. */
export function DiffView({ path, text, none }: { readonly path: string; readonly text: string; readonly none: string }): JSX.Element {
  const lines = useMemo(() => parseDiffLines(text).filter(({ kind }) => kind !== 'head'), [text])
  if (lines.length === 0) return <p class="quiet">{none}</p>
  return (
    <RowWindow
      class="diff"
      count={lines.length}
      rowHeight={LINE_HEIGHT}
      selected={null}
      attributes={{ tabIndex: 0, 'aria-label': `Diff of ${path}`, role: 'region' }}
      draw={(index, top) => {
        const line = lines[index]
        return line ? <DiffRow key={index} line={line} top={top} /> : <></>
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
