// Runs a short program for the daemon itself: the user's key command, or a desktop notification. Limits its time and output. Ends all OS
// processes of the program afterwards. Tests: test/e2e/models/credentials.test.ts, test/processes/daemon/notify-desktop.test.ts.
import { v7 as uuidv7 } from 'uuid'
import type { ContainmentManager } from '../../drivers/contain/containment-contract.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'

/** When this many characters of stdout are kept, the rest is dropped. */
const MAX_CHARS = 64 * 1024
/** The time after which the program is killed. */
const MAX_MS = 30_000

export type RunProgram = (argv: readonly string[]) => Promise<{ readonly code: number; readonly stdout: string }>

export interface ProgramContext {
  readonly containments: ContainmentManager
  readonly cwd: string
  readonly tmpDir: string
}

/** Runs a program with the daemon's environment. Returns its exit code (1 after a signal) and its stdout. Errors: those of `spawn`. */
export async function runProgram(
  { containments, cwd, tmpDir }: ProgramContext,
  argv: readonly string[],
): Promise<{ readonly code: number; readonly stdout: string }> {
  const containment = await containments.open(containments.plan(uuidv7(), 0, 'auto'), tmpDir)
  try {
    const env = withoutUndefined(process.env) as Record<string, string>
    const program = await containment.spawn({ argv, cwd, env, stdin: 'null' })
    const timeout = AbortSignal.timeout(MAX_MS)
    timeout.addEventListener('abort', () => program.signal('SIGKILL'))
    let stdout = ''
    program.stderr.resume()
    for await (const chunk of program.stdout) if (stdout.length < MAX_CHARS) stdout += String(chunk)
    const { code } = await program.exited
    return { code: code ?? 1, stdout }
  } finally {
    await containment.dispose()
  }
}
