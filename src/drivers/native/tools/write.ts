// The tool `write`: a whole file. Doing it twice is the same as once. Test: test/tables/native-tools.test.ts.
import path from 'node:path'
import { z } from 'zod'
import { writeText } from './files.ts'
import { defineTool } from './tool.ts'

export const write = defineTool({
  name: 'write',
  description: 'Writes a text file, with its directories. What stood there before is replaced.',
  effect: 'idempotent',
  input: z.strictObject({
    path: z.string().min(1).describe('relative to the working directory, or absolute'),
    content: z.string(),
  }),
  async run(input, at) {
    at.signal.throwIfAborted()
    await writeText(path.resolve(at.cwd, input.path), input.content, at.places)
    return `wrote ${Buffer.byteLength(input.content)} bytes to ${input.path}`
  },
})
