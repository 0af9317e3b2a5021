// The changed files as a tree of folders. Keys move through it and fold folders; a file that they reach shows its diff at once. Only the
// visible lines are drawn. Test: test/e2e/web/files.test.ts.
import { useMemo, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { ChangedFileView } from '../../src/api/views/diff.ts'
import { fileTreeLines, folderIndexOf, type FileTreeLine } from '../../src/faces/file-tree.ts'
import { formatCount } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { isNarrow } from '../frame/narrow.ts'
import { RowWindow } from '../parts/row-window.tsx'

/** the height of a line, in CSS pixels */
const LINE_HEIGHT = 26
/** the same on a narrow screen, where a finger taps the line */
const TOUCH_HEIGHT = 44
/** the lines by which PageUp and PageDown move */
const PAGE_LINES = 15

type Line = FileTreeLine<ChangedFileView>

interface FileTreeProps {
  readonly files: readonly ChangedFileView[]
  readonly selected: ChangedFileView
  readonly onSelect: (path: string) => void
}

export function FileTree({ files, selected, onSelect }: FileTreeProps): JSX.Element {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  /** the folder on which keys act; null: they act on the selected file */
  const [folder, setFolder] = useState<string | null>(null)
  const lines = useMemo(() => fileTreeLines(files, folded), [files, folded])
  const found = lines.findIndex(({ kind, path }) =>
    folder === null ? kind === 'file' && path === selected.path : kind === 'folder' && path === folder,
  )
  const at = Math.max(0, found)
  const goTo = (index: number): void => {
    const line = lines[Math.max(0, Math.min(lines.length - 1, index))]
    setFolder(line?.kind === 'folder' ? line.path : null)
    if (line?.kind === 'file') onSelect(line.path)
  }
  const setFold = (path: string, isFolded: boolean): void => {
    setFolder(path)
    setFolded(isFolded ? new Set([...folded, path]) : new Set([...folded].filter((other) => other !== path)))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const run = keyActions({ lines, at, goTo, setFold })[event.key]
    if (!run) return
    event.preventDefault()
    run()
  }
  return (
    <RowWindow
      class="file-tree"
      count={lines.length}
      rowHeight={isNarrow.value ? TOUCH_HEIGHT : LINE_HEIGHT}
      selected={at}
      attributes={{ role: 'tree', tabIndex: 0, 'aria-label': 'Changed files', 'aria-activedescendant': `file-line-${at}`, onKeyDown }}
      draw={(index, top) => {
        const line = lines[index]
        if (!line) return <></>
        const choose = (): void => (line.kind === 'folder' ? setFold(line.path, !line.isFolded) : goTo(index))
        return (
          <FileTreeRow
            key={`${line.kind} ${line.path}`}
            line={line}
            index={index}
            top={top}
            isShown={line.path === selected.path && line.kind === 'file'}
            isActive={index === at}
            onChoose={choose}
          />
        )
      }}
    />
  )
}

interface Position {
  readonly lines: readonly Line[]
  readonly at: number
  readonly goTo: (index: number) => void
  readonly setFold: (path: string, isFolded: boolean) => void
}

/** What each key does at the active line. */
function keyActions({ lines, at, goTo, setFold }: Position): Readonly<Record<string, () => void>> {
  const line = lines[at]
  const folder = line?.kind === 'folder' ? line : null
  const fold = (): void => (folder && !folder.isFolded ? setFold(folder.path, true) : goTo(folderIndexOf(lines, at) ?? at))
  const toggle = (): void => {
    if (folder) setFold(folder.path, !folder.isFolded)
  }
  return {
    ArrowDown: () => goTo(at + 1),
    j: () => goTo(at + 1),
    ArrowUp: () => goTo(at - 1),
    k: () => goTo(at - 1),
    PageDown: () => goTo(at + PAGE_LINES),
    PageUp: () => goTo(at - PAGE_LINES),
    Home: () => goTo(0),
    End: () => goTo(lines.length - 1),
    ArrowLeft: fold,
    h: fold,
    ArrowRight: () => (folder?.isFolded ? setFold(folder.path, false) : goTo(at + 1)),
    Enter: toggle,
    ' ': toggle,
  }
}

interface FileTreeRowProps {
  readonly line: Line
  readonly index: number
  readonly top: number
  /** true: its diff is shown */
  readonly isShown: boolean
  /** true: keys act on it */
  readonly isActive: boolean
  readonly onChoose: () => void
}

function FileTreeRow({ line, index, top, isShown, isActive, onChoose }: FileTreeRowProps): JSX.Element {
  const from = line.kind === 'file' ? line.file.from : null
  const name = visibleText(from === null ? line.name : `${from} → ${line.name}`)
  return (
    <div
      id={`file-line-${index}`}
      role="treeitem"
      aria-level={line.depth + 1}
      aria-selected={isShown}
      {...(line.kind === 'folder' ? { 'aria-expanded': !line.isFolded } : {})}
      class={`file-line ${line.kind}${isShown ? ' selected' : ''}${isActive ? ' active' : ''}`}
      title={visibleText(from === null ? line.path : `${from} → ${line.path}`)}
      style={{ transform: `translateY(${top}px)`, paddingInlineStart: `${0.4 + line.depth}rem` }}
      onClick={onChoose}
    >
      <span class="fold" aria-hidden="true">
        {line.kind === 'file' ? '' : line.isFolded ? '+' : '−'}
      </span>
      <span class="path">
        <bdi>{line.kind === 'folder' ? `${name}/` : name}</bdi>
      </span>
      <span class="number quiet">{line.kind === 'file' ? sizeText(line.file) : folderText(line)}</span>
    </div>
  )
}

function folderText({ files, insertions, deletions }: Extract<Line, { kind: 'folder' }>): string {
  return `${formatCount(files, 'file')} +${insertions} −${deletions}`
}

function sizeText({ change, insertions, deletions }: ChangedFileView): string {
  const size = insertions === null || deletions === null ? 'binary' : `+${insertions} −${deletions}`
  return change === 'changed' ? size : `${change} ${size}`
}
