// The JSON of the API: the times in which processes had a status. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts):
// do not edit. Test: test/e2e/daemon/spans.test.ts.
import type { Status } from '../../kernel/model/status.ts'

export interface SpanView {
  from: string
  /** null: up to now, or up to `until` */
  to: string | null
  status: Status
  /** why the status changed, in a few words; null: nothing more is known */
  cause: string | null
}

export interface ProcessSpansView {
  uuid: string
  pid: number
  parentUuid: string | null
  name: string | null
  /** in order; the first one may begin before `since` */
  spans: SpanView[]
  /** true: there are earlier spans */
  truncated: boolean
}

export interface SpansView {
  version: 1
  /** parents first; together at most 20,000 spans */
  processes: ProcessSpansView[]
  /** the number of processes that are left out */
  more: number
}
