// The key `prices`: its values, and the messages for invalid values, with their lines.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig, type Config } from '../../../../src/config/config.ts'
import { pathsFrom } from '../../../../src/config/paths.ts'
import { tempDir } from '../../../support/tmp.ts'

async function loadPrices(...lines: string[]): Promise<Config['prices'] | string> {
  await using tmp = await tempDir()
  const paths = pathsFrom({ REEVE_HOME: tmp.path })
  mkdirSync(paths.config, { recursive: true })
  writeFileSync(paths.configFile, lines.join('\n'))
  return await loadConfig({ paths, cwd: null }).then(
    ({ prices }) => prices,
    (error: Error) => error.message.replaceAll(`${paths.config}/`, ''),
  )
}

test.each<[string[], Config['prices']]>([
  [[''], {}],
  [['prices: { openai/gpt-5: { input: 1.25, output: 10 } }'], { 'openai/gpt-5': { input: 1.25, output: 10 } }],
  [
    [
      'prices:',
      '  work/*: { input: 0, output: 0, cacheRead: 0.1, cacheWrite: 2, window: 8192 }',
      '  openrouter/a/b:c: { input: 1, output: 2 }',
    ],
    { 'work/*': { input: 0, output: 0, cacheRead: 0.1, cacheWrite: 2, window: 8192 }, 'openrouter/a/b:c': { input: 1, output: 2 } },
  ],
])('the prices are read from %j', async (lines, prices) => {
  expect(await loadPrices(...lines)).toEqual(prices)
})

test.each<[string[], string]>([
  [['prices:', '  openai/gpt-5: { input: 1 }'], 'config.yaml:2: prices.openai/gpt-5.output: is missing'],
  [['prices:', '  openai/gpt-5: { input: -1, output: 1 }'], 'config.yaml:2: prices.openai/gpt-5.input: must be at least 0'],
  [
    ['# mine', 'prices:', '  openai/gpt-5:', '    input: 1', '    ouput: 1', '    output: 1'],
    'config.yaml:5: unknown key `prices.openai/gpt-5.ouput`; did you mean `output`?',
  ],
  [['prices:', '  openai/gpt-5: { input: 1, output: cheap }'], 'config.yaml:2: prices.openai/gpt-5.output: must be a number'],
])('the prices are refused in: %j', async (lines, message) => {
  expect(await loadPrices(...lines)).toBe(message)
})

test.each(['gpt-5', 'openai/', '*', 'op*/gpt-5', 'openai/gpt 5'])('%j names no model', async (name) => {
  expect(await loadPrices('prices:', `  "${name}": { input: 1, output: 1 }`)).toMatch(/^config\.yaml:2: prices/)
})

test('a project may not set prices', async () => {
  await using tmp = await tempDir()
  writeFileSync(join(tmp.path, 'reeve.yaml'), 'prices: { "openai/gpt-5": { input: 0, output: 0 } }\n')
  await expect(loadConfig({ paths: pathsFrom({ REEVE_HOME: join(tmp.path, 'home') }), cwd: tmp.path })).rejects.toMatchObject({
    message: expect.stringContaining("`prices` can be set only in the user's config.yaml"),
  })
})
