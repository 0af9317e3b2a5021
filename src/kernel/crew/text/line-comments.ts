// Comments on single lines of a change, formatted for the author with file, line and the quoted line.
// Must never read files: the caller supplies the quotes. Test: test/tables/cli/input/line-comments.test.ts.
import { truncate } from '../../util/truncate.ts'

export interface LineComment {
  readonly file: string
  /** line number in the changed file, from 1 */
  readonly line: number
  readonly text: string
}

/** A comment with the line that it is about; `quote` is null when the file could not be read. */
export interface QuotedComment extends LineComment {
  readonly quote: string | null
}

/** maximum length of a quoted line, in characters */
const QUOTE_CHARS = 200

/** All comments as one text: general comments first, then those on lines. */
export function appendLineComments(comments: string, lines: readonly QuotedComment[]): string {
  const lineTexts = lines.map(
    ({ file, line, text, quote }) => `${file}:${line}: ${text.trim()}${quote === null ? '' : `\n> ${clipQuote(quote)}`}`,
  )
  return [...(comments.trim() === '' ? [] : [comments.trimEnd()]), ...lineTexts].join('\n\n')
}

function clipQuote(quote: string): string {
  const line = quote.trimEnd()
  return truncate(line, QUOTE_CHARS, '…')
}
