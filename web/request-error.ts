// The errors of requests: a refusal of the daemon, and what the user reads when several requests fail. Tests: test/e2e/web/page.test.ts,
// test/tables/web/request-error.test.ts.

/** What the user reads of an error. */
export interface Failure {
  readonly message: string
  readonly hint: string
}

/** The error of requests that were sent together; null: none failed. `failures` has null for each request that was accepted. */
export function failureOfAll(failures: readonly (Failure | null)[]): Failure | null {
  const failed = failures.filter((one) => one !== null)
  const [first] = failed
  if (!first || failures.length === 1) return first ?? null
  return { message: `${failed.length} of ${failures.length} failed: ${first.message}`, hint: first.hint }
}

/** An error answer of the daemon. */
export class RequestError extends Error {
  readonly status: number
  readonly code: string
  readonly hint: string

  constructor(status: number, { code, message, hint }: { readonly code: string; readonly message: string; readonly hint: string }) {
    super(message)
    this.status = status
    this.code = code
    this.hint = hint
  }

  /** Whether the daemon no longer knows the token. */
  get isRefused(): boolean {
    return this.status === 403 && this.code === 'FORBIDDEN'
  }
}
