// The tool `ls`: the names in a directory. Test: test/tables/native-tools.test.ts.
import { opendir } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { listWithin } from './reach.ts'
import { defineTool } from './tool.ts'

const MAX_NAMES = 1_000

export const ls = defineTool({
  name: 'ls',
  description: 'Lists a directory; directories end with a slash.',
  effect: 'read',
  input: z.strictObject({ path: z.string().min(1).default('.').describe('relative to the working directory, or absolute') }),
  async run(input, at) {
    const names: string[] = []
    const dir = path.resolve(at.cwd, input.path)
    for await (const entry of at.places ? await listWithin(dir, at.places) : await opendir(dir)) {
      at.signal.throwIfAborted()
      if (names.length === MAX_NAMES) return `${render(names)}\n[… there are more than ${MAX_NAMES} …]`
      names.push(entry.isDirectory() ? `${entry.name}/` : entry.name)
    }
    return names.length === 0 ? '(empty)' : render(names)
  },
})

function render(names: readonly string[]): string {
  return names.toSorted().join('\n')
}
