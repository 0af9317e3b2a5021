// Arranges changed files as a tree of folders with the sums of what is below. Folders that have only one folder share a line. Pure.
// Test: test/tables/faces/file-tree.test.ts.
import type { ChangedFileView } from '../api/views/diff.ts'

interface LineBase {
  /** 0: not in a folder */
  readonly depth: number
  /** the path from the root of the files; that of a folder has no slash at its end */
  readonly path: string
  /** the part of the path that the line shows */
  readonly name: string
}

export interface FolderLine extends LineBase {
  readonly kind: 'folder'
  readonly isFolded: boolean
  /** the number of changed files below */
  readonly files: number
  readonly insertions: number
  readonly deletions: number
}

export interface FileLine<F> extends LineBase {
  readonly kind: 'file'
  readonly file: F
}

export type FileTreeLine<F> = FolderLine | FileLine<F>

type Changed = Pick<ChangedFileView, 'path' | 'insertions' | 'deletions'>

interface Folder<F> {
  readonly folders: Map<string, Folder<F>>
  readonly files: { readonly name: string; readonly file: F }[]
}

/** Returns the visible lines of the tree: the folders before the files, each in the order of the given files. */
export function fileTreeLines<F extends Changed>(files: readonly F[], folded: ReadonlySet<string>): FileTreeLine<F>[] {
  const root: Folder<F> = { folders: new Map(), files: [] }
  for (const file of files) {
    const parts = file.path.split('/')
    const name = parts.pop() ?? ''
    parts.reduce(folderIn, root).files.push({ name, file })
  }
  return linesOf(root, '', 0, folded)
}

function folderIn<F>(folder: Folder<F>, name: string): Folder<F> {
  const known = folder.folders.get(name)
  if (known) return known
  const next: Folder<F> = { folders: new Map(), files: [] }
  folder.folders.set(name, next)
  return next
}

function linesOf<F extends Changed>(folder: Folder<F>, above: string, depth: number, folded: ReadonlySet<string>): FileTreeLine<F>[] {
  const folders = [...folder.folders].flatMap(([name, inner]): FileTreeLine<F>[] => {
    const chain = chainOf(name, inner)
    const path = above + chain.name
    const isFolded = folded.has(path)
    const line: FolderLine = { kind: 'folder', depth, path, name: chain.name, isFolded, ...sumsOf(chain.folder) }
    return [line, ...(isFolded ? [] : linesOf(chain.folder, `${path}/`, depth + 1, folded))]
  })
  const files = folder.files.map(({ name, file }): FileTreeLine<F> => ({ kind: 'file', depth, path: file.path, name, file }))
  return [...folders, ...files]
}

/** Follows folders that have one folder and nothing else. */
function chainOf<F>(name: string, folder: Folder<F>): { readonly name: string; readonly folder: Folder<F> } {
  const [[inner, only] = [], second] = folder.folders
  return inner === undefined || only === undefined || second || folder.files.length > 0
    ? { name, folder }
    : chainOf(`${name}/${inner}`, only)
}

function sumsOf<F extends Changed>({ folders, files }: Folder<F>): Pick<FolderLine, 'files' | 'insertions' | 'deletions'> {
  const own = files.map(({ file }) => ({ files: 1, insertions: file.insertions ?? 0, deletions: file.deletions ?? 0 }))
  return [...own, ...[...folders.values()].map((folder) => sumsOf(folder))].reduce(
    (sum, one) => ({
      files: sum.files + one.files,
      insertions: sum.insertions + one.insertions,
      deletions: sum.deletions + one.deletions,
    }),
    { files: 0, insertions: 0, deletions: 0 },
  )
}

/** The index of the line of the folder that contains the line at `index`; null: it is in no folder. */
export function folderIndexOf<F>(lines: readonly FileTreeLine<F>[], index: number): number | null {
  const depth = lines[index]?.depth ?? 0
  const above = lines.slice(0, index).findLastIndex((line) => line.depth < depth)
  return above < 0 ? null : above
}
