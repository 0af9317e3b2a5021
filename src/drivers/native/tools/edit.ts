// The tool `edit`: replaces a text that occurs exactly once in a file, or every occurrence with `replace_all`.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import path from 'node:path'
import type { EditInput, FileContext } from './file-inputs.ts'
import { readText, writeText } from './text-files.ts'
import { ToolError } from './tool-error.ts'

/** The largest file that can be edited, in bytes. */
const MAX_EDIT_BYTES = 10 * 1024 * 1024

/** Returns the result for the model. Errors: `ToolError`. */
export async function editFile(input: EditInput, { cwd, paths }: FileContext): Promise<string> {
  const file = path.resolve(cwd, input.path)
  const parts = (await readText(file, MAX_EDIT_BYTES, paths)).split(input.old_text)
  const occurrences = parts.length - 1
  if (occurrences === 0) throw new ToolError(`old_text was not found in ${input.path}`)
  if (occurrences > 1 && !input.replace_all)
    throw new ToolError(`old_text occurs ${occurrences} times in ${input.path}; include more of the surrounding text, or set replace_all`)
  await writeText(file, parts.join(input.new_text), paths)
  return `replaced ${occurrences} ${occurrences === 1 ? 'occurrence' : 'occurrences'} in ${input.path}`
}
