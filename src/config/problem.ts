// A problem of a configuration file, with its line, and the error AGENT_INVALID that reports it. Test: test/tables/config/config.test.ts.
import { KernelError } from '../kernel/model/errors.ts'

/** A problem of a file. */
export interface Problem {
  readonly file: string
  /** 0: the problem concerns the file as a whole */
  readonly line: number
  readonly message: string
}

/** Returns the error AGENT_INVALID for a problem. */
export function problemError(problem: Problem): KernelError {
  const location = problem.line > 0 ? `${problem.file}:${problem.line}` : problem.file
  return new KernelError('AGENT_INVALID', `${location}: ${problem.message}`, { ...problem })
}

/** Returns the problem in an error of `problemError`. Throws any other error again. */
export function problemIn(error: unknown): Problem {
  const { file, line, message } = (error instanceof KernelError ? error.details : undefined) ?? {}
  if (typeof file !== 'string' || typeof line !== 'number' || typeof message !== 'string') throw error
  return { file, line, message }
}
