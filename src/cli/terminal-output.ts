// A program's raw output on our terminal: colours pass, everything else that a terminal would obey is made visible.
// One per stream, as a sequence may be cut in two by a chunk. Test: test/tables/cli-text.test.ts.

/** The longest colour sequence that is waited for when a chunk ends inside it. */
const MAX_SEQUENCE = 64
const COLOUR = /^\x1b\[[0-9;:]*m/
const MAYBE_COLOUR = /^\x1b(\[[0-9;:]*)?$/
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

export class TerminalOutput {
  #held = ''
  #coloured = false

  /** What may be written now of this piece of output. */
  push(text: string): string {
    let rest = this.#held + text
    this.#held = ''
    let shown = ''
    while (rest !== '') {
      const at = rest.search(/[\x1b\r]/)
      if (at < 0) return shown + visible(rest)
      shown += visible(rest.slice(0, at))
      rest = rest.slice(at)
      if (this.#isCut(rest)) {
        this.#held = rest
        return shown
      }
      const taken = COLOUR.exec(rest)?.[0] ?? (rest.startsWith('\r\n') ? '\r\n' : rest[0] ?? '')
      shown += this.#rendered(taken)
      rest = rest.slice(taken.length)
    }
    return shown
  }

  /** What was held back, and the end of its colours. */
  end(): string {
    const rest = visible(this.#held)
    this.#held = ''
    return rest + (this.#coloured ? '\x1b[0m' : '')
  }

  #isCut(rest: string): boolean {
    return rest === '\r' || (rest.length < MAX_SEQUENCE && MAYBE_COLOUR.test(rest))
  }

  #rendered(taken: string): string {
    if (taken === '\r\n') return '\n'
    // A lone return would let a program write over what was said before: it becomes a new line.
    if (taken === '\r') return '\n'
    if (taken.length === 1) return visible(taken)
    this.#coloured = true
    return taken
  }
}

function visible(text: string): string {
  return text.replace(CONTROL, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
