// The types of the API are generated from its schemas, so that users of the library need no schema library.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { viewFiles } from '../../../scripts/views.ts'
import { ROOT } from '../../support/env.ts'

const dir = join(ROOT, 'src/api/views')
const generatedFiles = viewFiles()

test('src/api/views has the files that `npm run docs` makes, and no other', () => {
  expect(Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), 'utf8')]))).toEqual(generatedFiles)
})

test('the generated files import types of the kernel and of each other, and no package', () => {
  const imports = Object.values(generatedFiles).flatMap((text) =>
    [...text.matchAll(/^(import .*|\}) from '(.*)'$/gm)].map((match) => match[2]),
  )
  expect(imports.length).toBeGreaterThan(10)
  expect(imports.filter((specifier) => !/^(\.\/|\.\.\/\.\.\/kernel\/)/.test(specifier ?? ''))).toEqual([])
})

test('a description of a schema is the comment of its type, and of its field', () => {
  expect(generatedFiles['process.ts']).toContain('/** A process in its current state. */\nexport interface ProcessView {\n')
  expect(generatedFiles['process.ts']).toContain(
    '  /** models that are tried, in order, if the first one cannot answer */\n  fallback: string[]\n',
  )
  expect(generatedFiles['process.ts']).toContain('  recordedStep: number | null\n')
})
