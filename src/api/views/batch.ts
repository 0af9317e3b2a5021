// The JSON of the API: the same for many processes, and directories in use. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/daemon/batch.test.ts.
import type { ErrorCode } from '../../kernel/model/errors.ts'

/** POST /v1/batch. The same is done to each process. */
export interface BatchBody {
  verb: 'pause' | 'resume' | 'stop' | 'kill' | 'send' | 'remove' | 'pin' | 'unpin'
  refs: string[]
  /** pause, resume, stop, kill: also all processes below */
  subtree?: boolean
  /** send: the message */
  text?: string
}

export interface BatchResultView {
  ref: string
  ok: boolean
  /** a remark on what was done; null: there is none */
  note: string | null
  /** why nothing was done; null: it was done */
  error: { code: ErrorCode; message: string; hint: string } | null
}

export interface BatchView {
  version: 1
  /** in the order of the references, each once */
  results: BatchResultView[]
}

export interface PlaceView {
  /** a directory in which processes were started */
  dir: string
  exists: boolean
  /** the number of living processes that were started in it */
  living: number
  /** the number of processes that were started in it, of those that were read */
  processes: number
  lastUsedAt: string
  /** the agents that were used in it, the last used one first */
  agents: string[]
  /** true: `trusted` of config.yaml contains it or a directory above */
  trusted: boolean
}

export interface PlacesView {
  version: 1
  /** at most 200, the last used one first; from all living and the 500 newest ended processes */
  places: PlaceView[]
}
