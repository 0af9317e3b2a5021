// The tool `ls`: lists the names in a directory. Test: test/tables/drivers/native/tools/file-tools.test.ts.
import { opendir } from 'node:fs/promises'
import path from 'node:path'
import type { FileContext, LsInput } from './file-inputs.ts'
import { listWithin } from './path-guard.ts'

/** The maximum number of listed names. */
const MAX_NAMES = 1_000

export async function listDirectory(input: LsInput, { cwd, paths }: FileContext): Promise<string> {
  const names: string[] = []
  const dir = path.resolve(cwd, input.path)
  for await (const entry of paths ? await listWithin(dir, paths) : await opendir(dir)) {
    if (names.length === MAX_NAMES) return `${formatNames(names)}\n[… more than ${MAX_NAMES} entries …]`
    names.push(entry.isDirectory() ? `${entry.name}/` : entry.name)
  }
  return names.length === 0 ? '(empty)' : formatNames(names)
}

function formatNames(names: readonly string[]): string {
  return names.toSorted().join('\n')
}
