// The file change that a question is about, as lines: those that differ, with a few equal lines around them.
// Does not make the texts safe for a screen. Pure. Tests: test/tables/cli/print/needs.test.ts, test/e2e/web/actions.test.ts.
import type { AskDiffView } from '../api/views/process.ts'

/** the equal lines that are shown before a change, and after it */
const CONTEXT_LINES = 3

export interface ChangeLine {
  readonly kind: 'same' | 'removed' | 'added' | 'note'
  readonly text: string
}

export function linesOfChange({ old, new: text, oldKnown, equalBefore, equalAfter, cut }: AskDiffView): ChangeLine[] {
  const before = old === null || !oldKnown ? [] : linesOf(old)
  const after = linesOf(text)
  const most = Math.min(before.length, after.length)
  let head = 0
  while (head < most && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1
  const keptHead = Math.min(head, CONTEXT_LINES)
  const keptTail = Math.min(tail, CONTEXT_LINES)
  const [hiddenHead, hiddenTail] = [equalBefore + head - keptHead, equalAfter + tail - keptTail]
  const lines = (kind: ChangeLine['kind'], texts: readonly string[]): ChangeLine[] => texts.map((line) => ({ kind, text: line }))
  return [
    ...lines('note', hiddenHead > 0 ? [`(${hiddenHead} equal lines)`] : []),
    ...lines('same', after.slice(head - keptHead, head)),
    ...lines('removed', before.slice(head, before.length - tail)),
    ...lines('added', after.slice(head, after.length - tail)),
    ...lines('same', after.slice(after.length - tail, after.length - tail + keptTail)),
    ...lines('note', hiddenTail > 0 ? [`(${hiddenTail} equal lines)`] : []),
    ...lines('note', cut > 0 ? [`(${cut} characters are not shown)`] : []),
  ]
}

/** The lines of a text; an empty text has none. */
function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}
