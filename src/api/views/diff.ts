// The JSON of the API: changed files, what a process changed in its worktree, and its merge. Made by `npm run docs` from the schemas of the
// daemon (scripts/views.ts): do not edit. Test: test/e2e/worktree/diff.test.ts.

export interface DiffFileView {
  path: string
  /** the earlier path of a renamed file; null: not renamed */
  from: string | null
  change: 'added' | 'changed' | 'deleted' | 'renamed' | 'copied' | 'type'
  /** the number of added lines; null for a binary file */
  insertions: number | null
  /** the number of deleted lines; null for a binary file */
  deletions: number | null
}

export interface ProcessDiffView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  /** the source of the files: the worktree, a recorded step, salvaged files of a removed worktree, its branch, or the branch of a crew */
  of: 'worktree' | 'step' | 'salvage' | 'branch' | 'crew'
  /** the step whose recorded files are compared; null: `of` is not `step` */
  step: number | null
  /** the number of files that the record of the step does not contain, without ignored files */
  omitted: number
  /** the commit from which the worktree, or the branch of the crew, began */
  base: string
  branch: string
  /** the git directory of the repository */
  repository: string
  files: DiffFileView[]
  insertions: number
  deletions: number
  /** the unified diff, at most 8 MB of it; null: not requested */
  diff: string | null
  /** files whose diff is missing from `diff`, or incomplete */
  left: string[]
}

export interface MergePlanView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  createdAt: string
  /** false: the process may still change its files */
  ended: boolean
  /** the merged files: those of the worktree, salvaged files of a removed worktree, its branch, or the branch of a crew */
  of: 'worktree' | 'salvage' | 'branch' | 'crew'
  /** the directory of the worktree; null for a crew */
  dir: string | null
  branch: string
  /** the newest commit of the work; uncommitted files are on top of it */
  head: string
  /** the number of uncommitted files */
  uncommitted: number
  /** the commits that are not merged yet, the newest first; at most 100 */
  commits: { commit: string; subject: string }[]
  /** the files that the merge would change */
  files: DiffFileView[]
  insertions: number
  deletions: number
  /** the files that conflict; the merge must then be made by hand */
  conflicts: string[]
}

export interface CommittedView {
  version: 1
  /** the newest commit of the work, with all of its files */
  commit: string
  /** false: there were no uncommitted files */
  isNew: boolean
}

/** POST /v1/processes/:ref/commit. */
export interface CommitBody {
  author: { name: string; email: string }
  /** true: also while the process has not ended */
  unfinished?: boolean
}
