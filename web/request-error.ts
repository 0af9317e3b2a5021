// The error of a request that the daemon has answered with a refusal. Test: test/e2e/web/page.test.ts.

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
