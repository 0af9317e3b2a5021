// Whether the line or card of a question shows the question in full. Only then can the user answer it there: an approval is valid only for
// what was on the screen. Tests: test/tables/faces/visible-text.test.ts, test/e2e/web/needs-strip.test.ts.
import type { AskView } from '../../src/api/views/process.ts'
import { visibleText } from '../../src/faces/visible-text.ts'

/** the longest command that a line shows in full, in characters */
const MAX_COMMAND = 100

/** The command of a question as it would run; null if the question is about something else. */
export function commandOfQuestion(ask: AskView | null): string | null {
  const input = ask?.tool?.input
  const command = typeof input === 'object' && input !== null && 'command' in input ? input.command : null
  return typeof command === 'string' ? command : null
}

/** Whether one line shows all of the question: a short command, or a text without a call or changes. */
export function isShownInFull(ask: AskView): boolean {
  const command = commandOfQuestion(ask)
  if (command === null) return ask.tool === null && ask.diff.length === 0
  const shown = visibleText(command)
  return shown.length <= MAX_COMMAND && !shown.includes('\n') && !ask.tool?.cut
}
