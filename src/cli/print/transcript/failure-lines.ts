// Selects the lines that `run`, `attach` and `steps` show of the result of a failed tool call. Pure.
// Tests: test/tables/cli/follow/live-printer.test.ts, test/e2e/cli/cli.test.ts.
import { isFailedCall, withoutExitCode, type ToolEnd } from '../../../api/text/tool-outcome.ts'
import { fitWidth, oneLine } from '../text.ts'

/** the number of lines that are shown of the output of a failed command */
const OUTPUT_LINES = 3
const MAX_CHARS = 1000

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
  return withoutExitCode(lines.filter((line) => line !== '')).slice(-OUTPUT_LINES)
}
