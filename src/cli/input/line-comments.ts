// Parses comments on a change: on the whole change, or on one line of it (FILE:LINE=TEXT). Test:
// test/tables/cli/input/line-comments.test.ts.
import { readFileSync } from 'node:fs'
import type { LineCommentBody } from '../../api/views/crew.ts'
import { UsageError } from '../errors.ts'
import { oneLine } from '../print/text.ts'

/** Parses FILE:LINE=TEXT. Errors: usage, with an example. */
export function parseLineComment(typed: string): LineCommentBody {
  const [, file = '', digits = '', text = ''] = /^(.+?):(\d{1,9})=([^]*)$/.exec(typed) ?? []
  const line = Number(digits)
  if (file === '' || line < 1 || text.trim() === '')
    throw new UsageError(`"${oneLine(typed)}" is not a comment on a line`, "Write FILE:LINE=TEXT: --comment src/x.ts:12='use a map'.")
  return { file: file.replace(/^(\.\/)+/, ''), line, text }
}

/** Returns the comment on the whole change. `-` reads the comment from stdin. */
export function readCommentText(typed: string | undefined): string | undefined {
  return typed === '-' ? readFileSync(0, 'utf8') : typed
}
