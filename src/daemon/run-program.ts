// A program of the user that the daemon runs for itself, for a short time: a key command, a word on the desktop.
// Owns its bounds: time, output, and that nothing of it is left. Tests: test/e2e/credentials.test.ts, test/e2e/notifications.test.ts.
import { v7 as uuidv7 } from 'uuid'
import type { Container } from '../drivers/contain/contain.ts'

/** what it may print, in bytes, and how long it may take */
const MAX_BYTES = 64 * 1024
const MAX_MS = 30_000

export type RunProgram = (argv: readonly string[]) => Promise<{ readonly code: number; readonly stdout: string }>

export interface Place {
  readonly container: Container
  readonly cwd: string
  readonly tmpDir: string
}

/** Runs an argv with the daemon's own environment. Errors: those of the containment's `spawn`. */
export async function runProgram({ container, cwd, tmpDir }: Place, argv: readonly string[]): Promise<{ readonly code: number; readonly stdout: string }> {
  const containment = await container.open(container.plan(uuidv7(), 0, 'auto'), tmpDir)
  try {
    const env = Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
    const program = await containment.spawn({ argv, cwd, env, stdin: 'null' })
    const late = AbortSignal.timeout(MAX_MS)
    late.addEventListener('abort', () => program.signal('SIGKILL'))
    let stdout = ''
    program.stderr.resume()
    for await (const chunk of program.stdout) if (stdout.length < MAX_BYTES) stdout += String(chunk)
    const { code } = await program.exited
    return { code: code ?? 1, stdout }
  } finally {
    await containment.dispose()
  }
}
