// Edits of the user's config.yaml: what stays, what is refused, and the mode of the file. Also the values in force with their sources.
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { setKey, trustDirectory, unsetKey, untrustDirectory } from '../../../src/config/edit.ts'
import { explainConfig, findConfigEntry, formatEntry } from '../../../src/config/explain.ts'
import { pathsFrom, type Paths } from '../../../src/config/paths.ts'
import { tempDir } from '../../support/tmp.ts'

interface Workspace extends AsyncDisposable {
  readonly dir: string
  readonly paths: Paths
  /** the file's text; null if there is none */
  text(): string | null
}

async function newWorkspace(text?: string): Promise<Workspace> {
  const tmp = await tempDir()
  const paths = pathsFrom({ REEVE_HOME: join(tmp.path, 'home') })
  if (text !== undefined) {
    mkdirSync(paths.config, { mode: 0o700 })
    writeFileSync(paths.configFile, text, { mode: 0o640 })
    chmodSync(paths.configFile, 0o640)
  }
  return {
    dir: tmp.path,
    paths,
    text: () => (existsSync(paths.configFile) ? readFileSync(paths.configFile, 'utf8') : null),
    [Symbol.asyncDispose]: () => tmp[Symbol.asyncDispose](),
  }
}

const USER_FILE = `# mine

defaultModel: "a/b" # the model
# more
fallback: [x/y] # in order

effort: low
`

describe('setting a key', () => {
  test.each<[string, string, string, string]>([
    ['a text, with its quotes and its comment', 'defaultModel', 'c/d', USER_FILE.replace('a/b', 'c/d')],
    ['a list, with commas', 'fallback', 'e/f, g/h', USER_FILE.replace('fallback: [x/y] # in order\n', 'fallback:\n  - e/f\n  - g/h\n')],
    ['a list, as YAML', 'fallback', '[e/f]', USER_FILE.replace('fallback: [x/y] # in order\n', 'fallback:\n  - e/f\n')],
    ['a number that was not there', 'maxProcesses', '20', `${USER_FILE}maxProcesses: 20\n`],
    ['a part of budgets', 'budgets.dailyUsd', '20', `${USER_FILE}budgets:\n  dailyUsd: 20\n`],
    ['a part of limits', 'limits.budgetUsd', '3', `${USER_FILE}limits:\n  budgetUsd: 3\n`],
    [
      'a part of mcp',
      'mcp.git.hub',
      '{ command: npx, args: [-y, x] }',
      `${USER_FILE}mcp:\n  git.hub:\n    command: npx\n    args:\n      - -y\n      - x\n`,
    ],
  ])('writes %s', async (_what, key, value, after) => {
    await using workspace = await newWorkspace(USER_FILE)
    await setKey(workspace.paths, key, value)
    expect(workspace.text()).toBe(after)
    expect(statSync(workspace.paths.configFile).mode & 0o777).toBe(0o640)
    expect(readdirSync(workspace.paths.config)).toEqual(['config.yaml'])
  })

  test('creates a file that only the user can read', async () => {
    await using workspace = await newWorkspace()
    expect(await setKey(workspace.paths, 'effort', 'high')).toEqual({
      file: workspace.paths.configFile,
      key: 'effort',
      before: undefined,
      after: 'high',
    })
    expect(workspace.text()).toBe('effort: high\n')
    expect([statSync(workspace.paths.configFile).mode & 0o777, statSync(workspace.paths.config).mode & 0o777]).toEqual([0o600, 0o700])
  })

  test('changes the target of a link', async () => {
    await using workspace = await newWorkspace()
    const real = join(workspace.dir, 'dotfiles.yaml')
    writeFileSync(real, 'effort: low\n')
    mkdirSync(workspace.paths.config)
    symlinkSync(real, workspace.paths.configFile)
    await setKey(workspace.paths, 'effort', 'high')
    expect(readFileSync(real, 'utf8')).toBe('effort: high\n')
    expect(lstatSync(workspace.paths.configFile).isSymbolicLink()).toBe(true)
  })

  test('reports the old and the new value without secrets', async () => {
    await using workspace = await newWorkspace(USER_FILE)
    expect(await setKey(workspace.paths, 'defaultModel', 'c/d')).toMatchObject({ before: 'a/b', after: 'c/d' })
    expect(await setKey(workspace.paths, 'mcp.a', '{ url: "https://u:secret@h.com/x?k=secret" }')).toMatchObject({
      before: undefined,
      after: 'https://h.com',
    })
    expect(await setKey(workspace.paths, 'mcp.b', '{ command: c, args: [secret], env: { K: secret } }')).toMatchObject({ after: 'c' })
    expect(
      JSON.stringify([
        await unsetKey(workspace.paths, 'mcp.b'),
        await unsetKey(workspace.paths, 'mcp'),
        await explainConfig({ paths: workspace.paths, cwd: null }),
      ]),
    ).not.toContain('secret')
  })
})

describe('an edit is refused and writes nothing', () => {
  test.each<[string, string, RegExp]>([
    ['maxProcesses', 'many', /^maxProcesses: must be a number$/],
    ['maxProcesses', '0', /^maxProcesses: /],
    ['defaultModel', 'gpt', /^defaultModel: expected provider\/name/],
    ['trusted', 'relative', /^trusted\.0: expected an absolute path/],
    ['mcp.x', '3', /^mcp\.x: /],
    ['defaultModel', '', /`defaultModel` needs a value; `reeve config unset defaultModel` removes it/],
    ['fallback', '[a/b', /^`\[a\/b` is not valid YAML: /],
    ['modle', 'a/b', /^there is no key `modle`; did you mean `defaultModel`\?/],
    ['zzz', 'a/b', /^there is no key `zzz`; there are defaultAgent, /],
    ['budgetUsd', '5', /^there is no key `budgetUsd`; did you mean `limits\.budgetUsd`\?/],
    ['limit.budgetUsd', '5', /^there is no key `limit\.budgetUsd`; did you mean `limits\.budgetUsd`\?/],
    ['limits.dailyUsd', '5', /^there is no key `limits\.dailyUsd`; did you mean `budgets\.dailyUsd`\?/],
    ['defaultmodel', 'a/b', /^there is no key `defaultmodel`; did you mean `defaultModel`\?/],
    ['providers.0.baseURL', 'http://x', /^`providers.0.baseURL` is a part of `providers`: set that as a whole, or edit .*config\.yaml$/],
    ['limits.budgetUsd', '-3', /^limits\.budgetUsd: /],
    ['limits.budgetUSD', '3', /^there is no key `limits\.budgetUSD`; did you mean `limits\.budgetUsd`\?/],
    ['mcp.', '{}', /is a part of `mcp`/],
    ['__proto__', 'x', /^there is no key/],
  ])('of the key %s with the value %j', async (key, value, message) => {
    await using workspace = await newWorkspace(USER_FILE)
    await expect(setKey(workspace.paths, key, value)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(message) as string,
    })
    expect(workspace.text()).toBe(USER_FILE)
  })

  test.each<[string, string]>([
    ['effort: [\n', 'not valid YAML'],
    ['colour: red\n', 'config.yaml:1: unknown key `colour`'],
  ])('of an invalid file: %j', async (text, message) => {
    await using workspace = await newWorkspace(text)
    await expect(setKey(workspace.paths, 'defaultAgent', 'x')).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: expect.stringContaining(message) as string,
    })
    expect(workspace.text()).toBe(text)
  })
})

describe('removing a key', () => {
  test.each<[string, string, string]>([
    [USER_FILE, 'effort', USER_FILE.replace('\neffort: low\n', '')],
    [USER_FILE, 'maxProcesses', USER_FILE],
    ['effort: low\n', 'effort', ''],
    ['# only\n\neffort: low\n', 'effort', '# only\n'],
    ['colour: red\neffort: low\n', 'colour', 'effort: low\n'],
    ['mcp: { a: { command: x } }\neffort: low\n', 'mcp.a', 'effort: low\n'],
    ['mcp: { a: { command: x }, b: { command: y } }\n', 'mcp.a', 'mcp: { b: { command: y } }\n'],
  ])('%j without %s', async (text, key, after) => {
    await using workspace = await newWorkspace(text)
    await unsetKey(workspace.paths, key)
    expect(workspace.text()).toBe(after)
  })

  test('refuses an unknown key', async () => {
    await using workspace = await newWorkspace(USER_FILE)
    await expect(unsetKey(workspace.paths, 'colour')).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('there is no key `colour`') as string,
    })
  })
})

describe('trust', () => {
  test('is given to a directory with all below it, once, and removed', async () => {
    await using workspace = await newWorkspace(USER_FILE)
    const [a, b] = [join(workspace.dir, 'a'), join(workspace.dir, 'a', 'b')]
    mkdirSync(b, { recursive: true })
    symlinkSync(b, join(workspace.dir, 'link'))
    expect(await trustDirectory(workspace.paths, join(workspace.dir, 'link'))).toMatchObject({ before: undefined, after: [b] })
    expect(await trustDirectory(workspace.paths, b)).toEqual({ already: b })
    expect(await trustDirectory(workspace.paths, a), 'what is below needs no line of its own').toMatchObject({ after: [a] })
    expect(await trustDirectory(workspace.paths, b)).toEqual({ already: a })
    await expect(untrustDirectory(workspace.paths, b)).rejects.toMatchObject({
      message: `${b} is trusted as a part of ${a}: untrust that directory`,
    })
    expect(await untrustDirectory(workspace.paths, a)).toMatchObject({ before: [a], after: undefined })
    await expect(untrustDirectory(workspace.paths, a)).rejects.toMatchObject({ message: `${a} is not trusted` })
    expect(workspace.text()).toBe(USER_FILE)
  })

  test('is not given to a file', async () => {
    await using workspace = await newWorkspace(USER_FILE)
    await expect(trustDirectory(workspace.paths, workspace.paths.configFile)).rejects.toMatchObject({ code: 'INVALID' })
    await expect(trustDirectory(workspace.paths, join(workspace.dir, 'none'))).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/^there is no directory \//) as string,
    })
  })
})

test('the values in force are shown with their sources', async () => {
  await using workspace = await newWorkspace(`${USER_FILE}providers: [{ name: mine, kind: openai, baseURL: "http://h/" }]\n`)
  const project = join(workspace.dir, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'reeve.yaml'), 'effort: high\ndefaultAgent: other\n')
  const entries = await explainConfig({ paths: workspace.paths, cwd: project, env: { REEVE_AGENT: 'third' } })
  const valuesInForce = Object.fromEntries(entries.map(({ key, value, where }) => [key, [value, where]]))
  expect(valuesInForce).toMatchObject({
    defaultModel: ['a/b', workspace.paths.configFile],
    effort: ['high', join(project, 'reeve.yaml')],
    defaultAgent: ['third', 'REEVE_AGENT'],
    maxProcesses: [10_000, 'default'],
    mcp: [{}, 'default'],
    trusted: [[], 'default'],
  })
  expect(valuesInForce['providers']?.[1]).toBe(`${workspace.paths.configFile}: the first 1; the others are built in`)
  expect(formatEntry('fallback', ['a/b', 'c/d'])).toBe('fallback:\n  - a/b\n  - c/d')
  expect(formatEntry('fallback', [])).toBe('fallback: []')
})

test('a shown provider has no user name and no password, but the rest of its address', async () => {
  await using workspace = await newWorkspace(
    'providers: [{ name: own, kind: openai-compatible, baseURL: "https://me:secret@host.example:8443/v1?a=b" }]\n',
  )
  const shown = JSON.stringify(await explainConfig({ paths: workspace.paths, cwd: null }))
  expect(shown).toContain('https://host.example:8443/v1?a=b')
  expect(shown).not.toMatch(/secret|me:/)
})

test.each([
  ['web.allow', []],
  ['gateway.mode', 'auto'],
])('a part without a value in the file has its default: %s', async (key, value) => {
  await using workspace = await newWorkspace(`${key.split('.')[0]}: {}\n`)
  expect(await findConfigEntry({ paths: workspace.paths, cwd: null }, key)).toMatchObject({ key, value, source: 'user' })
})
