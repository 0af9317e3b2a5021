// Wraps the text of an agent for a terminal while the text arrives in pieces. Lines break between words, and list items keep their
// indentation. Code and URLs are not broken, so that they can be copied. The text must not contain control characters except colours.
// Pure. Test: test/tables/cli/print/prose.test.ts.
import { unfinishedLength } from '../screen/cursor.ts'
import { isPrintableAscii, displayWidth, graphemesOf, stripColours } from './text.ts'

/** the greatest length of the marker that begins a list item, a quotation or a fence */
const MAX_MARKER_CHARS = 12
const MARKER = /^([-*+\u2022]|\d{1,9}[.)]|>+)$/
/** Matches the beginning of a word that may become a marker. */
const MAYBE_MARKER = /^([-*+\u2022>`~\d]|$)/
const FENCE = /^(`{3,}|~{3,})([^`]*)$/
/** the indentation, in addition to that of the list, that makes a line code */
const CODE_INDENT = 4
/** Characters that must not end a line (`OPENS`), and characters that must not begin one (`CLOSES`). */
const OPENS = /^[\uff08\u300c\u300e\u3010\u3014\u3008\u300a\uff3b\uff5b]+$/
const CLOSES =
  /^[\uff09\u300d\u300f\u3011\u3015\u3009\u300b\uff3d\uff5d\u3001\u3002\uff0c\uff0e\uff1a\uff1b\uff1f\uff01\u2026\u2025\u30fc\u3005\u3041\u3043\u3045\u3047\u3049\u3063\u3083\u3085\u3087\u30a1\u30a3\u30a5\u30a7\u30a9\u30c3\u30e3\u30e5\u30e7]/
/** the greatest length of a word that may be broken between wide characters */
const MAX_BREAKABLE_CHARS = 1000
/** Matches a URL up to CJK punctuation, which often follows without a space. */
const URL_PATTERN = /[a-z][a-z0-9+.-]*:\/\/[^\s\uff09\u300d\u300f\u3011\u3015\u3009\u300b\u3001\u3002\uff0c\uff1b\uff01]*/i

/** Wraps a complete text at `columns`. `margin` precedes each line except the first. */
export function wrapText(text: string, columns: number, margin = ''): string {
  const wrapper = new ProseWrapper()
  const lines = wrapper.push(text, columns - displayWidth(margin)) + wrapper.end()
  return margin === '' ? lines : lines.replaceAll('\n', `\n${margin}`)
}

/** Takes text in pieces, and returns the parts that a terminal can print. The rest is withheld until more text arrives. */
export interface TextWrapper {
  push(text: string, columns: number): string
  readonly hasPending: boolean
  flush(): string
  pause(): string
  end(): string
}

/** Wraps text that arrives in pieces. */
export class ProseWrapper implements TextWrapper {
  #columns = 80
  /** withheld text: the beginning of a line, or an unfinished word */
  #pending = ''
  /** spaces that are printed with the next word, if that is on the same row */
  #spaces = ''
  /** the printed length of the current line, over all its rows */
  #lineLength = 0
  /** the kind of the current line; null before it is known */
  #lineKind: 'words' | 'code' | null = null
  /** the printed part of the current word */
  #printedPart = ''
  /** the indentation of further rows of the current line */
  #indent = ''
  /** the indentation of the text in the current list; 0 outside of lists */
  #listIndent = 0
  /** the fence that ends the current code block */
  #fence: string | null = null

  /** Takes text, and returns the part to print now. */
  push(text: string, columns: number): string {
    if (!(columns > 0 && columns < Infinity)) return text
    this.#columns = columns
    this.#pending += text
    return this.#takePrintable(false)
  }

  /** Takes a complete line that must not be wrapped. */
  pushLine(line: string, columns: number): string {
    const before = this.flush()
    this.#columns = columns
    this.#beginLine()
    this.#lineKind = 'code'
    this.#pending = `${line}\n`
    return before + this.#takePrintable(false)
  }

  /** Whether text is withheld. */
  get hasPending(): boolean {
    return this.#pending !== ''
  }

  /** Returns the withheld text. The next text continues its last word. */
  flush(): string {
    return this.#takePrintable(true)
  }

  /** Returns the withheld text. The next text continues the line in a new row. */
  pause(): string {
    const shown = this.flush()
    this.#spaces = ''
    this.#lineLength = 0
    return shown
  }

  /** Returns the withheld text, and ends the text. What is pushed next begins a new text. */
  end(): string {
    const shown = this.pause()
    this.#beginLine()
    this.#listIndent = 0
    this.#fence = null
    return shown
  }

  #takePrintable(isComplete: boolean): string {
    let shown = ''
    while (this.#pending !== '') {
      if (this.#lineKind === null) {
        const head = this.#takeLineHead(isComplete)
        if (head === null) return shown
        shown += this.#advance(head)
      } else if (this.#pending.startsWith('\n')) {
        shown += this.#take(1)
        this.#beginLine()
      } else {
        const part = this.#lineKind === 'code' ? this.#takeUntilNewline() : this.#takeWord(isComplete)
        if (part === null) return shown
        shown += part
      }
    }
    return shown
  }

  #beginLine(): void {
    this.#lineKind = null
    this.#spaces = ''
    this.#indent = ''
    this.#lineLength = 0
    this.#printedPart = ''
  }

  /** Takes the indentation and the list marker of a line. Null while its first word is incomplete. */
  #takeLineHead(isComplete: boolean): string | null {
    const spaces = /^[ \t]*/.exec(this.#pending)?.[0] ?? ''
    const word = /^\S*/.exec(this.#pending.slice(spaces.length))?.[0].slice(0, MAX_MARKER_CHARS) ?? ''
    const isOpen = this.#pending.length === spaces.length + word.length && word.length < MAX_MARKER_CHARS
    if (!isComplete && isOpen && MAYBE_MARKER.test(word)) return null
    const indent = unfinishedLength(0, spaces, this.#columns)
    if (this.#enterCode(indent, word)) {
      this.#lineKind = 'code'
      return ''
    }
    this.#lineKind = 'words'
    if (word === '') {
      this.#take(spaces.length)
      return ''
    }
    if (MARKER.test(word)) return this.#takeMarker(spaces.length + word.length)
    if (indent < this.#listIndent) this.#listIndent = 0
    this.#indent = ' '.repeat(this.#hangingIndent(indent))
    return this.#take(spaces.length)
  }

  #takeMarker(length: number): string {
    const marker = this.#take(length)
    // The space after the marker is printed with the text that follows.
    this.#listIndent = unfinishedLength(0, marker, this.#columns) + 1
    this.#indent = ' '.repeat(this.#hangingIndent(this.#listIndent))
    return marker
  }

  /** Whether the line is code; remembers an opened or closed fence. */
  #enterCode(indent: number, word: string): boolean {
    const [, fence, info] = FENCE.exec(word) ?? []
    if (this.#fence !== null) {
      if (fence?.startsWith(this.#fence) && info === '') this.#fence = null
      return true
    }
    if (fence) this.#fence = fence
    return fence !== undefined || (indent >= this.#listIndent + CODE_INDENT && word !== '' && !MARKER.test(word))
  }

  /** Returns the indentation of further rows; 0 if it would leave too little room. */
  #hangingIndent(columns: number): number {
    return columns * 2 > this.#columns ? 0 : columns
  }

  #takeUntilNewline(): string {
    const at = this.#pending.indexOf('\n')
    return this.#advance(this.#take(at < 0 ? this.#pending.length : at))
  }

  /** Takes the next spaces or word, and places a word on this row or the next. Null while the word is incomplete. */
  #takeWord(isComplete: boolean): string | null {
    const spaces = /^[^\S\n]+/.exec(this.#pending)?.[0] ?? ''
    if (spaces !== '') {
      this.#spaces += this.#take(spaces.length)
      this.#printedPart = ''
      return ''
    }
    const run = /^\S+/.exec(this.#pending)?.[0] ?? ''
    const unit = this.#printedPart.length > MAX_BREAKABLE_CHARS ? this.#printedPart + run : unbreakablePart(this.#printedPart + run)
    const rest = unit.length - this.#printedPart.length
    const isEnded = rest < this.#pending.length
    if (!isEnded && !isComplete && this.#printedPart === '' && displayWidth(stripColours(unit)) <= this.#columns) return null
    const isNew = this.#printedPart === ''
    this.#printedPart = isEnded ? '' : unit
    const word = this.#take(rest)
    return isNew ? this.#placeWord(word) : this.#advance(word)
  }

  #placeWord(word: string): string {
    const spaces = this.#spaces
    this.#spaces = ''
    const column = this.#lineLength === 0 ? 0 : ((this.#lineLength - 1) % this.#columns) + 1
    const isFirst = this.#lineLength <= this.#indent.length
    if (isFirst || unfinishedLength(column, spaces, this.#columns) + displayWidth(stripColours(word)) <= this.#columns)
      return this.#advance(spaces + word)
    this.#lineLength = 0
    return `\n${this.#advance(this.#indent + word)}`
  }

  #take(length: number): string {
    const cut = this.#pending.slice(0, length)
    this.#pending = this.#pending.slice(length)
    return cut
  }

  #advance(text: string): string {
    this.#lineLength = unfinishedLength(this.#lineLength, text, this.#columns)
    return text
  }
}

/** Returns the first part of a word that must not be broken: all of it, unless it has wide characters. */
function unbreakablePart(word: string): string {
  if (isPrintableAscii(word)) return word
  const url = URL_PATTERN.exec(word)
  const [from, to] = url ? [url.index, url.index + url[0].length] : [0, 0]
  let unit = ''
  let wasWide = false
  for (const { segment } of graphemesOf(word)) {
    const isWide = displayWidth(segment) > 1
    const isWithin = from < unit.length && unit.length < to
    if (unit !== '' && (isWide || wasWide) && !isWithin && !CLOSES.test(segment) && !OPENS.test(unit)) return unit
    unit += segment
    wasWide = isWide
  }
  return unit
}
