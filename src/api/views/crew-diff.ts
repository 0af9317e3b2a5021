// The JSON of the API: the change of a task. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit. Test:
// test/e2e/crew/diff.test.ts.
import type { DiffFileView } from './diff.ts'

export interface CrewDiffView {
  version: 1
  /** the crew's name, or its PID */
  crew: string
  task: {
    id: string
    title: string
    state: string
    implementer: string | null
    reviewer: string | null
  }
  /** the version of the change: under review, committed, or merged into the crew branch; null: no change */
  of: 'review' | 'commit' | 'landed' | null
  /** which version of the change this is, as text; or why there is no change */
  note: string
  /** the commit before the change; null: no change */
  from: string | null
  /** the commit with the change; null: no change */
  to: string | null
  /** the git directory that has both commits; null: no change */
  repository: string | null
  files: DiffFileView[]
  insertions: number
  deletions: number
  /** the unified diff; null: not requested */
  diff: string | null
  /** files whose diff is missing from `diff`, or incomplete */
  left: string[]
}
