// Reads the build id of the bundle from its command line; null if the tests run the sources. Must not import
// src/api/build.ts, where vitest-setup.ts sets this id.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORM, ROOT } from '../env.ts'

export const BUNDLE_ID: string | null = FORM === 'bundle' ? readId(readFileSync(join(ROOT, 'dist/cli/main.cjs'), 'latin1')) : null

function readId(text: string): string {
  const found = new RegExp(`"([0-9a-f]{16})"[^"]{0,80}"x-reeve-build"`).exec(text)?.[1]
  if (found === undefined) throw new Error('the command line contains no build id: run `npm run build`')
  return found
}
