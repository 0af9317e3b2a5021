// The command line on a terminal of its own: util-linux's `script` makes one and passes on what is typed. What is on the
// screen is worked out by `Vt`, so that a test sees what a person sees.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { CLI } from './cli.ts'
import { testEnv } from './env.ts'
import { Vt } from './vt.ts'

const SCRIPT = '/usr/bin/script'

/** Is there a terminal to be had? */
export const HAS_TERMINAL = process.platform === 'linux' && existsSync(SCRIPT)

/** Far beyond what a slow machine needs: only a text that never comes takes so long. */
const LIMIT_MS = 40_000

/** The first line tells the PID of the command line, the last one how the terminal was left. */
const PID = /^pid=(\d+)\r?\n/
const LEFT = 'left='

export interface TerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
  /** before the arguments of the command line: `</dev/null` and the like go behind */
  readonly behind?: string
}

export class Terminal implements Disposable {
  readonly #child: ChildProcess
  readonly #size: { readonly columns: number; readonly rows: number }
  #written = ''
  /** the exit code of the command line */
  readonly done: Promise<number | null>

  constructor(home: string, args: readonly string[], { columns = 80, rows = 24, env = {}, behind = '' }: TerminalOptions = {}) {
    this.#size = { columns, rows }
    const words = [process.execPath, CLI, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
    const inner = `echo pid=$$; exec ${words} ${behind}`
    const command = `trap : INT; stty cols ${columns} rows ${rows}; sh -c "$INNER"; code=$?; echo; echo ${LEFT}$(stty -a | grep -ow -e -icanon -e icanon -e -echo -e echo | tr '\\n' ' '); exit $code`
    this.#child = spawn(SCRIPT, ['-qfec', command, '/dev/null'], { cwd: home, env: testEnv(home, { TERM: 'xterm', INNER: inner, ...env }), stdio: ['pipe', 'pipe', 'ignore'] })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#written += text))
    this.done = new Promise((resolve) => this.#child.on('close', resolve))
  }

  /** all that was written, with its escapes */
  get raw(): string {
    return this.#written.replace(PID, '').replace(/\r?\n?left=.*\r?\n$/, '')
  }

  get pid(): number {
    return Number(PID.exec(this.#written)?.[1])
  }

  /** whether typing was as it should be when the command line had ended */
  get isGivenBack(): boolean {
    return this.#written.includes(`${LEFT}icanon echo\r`)
  }

  /** what is on the screen, and above it */
  get screen(): Vt {
    const vt = new Vt(this.#size.columns, this.#size.rows)
    // A sequence may be cut by the end of what has come so far.
    vt.write(this.raw.replaceAll('\r\n', '\n').replace(/\x1b(\[[?0-9;]*)?$/, ''))
    return vt
  }

  get text(): string {
    return this.screen.lines.join('\n')
  }

  /** Takes the terminal away, with all that runs on it. */
  [Symbol.dispose](): void {
    if (this.#child.exitCode === null) this.#child.kill()
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys)
  }

  /** Resolves when this is on the screen; rejects with what is there if it never comes. */
  async sees(what: string | RegExp): Promise<void> {
    const isThere = (): boolean => (typeof what === 'string' ? this.text.includes(what) : what.test(this.text))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const look = (): void => {
      if (isThere()) resolve()
    }
    const missing = (how: string) => (): void => reject(new Error(`${how} without showing ${what}:\n${this.text}`))
    const ended = missing('ended')
    const limit = setTimeout(missing('went on'), LIMIT_MS)
    this.#child.stdout?.on('data', look)
    this.#child.on('close', ended)
    if (this.#child.exitCode !== null && !isThere()) ended()
    look()
    try {
      await promise
    } finally {
      clearTimeout(limit)
      this.#child.stdout?.off('data', look)
      this.#child.off('close', ended)
    }
  }
}
