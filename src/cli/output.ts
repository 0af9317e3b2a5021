// Where a verb's answer goes: data to stdout, words to stderr, and how they may look there (colour, width, characters).
// A reader that went away (EPIPE) ends the command quietly. Test: test/tables/cli-views.test.ts.
import { safe } from './text.ts'

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan'
const STYLES: Readonly<Record<Style, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 }

export interface OutputOptions {
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
}

type Env = Readonly<Record<string, string | undefined>>

/** Lines that stay at the bottom of the terminal, below all that is written. */
export interface Below {
  /** what to write so that this text comes above them */
  around(text: string): string
  ask(question: string): void
  answered(): void
}

export type Streams = Readonly<Record<'stdout' | 'stderr', NodeJS.WriteStream>>

export class Output {
  readonly json: boolean
  readonly quiet: boolean
  /** only characters of ASCII of our own */
  readonly ascii: boolean
  below: Below | null = null
  /** made when first used: each takes its time */
  readonly #streams: Streams
  readonly #color: boolean
  readonly #env: Env
  #midLine = false
  /** a line on stderr whose end is not there yet */
  #begun: string | null = null

  constructor(options: OutputOptions, env: Env = process.env, streams: Streams = process) {
    this.#streams = streams
    this.json = options.json
    this.quiet = options.quiet
    this.ascii = isAscii(env)
    this.#env = env
    this.#color = options.color && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  }

  /** The width that a line of stdout may have. */
  get columns(): number {
    const columns = this.isTerminal('stdout') ? this.#streams.stdout.columns : Number(this.#env['COLUMNS'])
    return columns > 0 ? columns : Infinity
  }

  /** The width of a line of words on a terminal. */
  get wordColumns(): number {
    return this.#streams.stderr.columns || 80
  }

  /** Does a person look at it? */
  isTerminal(name: 'stdout' | 'stderr'): boolean {
    return Boolean(this.#streams[name].isTTY)
  }

  /** May lines at its bottom be redrawn: a person looks at a terminal that can, and wants words? */
  get isLively(): boolean {
    return !this.json && !this.quiet && this.isTerminal('stderr') && this.canRedraw
  }

  /** Is it a terminal that can write where it has written before? */
  get canRedraw(): boolean {
    return this.#env['TERM'] !== 'dumb'
  }

  /** A line of data. Resolves when it may be followed by more: a slow reader slows the writer. */
  async line(text: string): Promise<void> {
    await this.raw('stdout', `${text}\n`)
  }

  /** With `--json`: the one object that is the answer. */
  async value(value: object): Promise<void> {
    await this.line(JSON.stringify({ version: 1, ...value }, null, 2))
  }

  /** With `--json`: one of many. */
  async record(value: object): Promise<void> {
    await this.line(JSON.stringify(value))
  }

  /** A line for people, on stderr; nothing with `-q`. */
  async words(text: string): Promise<void> {
    if (this.quiet) return
    await this.raw('stderr', `${this.#gap()}${text}\n`)
  }

  /** A line for people that `finish` ends; for a terminal only. */
  async begin(key: string, text: string): Promise<void> {
    // What is under way stands at the bottom, if anything does.
    if (this.quiet || this.below || !this.isTerminal('stderr')) return
    await this.raw('stderr', `${this.#gap()}${text}`)
    this.#begun = key
  }

  /** Ends the line that was begun with this key, or says all of it if other text came between. */
  async finish(key: string, text: string, end: string): Promise<void> {
    if (this.#begun !== key) return this.words(`${text}${end}`)
    this.#begun = null
    await this.raw('stderr', `${end}\n`)
  }

  /** A question to the person, whose answer is one key; `answered` takes it away. */
  ask(question: string): void {
    this.#begun = null
    if (this.below) this.below.ask(question)
    else this.#streams.stderr.write(`\n${this.paintWords('bold', question)}`)
  }

  answered(): void {
    if (this.below) this.below.answered()
    else this.#streams.stderr.write('\n')
  }

  /** Text that is being written without its newline must not be joined with other. */
  #gap(): string {
    const isOpen = (this.#midLine && this.isTerminal('stderr')) || this.#begun !== null
    this.#midLine = false
    this.#begun = null
    return isOpen ? '\n' : ''
  }

  /** Text of stdout as it comes, in pieces. */
  async piece(text: string): Promise<void> {
    if (text === '') return
    if (this.#begun !== null) await this.raw('stderr', this.#gap())
    this.#midLine = !/\n(\x1b\[[0-9;:]*m)*$/.test(text) && this.isTerminal('stdout')
    await this.raw('stdout', text)
  }

  /** Text as it is. */
  async raw(name: 'stdout' | 'stderr', text: string): Promise<void> {
    const stream = endWithReader(this.#streams[name])
    const whole = this.below && stream.isTTY ? this.below.around(text) : text
    // One without a reader never drains.
    if (whole === '' || stream.destroyed || stream.write(whole)) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stream.off('drain', done).off('error', done)
        resolve()
      }
      stream.on('drain', done).on('error', done)
    })
  }

  paint(style: Style, text: string): string {
    return this.#color && this.isTerminal('stdout') ? styled(style, text) : text
  }

  paintWords(style: Style, text: string): string {
    return this.#color && this.isTerminal('stderr') ? styled(style, text) : text
  }

  /** Marks a suspended process. */
  get arrow(): string {
    return this.ascii ? '->' : '→'
  }

  get pauseMark(): string {
    return this.ascii ? '[P]' : '⏸'
  }

  get ellipsis(): string {
    return this.ascii ? '..' : '…'
  }
}

/** A reader that went away ends the command quietly. */
export function endWithReader(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (stream.listenerCount('error') > 0) return stream
  return stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit()
    throw error
  })
}

/** An error, for people: what, and what can be done. With `--json` the error's body, still on stderr. */
export function errorText(error: unknown, json: boolean): string {
  const { message, code, hint, details } = error as { message: string; code?: string; hint?: string; details?: Record<string, unknown> }
  if (json) return JSON.stringify({ version: 1, error: { code: code ?? 'INVALID', message, hint: hint ?? '', ...(details ? { details } : {}) } })
  return safe(hint ? `reeve: ${message}\n       ${hint}` : `reeve: ${message}`)
}



function styled(style: Style, text: string): string {
  return `\x1b[${STYLES[style]}m${text}\x1b[0m`
}

function isAscii(env: Env): boolean {
  if (env['REEVE_ASCII'] === '1') return true
  return !/utf-?8/i.test(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '')
}
