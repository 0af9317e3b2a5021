// Checks that the program of an external agent is installed, before the process is recorded. Its error has the install command as a hint.
// Runs no program. Test: test/e2e/external/acp.test.ts.
import { installCommand } from '../../config/known-programs.ts'
import { resolveProgram } from '../../drivers/contain/resolve-program.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** Checks the program of a spec. Errors: COMMAND_NOT_FOUND with the install command as its hint, NOT_RUNNABLE. */
export function checkInstalled({ argv, cwd, env }: Pick<ProcessSpec, 'argv' | 'cwd' | 'env'>): void {
  if (argv === null) return
  try {
    resolveProgram({ argv, cwd, env, stdin: 'null' })
  } catch (error) {
    throw withInstallHint(error)
  }
}

/** Returns the error. If a known program is missing, the hint is the command that installs it. */
export function withInstallHint(error: unknown): unknown {
  if (!(error instanceof KernelError) || error.code !== 'COMMAND_NOT_FOUND') return error
  const { details, message } = error
  const install = installCommand(String(details?.['command'] ?? ''))
  return install === null ? error : new KernelError(error.code, message, details, `Install it with \`${install}\`.`)
}
