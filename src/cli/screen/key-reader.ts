// Reads keys from the bytes of a terminal, and separates the terminal's own reports (focus, mouse) from them. node:readline names the keys.
// A sequence may arrive in two parts: an escape character waits a short time for the rest, before it counts as the Esc key.
// Test: test/tables/cli/screen/key-reader.test.ts.
import { emitKeypressEvents } from 'node:readline'
import { PassThrough } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Key } from './line-editor.ts'

/** A report of the terminal that is not a key. Rows count from 0. */
export type TerminalReport =
  | { readonly type: 'focus'; readonly has: boolean }
  | { readonly type: 'wheel'; readonly by: -1 | 1 }
  | { readonly type: 'click'; readonly row: number }

/** how long an incomplete sequence waits for its rest */
const ESCAPE_WAIT_MS = 50
const REPORT = /\x1b\[(?:([IO])|<(\d+);\d+;(\d+)([Mm]))/g
const BEGUN_SEQUENCE = /\x1b(?:\[(?:<[\d;]*)?)?$/

export class KeyReader implements Disposable {
  readonly #decoder = new StringDecoder('utf8')
  readonly #keys = new PassThrough()
  readonly #onReport: (report: TerminalReport) => void
  /** the beginning of a sequence whose rest may still arrive */
  #begun = ''
  #timer: NodeJS.Timeout | undefined

  constructor(onKey: (key: Key) => void, onReport: (report: TerminalReport) => void) {
    this.#onReport = onReport
    emitKeypressEvents(this.#keys)
    this.#keys.on('keypress', (text: string | undefined, key: Key) => onKey({ ...key, sequence: key.sequence ?? text }))
    this.#keys.resume()
  }

  push(bytes: Buffer): void {
    clearTimeout(this.#timer)
    const text = (this.#begun + this.#decoder.write(bytes)).replace(REPORT, this.#takeReport)
    this.#begun = BEGUN_SEQUENCE.exec(text)?.[0] ?? ''
    this.#pass(text.slice(0, text.length - this.#begun.length))
    if (this.#begun !== '') this.#timer = setTimeout(this.#passBegun, ESCAPE_WAIT_MS)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#keys.destroy()
  }

  #passBegun = (): void => {
    const text = this.#begun
    this.#begun = ''
    if (text === '\x1b') this.#keys.emit('keypress', undefined, { name: 'escape', sequence: '\x1b' })
    else this.#pass(text)
  }

  #pass(text: string): void {
    if (text !== '') this.#keys.write(text)
  }

  #takeReport = (_: string, focus: string | undefined, button = '', row = '', end = ''): string => {
    if (focus !== undefined) this.#onReport({ type: 'focus', has: focus === 'I' })
    else if (button === '64' || button === '65') this.#onReport({ type: 'wheel', by: button === '64' ? -1 : 1 })
    else if (button === '0' && end === 'M') this.#onReport({ type: 'click', row: Number(row) - 1 })
    return ''
  }
}
