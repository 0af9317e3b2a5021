// Reads the Markdown that models write, as a list of blocks: headings, items, quotes, code and lines. A line has parts: strong, emphasized
// and code text, and links. Each node keeps its marks, so nothing of the text is lost. HTML stays text. Takes linear time.
// No package is used: the smallest lexer would add 15 KiB to the page, this file adds 1.5. Pure. Test: test/tables/faces/rich-text.test.ts.

export type TextPart =
  | { readonly kind: 'text'; readonly text: string }
  /** `open` and `close` are the marks, which are not shown */
  | { readonly kind: 'code' | 'strong' | 'em'; readonly open: string; readonly text: string; readonly close: string }
  /** `close` has the address */
  | { readonly kind: 'link'; readonly open: string; readonly text: string; readonly close: string; readonly href: string }

export type TextBlock =
  | { readonly kind: 'code'; readonly open: string; readonly text: string; readonly close: string }
  /** `open`: the marks; `level`: of a heading or an item, from 1; `end`: the line end, if it has one */
  | {
      readonly kind: 'heading' | 'item' | 'quote' | 'line' | 'rule'
      readonly level: number
      readonly open: string
      readonly parts: readonly TextPart[]
      readonly end: string
    }

/** in longer lines, no marks are recognized */
const MAX_LINE_CHARS = 5_000
const MAX_SPAN_CHARS = 300
const FENCE = /^( {0,3})(`{3,}|~{3,})[^`\n]*$/
const HEADING = /^ {0,3}(#{1,6})[ \t]+/
const ITEM = /^([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)/
const QUOTE = /^ {0,3}(?:>[ \t]?)+/
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*$/

/** The marks that begin or end a block of code, such as ```` ``` ````; null: the line has no such marks. */
export function fenceOf(line: string): string | null {
  return line.length <= MAX_LINE_CHARS ? (FENCE.exec(line)?.[2] ?? null) : null
}

/** Whether the line ends the block of code that began with `fence`. */
export function isClosingFence(line: string, fence: string): boolean {
  const marks = line.length > MAX_LINE_CHARS ? '' : line.trim()
  return marks.length >= fence.length && marks === (fence[0] ?? '').repeat(marks.length)
}

const DELIMITER = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/

/** How the cells of a column are aligned. */
export type CellSide = 'left' | 'right' | 'centre'

/** A table: the cells of its rows, titles first. */
export interface TextTable {
  readonly sides: readonly CellSide[]
  readonly rows: readonly (readonly string[])[]
}

/** Reads lines as a table; null: they are not a table. The second line must have the marks between titles and rows. */
export function readTable(lines: readonly string[]): TextTable | null {
  const [titles = '', delimiter = '', ...rows] = lines
  if (!titles.includes('|') || !delimiter.includes('|') || !DELIMITER.test(delimiter)) return null
  const sides = cellsOf(delimiter).map((cell): CellSide => (!cell.endsWith(':') ? 'left' : cell.startsWith(':') ? 'centre' : 'right'))
  if (cellsOf(titles).length !== sides.length) return null
  return { sides, rows: [titles, ...rows].map((row) => sides.map((_, column) => cellsOf(row)[column] ?? '')) }
}

function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}

export function readRichText(text: string): TextBlock[] {
  const blocks: TextBlock[] = []
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    const fence = fenceOf(line)
    if (fence === null) {
      blocks.push(readLine(line, index === lines.length - 1 ? '' : '\n'))
      continue
    }
    const end = closingLine(lines, index + 1, fence)
    const inside = lines.slice(index + 1, end)
    const isClosed = end < lines.length
    const open = index === lines.length - 1 ? line : `${line}\n`
    const close = isClosed ? `${inside.length > 0 ? '\n' : ''}${lines[end]}${end === lines.length - 1 ? '' : '\n'}` : ''
    blocks.push({ kind: 'code', open, text: inside.join('\n'), close })
    index = end
  }
  return blocks
}

/** The index of the line that ends a block of code; the number of lines, if none does. */
function closingLine(lines: readonly string[], from: number, fence: string): number {
  for (let index = from; index < lines.length; index += 1) if (isClosingFence(lines[index] ?? '', fence)) return index
  return lines.length
}

/** Reads a line that is not in a block of code. `end`: its line end. */
export function readLine(line: string, end: string): Exclude<TextBlock, { kind: 'code' }> {
  if (line.length > MAX_LINE_CHARS) return { kind: 'line', level: 0, open: '', parts: [{ kind: 'text', text: line }], end }
  if (RULE.test(line)) return { kind: 'rule', level: 0, open: line, parts: [], end }
  const heading = HEADING.exec(line)
  if (heading) return withMarks('heading', heading[0], heading[1]?.length ?? 1, line, end)
  const item = ITEM.exec(line)
  if (item) return withMarks('item', item[0], 1 + Math.min(8, Math.floor((item[1]?.length ?? 0) / 2)), line, end)
  const quote = QUOTE.exec(line)
  if (quote) return withMarks('quote', quote[0], 1, line, end)
  return withMarks('line', '', 0, line, end)
}

function withMarks(
  kind: 'heading' | 'item' | 'quote' | 'line',
  open: string,
  level: number,
  line: string,
  end: string,
): Exclude<TextBlock, { kind: 'code' }> {
  return { kind, level, open, parts: readInline(line.slice(open.length)), end }
}

/** Each alternative is short, so that a search that fails costs little. */
const SPAN = new RegExp(
  [
    '(`+)([^`]{1,N})\\1(?!`)',
    '(\\*\\*|__)(?=\\S)([^*_`\\n]{1,N}?\\S|\\S)\\3',
    '(?<![\\w*])(\\*|_)(?=[^\\s*_])([^*_`\\n]{0,N}[^\\s*_`])\\5(?![\\w*])',
    '\\[([^\\[\\]\\n]{1,N})\\]\\(((?:https?:\\/\\/|mailto:)[^\\s()<>]{1,2000})\\)',
    '(?<![\\w/])(https?:\\/\\/[^\\s<>"\'`()\\[\\]{}*]{1,2000})',
  ]
    .join('|')
    .replaceAll('N', String(MAX_SPAN_CHARS)),
  'g',
)

/** Reads the marks within a line. */
export function readInline(line: string): TextPart[] {
  const parts: TextPart[] = []
  let from = 0
  for (const match of line.matchAll(SPAN)) {
    if (match.index > from) parts.push({ kind: 'text', text: line.slice(from, match.index) })
    parts.push(partOfMatch(match))
    from = match.index + match[0].length
  }
  if (from < line.length) parts.push({ kind: 'text', text: line.slice(from) })
  return parts
}

function partOfMatch([whole, ticks, code, stars, strong, star, em, name, href]: RegExpExecArray): TextPart {
  if (ticks !== undefined) return { kind: 'code', open: ticks, text: code ?? '', close: ticks }
  if (stars !== undefined) return { kind: 'strong', open: stars, text: strong ?? '', close: stars }
  if (star !== undefined) return { kind: 'em', open: star, text: em ?? '', close: star }
  if (name !== undefined) return { kind: 'link', open: '[', text: name, close: `](${href})`, href: href ?? '' }
  return { kind: 'link', open: '', text: whole, close: '', href: whole }
}

/**
 * The host or the mail address that a link leads to. `isShown`: the text of the link shows it; `isMisleading`: the text names another host.
 * Null: the link is not allowed.
 */
export function targetOf({ text, href }: { readonly text: string; readonly href: string }): {
  readonly href: string
  readonly host: string
  readonly isShown: boolean
  readonly isMisleading: boolean
} | null {
  const url = URL.parse(href)
  if (!url || !['http:', 'https:', 'mailto:'].includes(url.protocol)) return null
  const host = url.protocol === 'mailto:' ? url.pathname : url.host
  const named = /(?:^|[\s/@])((?:[\w-]+\.)+[a-z]{2,})/i.exec(text)?.[1]?.toLowerCase()
  const isShown = text.toLowerCase().startsWith(`${url.protocol}//${host}`) || text.toLowerCase() === host
  return { href: url.href, host, isShown, isMisleading: named !== undefined && host !== named && !host.endsWith(`.${named}`) }
}
