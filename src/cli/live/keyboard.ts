// The keys of a terminal, one by one, while this is not disposed of. Must give the terminal back as it was, also when the
// program ends by an error or a signal that is handled. Test: test/e2e/cli-attach.test.ts.
import { emitKeypressEvents } from 'node:readline'
import type { Key } from './line-editor.ts'

/** A paste is told apart from typing, so that its newlines do not send it. */
const PASTE_ON = '\x1b[?2004h'
const PASTE_OFF = '\x1b[?2004l'

export class Keyboard implements Disposable {
  readonly #input = process.stdin
  readonly #output = process.stderr
  readonly #pressed: (text: string | undefined, key: Key) => void
  readonly #gone: () => void
  #isOver = false

  /** `gone` is called when the terminal has no more keys to give. */
  constructor(pressed: (key: Key) => void, gone: () => void) {
    this.#pressed = (text, key) => pressed({ ...key, sequence: key.sequence ?? text })
    this.#gone = gone
    emitKeypressEvents(this.#input)
    this.#input.on('keypress', this.#pressed).on('end', this.#gone).on('error', this.#gone)
    this.#input.setRawMode(true)
    this.#input.resume()
    this.#output.write(PASTE_ON)
    process.on('exit', this.#end)
  }

  [Symbol.dispose](): void {
    this.#end()
  }

  #end = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    process.off('exit', this.#end)
    this.#input.off('keypress', this.#pressed).off('end', this.#gone).off('error', this.#gone)
    this.#output.write(PASTE_OFF)
    this.#input.setRawMode(false)
    this.#input.pause()
  }
}
