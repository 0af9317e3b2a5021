// Runs a `reeve` that follows something, and sends it Ctrl+C after its first output: `interrupted-reeve.ts CLI ARGS`. It exits with 0
// if that ended the command. Test: test/e2e/docs/commands.test.ts.
import { spawn } from 'node:child_process'

/** the exit code of a command that SIGINT ended */
const INTERRUPTED = 130

const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['ignore', 'pipe', 'pipe'] })
child.stdout.once('data', () => child.kill('SIGINT')).pipe(process.stdout)
child.stderr.once('data', () => child.kill('SIGINT')).pipe(process.stderr)
child.once('close', (code, signal) => {
  process.exitCode = signal === 'SIGINT' || code === INTERRUPTED ? 0 : (code ?? 1)
})
