// The difference of two commits, as a list of files with their sizes and as a unified diff. Reads only objects, without the
// configuration or attributes of a worktree. So no program of the repository runs, and no `.gitattributes` hides a change. Must
// never write a ref or a file. Test: test/processes/files/diff.test.ts.
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

export interface Diff {
  readonly files: readonly DiffFile[]
  readonly text: string
  /** files whose diff is missing or incomplete in `text` */
  readonly left: readonly string[]
}

export interface DiffRequest {
  readonly from: string
  readonly to: string
  /** the maximum number of lines of the text; 0 for no text */
  readonly maxLines: number
  /** paths that are left out, and with them all submodules: they are missing in one of the commits for another reason */
  readonly omitted?: readonly string[]
}

export type DiffRepository = Pick<GitUser, 'env' | 'network'> & {
  readonly repository: string
  /** the directory of objects, if it is not the repository's own */
  readonly objects?: string
}

/** Compares two commits or trees. Errors: `GitError` if one of them no longer exists. */
export async function diffOf(git: Git, place: DiffRepository, { from, to, maxLines, omitted }: DiffRequest): Promise<Diff> {
  const call = await objectsOf(git, place)
  const options = [...RENAME_OPTIONS, ...PLAIN_OPTIONS, ...(omitted ? ['--ignore-submodules=all'] : [])]
  const excluded = omitted && omitted.length > 0 ? [':/', ...omitted.map((path) => `:(top,exclude,literal)${path}`)] : []
  const listed = await git.run(['diff-tree', '-r', '-z', '--raw', '--numstat', ...options, from, to, '--', ...excluded], call)
  const files = filesIn(splitNames(listed).map(String))
  if (maxLines === 0 || files.length === 0) return { files, text: '', left: files.map(({ path }) => path) }
  const { shown, patch } = await patchThatFits(filesThatFit(files, maxLines), (some) =>
    patchOf(git, ['diff-tree', '-r', '-p', ...options, from, to, '--', ...(some.length === files.length ? excluded : pathsOf(some))], call),
  )
  const { text, complete } = cutPatch(patch, maxLines)
  return { files, text, left: files.slice(complete ?? shown.length).map(({ path }) => path) }
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

async function objectsOf(git: Git, place: DiffRepository): Promise<GitCall> {
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
 * Parses git's output: first `:100644 100644 A B M` and a path per file. Then per file `1\t2\tpath`, or `1\t2\t` with the old and
 * the new path.
 */
function filesIn(fields: readonly string[]): DiffFile[] {
  const changes = new Map<string, FileChange>()
  const files: DiffFile[] = []
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] ?? ''
    if (field.startsWith(':')) {
      const letter = field.split(' ').at(-1)?.[0] ?? ''
      at += letter === 'R' || letter === 'C' ? 2 : 1
      changes.set(fields[at] ?? '', CHANGE_BY_LETTER[letter] ?? 'changed')
      continue
    }
    const [, added, deleted, fieldPath] = /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(field) ?? []
    if (added === undefined || deleted === undefined) continue
    const names = fieldPath === '' ? { from: fields[at + 1] ?? '', path: fields[at + 2] ?? '' } : { from: null, path: fieldPath ?? '' }
    if (fieldPath === '') at += 2
    files.push({
      ...names,
      change: changes.get(names.path) ?? 'changed',
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
