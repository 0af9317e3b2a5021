// Makes text of agents, models and users safe for the terminal: no control character and no bidirectional mark may remain in it. Also
// measures texts in columns, cuts and pads them, and removes reeve's own colours. Test: test/tables/cli/print/text.test.ts.
import { PLAIN_TEXT, UNSAFE_CHARACTERS } from '../../api/text/safe-text.ts'

export { oneLine, stripControls } from '../../api/text/safe-text.ts'

/**
 * Makes control characters visible (`^[`), and bidirectional marks (`<U+202E>`). A newline becomes `^J`, so that the result is one
 * line.
 */
export function escapeControls(text: string): string {
  if (PLAIN_TEXT.test(text)) return text
  return text
    .toWellFormed()
    .replaceAll('\n', '^J')
    .replace(UNSAFE_CHARACTERS, (character) => {
      const code = character.codePointAt(0) ?? 0
      return code < 0x20
        ? `^${String.fromCharCode(code + 0x40)}`
        : code === 0x7f
          ? '^?'
          : `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
    })
}

/** Matches a sequence that sets or ends colours and other styles. */
export const COLOUR = /\x1b\[[0-9;:]*m/g

/** Returns the text without colour sequences. */
export function stripColours(text: string): string {
  return text.includes('\x1b') ? text.replace(COLOUR, '') : text
}

/** Whether the text is printable ASCII, so that it has as many columns as characters. */
export function isPrintableAscii(text: string): boolean {
  return PLAIN_TEXT.test(text)
}

/** Returns the width of a text without control characters, in columns. */
export function displayWidth(text: string): number {
  if (PLAIN_TEXT.test(text)) return text.length
  let columns = 0
  for (const character of text) columns += characterWidth(character)
  return columns
}

/** Truncates a text to `columns`. A truncated text ends with the ellipsis. */
export function fitWidth(text: string, columns: number, ellipsis = '…'): string {
  if (displayWidth(text) <= columns) return text
  const room = columns - displayWidth(ellipsis)
  if (room < 0) return ''
  let kept = ''
  let used = 0
  for (const character of text) {
    used += characterWidth(character)
    if (used > room) break
    kept += character
  }
  return kept + ellipsis
}

/** Truncates a text in one colour to `columns`, and keeps the colour. */
export function fitColoured(text: string, columns: number, ellipsis = '…'): string {
  const [, open = '', inner = text, close = ''] = /^((?:\x1b\[[\d;]*m)+)([^\x1b]*)((?:\x1b\[[\d;]*m)+)$/.exec(text) ?? []
  return open + fitWidth(inner, columns, ellipsis) + close
}

/** Pads a text with spaces to `columns`. `side`: where the text is. */
export function padWidth(text: string, columns: number, side: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, columns - displayWidth(text)))
  return side === 'left' ? text + space : space + text
}

const ZERO_WIDTH = String.raw`^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]$`
/** Matches characters that terminals draw in two columns: East Asian wide and fullwidth ones, and emoji (Unicode 17). */
const WIDE = String.raw`^[\u1100-\u115f\u231a\u231b\u2329\u232a\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2630-\u2637\u2648-\u2653\u267f\u268a-\u268f\u2693\u26a1\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55\u2e80-\u303e\u3041-\u3247\u3250-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{1d300}-\u{1d376}\u{1f004}\u{1f0cf}\u{1f18e}\u{1f191}-\u{1f19a}\u{1f1ae}\u{1f200}-\u{1f320}\u{1f32d}-\u{1f335}\u{1f337}-\u{1f37c}\u{1f37e}-\u{1f393}\u{1f3a0}-\u{1f3ca}\u{1f3cf}-\u{1f3d3}\u{1f3e0}-\u{1f3f0}\u{1f3f4}\u{1f3f8}-\u{1f43e}\u{1f440}\u{1f442}-\u{1f4fc}\u{1f4ff}-\u{1f53d}\u{1f54b}-\u{1f54e}\u{1f550}-\u{1f567}\u{1f57a}\u{1f595}\u{1f596}\u{1f5a4}\u{1f5fb}-\u{1f64f}\u{1f680}-\u{1f6c5}\u{1f6cc}\u{1f6d0}-\u{1f6d2}\u{1f6d5}-\u{1f6df}\u{1f6eb}\u{1f6ec}\u{1f6f4}-\u{1f6fc}\u{1f7da}-\u{1f7f0}\u{1f90c}-\u{1f93a}\u{1f93c}-\u{1f945}\u{1f947}-\u{1f9ff}\u{1fa70}-\u{1fafa}\u{20000}-\u{3fffd}]$`

/** Created at first use: preparing the Unicode classes takes longer than a whole plain table. */
let classes: { readonly zero: RegExp; readonly wide: RegExp } | undefined

function characterWidth(character: string): number {
  if (PLAIN_TEXT.test(character)) return 1
  classes ??= { zero: new RegExp(ZERO_WIDTH, 'u'), wide: new RegExp(WIDE, 'u') }
  if (classes.zero.test(character)) return 0
  return classes.wide.test(character) ? 2 : 1
}

/** Created at first use, which takes longer than the start of most commands. */
let graphemes: Intl.Segmenter | undefined

/** Splits a text into graphemes: a letter with an accent, or a composed emoji, counts as one character. */
export function graphemesOf(text: string): Intl.Segments {
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return graphemes.segment(text)
}
