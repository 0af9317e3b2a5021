// The tool `glob`: files by pattern. Passes over `.git` and `node_modules`. Test: test/tables/native-tools.test.ts.
import { glob as find } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { Places } from '../../../kernel/permits.ts'
import { checkPlace } from './reach.ts'
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
    const { places } = at
    const dir = path.resolve(at.cwd, input.path)
    const cwd = places ? await checkPlace(dir, 'read', places) : dir
    const files = find(input.pattern, { cwd, exclude: (name) => SKIPPED.has(path.basename(name)) })
    for await (const file of places ? within(files, cwd, places) : files) {
      at.signal.throwIfAborted()
      if (found.length === MAX_FILES) return `${found.toSorted().join('\n')}\n[… there are more than ${MAX_FILES} …]`
      found.push(file)
    }
    return found.length === 0 ? 'no file fits' : found.toSorted().join('\n')
  },
})

/** Those that may be read; a pattern may lead out, by its own words or by links. Errors: `RefusedError` where all of them are outside. */
async function* within(files: AsyncIterable<string>, cwd: string, places: Places): AsyncGenerator<string> {
  let [inside, refused] = [0, null as unknown]
  for await (const file of files) {
    const error: unknown = await checkPlace(path.resolve(cwd, file), 'read', places).then(() => null, (why: unknown) => why)
    refused ??= error
    if (error !== null) continue
    inside += 1
    yield file
  }
  if (inside === 0 && refused !== null) throw refused
}
