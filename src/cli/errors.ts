// What went wrong on the command line itself, and the exit code of any error. Test: test/tables/cli-args.test.ts.
import { ERRORS, type ErrorCode } from '../kernel/errors.ts'

/** Wrong flags or words: exit 64, and nothing was done. */
export class UsageError extends Error {
  readonly hint: string
  constructor(message: string, hint = '') {
    super(message)
    this.hint = hint
  }
}

/** A failure that is said as it is, with its own exit code. */
export class Failure extends Error {
  readonly exit: number
  readonly hint: string
  constructor(exit: number, message: string, hint = '') {
    super(message)
    this.exit = exit
    this.hint = hint
  }
}

const USAGE = 64
const KERNEL = 125
const OWN_OF_RUN: ReadonlySet<number> = new Set([124, 125, 126, 127])

/**
 * The exit code of an error. `run` and `wait` give the process's own code, so for failures of their own they use only
 * 124 to 127, and a script can tell the two apart.
 */
export function exitCode(error: unknown, givesProcessCode: boolean): number {
  const exit = ownExit(error)
  return givesProcessCode && !OWN_OF_RUN.has(exit) ? KERNEL : exit
}

/** By the code, not by the class: what is loaded on demand may have a copy of the class. */
function ownExit(error: unknown): number {
  if (error instanceof Failure) return error.exit
  if (error instanceof UsageError) return USAGE
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' && Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].exit : KERNEL
}
