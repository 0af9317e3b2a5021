// The input line for messages: keys edit the message, and Enter sends it. A backslash at the end of a line, Alt+Enter or a paste gives the
// message several lines. Independent of the terminal: takes keys in the format of node:readline, and returns lines to draw. Test:
// test/tables/cli/screen/line-editor.test.ts.
import { graphemesOf, stripControls, displayWidth } from '../print/text.ts'
import type { ScreenFrame } from './frame.ts'

/** A key in the format of node:readline. */
export interface Key {
  readonly sequence?: string | undefined
  readonly name?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
  readonly shift?: boolean | undefined
}

/** the greatest number of messages in the history */
const MAX_HISTORY = 100
/** the greatest number of rows for a long message */
const MAX_ROWS = 8
const PROMPT = '> '

type Edit = (editor: LineEditor) => void

export class LineEditor {
  text = ''
  /** the position of the cursor, in UTF-16 units */
  cursor = 0
  #isPasting = false
  readonly #history: string[] = []
  /** the index of the shown message in the history; the length of the history for a new message */
  #historyIndex = 0

  /** Handles a key. Returns the message if the key sends it. */
  onKey(key: Key): string | undefined {
    if (key.name === 'paste-start' || key.name === 'paste-end') this.#isPasting = key.name === 'paste-start'
    else if (this.#isPasting) this.insert(key.sequence ?? '')
    else if ((key.name === 'return' || key.name === 'enter') && !key.meta) return this.#submit()
    else if (key.name === 'return') this.insert('\n')
    else this.#edit(key)
    return undefined
  }

  insert(text: string): void {
    const added = stripControls(text)
    this.text = this.text.slice(0, this.cursor) + added + this.text.slice(this.cursor)
    this.cursor += added.length
  }

  clear(): void {
    this.text = ''
    this.cursor = 0
  }

  /** Deletes the text between the cursor and `to`. */
  cut(to: number): void {
    const [from, end] = to < this.cursor ? [to, this.cursor] : [this.cursor, to]
    this.text = this.text.slice(0, from) + this.text.slice(end)
    this.cursor = from
  }

  /** Shows an older message (-1) or a newer one (1) of the history. Discards an unsent message. */
  recall(step: -1 | 1): void {
    const at = this.#historyIndex + step
    if (at < 0 || at > this.#history.length) return
    this.#historyIndex = at
    this.text = this.#history[at] ?? ''
    this.cursor = this.text.length
  }

  draw(columns: number, maxLines: number): ScreenFrame {
    const { rows, line, column } = layoutRows(this.text, this.cursor, Math.max(1, columns - 1 - PROMPT.length))
    const maxRows = Math.max(1, Math.min(MAX_ROWS, maxLines))
    const first = Math.min(Math.max(0, rows.length - maxRows), Math.max(0, line - maxRows + 1))
    const lines = rows.slice(first, first + maxRows).map((row, at) => (first + at === 0 ? PROMPT : ' '.repeat(PROMPT.length)) + row)
    return { lines, cursor: { line: line - first, column: column + PROMPT.length } }
  }

  #submit(): string | undefined {
    if (this.text.endsWith('\\')) {
      this.text = `${this.text.slice(0, -1)}\n`
      this.cursor = this.text.length
      return undefined
    }
    const message = this.text.trim()
    this.clear()
    if (message !== '' && this.#history.at(-1) !== message) this.#history.push(message)
    if (this.#history.length > MAX_HISTORY) this.#history.shift()
    this.#historyIndex = this.#history.length
    return message
  }

  #edit(key: Key): void {
    const name = `${key.ctrl ? 'C-' : ''}${key.meta ? 'M-' : ''}${key.name ?? ''}`
    const edit = Object.hasOwn(EDITS, name) ? EDITS[name] : undefined
    if (edit) return edit(this)
    if (!key.ctrl && !key.meta && key.sequence) this.insert(key.sequence)
  }
}

const EDITS: Readonly<Record<string, Edit>> = {
  left: (e) => {
    e.cursor = positionBefore(e.text, e.cursor)
  },
  'C-b': (e) => {
    e.cursor = positionBefore(e.text, e.cursor)
  },
  right: (e) => {
    e.cursor = positionAfter(e.text, e.cursor)
  },
  'C-f': (e) => {
    e.cursor = positionAfter(e.text, e.cursor)
  },
  home: (e) => {
    e.cursor = lineStart(e)
  },
  'C-a': (e) => {
    e.cursor = lineStart(e)
  },
  end: (e) => {
    e.cursor = lineEnd(e)
  },
  'C-e': (e) => {
    e.cursor = lineEnd(e)
  },
  'C-left': (e) => {
    e.cursor = wordStart(e)
  },
  'M-b': (e) => {
    e.cursor = wordStart(e)
  },
  'C-right': (e) => {
    e.cursor = wordEnd(e)
  },
  'M-f': (e) => {
    e.cursor = wordEnd(e)
  },
  backspace: (e) => e.cut(positionBefore(e.text, e.cursor)),
  'C-h': (e) => e.cut(positionBefore(e.text, e.cursor)),
  delete: (e) => e.cut(positionAfter(e.text, e.cursor)),
  'C-d': (e) => e.cut(positionAfter(e.text, e.cursor)),
  'C-w': (e) => e.cut(wordStart(e)),
  'M-backspace': (e) => e.cut(wordStart(e)),
  'M-d': (e) => e.cut(wordEnd(e)),
  'C-u': (e) => e.cut(lineStart(e)),
  'C-k': (e) => e.cut(lineEnd(e)),
  up: (e) => e.recall(-1),
  'C-p': (e) => e.recall(-1),
  down: (e) => e.recall(1),
  'C-n': (e) => e.recall(1),
  // These keys do nothing. Without an entry they would be inserted as text.
  escape: () => {},
  tab: () => {},
  undefined: () => {},
  pageup: () => {},
  pagedown: () => {},
  insert: () => {},
  clear: () => {},
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i + 1}`, (): void => {}])),
}

function positionBefore(text: string, cursor: number): number {
  return graphemesOf(text).containing(cursor - 1)?.index ?? 0
}

function positionAfter(text: string, cursor: number): number {
  const at = graphemesOf(text).containing(cursor)
  return at ? at.index + at.segment.length : text.length
}

function lineStart({ text, cursor }: LineEditor): number {
  return text.lastIndexOf('\n', cursor - 1) + 1
}

function lineEnd({ text, cursor }: LineEditor): number {
  const end = text.indexOf('\n', cursor)
  return end < 0 ? text.length : end
}

function wordStart({ text, cursor }: LineEditor): number {
  return Math.max(0, text.slice(0, cursor).search(/\S+\s*$/))
}

function wordEnd({ text, cursor }: LineEditor): number {
  return cursor + (/^\s*\S*/.exec(text.slice(cursor))?.[0].length ?? 0)
}

/** Returns the rows of the text for a width, and the row and column of the cursor. A tab is drawn as one space. */
function layoutRows(text: string, cursor: number, room: number): { rows: string[]; line: number; column: number } {
  const rows = ['']
  let position = { line: 0, column: 0 }
  let used = 0
  let at = 0
  const wrap = (): void => {
    rows.push('')
    used = 0
  }
  for (const { segment } of graphemesOf(text)) {
    const columns = segment === '\t' ? 1 : displayWidth(segment)
    if (segment !== '\n' && used + columns > room) wrap()
    if (at === cursor) position = { line: rows.length - 1, column: used }
    at += segment.length
    if (segment === '\n') {
      wrap()
      continue
    }
    rows[rows.length - 1] += segment === '\t' ? ' ' : segment
    used += columns
  }
  if (at === cursor) position = { line: rows.length - 1, column: used }
  return { rows, ...position }
}
