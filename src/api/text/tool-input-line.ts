// Shows the main part of a tool call's input on one line without control characters. Pure. Test:
// test/tables/cli/print/process-text.test.ts.
import { oneLine } from './safe-text.ts'
import { mainInput } from './tool-input.ts'

/** Returns the input of a tool call on one line: its main field, or the whole input as JSON. */
export function toolInputLine(input: unknown): string {
  return oneLine(mainInput(input))
}
