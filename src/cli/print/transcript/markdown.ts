// Draws the Markdown of models on a terminal while it arrives in pieces: headings, lists, quotes, code, links and tables. Words appear as
// they come. A mark is withheld until its end is known, and a table until its last row. Without colours the marks stay, and only tables are
// drawn. The text must not contain control characters. Pure. Test: test/tables/cli/print/transcript/markdown.test.ts.
import { fenceOf, isClosingFence, readInline, readLine, readTable, type TextPart } from '../../../faces/rich-text.ts'
import type { Output } from '../output.ts'
import { ProseWrapper, wrapText, type TextWrapper } from '../prose.ts'
import { displayWidth, stripColours } from '../text.ts'

export type MarkdownStyle = Pick<Output, 'paint' | 'ascii'>
type StyleName = Parameters<Output['paint']>[0]

/** the longest text for which a mark without its end is withheld; `readInline` has the same limit */
const MAX_SPAN_CHARS = 300
/** a table with more rows is drawn in parts */
const MAX_TABLE_ROWS = 200
/** the least width of a column of a table that is too wide */
const MIN_CELL_COLUMNS = 8
/** the beginning of a line that may become a mark: more characters decide it */
const MAYBE_MARK = /^[ \t]*(?:[#>]+[ \t]*|[-*+_~`]+[ \t]*|\d{1,9}(?:[.)][ \t]*)?)?$/
const MAX_MARK_CHARS = 24
const RULE_COLUMNS = 40

const PART_STYLES: Readonly<Record<TextPart['kind'], StyleName | null>> = {
  text: null,
  strong: 'bold',
  em: 'italic',
  code: 'cyan',
  link: 'underline',
}

export class MarkdownText implements TextWrapper {
  readonly #style: MarkdownStyle
  readonly #prose = new ProseWrapper()
  readonly #hasColours: boolean
  #columns = 80
  /** the text that is not drawn yet */
  #raw = ''
  /** the style of the words of the current line; null before its beginning is known */
  #line: { readonly style: StyleName | null } | null = null
  /** whether the drawn part of the current line ends within a word */
  #isInWord = false
  /** the marks that end the current block of code */
  #fence: string | null = null
  #isDiff = false
  #table: string[] = []

  constructor(style: MarkdownStyle) {
    this.#style = style
    this.#hasColours = style.paint('bold', 'x') !== 'x'
  }

  push(text: string, columns: number): string {
    if (!(columns > 0 && columns < Infinity)) return text
    this.#columns = columns
    this.#raw += text
    return this.#draw('more follows')
  }

  get hasPending(): boolean {
    return this.#raw !== '' || this.#table.length > 0 || this.#prose.hasPending
  }

  /** Also returns an unfinished word, but no mark whose end is not known. */
  flush(): string {
    return this.#draw('words') + this.#prose.flush()
  }

  /** Also returns a mark whose end is not known. A table or a line of code that is not complete is still withheld. */
  pause(): string {
    return this.#draw('all') + this.#prose.pause()
  }

  end(): string {
    let shown = this.#draw('all')
    if (this.#raw !== '') shown += this.#drawLast(this.#raw)
    shown += this.#drawTable() + this.#prose.end()
    this.#raw = ''
    this.#line = null
    this.#fence = null
    this.#isInWord = false
    return shown
  }

  /** Draws the complete lines. `until`: whether an unfinished word (`words`), or also an unfinished mark (`all`), may be drawn. */
  #draw(until: 'more follows' | 'words' | 'all'): string {
    let shown = ''
    for (;;) {
      const end = this.#raw.indexOf('\n')
      if (end < 0) break
      const line = this.#raw.slice(0, end)
      this.#raw = this.#raw.slice(end + 1)
      shown += this.#drawLine(line)
    }
    if (this.#raw === '' || !this.#isWordsLine(until)) return shown
    if (this.#table.length > 0) shown += this.#drawTable()
    const cut = until === 'all' ? this.#raw.length : this.#safeLength(until)
    const part = this.#raw.slice(0, cut)
    if (part === '' || (!this.#line && MAYBE_MARK.test(part))) return shown
    this.#raw = this.#raw.slice(cut)
    return shown + this.#drawWords(part)
  }

  /** Whether the unfinished line is known to consist of words. */
  #isWordsLine(until: 'more follows' | 'words' | 'all'): boolean {
    if (this.#line) return true
    if (this.#fence !== null || this.#raw.trimStart().startsWith('|') || fenceOf(this.#raw) !== null) return false
    // A short word at the end of a text, such as `5`, is not a mark.
    return this.#raw.length > MAX_MARK_CHARS || !MAYBE_MARK.test(this.#raw) || (until !== 'more follows' && /^\w+$/.test(this.#raw))
  }

  /** Draws a line, or the rest of a line whose beginning is drawn. */
  #drawLine(line: string): string {
    if (this.#line) return this.#endLine(this.#drawWords(line))
    if (this.#fence !== null) return this.#drawCode(line, this.#fence)
    if (line.trimStart().startsWith('|')) {
      this.#table.push(line)
      return this.#table.length < MAX_TABLE_ROWS ? '' : this.#drawTable()
    }
    const before = this.#drawTable()
    const fence = fenceOf(line)
    if (fence !== null) {
      this.#fence = fence
      this.#isDiff = /diff|patch/.test(line)
      return before + this.#prose.pushLine(this.#style.paint('dim', line), this.#columns)
    }
    return before + this.#endLine(this.#drawWords(line))
  }

  /** Draws the last line of a text, which has no line end. */
  #drawLast(line: string): string {
    const isWords = this.#line !== null || (this.#fence === null && fenceOf(line) === null && !line.trimStart().startsWith('|'))
    if (!isWords) return this.#drawLine(line)
    return this.#drawTable() + this.#drawWords(line)
  }

  #endLine(shown: string): string {
    this.#line = null
    this.#isInWord = false
    return shown + this.#prose.push('\n', this.#columns)
  }

  #drawCode(line: string, fence: string): string {
    if (isClosingFence(line, fence)) this.#fence = null
    const sign = this.#isDiff ? line[0] : ''
    const style = this.#fence === null ? 'dim' : sign === '+' ? 'green' : sign === '-' ? 'red' : this.#isDiff ? null : 'cyan'
    return this.#prose.pushLine(style === null || line === '' ? line : this.#style.paint(style, line), this.#columns)
  }

  /** Draws a part of a line of words. The first part decides what the line is. */
  #drawWords(text: string): string {
    if (!this.#hasColours) {
      this.#line = { style: null }
      return this.#prose.push(text, this.#columns)
    }
    if (this.#line) return this.#prose.push(this.#paintParts(this.#readParts(text), this.#line.style), this.#columns)
    const block = readLine(text, '')
    if (block.kind === 'rule') {
      this.#line = { style: null }
      const rule = (this.#style.ascii ? '-' : '─').repeat(Math.min(RULE_COLUMNS, this.#columns))
      return this.#prose.push(this.#style.paint('dim', rule), this.#columns)
    }
    this.#line = { style: block.kind === 'heading' ? 'bold' : block.kind === 'quote' ? 'dim' : null }
    const words = this.#paintParts(block.parts, this.#line.style)
    this.#isInWord = IN_WORD.test(text)
    return this.#prose.push(this.#openingOf(block.kind, block.open) + words, this.#columns)
  }

  /** Returns what is drawn in place of the marks that begin a line. */
  #openingOf(kind: string, open: string): string {
    if (kind === 'heading') return ''
    return kind === 'item' && !this.#style.ascii ? open.replace(/[-*+](?=\s*$)/, '•') : open
  }

  /** Reads the marks of a part of a line. Marks within a word do not count, even if the word began in the previous part. */
  #readParts(text: string): TextPart[] {
    const parts = readInline((this.#isInWord ? 'x' : '') + text)
    const [first, ...others] = parts
    const wasInWord = this.#isInWord
    if (text !== '') this.#isInWord = IN_WORD.test(text)
    if (!wasInWord || first?.kind !== 'text') return parts
    return [{ kind: 'text', text: first.text.slice(1) }, ...others]
  }

  #paintParts(parts: readonly TextPart[], around: StyleName | null): string {
    return parts
      .map((part) => {
        const style = PART_STYLES[part.kind] ?? around
        const address = part.kind === 'link' && part.href !== part.text ? ` ${this.#style.paint('dim', `(${part.href})`)}` : ''
        return paintWords(part.text, style, this.#style) + address
      })
      .join('')
  }

  /** Returns the length of the part of the unfinished line that more text cannot change. */
  #safeLength(until: 'more follows' | 'words'): number {
    const text = this.#raw
    if (!this.#hasColours) return text.length
    const { open, wordAt } = unfinishedParts(text, this.#isInWord)
    return Math.min(until === 'words' ? text.length : wordAt, open)
  }

  #drawTable(): string {
    const lines = this.#table
    if (lines.length === 0) return ''
    this.#table = []
    const table = readTable(lines)
    const drawn =
      table === null
        ? lines
        : tableLines(table.rows, table.sides, this.#columns, (cell) => this.#paintParts(readInline(cell), null), this.#style)
    return drawn
      .map((line) => (table === null ? this.#prose.push(`${line}\n`, this.#columns) : this.#prose.pushLine(line, this.#columns)))
      .join('')
  }
}

/**
 * `wordAt`: where the last word begins; `open`: where the word with an unfinished mark begins, or the length of the text if no mark is
 * unfinished. A mark that more than `MAX_SPAN_CHARS` follow is not a mark.
 */
function unfinishedParts(text: string, isInWord: boolean): { readonly open: number; readonly wordAt: number } {
  const before = isInWord ? 'x' : ''
  const whole = before + text
  let [at, wordAt] = [0, 0]
  for (const part of readInline(whole)) {
    const end = at + (part.kind === 'text' ? part.text.length : part.open.length + part.text.length + part.close.length)
    const plain = part.kind === 'text' ? part.text : ''
    for (const { 0: mark, index } of plain.matchAll(MARK)) {
      const open = at + index
      const follows = whole[open + mark.length]
      const isMark = mark === '`' || mark === '[' || follows === undefined || /\S/.test(follows)
      if (!isMark || whole.length - open > MAX_SPAN_CHARS) continue
      const word = plain.slice(0, index)
      if (/\s/.test(word)) wordAt = at + word.search(/\S*$/) - before.length
      return { open: wordAt, wordAt }
    }
    if (/\s/.test(plain)) wordAt = at + plain.search(/\S*$/) - before.length
    at = end
  }
  return { open: text.length, wordAt }
}

/** Matches a text after which a mark is within a word. */
const IN_WORD = /[\w*/]$/
/** Matches the marks that may begin a styled part. */
const MARK = /`|\[|\*\*|__|(?<![\w*])[*_]/g

/** Paints each word, so that no style reaches over the end of a row. */
function paintWords(text: string, name: StyleName | null, style: MarkdownStyle): string {
  return name === null ? text : text.replace(/\S+/g, (word) => style.paint(name, word))
}

const widthOf = (text: string): number => displayWidth(stripColours(text))

/**
 * Returns the lines of a table with aligned columns. The cells of a wide table are wrapped. A table that cannot fit has a line for each
 * cell.
 */
function tableLines(
  rows: readonly (readonly string[])[],
  sides: readonly string[],
  columns: number,
  paintCell: (cell: string) => string,
  style: MarkdownStyle,
): string[] {
  const painted = rows.map((row) => row.map(paintCell))
  const widths = fitColumns(
    sides.map((_, column) => Math.max(1, ...painted.map((row) => widthOf(row[column] ?? '')))),
    columns - (sides.length - 1) * 3,
  )
  if (widths === null) return cardLines(painted)
  const separator = style.ascii ? ' | ' : ' │ '
  const rule = widths.map((width) => (style.ascii ? '-' : '─').repeat(width)).join(style.ascii ? '-+-' : '─┼─')
  const lines = painted.map((row, index) => {
    const cells = row.map((cell, column) => wrapText(cell, widths[column] ?? 1).split('\n'))
    const height = Math.max(...cells.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) =>
      cells
        .map((cell, column) =>
          alignCell(index === 0 ? paintWords(cell[line] ?? '', 'bold', style) : (cell[line] ?? ''), widths[column] ?? 1, sides[column]),
        )
        .join(separator)
        .trimEnd(),
    ).join('\n')
  })
  const [titles = '', ...others] = lines
  return [titles, style.paint('dim', rule), ...others].flatMap((line) => line.split('\n'))
}

function alignCell(text: string, width: number, side: string | undefined): string {
  const space = Math.max(0, width - widthOf(text))
  if (side === 'right') return ' '.repeat(space) + text
  const left = side === 'centre' ? Math.floor(space / 2) : 0
  return ' '.repeat(left) + text + ' '.repeat(space - left)
}

/** Makes the widest columns narrower until all fit; null: they cannot. */
function fitColumns(widths: readonly number[], room: number): number[] | null {
  const fitted = [...widths]
  for (let sum = fitted.reduce((a, b) => a + b, 0); sum > room; sum -= 1) {
    const widest = fitted.indexOf(Math.max(...fitted))
    if ((fitted[widest] ?? 0) <= MIN_CELL_COLUMNS) return null
    fitted[widest] = (fitted[widest] ?? 0) - 1
  }
  return fitted
}

/** Returns a line `Title: cell` for each cell, with an empty line between two rows. */
function cardLines([titles = [], ...rows]: readonly (readonly string[])[]): string[] {
  return rows.flatMap((row, index) => [...(index === 0 ? [] : ['']), ...row.map((cell, column) => `${titles[column] ?? ''}: ${cell}`)])
}
