// The JSON of `reeve heartbeat status`: what is seen of each living process, and what it is held to. Types only, as views.ts.
// Test: test/processes/liveness.test.ts.
import type { LivenessView, Status } from './views.ts'

/** After so long, in ms, it gets the word; null: never. `loop`: so many times the same; `errors` of the last `errorsOf` tool calls. */
export interface ThresholdsView {
  stoppedMs: number | null
  silentMs: number | null
  stalledMs: number | null
  waitingMs: number | null
  policy: 'warn' | 'interrupt' | 'restart'
  loop: number | null
  errors: number | null
  errorsOf: number
}

export interface HeartbeatRowView {
  uuid: string
  pid: number
  name: string | null
  agent: string
  status: Status
  /** null: it is passed over, as it is suspended, has not begun, or is ending */
  word: LivenessView['word'] | 'alive' | null
  since: string | null
  evidence: string | null
  /** ms since it last wrote anything; null: it is passed over */
  quietMs: number | null
  /** ms since it last got on */
  idleMs: number | null
  thresholds: ThresholdsView
}

export interface HeartbeatView { version: 1; processes: HeartbeatRowView[] }
