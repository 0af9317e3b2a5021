// Filters the raw output of a program for the terminal. Colours stay, carriage returns become newlines, and other control characters become
// visible text. Each stream has its own instance, because a chunk can end within a sequence. Test: test/tables/cli/print/text.test.ts.

/** the greatest length of an incomplete colour sequence that is withheld until the next chunk */
const MAX_SEQUENCE_CHARS = 64
const COLOUR = /^\x1b\[[0-9;:]*m/
const MAYBE_COLOUR = /^\x1b(\[[0-9;:]*)?$/
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** The filter of one stream. */
export class TerminalFilter {
  /** the incomplete sequence at the end of the last chunk */
  #partialSequence = ''
  #hasColours = false

  /** Returns the printable part of a chunk. */
  push(text: string): string {
    let rest = this.#partialSequence + text
    this.#partialSequence = ''
    let shown = ''
    while (rest !== '') {
      const at = rest.search(/[\x1b\r]/)
      if (at < 0) return shown + toVisible(rest)
      shown += toVisible(rest.slice(0, at))
      rest = rest.slice(at)
      if (this.#isCut(rest)) {
        this.#partialSequence = rest
        return shown
      }
      const sequence = COLOUR.exec(rest)?.[0] ?? (rest.startsWith('\r\n') ? '\r\n' : (rest[0] ?? ''))
      shown += this.#render(sequence)
      rest = rest.slice(sequence.length)
    }
    return shown
  }

  /** Returns the withheld part, and a reset if there were colours. */
  end(): string {
    const rest = toVisible(this.#partialSequence)
    this.#partialSequence = ''
    return rest + (this.#hasColours ? '\x1b[0m' : '')
  }

  #isCut(rest: string): boolean {
    return rest === '\r' || (rest.length < MAX_SEQUENCE_CHARS && MAYBE_COLOUR.test(rest))
  }

  #render(sequence: string): string {
    if (sequence === '\r\n') return '\n'
    // A carriage return alone would overwrite earlier output, so it becomes a newline.
    if (sequence === '\r') return '\n'
    if (sequence.length === 1) return toVisible(sequence)
    this.#hasColours = true
    return sequence
  }
}

function toVisible(text: string): string {
  return text.replace(CONTROL, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
