// docs/reference/keys.md is made from the table of keys and the list of pages: `npm run docs` writes it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keysPage } from '../../../scripts/docs-keys.ts'
import { ROOT } from '../../support/env.ts'

test('the page of keys equals the page that its table generates', () => {
  expect(readFileSync(join(ROOT, 'docs/reference/keys.md'), 'utf8')).toBe(keysPage())
})
