// The difference of two commits, as a list of files with their sizes and as a unified diff. Reads only objects, without the
// configuration or attributes of a worktree. So no program of the repository runs, and no `.gitattributes` hides a change. Also
// reads one file of a commit. Must never write a ref or a file. Tests: test/processes/git/diff.test.ts, test/e2e/worktree/files.test.ts.
import { GitError, splitNames } from './git.ts'
import { createInertGitDir } from './open-worktree.ts'
import { inRepository } from './worktree.ts'
import type { Git, GitCall, GitUser } from './git.ts'
import type { FileChange } from '../../kernel/model/crew/words.ts'

/** The maximum number of files whose diff is shown; further files are only listed. */
const MAX_FILES = 1_000
/** The maximum number of bytes of a diff that are read. */
const MAX_BYTES = 8 * 1024 * 1024
/** Options to detect renames, among at most 400 files. */
const RENAME_OPTIONS = ['-M', '-l400']
/** Options that keep git from running programs or decorating the output. */
const PLAIN_OPTIONS = [
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--submodule=short',
  '--ignore-submodules=none',
  '--src-prefix=a/',
  '--dst-prefix=b/',
]

const CHANGE_BY_LETTER: Readonly<Record<string, FileChange>> = {
  A: 'added',
  M: 'changed',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type',
}

export interface DiffFile {
  readonly path: string
  /** the previous name of a renamed or copied file */
  readonly from: string | null
  readonly change: FileChange
  /** the number of inserted lines; null for a binary file */
  readonly insertions: number | null
  /** the number of deleted lines; null for a binary file */
  readonly deletions: number | null
}

/** A file with the ids of its blobs before and after the change. An id of zeros stands for no file. */
export interface ComparedFile extends DiffFile {
  readonly blobs: readonly [before: string, after: string]
}

export interface Diff {
  readonly files: readonly DiffFile[]
  readonly text: string
  /** files whose diff is missing or incomplete in `text` */
  readonly left: readonly string[]
}

/** The two commits or trees that are compared. */
export interface Comparison {
  readonly from: string
  readonly to: string
  /** paths that are left out, because one side lacks them without a change; all submodules are then left out, too */
  readonly omitted?: readonly string[]
  /** only this file, or the files below this directory */
  readonly only?: string | undefined
}

export interface DiffRequest extends Comparison {
  /** the maximum number of lines of the text; 0 for no text */
  readonly maxLines: number
  /** the number of unchanged lines around a change; default 3 */
  readonly context?: number | undefined
  /** cuts the text for reading; git cannot apply the result as a patch */
  readonly cut?: DiffCut | undefined
}

/** Limits of a text, in bytes: of the part of one file, and of the whole. */
export interface DiffCut {
  readonly fileBytes: number
  readonly bytes: number
}

export type DiffRepository = Pick<GitUser, 'env' | 'network'> & {
  readonly repository: string
  /** the directory of objects, if it is not the repository's own */
  readonly objects?: string
}

/** Compares two commits or trees. Errors: `GitError` if one of them no longer exists. */
export async function diffOf(git: Git, place: DiffRepository, request: DiffRequest): Promise<Diff> {
  const { from, to, maxLines, context, cut } = request
  const call = await objectsCall(git, place)
  const files = (await compare(git, call, request)).map(({ blobs: _, ...file }) => file)
  if (maxLines === 0 || files.length === 0) return { files, text: '', left: files.map(({ path }) => path) }
  const options = [...optionsFor(request), ...(context === undefined ? [] : [`-U${context}`])]
  const { shown, patch } = await patchThatFits(filesThatFit(files, maxLines), (some) => {
    const paths = some.length === files.length && request.only === undefined ? exclusionsOf(request) : pathsOf(some)
    return patchOf(git, ['diff-tree', '-r', '-p', ...options, from, to, '--', ...paths], call)
  })
  if (cut) return { files, ...cutForReading(patch, shown, files, cut) }
  const { text, complete } = cutPatch(patch, maxLines)
  return { files, text, left: files.slice(complete ?? shown.length).map(({ path }) => path) }
}

/** Lists the files that differ, with their blobs. `call` is the result of `objectsCall`. */
export async function compare(git: Git, call: GitCall, comparison: Comparison): Promise<ComparedFile[]> {
  const { from, to, only } = comparison
  const args = ['-r', '-z', '--raw', '--no-abbrev', '--numstat', ...optionsFor(comparison), from, to, '--', ...exclusionsOf(comparison)]
  const files = filesIn(splitNames(await git.run(['diff-tree', ...args], call)).map(String))
  // The paths are selected here: git finds no rename if it sees only one of both names.
  return only === undefined
    ? files
    : files.filter((file) => [file.path, file.from].some((path) => path !== null && isAtOrBelow(path, only)))
}

function isAtOrBelow(path: string, dir: string): boolean {
  return path === dir || path.startsWith(`${dir}/`)
}

function optionsFor({ omitted }: Pick<Comparison, 'omitted'>): readonly string[] {
  return [...RENAME_OPTIONS, ...PLAIN_OPTIONS, ...(omitted ? ['--ignore-submodules=all'] : [])]
}

function exclusionsOf({ omitted }: Pick<Comparison, 'omitted'>): readonly string[] {
  return omitted && omitted.length > 0 ? [':/', ...omitted.map((path) => `:(top,exclude,literal)${path}`)] : []
}

/** Returns the file at a path in a commit; null if there is none or it is a directory. Errors: `GitError` if it exceeds `maxBytes`. */
export async function fileAt(
  git: Git,
  place: DiffRepository,
  { commit, path, maxBytes }: { readonly commit: string; readonly path: string; readonly maxBytes: number },
): Promise<Buffer | null> {
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) return null
  const call = inRepository(place)
  const [entry = ''] = splitNames(await git.run(['ls-tree', '-z', '-l', '--full-tree', commit, '--', path], call)).map(String)
  const [, kind, blob = '', size = '0', fieldPath] = /^\d+ (\w+) (\w+) +(\d+|-)\t([^]*)$/.exec(entry) ?? []
  if (kind !== 'blob' || fieldPath !== path) return null
  if (Number(size) > maxBytes) throw new GitError(`${path} has ${size} bytes: at most ${maxBytes} can be shown`)
  return git.run(['cat-file', 'blob', blob], call)
}

/** Returns a call that reads objects, without any configuration of the repository that starts a program. */
export async function objectsCall(git: Git, place: DiffRepository): Promise<GitCall> {
  const inert = await createInertGitDir(git, place)
  const { objects = inert.at.objects } = place
  return { ...inRepository(place), ...inert, at: { ...inert.at, ...(objects !== undefined && { objects }) }, cwd: inert.at.gitDir }
}

/** Returns the patch of the files; of fewer of them if it exceeds the limit of git's output. */
async function patchThatFits(
  files: readonly DiffFile[],
  read: (files: readonly DiffFile[]) => Promise<string | null>,
): Promise<{ readonly shown: readonly DiffFile[]; readonly patch: string }> {
  const patch = await read(files)
  if (patch !== null || files.length === 1) return { shown: files, patch: patch ?? '' }
  return patchThatFits(files.slice(0, Math.ceil(files.length / 2)), read)
}

/** Returns path patterns that match only these files. */
function pathsOf(files: readonly DiffFile[]): string[] {
  return files.flatMap(({ path, from }) => [path, ...(from === null ? [] : [from])]).map((path) => `:(top,literal)${path}`)
}

/** Returns the patch; null if it exceeds the limit of git's output. */
async function patchOf(git: Git, args: readonly string[], call: GitCall): Promise<string | null> {
  try {
    const patch = await git.run(args, call)
    return patch.subarray(0, MAX_BYTES).toString()
  } catch (error) {
    if (error instanceof GitError && /wrote more than/.test(error.message)) return null
    throw error
  }
}

/**
 * Parses git's output: first `:100644 100644 BLOB BLOB M` and a path per file. Then per file `1\t2\tpath`, or `1\t2\t` with the old and
 * the new path.
 */
function filesIn(fields: readonly string[]): ComparedFile[] {
  const changes = new Map<string, Pick<ComparedFile, 'change' | 'blobs'>>()
  const files: ComparedFile[] = []
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] ?? ''
    if (field.startsWith(':')) {
      const [, , before = '', after = '', [letter = ''] = ''] = field.split(' ')
      at += letter === 'R' || letter === 'C' ? 2 : 1
      changes.set(fields[at] ?? '', { change: CHANGE_BY_LETTER[letter] ?? 'changed', blobs: [before, after] })
      continue
    }
    const [, added, deleted, fieldPath] = /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(field) ?? []
    if (added === undefined || deleted === undefined) continue
    const names = fieldPath === '' ? { from: fields[at + 1] ?? '', path: fields[at + 2] ?? '' } : { from: null, path: fieldPath ?? '' }
    if (fieldPath === '') at += 2
    files.push({
      ...names,
      ...(changes.get(names.path) ?? { change: 'changed', blobs: ['', ''] }),
      insertions: added === '-' ? null : Number(added),
      deletions: deleted === '-' ? null : Number(deleted),
    })
  }
  return files
}

/** Returns the first files whose changes fit into the lines; at least one file. */
function filesThatFit(files: readonly DiffFile[], maxLines: number): readonly DiffFile[] {
  let lines = 0
  const end = files.findIndex(({ insertions, deletions }, index) => {
    lines += (insertions ?? 0) + (deletions ?? 0)
    return index > 0 && (lines > maxLines || index >= MAX_FILES)
  })
  return end < 0 ? files : files.slice(0, end)
}

/** Cuts the patch at a line. `complete` is the number of files that are whole; null if all are. */
function cutPatch(patch: string, maxLines: number): { readonly text: string; readonly complete: number | null } {
  const lines = patch.split('\n')
  if (patch === '') return { text: '', complete: 0 }
  if (lines.length <= maxLines + 1 && patch.endsWith('\n')) return { text: patch, complete: null }
  const kept = lines.slice(0, Math.min(maxLines, lines.length - 1))
  return {
    text: kept.map((line) => `${line}\n`).join(''),
    complete: Math.max(0, kept.filter((line) => line.startsWith('diff --git ')).length - 1),
  }
}

/**
 * Cuts the part of each file, and then the whole text, at the end of a line. Each part begins with `diff --git`. `left`: the files whose
 * part is missing or incomplete.
 */
export function cutForReading(
  patch: string,
  shown: readonly DiffFile[],
  files: readonly DiffFile[],
  { fileBytes, bytes }: DiffCut,
): Pick<Diff, 'text' | 'left'> {
  // A line of a change begins with a space, a sign or a backslash, so this matches only the heads of files.
  const parts = patch === '' ? [] : patch.split(/(?<=\n)(?=diff --git )/)
  const left = files.slice(shown.length).map(({ path }) => path)
  let [text, next, room] = ['', 0, bytes]
  for (const { path, change } of shown) {
    // git writes a change of a file's type as a deletion and an addition.
    const whole = parts.slice(next, (next += change === 'type' ? 2 : 1)).join('')
    const piece = cutAtLine(whole, Math.min(fileBytes, room))
    if (piece !== whole || whole === '') left.push(path)
    room -= Buffer.byteLength(piece)
    text += piece
  }
  return { text, left }
}

/** Returns the whole lines at the beginning of a text that fit into the bytes. */
function cutAtLine(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes && text.endsWith('\n')) return text
  const start = Buffer.from(text).subarray(0, Math.max(0, maxBytes))
  return start.subarray(0, start.lastIndexOf(0x0a) + 1).toString()
}
