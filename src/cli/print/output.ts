// Prints the output of a verb: data on stdout, messages on stderr, with the colours, width and characters that the terminal supports. If
// the reader has gone (EPIPE), the command ends without a message.
// Tests: test/tables/cli/follow/live-printer.test.ts, test/tables/cli/print/process-text.test.ts.
import { stripControls } from './text.ts'
import type { TextWrapper } from './prose.ts'

type Style = 'bold' | 'dim' | 'italic' | 'underline' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'inverse'
/** the number of each style in an escape sequence */
const STYLES: Readonly<Record<Style, number>> = {
  bold: 1,
  dim: 2,
  italic: 3,
  underline: 4,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
  inverse: 7,
}

/** the longest time for which an unfinished word is withheld, in ms */
const MAX_WORD_DELAY_MS = 250

export interface OutputOptions {
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
}

type Env = Readonly<Record<string, string | undefined>>

/** Lines that stay at the bottom of the terminal, below all output. */
export interface BottomLines {
  /** returns the bytes that print `text` above the lines */
  renderAbove(text: string): string
  /** shows a question */
  showQuestion(question: string): void
  /** removes the question */
  hideQuestion(): void
}

export type Streams = Readonly<Record<'stdout' | 'stderr', NodeJS.WriteStream>>

export class Output {
  readonly json: boolean
  readonly quiet: boolean
  /** whether the symbols of reeve must be ASCII */
  readonly ascii: boolean
  /** null: no lines at the bottom of the terminal */
  bottomLines: BottomLines | null = null
  /** draws and wraps the text of agents; null: it is printed as it is */
  wrapper: TextWrapper | null = null
  /** used only when needed: Node creates each stream at its first use, which takes time */
  readonly #streams: Streams
  readonly #color: boolean
  readonly #env: Env
  #wordTimer: NodeJS.Timeout | undefined
  #flushed: Promise<void> | undefined
  /** whether the last output on stdout ended within a line */
  #isMidLine = false
  /** the key of the unfinished message line on stderr, if there is one */
  #openLineKey: string | null = null

  constructor(options: OutputOptions, env: Env = process.env, streams: Streams = process) {
    this.#streams = streams
    this.json = options.json
    this.quiet = options.quiet
    this.ascii = isAscii(env)
    this.#env = env
    this.#color = options.color && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  }

  /** The greatest width of a line on stdout; Infinity without a limit. */
  get columns(): number {
    const columns = this.isTerminal('stdout') ? this.#streams.stdout.columns : Number(this.#env['COLUMNS'])
    return columns > 0 ? columns : Infinity
  }

  /** The greatest width of a message line on stderr. */
  get messageColumns(): number {
    return this.#streams.stderr.columns || 80
  }

  /** The width at which text is wrapped; Infinity for files, whose text is not wrapped. */
  proseColumns(name: 'stdout' | 'stderr'): number {
    return this.isTerminal(name) ? this.#streams[name].columns || 80 : Infinity
  }

  /** The stream of message lines. */
  get messageStream(): NodeJS.WriteStream {
    return this.#streams.stderr
  }

  /** Whether the stream is a terminal. */
  isTerminal(name: 'stdout' | 'stderr'): boolean {
    return Boolean(this.#streams[name].isTTY)
  }

  /** Whether to show lines at the bottom: stderr is a terminal that can redraw them, and neither `--json` nor `-q` is given. */
  get isLively(): boolean {
    return !this.json && !this.quiet && this.isTerminal('stderr') && this.canRedraw
  }

  /** Whether the terminal can overwrite earlier output. */
  get canRedraw(): boolean {
    return this.#env['TERM'] !== 'dumb'
  }

  /** Prints a line of data. Resolves when more can be written, so that the command is not faster than its reader. */
  async line(text: string): Promise<void> {
    await this.raw('stdout', `${text}\n`)
  }

  /** Prints the result of `--json`: one object. */
  async value(value: object): Promise<void> {
    await this.line(JSON.stringify({ version: 1, ...value }, null, 2))
  }

  /** Prints one of several objects of `--json`, on one line. */
  async record(value: object): Promise<void> {
    await this.line(JSON.stringify(value))
  }

  /** Prints a message line on stderr; nothing with `-q`. */
  async message(text: string): Promise<void> {
    if (this.quiet) return
    await this.#flushText()
    await this.raw('stderr', `${this.#lineBreak()}${text}\n`)
  }

  /**
   * Begins a message line, which `finishLine` ends. Does nothing without a terminal, with `-q`, or while lines are at the bottom: then
   * `finishLine` prints the whole line.
   */
  async beginLine(key: string, text: string): Promise<void> {
    // Lines at the bottom already show the current activity.
    if (this.quiet || this.bottomLines || !this.isTerminal('stderr')) return
    await this.#flushText()
    await this.raw('stderr', `${this.#lineBreak()}${text}`)
    this.#openLineKey = key
  }

  /** Ends the line of this key. If the line is no longer open, prints all of it. */
  async finishLine(key: string, text: string, end: string): Promise<void> {
    if (this.#openLineKey !== key) return this.message(`${text}${end}`)
    this.#openLineKey = null
    await this.raw('stderr', `${end}\n`)
  }

  /** Shows a question that the user answers with one key. `hideQuestion` removes it. */
  showQuestion(question: string): void {
    this.#openLineKey = null
    if (this.bottomLines) this.bottomLines.showQuestion(question)
    else this.#streams.stderr.write(`\n${this.paintMessage('bold', question)}`)
  }

  /** Removes the question. */
  hideQuestion(): void {
    if (this.bottomLines) this.bottomLines.hideQuestion()
    else this.#streams.stderr.write('\n')
  }

  /** Returns a newline if the next message would continue an unfinished line; forgets that line. */
  #lineBreak(): string {
    const isOpen = (this.#isMidLine && this.isTerminal('stderr')) || this.#openLineKey !== null
    this.#isMidLine = false
    this.#openLineKey = null
    return isOpen ? '\n' : ''
  }

  /** Prints a piece of the text of an agent; on a terminal wrapped between words. */
  async prose(text: string): Promise<void> {
    const { wrapper } = this
    await this.#writeText(wrapper?.push(text, this.proseColumns('stdout')) ?? text)
    if (wrapper?.hasPending)
      this.#wordTimer = setTimeout(() => {
        this.#flushed = this.piece(wrapper.flush())
      }, MAX_WORD_DELAY_MS).unref()
  }

  /** Ends the text of an agent. */
  async proseEnd(): Promise<void> {
    await this.#writeText(this.wrapper?.end() ?? '')
  }

  /** Prints withheld text before a message interrupts it. */
  async #flushText(): Promise<void> {
    if (this.isTerminal('stderr')) await this.#writeText(this.wrapper?.pause() ?? '')
  }

  async #writeText(text: string): Promise<void> {
    clearTimeout(this.#wordTimer)
    await this.#flushed
    await this.piece(text)
  }

  /** Prints a piece of text on stdout, without a newline. */
  async piece(text: string): Promise<void> {
    if (text === '') return
    if (this.#openLineKey !== null) await this.raw('stderr', this.#lineBreak())
    this.#isMidLine = !/\n(\x1b\[[0-9;:]*m)*$/.test(text) && this.isTerminal('stdout')
    await this.raw('stdout', text)
  }

  /** Prints text unchanged. */
  async raw(name: 'stdout' | 'stderr', text: string): Promise<void> {
    const stream = exitOnBrokenPipe(this.#streams[name])
    const written = this.bottomLines && stream.isTTY ? this.bottomLines.renderAbove(text) : text
    // A stream whose reader has gone never emits `drain`.
    if (written === '' || stream.destroyed || stream.write(written)) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stream.off('drain', done).off('error', done)
        resolve()
      }
      stream.on('drain', done).on('error', done)
    })
  }

  /** Returns the text with a style, if stdout shows colours. */
  paint(style: Style, text: string): string {
    return this.#color && this.isTerminal('stdout') ? applyStyle(style, text) : text
  }

  /** Returns the text with a style, if stderr shows colours. */
  paintMessage(style: Style, text: string): string {
    return this.#color && this.isTerminal('stderr') ? applyStyle(style, text) : text
  }

  /** The arrow in messages. */
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

/** Makes the program end without a message when the reader of the stream has gone. Returns the stream. */
export function exitOnBrokenPipe(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (stream.listenerCount('error') > 0) return stream
  return stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit()
    throw error
  })
}

/** Returns the text of an error with its hint, or the JSON object of the error. Callers print it on stderr. */
export function errorText(error: unknown, isJson: boolean): string {
  const { message, code, hint, details } = error as { message: string; code?: string; hint?: string; details?: Record<string, unknown> }
  if (isJson)
    return JSON.stringify({ version: 1, error: { code: code ?? 'INVALID', message, hint: hint ?? '', ...(details ? { details } : {}) } })
  return stripControls(hint ? `reeve: ${message}\n       ${hint}` : `reeve: ${message}`)
}

function applyStyle(style: Style, text: string): string {
  return `\x1b[${STYLES[style]}m${text}\x1b[0m`
}

function isAscii(env: Env): boolean {
  if (env['REEVE_ASCII'] === '1') return true
  return !/utf-?8/i.test(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '')
}
