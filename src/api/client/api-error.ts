// The error of all requests to the daemon: an error response with its code, hint and details, or no answer.
// Test: test/tables/cli/errors.test.ts.
import { ERRORS, type ErrorCode } from '../../kernel/model/errors.ts'

/** An error response of the daemon, or the error that no daemon answers (`UNAVAILABLE`). */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly hint: string
  readonly details: Readonly<Record<string, unknown>> | undefined
  constructor(
    code: ErrorCode,
    message: string,
    more: { hint?: string; details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause })
    this.name = 'ApiError'
    this.code = code
    this.hint = more.hint ?? ERRORS[code]?.hint ?? ''
    this.details = more.details
  }
  /** the exit code of the command line for this error */
  get exit(): number {
    return ERRORS[this.code]?.exit ?? 1
  }
}
