// The errors of the command line itself, and the exit code of any error. Test: test/tables/cli/errors.test.ts.
import { ERRORS, type ErrorCode } from '../kernel/model/errors.ts'

/** Wrong flags or words. The command has done nothing. It exits with 64, or with 125 if its verb exits with the code of a process. */
export class UsageError extends Error {
  readonly hint: string
  constructor(message: string, hint = '') {
    super(message)
    this.hint = hint
  }
}

/** A failure of a command, with its own message and exit code. */
export class Failure extends Error {
  readonly exit: number
  readonly hint: string
  constructor(exit: number, message: string, hint = '') {
    super(message)
    this.exit = exit
    this.hint = hint
  }
}

/** the exit code of a program that SIGINT has ended: 128 + 2 */
export const SIGINT_EXIT = 130
const USAGE_EXIT = 64
const INTERNAL_EXIT = 125
/** the exit codes for failures of verbs that exit with the code of a process */
const RUN_FAILURES: ReadonlySet<number> = new Set([124, 125, 126, 127])

/**
 * Returns the exit code for an error. `exitsWithProcessCode`: the verb exits with the code of a process, as `run` and `wait` do. A failure
 * of such a verb has a code from 124 to 127. Scripts can thus distinguish it from a failure of the process.
 */
export function exitCode(error: unknown, exitsWithProcessCode: boolean): number {
  const exit = errorExit(error)
  return exitsWithProcessCode && !RUN_FAILURES.has(exit) ? INTERNAL_EXIT : exit
}

/**
 * Errors of the daemon are recognized by their code. Their class may differ, because a module that is loaded on demand has its own copy.
 */
function errorExit(error: unknown): number {
  if (error instanceof Failure) return error.exit
  if (error instanceof UsageError) return USAGE_EXIT
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' && Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].exit : INTERNAL_EXIT
}
