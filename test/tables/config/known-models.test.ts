// The list of known models is the one that its script makes now, and has the models that the command line proposes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { knownModelsSource } from '../../../scripts/known-models.ts'
import { KNOWN_MODELS } from '../../../src/config/known-models.ts'
import { PROPOSED_MODELS } from '../../../src/cli/print/hints.ts'
import { ROOT } from '../../support/env.ts'

test('the file is what `npm run docs` makes of the price table', () => {
  expect(readFileSync(join(ROOT, 'src/config/known-models.ts'), 'utf8')).toBe(knownModelsSource())
})

test('each built-in provider with a list has models, and the proposed model is one of them', () => {
  expect(Object.keys(KNOWN_MODELS)).toEqual(['anthropic', 'openai', 'google'])
  for (const model of Object.values(PROPOSED_MODELS)) {
    const [provider = '', name = ''] = model.split('/')
    if (name !== 'NAME') expect(KNOWN_MODELS[provider]).toContain(name)
  }
})
