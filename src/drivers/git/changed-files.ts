// Lists the files that differ between two commits or trees. For each file it finds whether the file is large, and which steps changed it.
// The number of runs of git does not depend on the number of records. Must never write a ref or a file.
// Test: test/e2e/worktree/files.test.ts.
import { compare, objectsCall, type Comparison, type DiffFile, type DiffRepository } from './diff.ts'
import { GitError, splitNames, type Git, type GitCall } from './git.ts'

/** A file counts as large if it has more bytes than this, before or after the change. */
const LARGE_FILE_BYTES = 400_000
/** The maximum number of listed files. */
const MAX_FILES = 5_000
/** The maximum number of steps that a file names: its last ones. */
const MAX_STEPS = 1_000
/** Time limit of the comparison of all records. */
const RECORDS_MS = 20_000
const OBJECT_ID = /^[0-9a-f]{40,64}$/

/** The files after a step, as a commit. */
export interface StepCommit {
  readonly step: number
  readonly commit: string
}

export interface ChangedFile extends DiffFile {
  readonly large: boolean
  /** the recorded steps that changed it, in order */
  readonly steps: readonly number[]
}

export interface ChangedFiles {
  readonly files: readonly ChangedFile[]
  /** the number of further files */
  readonly more: number
}

/** Lists the files that differ. `records`: in order, beginning with the state before the first step that counts. */
export async function listChangedFiles(
  git: Git,
  place: DiffRepository,
  comparison: Comparison,
  records: readonly StepCommit[],
): Promise<ChangedFiles> {
  const call = await objectsCall(git, place)
  const all = await compare(git, call, comparison)
  const listed = all.slice(0, MAX_FILES)
  // An id of zeros stands for no file, before the change or after it.
  const ids = [...new Set(listed.flatMap(({ blobs }) => blobs))].filter((id) => /[1-9a-f]/.test(id))
  const [large, steps] = await Promise.all([findLarge(git, call, ids), findSteps(git, call, records)])
  const files = listed.map(({ blobs, ...file }): ChangedFile => ({
    ...file,
    large: blobs.some((id) => large.has(id)),
    steps: [...new Set([file.path, ...(file.from === null ? [] : [file.from])].flatMap((path) => steps.get(path) ?? []))]
      .toSorted((a, b) => a - b)
      .slice(-MAX_STEPS),
  }))
  return { files, more: all.length - listed.length }
}

/** Returns the ids of large blobs. A submodule has no blob, and counts as small. */
async function findLarge(git: Git, call: GitCall, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const sizes = await git.run(['cat-file', '--batch-check=%(objectname) %(objectsize)'], {
    ...call,
    input: Buffer.from(`${ids.join('\n')}\n`),
  })
  const lines = sizes.toString().split('\n')
  return new Set(lines.map((line) => line.split(' ')).flatMap(([id = '', size]) => (Number(size) > LARGE_FILE_BYTES ? [id] : [])))
}

/**
 * Returns the steps that changed each path; none if git fails or takes too long. If a record is missing, its changes count for the next
 * recorded step.
 */
async function findSteps(git: Git, call: GitCall, records: readonly StepCommit[]): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>()
  const pairs = records.slice(1).map(({ step, commit }, index) => ({ step, commit, before: records[index]?.commit ?? commit }))
  const changes = pairs.filter(({ commit, before }) => commit !== before)
  if (changes.length === 0) return found
  // git compares the first commit of each line with the second one, as if that were its parent.
  const input = Buffer.from(changes.map(({ commit, before }) => `${commit} ${before}\n`).join(''))
  const args = ['diff-tree', '--stdin', '-r', '-z', '--name-only', '--no-renames', '--ignore-submodules=all']
  const fields = await git.run(args, { ...call, input, limitMs: RECORDS_MS }).catch((error: unknown) => {
    // The list of files is useful without its steps.
    if (error instanceof GitError) return Buffer.alloc(0)
    throw error
  })
  let step = 0
  let next = 0
  for (const name of splitNames(fields).map(String)) {
    // The id of a commit precedes its changes. git leaves out a commit without a change, so the id may be further on.
    const at = OBJECT_ID.test(name) ? indexFrom(changes, next, name) : -1
    if (at < 0) {
      const steps = found.get(name)
      if (steps) steps.push(step)
      else found.set(name, [step])
      continue
    }
    step = changes[at]?.step ?? 0
    next = at + 1
  }
  return found
}

function indexFrom(changes: readonly StepCommit[], start: number, commit: string): number {
  for (let at = start; at < changes.length; at += 1) if (changes[at]?.commit === commit) return at
  return -1
}
