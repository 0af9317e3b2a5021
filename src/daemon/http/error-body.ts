// Formats an error for the API: as a response, or at the end of a stream.
// Tests: test/e2e/daemon/api.test.ts, test/e2e/daemon/events.test.ts.
import type { ErrorCode, KernelError } from '../../kernel/model/errors.ts'
import type { ErrorBody } from '../../api/views/daemon.ts'

export function errorBody(error: KernelError): ErrorBody {
  const code: ErrorCode = error.code
  return {
    version: 1,
    error: { code, message: error.message, hint: error.hint, ...(error.details ? { details: { ...error.details } } : {}) },
  }
}
