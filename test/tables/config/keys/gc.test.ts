// The key `gc`: its defaults and values, the messages for invalid values, and how single parts are set.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { loadConfig, type Config } from '../../../../src/config/config.ts'
import { setKey, unsetKey } from '../../../../src/config/edit.ts'
import { explainConfig } from '../../../../src/config/explain.ts'
import { pathsFrom } from '../../../../src/config/paths.ts'
import { tempDir } from '../../../support/tmp.ts'

async function newWorkspace() {
  const tmp = await tempDir()
  const paths = pathsFrom({ REEVE_HOME: tmp.path })
  mkdirSync(paths.config, { recursive: true })
  const loadGc = async (...lines: string[]): Promise<Config['gc'] | string> => {
    writeFileSync(paths.configFile, lines.join('\n'))
    return loadConfig({ paths, cwd: null }).then(
      ({ gc }) => gc,
      (error: Error) => error.message.replaceAll(`${paths.config}/`, ''),
    )
  }
  return {
    paths,
    load: loadGc,
    text: () => readFileSync(paths.configFile, 'utf8'),
    [Symbol.asyncDispose]: () => tmp[Symbol.asyncDispose](),
  }
}

const DEFAULT = { retention_days: 30, max_entries: 500, max_bytes: 0, interval_seconds: 3600 }

describe('the values in the file', () => {
  test.each<[string, Partial<typeof DEFAULT>]>([
    ['', {}],
    ['gc: {}', {}],
    ['gc: { retention_days: 0.5 }', { retention_days: 0.5 }],
    ['gc: { retention_days: 0, max_entries: 0, max_bytes: 0 }', { retention_days: 0, max_entries: 0 }],
    ['gc: { max_bytes: 5GiB, interval_seconds: 60 }', { max_bytes: 5 * 2 ** 30, interval_seconds: 60 }],
    ['gc: { max_bytes: 1048576 }', { max_bytes: 1_048_576 }],
  ])('are read from %j', async (line, changes) => {
    await using workspace = await newWorkspace()
    expect(await workspace.load(line)).toEqual({ ...DEFAULT, ...changes })
  })

  test.each<[string[], string]>([
    [['gc:', '  interval_seconds: 59'], 'config.yaml:2: gc.interval_seconds: must be at least 60'],
    [['# first', 'gc:', '  retention_days: -1'], 'config.yaml:3: gc.retention_days: must be at least 0'],
    [['gc:', '  max_entries: 1.5'], 'config.yaml:2: gc.max_entries: must be a whole number'],
    [['gc:', '  max_bytes: 5 apples'], 'config.yaml:2: gc.max_bytes: expected a number of bytes or a size such as 5GiB'],
    [['gc:', '  max_bytes: -1'], 'config.yaml:2: gc.max_bytes: must be at least 0'],
    [['gc:', '  retention_day: 3'], 'config.yaml:2: unknown key `gc.retention_day`; did you mean `retention_days`?'],
    [['gc: 30'], 'config.yaml:1: gc: must be an object with keys and values'],
  ])('are refused in: %j', async (lines, message) => {
    await using workspace = await newWorkspace()
    expect(await workspace.load(...lines)).toBe(message)
  })
})

describe('a part of the key', () => {
  test('is set, is shown with the defaults of the others, and is removed', async () => {
    await using workspace = await newWorkspace()
    await workspace.load('# mine', 'effort: low', '')
    expect(await setKey(workspace.paths, 'gc.max_bytes', '5GiB')).toMatchObject({ key: 'gc.max_bytes', before: undefined, after: '5GiB' })
    expect(workspace.text()).toBe('# mine\neffort: low\ngc:\n  max_bytes: 5GiB\n')
    const gcEntry = (await explainConfig({ paths: workspace.paths, cwd: null })).find(({ key }) => key === 'gc')
    expect(gcEntry).toEqual({ key: 'gc', source: 'user', where: workspace.paths.configFile, value: { ...DEFAULT, max_bytes: 5 * 2 ** 30 } })
    await unsetKey(workspace.paths, 'gc.max_bytes')
    expect(workspace.text()).toBe('# mine\neffort: low\n')
  })

  test.each<[string, string, string]>([
    ['gc.max_byte', '1', 'there is no key `gc.max_byte`; did you mean `gc.max_bytes`?'],
    ['gc.interval_seconds', '5', 'gc.interval_seconds: must be at least 60'],
  ])('%s is refused', async (key, value, message) => {
    await using workspace = await newWorkspace()
    await workspace.load('effort: low', '')
    await expect(setKey(workspace.paths, key, value)).rejects.toMatchObject({ code: 'INVALID', message })
    expect(workspace.text()).toBe('effort: low\n')
  })
})
