// Checks that a task's commit equals the approved files. The tree of the commit is compared with the reviewed tree, merged with the
// commit's part of the crew's branch. Also finds conflict markers, conflicts with the crew's branch, and the tasks that changed given
// files. Works on git objects and refs alone. Must never trust a message, a report or the name of a branch.
// Test: test/processes/crew/commit-reviewed.test.ts.
import { splitNames } from '../git.ts'
import { crewHead, isAncestor, mergeTree, crewCall } from './merge.ts'
import type { CrewBranch } from './merge.ts'
import type { Git, GitCall } from '../git.ts'

/** maximum number of files in a result */
const MAX_NAMED = 20
/** maximum number of paths in one call of git */
const MAX_PATHS = 500
const CONFLICT_BEGIN = '^<<<<<<< '
const CONFLICT_END = '^>>>>>>> '

/** The files that the reviewer approved. */
export interface Reviewed {
  /** a commit whose tree is the approved files */
  readonly commit: string
  /** the ref that keeps the compared tree during the next review */
  readonly ref: string
}

export interface TreeDifference {
  /** the approved tree, merged with the commit's part of the crew's branch */
  readonly from: string
  /** the first files that differ */
  readonly files: readonly string[]
  /** the number of further files */
  readonly more: number
}

export async function isSameTree(git: Git, call: GitCall, first: string, second: string): Promise<boolean> {
  return first === second || (await treeOf(git, call, first)) === (await treeOf(git, call, second))
}

function treeOf(git: Git, call: GitCall, commit: string): Promise<string> {
  return git.line(['rev-parse', `${commit}^{tree}`], call)
}

/** The difference between a commit and the approved files; null if there is none. Errors: `GitError`. */
export async function findDifference(
  git: Git,
  crew: CrewBranch,
  commit: string,
  { commit: reviewed, ref }: Reviewed,
): Promise<TreeDifference | null> {
  const call = await crewCall(crew)
  if (commit === reviewed) return null
  const mergeBase = await git.tryLine(['merge-base', commit, `refs/heads/${crew.branch}`], call)
  const isNew = mergeBase !== null && !(await isAncestor(git, call, mergeBase, reviewed))
  const merged = isNew ? await mergeTree(git, crew, reviewed, mergeBase) : null
  const tree = merged && 'tree' in merged ? merged.tree : await treeOf(git, call, reviewed)
  const conflicts = merged && 'tree' in merged ? merged.files : []
  // A merge can drop changes that it merges, so the commit is compared with the approved tree after the merge.
  if (conflicts.length === 0 && tree === (await treeOf(git, call, commit))) return null
  const from = await git.line(
    ['commit-tree', tree, '-p', reviewed, ...(isNew ? ['-p', mergeBase] : []), '-m', 'reeve: what was approved'],
    call,
  )
  await git.run(['update-ref', ref, from], call)
  const files = [...new Set([...(await changedFiles(git, call, tree, commit)), ...conflicts])].toSorted()
  return { from, files: files.slice(0, MAX_NAMED), more: Math.max(0, files.length - MAX_NAMED) }
}

async function changedFiles(git: Git, call: GitCall, from: string, to: string): Promise<string[]> {
  return splitNames(await git.run(['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to], call)).map(String)
}

/** The changed files that have conflict markers and had none at `base`. */
export async function filesWithNewMarkers(git: Git, call: GitCall, base: string, commit: string): Promise<readonly string[]> {
  const changed = await changedFiles(git, call, base, commit)
  if (changed.length === 0) return []
  const [before, after] = [await filesWithMarkers(git, call, base, changed), await filesWithMarkers(git, call, commit, changed)]
  return [...after].filter((name) => !before.has(name)).slice(0, MAX_NAMED)
}

async function filesWithMarkers(git: Git, call: GitCall, commit: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const pathspecs = paths.length > MAX_PATHS ? [] : paths.map((path) => `:(top,literal)${path}`)
  const { stdout } = await git.tryRun(
    ['grep', '-z', '-l', '-I', '--full-name', '--all-match', '-e', CONFLICT_BEGIN, '-e', CONFLICT_END, commit, '--', ...pathspecs],
    call,
  )
  return new Set(splitNames(stdout).map((name) => name.toString().slice(commit.length + 1)))
}

export interface MergeConflict {
  /** the first conflicting files */
  readonly files: readonly string[]
  /** the number of further files */
  readonly more: number
}

/**
 * The files of a commit that conflict with the crew's current branch; null if none do. `otherwise`: as for `crewHead`. Errors: `GitError`.
 */
export async function findConflict(git: Git, crew: CrewBranch, commit: string, otherwise: string): Promise<MergeConflict | null> {
  const call = await crewCall(crew)
  const head = await crewHead(git, crew, otherwise)
  if ((await isAncestor(git, call, head, commit)) || (await isAncestor(git, call, commit, head))) return null
  const merged = await mergeTree(git, crew, head, commit)
  if (!('tree' in merged) || merged.files.length === 0) return null
  return { files: merged.files.slice(0, MAX_NAMED), more: Math.max(0, merged.files.length - MAX_NAMED) }
}

/** The tasks whose merges changed one of these files after the commit `since`. `merged`: the head of the branch after the merge. */
export async function findTasksThatTouched(
  git: Git,
  crew: CrewBranch,
  merges: readonly { readonly task: string; readonly merged: string }[],
  { since, files }: { readonly since: string; readonly files: readonly string[] },
): Promise<readonly string[]> {
  const call = await crewCall(crew)
  const found: string[] = []
  for (const { task, merged } of merges) {
    // A merge that git no longer has cannot be compared, so its task is left out.
    if (await isAncestor(git, call, merged, since).catch(() => true)) continue
    const touched = await git.tryLine(
      ['diff-tree', '-r', '--name-only', `${merged}^1`, merged, '--', ...files.map((path) => `:(top,literal)${path}`)],
      call,
    )
    if (touched) found.push(task)
  }
  return found
}
