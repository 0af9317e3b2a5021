// The JSON of the API: what waits for the user, and its evidence. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts):
// do not edit. Test: test/e2e/lifecycle/needs.test.ts.
import type { CrewDiffView } from './crew-diff.ts'
import type { AskView, HoldView } from './process.ts'

/** The task of a crew that a need is about. */
export interface NeedTaskView {
  id: string
  title: string
  state: string
  implementer: string | null
  reviewer: string | null
  /** of the reviewer; null: none */
  verdict: string | null
  /** whether the verify command passed; null: it has not run */
  passed: boolean | null
}

/** Something that waits for the user. */
export interface NeedView {
  /** it stays the same while the need exists */
  id: string
  uuid: string
  pid: number
  name: string | null
  /** the topmost living process above it, or the process itself */
  root: string
  rootName: string | null
  /**
   * `command`, `edit`, `fetch`, `permission`: a call that needs a permission; `plan`: a plan to approve; `choice`, `text`: a question;
   * `gate`, `review`, `human-task`, `merge`: a question about a task of a crew; `hold`: a pause that only the user can end; `failed`,
   * `finished`: an end that the user has not seen; `silent`: no sign of life
   */
  kind:
    | 'command'
    | 'edit'
    | 'fetch'
    | 'permission'
    | 'plan'
    | 'choice'
    | 'text'
    | 'gate'
    | 'review'
    | 'human-task'
    | 'merge'
    | 'hold'
    | 'failed'
    | 'silent'
    | 'finished'
  /** its urgency; 1: most urgent */
  rank: number
  /** when it began */
  at: string
  /** one line */
  title: string
  /** true: the user has seen it */
  seen: boolean
  /** null: it is not put off. In the stream of rows the time may have passed */
  snoozedUntil: string | null
  /** the question, with the call and its diff */
  ask: AskView | null
  hold: HoldView | null
  task: NeedTaskView | null
  /** the answers of `ask`; for any other need the verbs that help, such as `resume`, with the kind `choice` */
  options: {
    id: string
    name: string
    kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | 'choice'
  }[]
  /** command lines that answer or show it, the most useful first */
  commands: string[]
  /** what helps to decide, besides `ask`, `hold` and `task` */
  evidence: {
    /** the state of the process as text */
    note: string | null
    /** its last text, truncated */
    message: string | null
    /** why it failed */
    error: string | null
    /** of a task: the report of its worker; only in the answer for one need */
    report: string | null
    /** of a task: its text; only in the answer for one need */
    text: string | null
    /** of a task: its change; only in the answer for one need */
    change: CrewDiffView | null
  }
}

/** What waits for the user. */
export interface NeedsView {
  version: 1
  /** the most urgent first */
  needs: NeedView[]
  /** the number of needs, with those beyond the limit */
  total: number
  /** the number of needs that are put off, and therefore not in the list */
  snoozed: number
}
