// Finds a text in the facts of a transcript, and cuts an excerpt around it. Also selects the texts of a fact that are searched. Pure. The
// time is bounded by the length of the texts. Test: test/tables/daemon/views/search-excerpts.test.ts.
import { stripVTControlCharacters } from 'node:util'
import type { SearchMatchView } from '../../api/views/search.ts'
import type { FactBody } from '../../kernel/model/facts.ts'

/** The largest lengths of the parts of an excerpt, in characters. */
const [MAX_BEFORE, MAX_MATCH, MAX_AFTER] = [60, 200, 200]

/** Returns the pattern of a plain text. Without alternatives and repetitions it needs no backtracking. */
export function patternOf({ text, ignoreCase }: { readonly text: string; readonly ignoreCase: boolean }): RegExp {
  return new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`), ignoreCase ? 'giu' : 'gu')
}

interface SearchedText {
  readonly kind: SearchMatchView['kind']
  readonly text: string
}

/** Returns the texts of a fact, in order. */
export function textsOf(body: FactBody): SearchedText[] {
  switch (body.type) {
    case 'process.queue':
      return [{ kind: 'message', text: body.text }]
    case 'process.output':
      return [{ kind: 'output', text: body.text }]
    case 'tool.finished':
      return [{ kind: 'result', text: body.content }]
    case 'model.failed':
      return body.partial === undefined ? [] : [{ kind: 'text', text: body.partial }]
    case 'model.finished':
      return body.message.map((part) =>
        part.type === 'tool-call'
          ? { kind: 'call', text: [part.name, ...stringsOf(part.input)].join('\n') }
          : { kind: part.type, text: part.text },
      )
    default:
      return []
  }
}

/** Returns the texts inside the input of a tool. */
function stringsOf(input: unknown): string[] {
  if (typeof input === 'string') return [input]
  if (typeof input === 'object') return input === null ? [] : Object.values(input).flatMap(stringsOf)
  return input === undefined ? [] : [String(input)]
}

/** Yields an excerpt of each line that has a match: the first match in it, and the text around. */
export function* excerptsOf(raw: string, pattern: RegExp): Generator<Pick<SearchMatchView, 'before' | 'match' | 'after'>> {
  // Colours between two words must not prevent a match.
  const text = raw.includes('\x1b') || raw.includes('\x9b') ? stripVTControlCharacters(raw) : raw
  pattern.lastIndex = 0
  for (let hit = pattern.exec(text); hit; hit = pattern.exec(text)) {
    const end = hit.index + hit[0].length
    const lineStart = text.lastIndexOf('\n', hit.index - 1) + 1
    const nextLine = text.indexOf('\n', end)
    const lineEnd = nextLine < 0 ? text.length : nextLine
    const from = Math.max(lineStart, hit.index - MAX_BEFORE)
    const to = Math.min(lineEnd, end + MAX_AFTER)
    yield {
      before: (from > lineStart ? '…' : '') + text.slice(from, hit.index).toWellFormed(),
      match: hit[0].slice(0, MAX_MATCH).toWellFormed(),
      after: text.slice(end, to).toWellFormed() + (to < lineEnd ? '…' : ''),
    }
    pattern.lastIndex = lineEnd
  }
}
