// The paths on this machine of pages that messages name.
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { docsFolderNote, withDocsPaths } from '../../../../src/cli/print/docs-pages.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')
const page = (name: string): string => join(ROOT, 'docs', name)

test.each([
  ['see docs/guides/web.md.', `see ${page('guides/web.md')}.`],
  ['(docs/reference/crews.md)', `(${page('reference/crews.md')})`],
  ['no page docs/none.md', 'no page docs/none.md'],
  ['another /x/docs/guides/web.md', 'another /x/docs/guides/web.md'],
  ['nothing', 'nothing'],
])('in the message %j, an existing page has its path', (text, expected) => expect(withDocsPaths(text)).toBe(expected))

test('a help page that names a page says where the folder is', () => {
  expect(docsFolderNote('The rules are in docs/trust/security.md.')).toBe(`The folder docs/ is ${join(ROOT, 'docs')}`)
  expect(docsFolderNote('No page.')).toBeNull()
})
