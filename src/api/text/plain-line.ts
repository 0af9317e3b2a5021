// Makes one plain line from a text of a model or program, for titles of needs and for notices. Notices go to desktops and
// other machines, so no control character may remain.
// Tests: test/tables/daemon/notify/notices.test.ts, test/tables/daemon/notify/notices-and-needs.test.ts.
import { stripVTControlCharacters } from 'node:util'

/** The first line of a text, without spaces around it. */
export function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? ''
}

/** Turns a text into one line without control characters, and shortens it to `chars` characters. */
export function toPlainLine(text: string, chars: number): string {
  const line = stripVTControlCharacters(text.slice(0, 4 * chars).toWellFormed())
    .replaceAll(/[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
  return line.length > chars ? `${line.slice(0, chars - 1).toWellFormed()}…` : line
}
