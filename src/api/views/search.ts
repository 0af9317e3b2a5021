// The JSON of the API: a search in transcripts. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit.
// Test: test/e2e/daemon/search.test.ts.
import type { Status } from '../../kernel/model/status.ts'

/** A line of a transcript with the searched text. */
export interface SearchMatchView {
  uuid: string
  pid: number
  name: string | null
  status: Status
  /** null: a message, or the output of a program */
  step: number | null
  at: string
  /** `text` and `reasoning`: of the agent; `call` and `result`: the input and the result of a tool; `output`: of a program */
  kind: 'message' | 'text' | 'reasoning' | 'call' | 'result' | 'output'
  /** the text before the match, on its line */
  before: string
  match: string
  after: string
}

export interface SearchView {
  version: 1
  /** grouped by process: the living ones, then the ended ones, each the newest first. Those of a process in order */
  matches: SearchMatchView[]
  /** the number of searched processes */
  processes: number
  /** why the search is incomplete: the limit of matches, or the time limit; null: it is complete */
  cutBy: 'matches' | 'time' | null
}
