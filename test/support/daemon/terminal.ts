// Runs the command line on its own terminal. The program `script` of util-linux creates the terminal and passes on the typed keys.
// `TerminalEmulator` computes the screen that the user would see.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, readlinkSync } from 'node:fs'
import { CLI } from './cli.ts'
import { testEnv } from '../env.ts'
import { findOwnProcess, type LivingProcess } from '../living-processes.ts'
import { TerminalEmulator } from './terminal-emulator.ts'

const SCRIPT = '/usr/bin/script'

/** Whether this machine can create a terminal. */
export const HAS_TERMINAL = process.platform === 'linux' && existsSync(SCRIPT)

/** The time limit of each wait: far more than a slow machine needs. */
const LIMIT_MS = 100_000

/** The first line of the output gives the command line's PID; the last one, after MODE_LABEL, the final mode of the terminal. */
const PID = /^pid=(\d+)\r?\n/
const MODE_LABEL = 'left='

export interface TerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
  /** shell text after the arguments of the command line, such as `</dev/null` */
  readonly redirection?: string
  /** the command line of another installation */
  readonly program?: string
}

export class Terminal implements Disposable {
  readonly #child: ChildProcess
  readonly #home: string
  #size: { readonly columns: number; readonly rows: number }
  #written = ''
  /** the exit code of the command line */
  readonly exitCode: Promise<number | null>

  constructor(home: string, args: readonly string[], options: TerminalOptions = {}) {
    const { columns = 80, rows = 24, env = {}, redirection = '', program = CLI } = options
    this.#home = home
    this.#size = { columns, rows }
    const words = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
    const inner = `echo pid=$$; exec ${words} ${redirection}`
    const command = `trap : INT; stty cols ${columns} rows ${rows}; sh -c "$INNER"; code=$?; echo; echo ${MODE_LABEL}$(stty -a | grep -ow -e -icanon -e icanon -e -echo -e echo | tr '\\n' ' '); exit $code`
    this.#child = spawn(SCRIPT, ['-qfec', command, '/dev/null'], {
      cwd: home,
      env: testEnv(home, { TERM: 'xterm', INNER: inner, ...env }),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#written += text))
    this.exitCode = new Promise((resolve) => this.#child.on('close', resolve))
  }

  /** the whole output, with its escapes */
  get raw(): string {
    return this.#written.replace(PID, '').replace(/\r?\n?left=.*\r?\n$/, '')
  }

  /** the process of the command line */
  get process(): LivingProcess {
    return findOwnProcess(Number(PID.exec(this.#written)?.[1]), this.#home)
  }

  /** Sets the terminal's width. `isRedrawn`: the program draws everything again, so that `screen` uses the new width. */
  resize(columns: number, isRedrawn = false): void {
    if (isRedrawn) this.#size = { ...this.#size, columns }
    const { status } = spawnSync('stty', ['-F', readlinkSync(`/proc/${this.process.pid}/fd/2`), 'cols', String(columns)], {
      stdio: 'ignore',
    })
    if (status !== 0) throw new Error('stty could not set the width of the terminal')
  }

  /** whether the terminal had its normal mode when the command line had ended */
  get isRestored(): boolean {
    return this.#written.includes(`${MODE_LABEL}icanon echo\r`)
  }

  /** the screen, and the lines that have scrolled off it */
  get screen(): TerminalEmulator {
    const vt = new TerminalEmulator(this.#size.columns, this.#size.rows)
    // The output so far may end within an escape sequence.
    vt.write(this.raw.replaceAll('\r\n', '\n').replace(/\x1b(\[[?0-9;]*)?$/, ''))
    return vt
  }

  get text(): string {
    return this.screen.lines.join('\n')
  }

  /** Removes the terminal and ends all programs on it. */
  [Symbol.dispose](): void {
    if (this.#child.exitCode === null) this.#child.kill()
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys)
  }

  /**
   * Reads this number of characters each second, as a slow connection does, until the result is disposed. Buffers on the way fill up, until
   * the command line can write no more.
   */
  readSlowly(charsPerSecond: number): Disposable {
    const { stdout } = this.#child
    stdout?.pause()
    const timer = setInterval(() => stdout?.read(charsPerSecond), 1_000)
    return {
      [Symbol.dispose]: () => {
        clearInterval(timer)
        stdout?.resume()
      },
    }
  }

  /** Resolves when this text is on the screen; rejects with the screen if it never comes. */
  waitForText(expected: string | RegExp): Promise<void> {
    return this.waitFor(() => (typeof expected === 'string' ? this.text.includes(expected) : expected.test(this.text)), expected)
  }

  /** Resolves when the condition holds; checks it at each output. `expected`: the condition in words. */
  async waitFor(isThere: () => boolean, expected: string | RegExp): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const checkText = (): void => {
      if (isThere()) resolve()
    }
    const missing = (how: string) => (): void => reject(new Error(`${how} without showing ${expected}:\n${this.text}`))
    const ended = missing('ended')
    const limit = setTimeout(missing('ran on'), LIMIT_MS)
    this.#child.stdout?.on('data', checkText)
    this.#child.on('close', ended)
    if (this.#child.exitCode !== null && !isThere()) ended()
    checkText()
    try {
      await promise
    } finally {
      clearTimeout(limit)
      this.#child.stdout?.off('data', checkText)
      this.#child.off('close', ended)
    }
  }
}
