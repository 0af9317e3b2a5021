// The JSON of the API: changed files, and what a process changed in its worktree. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/worktree/diff.test.ts.

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
  /** the compared files: those of the worktree, of a recorded step, salvaged files of a removed worktree, or its branch */
  of: 'worktree' | 'step' | 'salvage' | 'branch'
  /** the step whose recorded files are compared; null: `of` is not `step` */
  step: number | null
  /** the number of files that the record of the step does not contain, without ignored files */
  omitted: number
  /** the commit from which the worktree began */
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
