// What a terminal shows below a finished tool call: the changed lines of an edit, names of images, and the beginning of an output. Ctrl+O
// shows the rest (live-printer.ts). Pure; all text passes through `stripControls`.
// Test: test/tables/cli/print/transcript/tool-result.test.ts.
import { withoutExitCode } from '../../../api/text/tool-outcome.ts'
import type { BodyOf } from '../../../kernel/model/facts.ts'
import { formatBytes } from '../../../faces/format.ts'
import { askDiffLines } from '../needs.ts'
import type { Output } from '../output.ts'
import { stripControls } from '../text.ts'

/** the lines that are shown of an edit, and of any other result */
const DIFF_LINES = 12
const OUTPUT_LINES = 4
/** the lines that are kept of a result */
const MAX_LINES = 2_000
/** what replaces a tab, whose width would depend on its place */
const TAB = '    '
/** Tools that only read. The text of their results is not shown, because the user can read the source itself. */
const READING_TOOLS = /^(?:mcp__\w+__)?(?:read|ls|glob|grep|search|fetch|skill|list|todo\w*|update_plan|think)\w*$/i

export interface ResultLines {
  /** the lines that are shown */
  readonly lines: readonly string[]
  /** all lines */
  readonly all: readonly string[]
}

type Fact = Pick<BodyOf<'tool.finished'>, 'name' | 'content' | 'images'>
type Style = Pick<Output, 'paintMessage'>

/** Returns the lines of the result of a call. */
export function toolResult({ name, content, images = [] }: Fact, input: unknown, style: Style): ResultLines {
  const named = images.map(
    ({ mediaType, data }) => `[image: ${stripControls(mediaType)}, ${formatBytes(Math.floor((data.length * 3) / 4))}]`,
  )
  const diff = editLines(input) ?? diffOf(content)
  if (diff !== null) {
    const all = diff.slice(0, MAX_LINES).map((line) => paintChange(line.replaceAll('\t', TAB), style))
    return { lines: [...named, ...all.slice(0, DIFF_LINES)], all: [...named, ...all] }
  }
  const text = withoutExitCode(linesOf(content))
  const all = [...named, ...(text.length === 1 && text[0] === '' ? [] : text)]
  return { lines: READING_TOOLS.test(name) ? named : [...named, ...all.slice(named.length, named.length + OUTPUT_LINES)], all }
}

/** Returns the change that the input of an editing tool describes; null if the input has no path, old text and new text. */
function editLines(input: unknown): string[] | null {
  if (typeof input !== 'object' || input === null) return null
  const text = (...names: string[]): string | null => {
    const found = names.map((name) => (input as Record<string, unknown>)[name]).find((value) => typeof value === 'string')
    return typeof found === 'string' ? found : null
  }
  const path = text('path', 'file_path', 'filePath')
  const old = text('old_text', 'old_string', 'oldText', 'oldString')
  const changed = text('new_text', 'new_string', 'newText', 'newString')
  if (path === null || old === null || changed === null) return null
  return askDiffLines({ path, old, new: changed, oldKnown: true, equalBefore: 0, equalAfter: 0, cut: 0 })
}

/** Returns the lines of a result that is a diff, as external agents send it; null for any other result. */
function diffOf(content: string): string[] | null {
  if (!/^(?:diff --git .*\n(?:.*\n){0,4})?--- .*\n\+\+\+ /.test(content)) return null
  return linesOf(content)
}

function linesOf(text: string): string[] {
  return stripControls(text).replace(/\n$/, '').replaceAll('\t', TAB).split('\n').slice(0, MAX_LINES)
}

/** Paints a line of a change by its sign. */
export function paintChange(line: string, style: Style): string {
  if (line.startsWith('--- ') || line.startsWith('+++ ')) return style.paintMessage('bold', line)
  if (line.startsWith('@@ ')) return style.paintMessage('cyan', line)
  return line.startsWith('+') ? style.paintMessage('green', line) : line.startsWith('-') ? style.paintMessage('red', line) : line
}
