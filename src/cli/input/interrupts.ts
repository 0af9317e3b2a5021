// Handles SIGINT and SIGTERM while a process is started and followed. On a terminal the first Ctrl+C asks what to do, and the second
// stops the process. Without a terminal the first signal stops it, and the next one kills it. A closed output also stops it. A verb that
// only watches (`attach`) detaches instead. Created before the process starts, so that no signal is lost. Must restore the terminal. Test:
// test/e2e/cli/run.test.ts.
import { SIGINT_EXIT } from '../errors.ts'
import { exitOnBrokenPipe, type Output } from '../print/output.ts'

/** The actions that the user can choose for the followed process. */
export type UserAction = 'detach' | 'interrupt' | 'stop' | 'kill'

export const TURN_QUESTION = '(d)etach, (i)nterrupt the turn, (s)top? Any other key continues. '
/** The question if no turn can be interrupted. */
export const READY_QUESTION = '(d)etach, (s)top? Any other key continues. '
/** The action of each key. */
export const ACTION_BY_KEY: Readonly<Record<string, UserAction>> = { d: 'detach', i: 'interrupt', s: 'stop', '\x03': 'stop' }

export class Interrupts implements Disposable {
  readonly #out: Output
  readonly #detachOnly: boolean
  readonly #question: string
  #handler: ((action: UserAction) => void) | undefined
  /** the stops that were requested before the process existed */
  #earlyStopCount = 0
  #stopCount = 0
  #isAsking = false
  #isPipeBroken = false

  constructor(out: Output, { detachOnly, question = TURN_QUESTION }: { detachOnly: boolean; question?: string }) {
    this.#out = out
    this.#detachOnly = detachOnly
    this.#question = question
    process.on('SIGINT', this.#onInterrupt)
    process.on('SIGTERM', this.#stop)
    process.stdout.on('error', this.#onBrokenPipe)
    process.stderr.on('error', this.#onBrokenPipe)
  }

  /** Called when the process exists: from now on `handler` receives the actions, first a stop that was requested earlier. */
  onAction(handler: (action: UserAction) => void): void {
    this.#handler = handler
    if (this.#earlyStopCount > 0) this.#stop()
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#onInterrupt)
    process.off('SIGTERM', this.#stop)
    for (const stream of [process.stdout, process.stderr]) exitOnBrokenPipe(stream.off('error', this.#onBrokenPipe))
    process.stdin.off('data', this.#onKey)
    if (this.#isAsking) this.#restoreInput()
  }

  #onInterrupt = (): void => {
    const hasTerminal = Boolean(process.stdin.isTTY && process.stderr.isTTY)
    if (hasTerminal && !this.#detachOnly && this.#handler && !this.#isAsking && this.#stopCount === 0) this.#ask()
    else this.#stop()
  }

  #stop = (): void => {
    if (!this.#handler) {
      if (this.#earlyStopCount++ > 0) process.exit(SIGINT_EXIT)
    } else this.#handler(this.#detachOnly ? 'detach' : this.#stopCount++ === 0 ? 'stop' : 'kill')
  }

  /** Stops the process when the reader of the output is gone. Other programs are killed by SIGPIPE in this case. */
  #onBrokenPipe = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
    if (!this.#isPipeBroken) this.#stop()
    this.#isPipeBroken = true
  }

  #ask(): void {
    this.#isAsking = true
    this.#out.showQuestion(this.#question)
    process.stdin.setRawMode(true)
    process.stdin.resume()
    process.stdin.once('data', this.#onKey)
  }

  #onKey = (keys: Buffer): void => {
    this.#restoreInput()
    this.#out.hideQuestion()
    const action = ACTION_BY_KEY[keys.toString('latin1')[0] ?? '']
    if (action === 'stop') this.#stop()
    else if (action) this.#handler?.(action)
  }

  /** Ends the raw mode of the terminal. */
  #restoreInput(): void {
    this.#isAsking = false
    process.stdin.setRawMode(false)
    process.stdin.pause()
  }
}
