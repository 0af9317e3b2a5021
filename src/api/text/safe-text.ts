// Makes text of agents, models and users safe to show. Tabs and newlines are the only control characters that may remain, and no
// bidirectional mark may remain. Test: test/tables/cli/print/text.test.ts.
import { stripVTControlCharacters } from 'node:util'

/** Matches C0 except tab and newline, DEL, C1, bidirectional marks, line separators, and the byte order mark. */
export const UNSAFE_CHARACTERS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g
/** Matches a text of printable ASCII characters only. */
export const PLAIN_TEXT = /^[\x20-\x7e]*$/

/** Removes escape sequences and control characters. Newlines and tabs stay. Carriage returns become newlines, lone surrogates U+FFFD. */
export function stripControls(text: string): string {
  if (PLAIN_TEXT.test(text)) return text
  return stripVTControlCharacters(text.toWellFormed().replaceAll('\r\n', '\n').replaceAll('\r', '\n')).replace(UNSAFE_CHARACTERS, '')
}

/** Removes control characters. Each run of white space, such as a newline, becomes one space; none stays at the ends. */
export function oneLine(text: string): string {
  if (PLAIN_TEXT.test(text) && !text.includes('  ')) return text.trim()
  return stripControls(text).replace(/\s+/g, ' ').trim()
}
