// Runs the command line as a separate program, and returns its output and exit code.
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { FORM, ROOT, testEnv } from '../env.ts'

export const CLI = join(ROOT, { source: 'src/cli/main.ts', bundle: 'dist/cli/main.cjs' }[FORM])

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningCli {
  readonly child: ChildProcess
  /** resolves when the program has written this text to stdout or stderr; rejects if the program ends first */
  waitForText(text: string | RegExp): Promise<void>
  readonly result: Promise<CliResult>
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** `open`: a pipe without input that stays open; default: no stdin */
  readonly stdin?: 'open'
  /** the command line of another installation */
  readonly program?: string
}

/** Starts `reeve ARGS` with the home of the test. */
export function startCli(home: string, args: readonly string[], { env, cwd, stdin, program = CLI }: CliOptions = {}): RunningCli {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: cwd ?? home,
    env: testEnv(home, env),
    stdio: [stdin === 'open' ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name]?.setEncoding('utf8').on('data', (text: string) => (written[name] += text))
  const result = new Promise<CliResult>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...written }))
  })
  const waitForText = (text: string | RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const checkText = (): void => {
        if (
          text instanceof RegExp
            ? text.test(written.stdout + written.stderr)
            : written.stdout.includes(text) || written.stderr.includes(text)
        )
          resolve()
      }
      child.stdout?.on('data', checkText)
      child.stderr?.on('data', checkText)
      child.on('close', () => reject(new Error(`ended without writing ${String(text)}: ${JSON.stringify(written)}`)))
      checkText()
    })
  return { child, waitForText, result }
}

/** Runs `reeve ARGS` to its end. */
export function runCli(home: string, args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(home, args, options).result
}
