// The key `gateway` of the user's config.yaml: its values and defaults, and the messages for invalid ones.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { setKey, unsetKey } from '../../../../src/config/edit.ts'
import { pathsFrom, type Paths } from '../../../../src/config/paths.ts'
import { testEnv } from '../../../support/env.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

let dir: TempDir
let paths: Paths
beforeEach(async () => {
  dir = await tempDir()
  paths = pathsFrom(testEnv(join(dir.path, 'home')))
  await mkdir(paths.config, { recursive: true })
})
afterEach(() => dir[Symbol.asyncDispose]())

async function gatewayOf(text: string | null): Promise<unknown> {
  if (text !== null) await writeFile(paths.configFile, text)
  return (await loadConfig({ paths, cwd: null })).gateway
}

describe('the key `gateway`', () => {
  test.each([
    [null, { mode: 'auto', record: false, rateLimits: {} }],
    ['gateway: { mode: off }', { mode: 'off', record: false, rateLimits: {} }],
    ['gateway: { record: true }', { mode: 'auto', record: true, rateLimits: {} }],
    [
      'gateway:\n  rateLimits:\n    anthropic: { requestsPerMinute: 50, tokensPerMinute: 40000, concurrent: 4 }\n',
      { mode: 'auto', record: false, rateLimits: { anthropic: { requestsPerMinute: 50, tokensPerMinute: 40_000, concurrent: 4 } } },
    ],
    [
      'gateway: { rateLimits: { work: { concurrent: 4 } } }\nproviders: [{ name: work, kind: openai-compatible, baseURL: "http://127.0.0.1:1/v1" }]\n',
      { mode: 'auto', record: false, rateLimits: { work: { concurrent: 4 } } },
    ],
  ])('is read from %j', async (text, expected) => {
    expect(await gatewayOf(text)).toEqual(expected)
  })

  test.each([
    ['gateway: on', /config\.yaml:1.*gateway/],
    ['gateway:\n  mode: maybe', /config\.yaml:2/],
    ['gateway:\n  rateLimits:\n    anthropic: { concurrent: 0 }', /config\.yaml:3/],
    [
      'gateway:\n  rateLimits:\n    anthropic: { rpm: 5 }',
      /config\.yaml:3: unknown key `gateway\.rateLimits\.anthropic\.rpm`; known keys are requestsPerMinute, tokensPerMinute, concurrent/,
    ],
    [
      'gateway:\n  rateLimits:\n    antropic: { concurrent: 5 }',
      /config\.yaml:3: gateway\.rateLimits\.antropic: there is no provider of this name; there are anthropic, openai/,
    ],
    ['gateway:\n  recrod: true', /unknown key `(gateway\.)?recrod`.*did you mean `record`/],
  ])('%j is refused with file and line', async (text, message) => {
    await expect(gatewayOf(text)).rejects.toThrow(message)
  })

  test('may not be set by a project, because the user pays for the calls', async () => {
    await writeFile(join(dir.path, 'reeve.yaml'), 'gateway: { mode: off }\n')
    await expect(loadConfig({ paths, cwd: dir.path })).rejects.toThrow(/`gateway` can be set only in the user's config.yaml/)
  })
})

test('the parts of the key `gateway` can be set one by one', async () => {
  await setKey(paths, 'gateway.mode', 'off')
  await setKey(paths, 'gateway.record', 'true')
  expect(await gatewayOf(null)).toEqual({ mode: 'off', record: true, rateLimits: {} })
  await unsetKey(paths, 'gateway.mode')
  expect(await gatewayOf(null)).toMatchObject({ mode: 'auto', record: true })
  await expect(setKey(paths, 'gateway.mode', 'maybe')).rejects.toThrow(/mode/)
  await expect(setKey(paths, 'gateway.modus', 'off')).rejects.toThrow(/did you mean `gateway\.mode`/)
})
