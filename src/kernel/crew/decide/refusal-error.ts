// The errors with which a crew refuses a command. Test: test/tables/kernel/crew/decide/engine.test.ts.
import { KernelError, type ErrorCode } from '../../model/errors.ts'

/** An error for a refused command. `hint`: what the user can do instead. */
export function refusalError(code: ErrorCode, message: string, hint: string): KernelError {
  return new KernelError(code, message, undefined, hint)
}
