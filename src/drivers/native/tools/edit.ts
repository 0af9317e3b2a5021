// The tool `edit`: replaces a text in a file, if it is there exactly once (or everywhere, when asked).
// Test: test/tables/native-tools.test.ts.
import path from 'node:path'
import { z } from 'zod'
import { readText, writeText } from './files.ts'
import { ToolError, defineTool } from './tool.ts'

const MAX_EDIT_BYTES = 10 * 1024 * 1024

export const edit = defineTool({
  name: 'edit',
  description: 'Replaces old_text by new_text in a text file. old_text must be there exactly once, unless replace_all is set.',
  effect: 'once',
  input: z.strictObject({
    path: z.string().min(1).describe('relative to the working directory, or absolute'),
    old_text: z.string().min(1),
    new_text: z.string(),
    replace_all: z.boolean().default(false),
  }),
  async run(input, at) {
    const file = path.resolve(at.cwd, input.path)
    const parts = (await readText(file, MAX_EDIT_BYTES, at.places)).split(input.old_text)
    const found = parts.length - 1
    if (found === 0) throw new ToolError(`old_text is not in ${input.path}`)
    if (found > 1 && !input.replace_all) throw new ToolError(`old_text is ${found} times in ${input.path}; give more of what is around it, or set replace_all`)
    at.signal.throwIfAborted()
    await writeText(file, parts.join(input.new_text), at.places)
    return `replaced ${found} ${found === 1 ? 'place' : 'places'} in ${input.path}`
  },
})
