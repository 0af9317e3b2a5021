// Reads single keys from the terminal until it is disposed. Must restore the terminal, even if an error or a handled signal ends the
// program. Test: test/e2e/cli/attach.test.ts.
import { emitKeypressEvents } from 'node:readline'
import type { Key } from './line-editor.ts'

/** Turns bracketed paste on, so that newlines in a paste do not send the message. */
const PASTE_ON = '\x1b[?2004h'
const PASTE_OFF = '\x1b[?2004l'

export class Keyboard implements Disposable {
  readonly #input = process.stdin
  readonly #output = process.stderr
  readonly #onKeypress: (text: string | undefined, key: Key) => void
  readonly #onInputClosed: () => void
  #isDisposed = false

  /** `onInputClosed` is called when the terminal has no more input. */
  constructor(onKey: (key: Key) => void, onInputClosed: () => void) {
    this.#onKeypress = (text, key) => onKey({ ...key, sequence: key.sequence ?? text })
    this.#onInputClosed = onInputClosed
    emitKeypressEvents(this.#input)
    this.#input.on('keypress', this.#onKeypress).on('end', this.#onInputClosed).on('error', this.#onInputClosed)
    this.#input.setRawMode(true)
    this.#input.resume()
    this.#output.write(PASTE_ON)
    process.on('exit', this.#dispose)
  }

  [Symbol.dispose](): void {
    this.#dispose()
  }

  #dispose = (): void => {
    if (this.#isDisposed) return
    this.#isDisposed = true
    process.off('exit', this.#dispose)
    this.#input.off('keypress', this.#onKeypress).off('end', this.#onInputClosed).off('error', this.#onInputClosed)
    this.#output.write(PASTE_OFF)
    this.#input.setRawMode(false)
    this.#input.pause()
  }
}
