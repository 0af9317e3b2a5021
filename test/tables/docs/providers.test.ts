// Compares docs/reference/providers.md with the code. Each snippet must be a valid configuration whose models resolve, and the table must
// list the built-in providers.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DEFAULTS, loadConfig } from '../../../src/config/config.ts'
import { pathsFrom } from '../../../src/config/paths.ts'
import { resolveModel } from '../../../src/drivers/native/models/resolve-model.ts'
import { ROOT } from '../../support/env.ts'
import { tempDir } from '../../support/tmp.ts'

const page = readFileSync(join(ROOT, 'docs/reference/providers.md'), 'utf8')
const snippets = [...page.matchAll(/^## (.*)$[^#]*?```yaml\n([\s\S]*?)```/gm)].map(([, title = '', yaml = '']) => [title, yaml] as const)

test('the page has snippets', () => {
  expect(snippets.length).toBeGreaterThanOrEqual(7)
})

test.each(snippets)('the models of the snippet "%s" resolve', async (_, yaml) => {
  await using home = await tempDir()
  const paths = pathsFrom({ REEVE_HOME: home.path, HOME: home.path })
  await writeFile(paths.configFile, yaml, { mode: 0o600 })
  const config = await loadConfig({ paths, cwd: null })
  const ownModels = config.providers.flatMap(({ name, models = {} }) =>
    Object.keys(models).map((model) => ({ ref: `${name}/${model}`, facts: models[model] })),
  )
  const options = { providers: config.providers, maxOutputTokens: 16_384, idleMs: 1, cwd: home.path, lookup: () => 'key' }
  for (const { ref, facts } of ownModels) expect((await resolveModel(ref, options)).window).toBe(facts?.contextWindow ?? null)
  for (const ref of [config.defaultModel, ...config.fallback]) if (ref !== null) expect((await resolveModel(ref, options)).ref).toBe(ref)
})

test('the table lists the built-in providers', () => {
  const rows = page
    .split('\n')
    .filter((line) => /^\| `[\w-]+` \| `/.test(line))
    .map((line) =>
      line
        .replaceAll('`', '')
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  expect(rows).toEqual(
    DEFAULTS.providers.map(({ name, kind, baseURL, apiKeyEnv, baseURLEnv = '' }) => [
      name,
      expect.stringMatching(new RegExp(`^${kind}(:|$)`)),
      apiKeyEnv ?? 'none',
      baseURL,
      baseURLEnv,
    ]),
  )
})
