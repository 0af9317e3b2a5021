// The tool `write`: writes a whole file. Writing again gives the same file.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import path from 'node:path'
import type { FileContext, WriteInput } from './file-inputs.ts'
import { writeText } from './text-files.ts'

export async function writeFile(input: WriteInput, { cwd, paths }: FileContext): Promise<string> {
  await writeText(path.resolve(cwd, input.path), input.content, paths)
  return `wrote ${Buffer.byteLength(input.content)} bytes to ${input.path}`
}
