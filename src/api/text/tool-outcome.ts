// The outcome of a tool call as text. A command with an exit code other than 0 counts as failed. Pure.
// Tests: test/tables/cli/follow/live-printer.test.ts, test/tables/api/text/log-lines.test.ts.

/** The end of a tool call. */
export interface ToolEnd {
  readonly outcome: string
  readonly exitCode?: number | null
}

/** The line of a result that only repeats the exit code. */
const EXIT_CODE_LINE = /^\[exit code \d+\]$/

/** Returns the outcome as text: `ok`, `exit 3`, `error` or `denied`. */
export function outcomeText({ outcome, exitCode }: ToolEnd): string {
  return outcome === 'ok' && exitCode ? `exit ${exitCode}` : outcome
}

/** Whether the call has failed. */
export function isFailedCall({ outcome, exitCode = 0 }: ToolEnd): boolean {
  return outcome !== 'ok' || (exitCode ?? 0) !== 0
}

/** Removes the lines that only repeat the exit code. */
export function withoutExitCode(lines: readonly string[]): string[] {
  return lines.filter((line) => !EXIT_CODE_LINE.test(line))
}
