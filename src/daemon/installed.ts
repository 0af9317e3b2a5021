// Whether the program of an agent that others wrote is there, asked before anything is recorded.
// Owns the hint that says how to install it. Runs nothing. Test: test/e2e/external.test.ts.
import { installCommand } from '../config/programs.ts'
import { resolveProgram } from '../drivers/contain/resolve.ts'
import { KernelError } from '../kernel/errors.ts'
import type { ProcessSpec } from '../kernel/types.ts'

/** Errors: COMMAND_NOT_FOUND with the command that installs it, NOT_RUNNABLE. */
export function checkInstalled({ argv, cwd, env }: Pick<ProcessSpec, 'argv' | 'cwd' | 'env'>): void {
  if (argv === null) return
  try {
    resolveProgram({ argv, cwd, env, stdin: 'null' })
  } catch (error) {
    throw withInstall(error)
  }
}

/** The same error; that a known program is missing says how to get it. */
export function withInstall(error: unknown): unknown {
  if (!(error instanceof KernelError) || error.code !== 'COMMAND_NOT_FOUND') return error
  const { details, message } = error
  const install = installCommand(String(details?.['command'] ?? ''))
  return install === null ? error : new KernelError(error.code, message, details, `Install it with \`${install}\`.`)
}
