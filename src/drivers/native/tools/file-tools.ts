// Defines the file tools: their names, descriptions and inputs. Their calls run in a worker thread. Must never access a file
// itself.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import { z } from 'zod'
import { MAX_RESULT_BYTES } from '../../common/truncate-middle.ts'
import type { FileInputs, FileToolName } from './file-inputs.ts'
import { FileWorkers } from './file-workers.ts'
import { defineTool } from './tool.ts'
import type { Tool } from './tool.ts'
import type { ToolEffect } from '../../../kernel/model/words.ts'

/** The threads that all file tools share. */
export const fileWorkers = new FileWorkers()

const nonEmptyText = z.string().min(1)
const filePath = nonEmptyText.describe('relative to the working directory, or absolute')

export const FILE_TOOLS: readonly Tool[] = [
  fileTool(
    'read',
    'read',
    `Reads a text file, at most ${MAX_RESULT_BYTES} bytes of it; use offset and limit (in lines) for more. Shows images (png, jpeg, gif, webp).`,
    z.strictObject({
      path: filePath,
      offset: z.int().positive().default(1).describe('the first line to read, counted from 1'),
      limit: z.int().positive().optional().describe('how many lines to read'),
    }),
  ),
  fileTool(
    'write',
    'idempotent',
    'Writes a text file and creates missing directories. Replaces an existing file.',
    z.strictObject({ path: filePath, content: z.string() }),
  ),
  fileTool(
    'edit',
    'once',
    'Replaces old_text with new_text in a text file. old_text must occur exactly once, unless replace_all is set.',
    z.strictObject({
      path: filePath,
      old_text: nonEmptyText,
      new_text: z.string(),
      replace_all: z.boolean().default(false),
    }),
  ),
  fileTool(
    'ls',
    'read',
    'Lists a directory. The names of directories end with a slash.',
    z.strictObject({ path: nonEmptyText.default('.').describe('relative to the working directory, or absolute') }),
  ),
  fileTool(
    'glob',
    'read',
    'Finds files by a pattern such as src/**/*.ts. Skips .git, node_modules and what .gitignore excludes.',
    z.strictObject({
      pattern: nonEmptyText,
      path: nonEmptyText.default('.').describe('the directory to search; relative to the working directory, or absolute'),
    }),
  ),
  fileTool(
    'grep',
    'read',
    'Searches text files for a regular expression, line by line. Skips binary files, .git, node_modules and what .gitignore excludes.',
    z.strictObject({
      pattern: nonEmptyText.describe('a JavaScript regular expression'),
      path: nonEmptyText.default('.').describe('a file or directory; relative to the working directory, or absolute'),
      glob: nonEmptyText.optional().describe('search only files whose path below `path` matches, such as **/*.ts'),
      ignore_case: z.boolean().default(false),
    }),
  ),
]

function fileTool<N extends FileToolName>(name: N, effect: ToolEffect, description: string, input: z.ZodType<FileInputs[N]>): Tool {
  return defineTool({
    name,
    effect,
    description,
    input,
    run: (checkedInput, context) => fileWorkers.run({ name, effect, input: checkedInput }, context),
  })
}
