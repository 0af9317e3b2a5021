// SIGINT and SIGTERM while a process is started and followed. On a terminal the first Ctrl+C asks what is meant and the
// second stops; without one each means stop, and the next one kill. A reader that went away means stop. Who only looks on
// (`attach`) leaves instead. Listens from before the start, so that a signal in between is not lost. Must give the terminal
// back as it was.
// Test: test/e2e/cli-run.test.ts.
import { endWithReader, type Output } from './output.ts'

/** What a person can want of the process that is followed. */
export type Wish = 'detach' | 'interrupt' | 'stop' | 'kill'

export const QUESTION = '(d)etach, (i)nterrupt the turn, (s)top? Any other key goes on. '
/** Where no turn is on. */
export const QUESTION_READY = '(d)etach, (s)top? Any other key goes on. '
/** What each key answers. */
export const BY_KEY: Readonly<Record<string, Wish>> = { d: 'detach', i: 'interrupt', s: 'stop', '\x03': 'stop' }
/** 128 + SIGINT */
const INTERRUPTED = 130

export class Interrupts implements Disposable {
  readonly #out: Output
  readonly #leaves: boolean
  readonly #question: string
  #handler: ((wish: Wish) => void) | undefined
  /** stops that were asked for before anybody could be told */
  #early = 0
  #stops = 0
  #isAsking = false
  #isUnread = false

  constructor(out: Output, { leaves, question = QUESTION }: { leaves: boolean; question?: string }) {
    this.#out = out
    this.#leaves = leaves
    this.#question = question
    process.on('SIGINT', this.#interrupted)
    process.on('SIGTERM', this.#stop)
    process.stdout.on('error', this.#unread)
    process.stderr.on('error', this.#unread)
  }

  /** From now on there is a process that wishes can be about. */
  pass(handler: (wish: Wish) => void): void {
    this.#handler = handler
    if (this.#early > 0) this.#stop()
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#interrupted)
    process.off('SIGTERM', this.#stop)
    for (const stream of [process.stdout, process.stderr]) endWithReader(stream.off('error', this.#unread))
    process.stdin.off('data', this.#answer)
    if (this.#isAsking) this.#quiet()
  }

  #interrupted = (): void => {
    const hasTerminal = Boolean(process.stdin.isTTY && process.stderr.isTTY)
    if (hasTerminal && !this.#leaves && this.#handler && !this.#isAsking && this.#stops === 0) this.#ask()
    else this.#stop()
  }

  #stop = (): void => {
    if (!this.#handler) {
      if (this.#early++ > 0) process.exit(INTERRUPTED)
    } else this.#handler(this.#leaves ? 'detach' : this.#stops++ === 0 ? 'stop' : 'kill')
  }

  /** Nobody reads what it says: a program would get SIGPIPE. */
  #unread = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
    if (!this.#isUnread) this.#stop()
    this.#isUnread = true
  }

  #ask(): void {
    this.#isAsking = true
    this.#out.ask(this.#question)
    process.stdin.setRawMode(true)
    process.stdin.resume()
    process.stdin.once('data', this.#answer)
  }

  #answer = (keys: Buffer): void => {
    this.#quiet()
    this.#out.answered()
    const meant = BY_KEY[keys.toString('latin1')[0] ?? '']
    if (meant === 'stop') this.#stop()
    else if (meant) this.#handler?.(meant)
  }

  /** Back to normal typing. */
  #quiet(): void {
    this.#isAsking = false
    process.stdin.setRawMode(false)
    process.stdin.pause()
  }
}
