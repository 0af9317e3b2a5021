// Formats the outcome of a tool call for `run`, `attach` and `steps`. A command with an exit code other than 0 counts as failed. Pure.
// Tests: test/tables/cli/follow/live-printer.test.ts, test/e2e/cli/cli.test.ts.
import { fitWidth, oneLine } from './text.ts'

/** The end of a tool call. */
interface ToolEnd {
  readonly outcome: string
  readonly exitCode?: number | null
}

/** the number of lines that are shown of the output of a failed command */
const OUTPUT_LINES = 3
const MAX_CHARS = 1000

/** Returns the outcome as text: `ok`, `exit 3`, `error` or `denied`. */
export function outcomeText({ outcome, exitCode }: ToolEnd): string {
  return outcome === 'ok' && exitCode ? `exit ${exitCode}` : outcome
}

/** Whether the call has failed. */
export function isFailedCall({ outcome, exitCode = 0 }: ToolEnd): boolean {
  return outcome !== 'ok' || (exitCode ?? 0) !== 0
}

/** Returns lines from the result of a failed call: the last ones of a command, else the beginning. `reeve logs` shows the whole result. */
export function failureLines(
  end: ToolEnd,
  content: string,
  { columns, ellipsis }: { readonly columns: number; readonly ellipsis: string },
): string[] {
  if (!isFailedCall(end)) return []
  const lines = end.outcome === 'ok' ? lastLines(content) : [oneLine(content.slice(0, MAX_CHARS))]
  return lines.filter((line) => line !== '').map((line) => fitWidth(line, columns, ellipsis))
}

/** Returns the last lines, without the line that only repeats the exit code. */
function lastLines(content: string): string[] {
  const lines = content
    .slice(-OUTPUT_LINES * MAX_CHARS)
    .split('\n')
    .map(oneLine)
  return lines.filter((line) => line !== '' && !/^\[exit code \d+\]$/.test(line)).slice(-OUTPUT_LINES)
}
