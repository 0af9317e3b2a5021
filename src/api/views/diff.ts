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

/** A state of the files of a process. */
export interface DiffSideView {
  uuid: string
  pid: number
  name: string | null
  /**
   * where the files come from. `base`: the commit from which the worktree, or the branch of the crew, began; `origin`: the recorded step at
   * which a fork began; `worktree`: the present files; `step`: a recorded step; `salvage`: salvaged files of a removed worktree; `branch`:
   * the branch of a removed worktree; `crew`: the branch of a crew
   */
  of: 'base' | 'origin' | 'worktree' | 'step' | 'salvage' | 'branch' | 'crew' | 'reported'
  /** the step of the record; null: the files come from no record */
  step: number | null
  /** the compared commit or tree */
  commit: string
}

export interface ProcessDiffView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  /**
   * the `of` of `to`, or `reported`: the process has no worktree, so these are edits that its agent reported. They have no line numbers,
   * and lack changes by programs
   */
  of: 'base' | 'origin' | 'worktree' | 'step' | 'salvage' | 'branch' | 'crew' | 'reported'
  /** the older state; null: `of` is `reported` */
  from: DiffSideView | null
  /** the newer state; null: `of` is `reported` */
  to: DiffSideView | null
  /** the step whose recorded files are compared; null: the newer files come from no record */
  step: number | null
  /** the number of files that the records do not contain, not counting ignored files */
  omitted: number
  /** the commit from which the worktree, or the branch of the crew, began; empty: `of` is `reported` */
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
  /** true: `left` is not empty */
  truncated: boolean
}

export interface ChangedFileView {
  path: string
  /** the earlier path of a renamed file; null: not renamed */
  from: string | null
  change: 'added' | 'changed' | 'deleted' | 'renamed' | 'copied' | 'type'
  /** the number of added lines; null for a binary file */
  insertions: number | null
  /** the number of deleted lines; null for a binary file */
  deletions: number | null
  /** true: the file has more than 400 kB, before or after the change */
  large: boolean
  /** the steps of the process of `to` that changed it, in order: the last 1,000 */
  steps: number[]
}

export interface ProcessFilesView {
  version: 1
  uuid: string
  pid: number
  name: string | null
  /**
   * the `of` of `to`, or `reported`: the process has no worktree, so these are edits that its agent reported. They have no line numbers,
   * and lack changes by programs
   */
  of: 'base' | 'origin' | 'worktree' | 'step' | 'salvage' | 'branch' | 'crew' | 'reported'
  /** the older state; null: `of` is `reported` */
  from: DiffSideView | null
  /** the newer state; null: `of` is `reported` */
  to: DiffSideView | null
  /** at most 5,000 files */
  files: ChangedFileView[]
  /** the number of further files */
  more: number
  /** the number of added lines in `files` */
  insertions: number
  /** the number of deleted lines in `files` */
  deletions: number
  /** files that the records do not contain, not counting ignored files; their changes are missing */
  left: { path: string; why: 'large' | 'repository' | 'unreadable' }[]
  /** the number of further such files */
  leftMore: number
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
