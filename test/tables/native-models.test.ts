// From a reference to a model: which provider, which key, and what is missing.
import { expect, test } from 'vitest'
import { DEFAULTS } from '../../src/config/config.ts'
import { resolveModel } from '../../src/drivers/native/models.ts'
import type { ModelOptions } from '../../src/drivers/native/models.ts'

const OWN = { name: 'own', kind: 'anthropic', baseURL: 'http://localhost:1', apiKeyEnv: 'OWN_KEY' } as const

function options(values: Readonly<Record<string, string>> = {}): ModelOptions {
  return { providers: [OWN, ...DEFAULTS.providers], maxOutputTokens: 1, idleMs: 1, cwd: '/', lookup: (name) => values[name] }
}

const REFUSED: readonly (readonly [ref: string | null, code: string, words: string])[] = [
  [null, 'INVALID', 'needs a model'],
  ['claude', 'INVALID', 'no provider is called ""'],
  ['nobody/x', 'INVALID', 'there are own, anthropic, openai, google, openai-chat, '],
  ['anthropic/', 'INVALID', 'no name'],
  ['anthropic/claude-x', 'CREDENTIALS_MISSING', 'ANTHROPIC_API_KEY'],
  ['openai/gpt-x', 'CREDENTIALS_MISSING', 'OPENAI_API_KEY'],
  ['own/x', 'CREDENTIALS_MISSING', 'OWN_KEY'],
  ['script:/no/such/file', 'AGENT_INVALID', '/no/such/file'],
]

test.each(REFUSED)('%s is refused: %s', async (ref, code, words) => {
  await expect(resolveModel(ref, options())).rejects.toMatchObject({ code, message: expect.stringContaining(words) })
})

test('a model knows its window: from the configuration, else from the tables, else not', async () => {
  const known = { ...OWN, name: 'anthropic', apiKeyEnv: null, models: { 'claude-sonnet-4-5': { contextWindow: 1_000_000 } } }
  const windowOf = async (ref: string, providers: ModelOptions['providers']): Promise<number | null> => (await resolveModel(ref, { ...options({ OWN_KEY: 'k' }), providers })).window
  expect(await windowOf('anthropic/claude-sonnet-4-5', [known])).toBe(1_000_000)
  expect(await windowOf('anthropic/claude-haiku-4-5', [known])).toBe(200_000)
  expect(await windowOf('own/a', [OWN])).toBeNull()
})

test('a key that is empty is missing', async () => {
  await expect(resolveModel('openai/x', options({ OPENAI_API_KEY: '' }))).rejects.toMatchObject({ code: 'CREDENTIALS_MISSING', details: { variable: 'OPENAI_API_KEY' } })
})

test('the daemon\'s own environment gives no key', async () => {
  process.env['OPENAI_API_KEY'] = 'of the daemon'
  try {
    await expect(resolveModel('openai/x', options())).rejects.toMatchObject({ code: 'CREDENTIALS_MISSING' })
  } finally {
    delete process.env['OPENAI_API_KEY']
  }
})

test('with its key a model keeps its reference, slashes in the name too', async () => {
  expect((await resolveModel('own/a/b', options({ OWN_KEY: 'k' }))).ref).toBe('own/a/b')
})
