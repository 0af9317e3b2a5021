// The resolution of a model's reference: its provider, its key, its window, and errors for missing values. Also the text of its time
// limit for a silence.
import { expect, test } from 'vitest'
import { DEFAULTS } from '../../../../../src/config/config.ts'
import { durationText } from '../../../../../src/drivers/native/models/idle-timeout.ts'
import { resolveModel } from '../../../../../src/drivers/native/models/resolve-model.ts'
import type { ModelOptions } from '../../../../../src/drivers/native/models/resolve-model.ts'

const OWN_PROVIDER = { name: 'own', kind: 'anthropic', baseURL: 'http://localhost:1', apiKeyEnv: 'OWN_KEY' } as const

function makeOptions(values: Readonly<Record<string, string>> = {}): ModelOptions {
  return { providers: [OWN_PROVIDER, ...DEFAULTS.providers], maxOutputTokens: 1, idleMs: 1, cwd: '/', lookup: (name) => values[name] }
}

const REFUSED: readonly (readonly [ref: string, code: string, message: string])[] = [
  ['claude', 'INVALID', 'model "claude" names no provider; write PROVIDER/NAME with one of own, anthropic, '],
  ['/claude', 'INVALID', 'model "/claude" names no provider'],
  ['unknown/x', 'INVALID', 'there is no provider "unknown"; use one of own, anthropic, openai, google, openai-chat, '],
  ['anthropic/', 'INVALID', 'no name'],
  ['anthropic/claude-x', 'CREDENTIALS_MISSING', 'ANTHROPIC_API_KEY'],
  ['openai/gpt-x', 'CREDENTIALS_MISSING', 'OPENAI_API_KEY'],
  ['own/x', 'CREDENTIALS_MISSING', 'OWN_KEY'],
  ['script:/no/such/file', 'AGENT_INVALID', '/no/such/file'],
]

test.each(REFUSED)('%s is refused: %s', async (ref, code, message) => {
  await expect(resolveModel(ref, makeOptions())).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
})

test('the window comes from the configuration, or else from the table, or else it is unknown', async () => {
  const knownProvider = {
    ...OWN_PROVIDER,
    name: 'anthropic',
    apiKeyEnv: null,
    models: { 'claude-sonnet-4-5': { contextWindow: 1_000_000 } },
  }
  const windowOf = async (ref: string, providers: ModelOptions['providers']): Promise<number | null> =>
    (await resolveModel(ref, { ...makeOptions({ OWN_KEY: 'k' }), providers })).window
  expect(await windowOf('anthropic/claude-sonnet-4-5', [knownProvider])).toBe(1_000_000)
  expect(await windowOf('anthropic/claude-haiku-4-5', [knownProvider])).toBe(200_000)
  expect(await windowOf('own/a', [OWN_PROVIDER])).toBeNull()
})

test('an empty key counts as missing', async () => {
  await expect(resolveModel('openai/x', makeOptions({ OPENAI_API_KEY: '' }))).rejects.toMatchObject({
    code: 'CREDENTIALS_MISSING',
    details: { variable: 'OPENAI_API_KEY' },
  })
})

test("a key in the daemon's own environment is ignored", async () => {
  process.env['OPENAI_API_KEY'] = 'of the daemon'
  try {
    await expect(resolveModel('openai/x', makeOptions())).rejects.toMatchObject({ code: 'CREDENTIALS_MISSING' })
  } finally {
    delete process.env['OPENAI_API_KEY']
  }
})

test('a model keeps its reference, including slashes in the name', async () => {
  expect((await resolveModel('own/a/b', makeOptions({ OWN_KEY: 'k' }))).ref).toBe('own/a/b')
})

test.each([
  [100, '100 ms'],
  [1_500, '1.5 s'],
  [90_000, '90 s'],
  [300_000, '5 min'],
])('a silence of %d ms is shown as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})
