// The tool `glob`: files by pattern. Passes over `.git` and `node_modules`. Test: test/tables/native-tools.test.ts.
import { glob as find } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { SKIPPED } from './walk.ts'
import { defineTool } from './tool.ts'

const MAX_FILES = 1_000

export const glob = defineTool({
  name: 'glob',
  description: 'Finds files by a pattern such as src/**/*.ts; .git and node_modules are passed over.',
  effect: 'read',
  input: z.strictObject({
    pattern: z.string().min(1),
    path: z.string().min(1).default('.').describe('where to begin; relative to the working directory, or absolute'),
  }),
  async run(input, at) {
    const found: string[] = []
    const cwd = path.resolve(at.cwd, input.path)
    for await (const file of find(input.pattern, { cwd, exclude: (name) => SKIPPED.has(path.basename(name)) })) {
      at.signal.throwIfAborted()
      if (found.length === MAX_FILES) return `${found.toSorted().join('\n')}\n[… there are more than ${MAX_FILES} …]`
      found.push(file)
    }
    return found.length === 0 ? 'no file fits' : found.toSorted().join('\n')
  },
})
