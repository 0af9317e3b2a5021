// Text as a page may show it: no character is hidden, and no character changes the order of the others. Colour sequences of a terminal
// divide a text into parts, each with its colour. Pure. Test: test/tables/faces/visible-text.test.ts.

/**
 * The characters that would be invisible: controls except tab and newline, bidirectional marks, characters without width, tags, and lone
 * surrogates. A joiner (U+200C, U+200D) between two characters outside ASCII stays, because emoji and some scripts need it.
 */
const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|(?<![^\0-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\0-\x7f])|[\ud800-\udfff]/gu

/** Returns the text with each hidden character as an escape, such as `\u202e`. Line ends become `\n`. */
export function visibleText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(HIDDEN, escapeOf)
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return code < 0x100 ? `\\x${hex.padStart(2, '0')}` : code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`
}

/** A part of coloured text. `colour`: 0 to 15, as terminals number them; null: that of the text around it. */
export interface ColouredPart {
  readonly text: string
  readonly colour: number | null
  readonly isBold: boolean
  readonly isFaint: boolean
  readonly isUnderlined: boolean
}

type Style = Omit<ColouredPart, 'text'>

const PLAIN: Style = { colour: null, isBold: false, isFaint: false, isUnderlined: false }
const COLOURS = /\x1b\[([0-9;:]*)m/g
/** text after this many parts is not coloured */
const MAX_PARTS = 5_000

/** Divides text at the colour sequences of terminals. All other controls become visible. */
export function colouredParts(text: string): ColouredPart[] {
  const parts: ColouredPart[] = []
  let style = PLAIN
  let from = 0
  for (const match of text.matchAll(COLOURS)) {
    if (match.index > from) parts.push({ ...style, text: visibleText(text.slice(from, match.index)) })
    from = match.index + match[0].length
    if (parts.length >= MAX_PARTS) {
      style = PLAIN
      break
    }
    style = styleAfter(style, match[1] ?? '')
  }
  if (from < text.length) parts.push({ ...style, text: visibleText(text.slice(from).replaceAll(COLOURS, '')) })
  return parts
}

/** Colons divide one parameter, such as `38:2::R:G:B`. The older form of colours, `38;2;R;G;B`, takes the parameters that follow. */
function styleAfter(before: Style, sequence: string): Style {
  const parameters = sequence.split(';').map((parameter) => parameter.split(':').map(Number))
  let style = before
  for (let index = 0; index < parameters.length; index += 1) {
    const [code = 0, ...parts] = parameters[index] ?? []
    if (code === 38 || code === 48) {
      const [kind, colour = 0] = parts.length > 0 ? parts : parameters.slice(index + 1, index + 3).map(([first]) => first)
      if (code === 38) style = { ...style, colour: kind === 5 && colour < 16 ? colour : null }
      if (parts.length === 0) index += kind === 5 ? 2 : 4
    } else style = styleOf(style, code === 4 && parts[0] === 0 ? 24 : code)
  }
  return style
}

function styleOf(style: Style, code: number): Style {
  if (code === 0) return PLAIN
  if (code === 1) return { ...style, isBold: true }
  if (code === 2) return { ...style, isFaint: true }
  if (code === 4) return { ...style, isUnderlined: true }
  if (code === 22) return { ...style, isBold: false, isFaint: false }
  if (code === 24) return { ...style, isUnderlined: false }
  if (code >= 30 && code <= 37) return { ...style, colour: code - 30 }
  if (code === 39) return { ...style, colour: null }
  if (code >= 90 && code <= 97) return { ...style, colour: code - 82 }
  return style
}
