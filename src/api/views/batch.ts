// The JSON of the API: one action on many processes. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit.
// Test: test/e2e/daemon/batch.test.ts.
import type { ErrorCode } from '../../kernel/model/errors.ts'

/** POST /v1/batch. Performs one action on each process. */
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
