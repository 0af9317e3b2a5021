// Edits of the user's config.yaml: what stays, what is refused, and the owner of the file; the values in force with their sources.
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { explainConfig, formatEntry, setKey, trustDirectory, unsetKey, untrustDirectory } from '../../../src/config/edit.ts'
import { pathsFrom, type Paths } from '../../../src/config/paths.ts'
import { tempDir } from '../../support/tmp.ts'

interface Place extends AsyncDisposable {
  readonly dir: string
  readonly where: Paths
  /** the file's text; null if there is none */
  text(): string | null
}

async function place(text?: string): Promise<Place> {
  const tmp = await tempDir()
  const where = pathsFrom({ REEVE_HOME: join(tmp.path, 'home') })
  if (text !== undefined) {
    mkdirSync(where.config, { mode: 0o700 })
    writeFileSync(where.configFile, text, { mode: 0o640 })
    chmodSync(where.configFile, 0o640)
  }
  return {
    dir: tmp.path,
    where,
    text: () => (existsSync(where.configFile) ? readFileSync(where.configFile, 'utf8') : null),
    [Symbol.asyncDispose]: () => tmp[Symbol.asyncDispose](),
  }
}

const OWN = `# mine

defaultModel: "a/b" # the model
# more
fallback: [x/y] # in order

effort: low
`

describe('setting a key', () => {
  test.each<[string, string, string, string]>([
    ['a text, with its quotes and its comment', 'defaultModel', 'c/d', OWN.replace('a/b', 'c/d')],
    ['a list, with commas', 'fallback', 'e/f, g/h', OWN.replace('fallback: [x/y] # in order\n', 'fallback:\n  - e/f\n  - g/h\n')],
    ['a list, as YAML', 'fallback', '[e/f]', OWN.replace('fallback: [x/y] # in order\n', 'fallback:\n  - e/f\n')],
    ['a number that was not there', 'maxProcesses', '20', `${OWN}maxProcesses: 20\n`],
    [
      'a part of mcp',
      'mcp.git.hub',
      '{ command: npx, args: [-y, x] }',
      `${OWN}mcp:\n  git.hub:\n    command: npx\n    args:\n      - -y\n      - x\n`,
    ],
  ])('%s', async (_what, key, value, after) => {
    await using here = await place(OWN)
    await setKey(here.where, key, value)
    expect(here.text()).toBe(after)
    expect(statSync(here.where.configFile).mode & 0o777).toBe(0o640)
    expect(readdirSync(here.where.config)).toEqual(['config.yaml'])
  })

  test('creates a file that only the user can read', async () => {
    await using here = await place()
    expect(await setKey(here.where, 'effort', 'high')).toEqual({
      file: here.where.configFile,
      key: 'effort',
      before: undefined,
      after: 'high',
    })
    expect(here.text()).toBe('effort: high\n')
    expect([statSync(here.where.configFile).mode & 0o777, statSync(here.where.config).mode & 0o777]).toEqual([0o600, 0o700])
  })

  test('changes the target of a link', async () => {
    await using here = await place()
    const real = join(here.dir, 'dotfiles.yaml')
    writeFileSync(real, 'effort: low\n')
    mkdirSync(here.where.config)
    symlinkSync(real, here.where.configFile)
    await setKey(here.where, 'effort', 'high')
    expect(readFileSync(real, 'utf8')).toBe('effort: high\n')
    expect(lstatSync(here.where.configFile).isSymbolicLink()).toBe(true)
  })

  test('reports the old and the new value without secrets', async () => {
    await using here = await place(OWN)
    expect(await setKey(here.where, 'defaultModel', 'c/d')).toMatchObject({ before: 'a/b', after: 'c/d' })
    expect(await setKey(here.where, 'mcp.a', '{ url: "https://u:secret@h.com/x?k=secret" }')).toMatchObject({
      before: undefined,
      after: 'https://h.com',
    })
    expect(await setKey(here.where, 'mcp.b', '{ command: c, args: [secret], env: { K: secret } }')).toMatchObject({ after: 'c' })
    expect(
      JSON.stringify([
        await unsetKey(here.where, 'mcp.b'),
        await unsetKey(here.where, 'mcp'),
        await explainConfig({ paths: here.where, cwd: null }),
      ]),
    ).not.toContain('secret')
  })
})

describe('nothing is written', () => {
  test.each<[string, string, RegExp]>([
    ['maxProcesses', 'many', /^maxProcesses: must be a number$/],
    ['maxProcesses', '0', /^maxProcesses: /],
    ['defaultModel', 'gpt', /^defaultModel: expected provider\/name/],
    ['trusted', 'relative', /^trusted\.0: expected an absolute path/],
    ['mcp.x', '3', /^mcp\.x: /],
    ['defaultModel', '', /`defaultModel` needs a value; `reeve config unset defaultModel` removes it/],
    ['fallback', '[a/b', /^`\[a\/b` is not valid YAML: /],
    ['modle', 'a/b', /^there is no key `modle`; there are defaultAgent, /],
    ['defaultmodel', 'a/b', /^there is no key `defaultmodel`; did you mean `defaultModel`\?/],
    ['providers.0.baseURL', 'http://x', /^`providers.0.baseURL` is a part of `providers`: set that as a whole, or edit .*config\.yaml$/],
    ['mcp.', '{}', /is a part of `mcp`/],
    ['__proto__', 'x', /^there is no key/],
  ])('for %s = %j', async (key, value, message) => {
    await using here = await place(OWN)
    await expect(setKey(here.where, key, value)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(message) as string,
    })
    expect(here.text()).toBe(OWN)
  })

  test.each<[string, string]>([
    ['effort: [\n', 'not valid YAML'],
    ['colour: red\n', 'config.yaml:1: unknown key `colour`'],
  ])('into an invalid file: %j', async (text, message) => {
    await using here = await place(text)
    await expect(setKey(here.where, 'defaultAgent', 'x')).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: expect.stringContaining(message) as string,
    })
    expect(here.text()).toBe(text)
  })
})

describe('removing a key', () => {
  test.each<[string, string, string]>([
    [OWN, 'effort', OWN.replace('\neffort: low\n', '')],
    [OWN, 'maxProcesses', OWN],
    ['effort: low\n', 'effort', ''],
    ['# only\n\neffort: low\n', 'effort', '# only\n'],
    ['colour: red\neffort: low\n', 'colour', 'effort: low\n'],
    ['mcp: { a: { command: x } }\neffort: low\n', 'mcp.a', 'effort: low\n'],
    ['mcp: { a: { command: x }, b: { command: y } }\n', 'mcp.a', 'mcp: { b: { command: y } }\n'],
  ])('%j without %s', async (text, key, after) => {
    await using here = await place(text)
    await unsetKey(here.where, key)
    expect(here.text()).toBe(after)
  })

  test('refuses an unknown key', async () => {
    await using here = await place(OWN)
    await expect(unsetKey(here.where, 'colour')).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('there is no key `colour`') as string,
    })
  })
})

describe('trust', () => {
  test('is given to a directory with all below it, once, and removed', async () => {
    await using here = await place(OWN)
    const [a, b] = [join(here.dir, 'a'), join(here.dir, 'a', 'b')]
    mkdirSync(b, { recursive: true })
    symlinkSync(b, join(here.dir, 'link'))
    expect(await trustDirectory(here.where, join(here.dir, 'link'))).toMatchObject({ before: undefined, after: [b] })
    expect(await trustDirectory(here.where, b)).toEqual({ already: b })
    expect(await trustDirectory(here.where, a), 'what is below needs no line of its own').toMatchObject({ after: [a] })
    expect(await trustDirectory(here.where, b)).toEqual({ already: a })
    await expect(untrustDirectory(here.where, b)).rejects.toMatchObject({
      message: `${b} is trusted as a part of ${a}: untrust that directory`,
    })
    expect(await untrustDirectory(here.where, a)).toMatchObject({ before: [a], after: undefined })
    await expect(untrustDirectory(here.where, a)).rejects.toMatchObject({ message: `${a} is not trusted` })
    expect(here.text()).toBe(OWN)
  })

  test('is not given to a file', async () => {
    await using here = await place(OWN)
    await expect(trustDirectory(here.where, here.where.configFile)).rejects.toMatchObject({ code: 'INVALID' })
    await expect(trustDirectory(here.where, join(here.dir, 'none'))).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/^there is no directory \//) as string,
    })
  })
})

test('the values in force are shown with their sources', async () => {
  await using here = await place(`${OWN}providers: [{ name: mine, kind: openai, baseURL: "http://h/" }]\n`)
  const project = join(here.dir, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'reeve.yaml'), 'effort: high\ndefaultAgent: other\n')
  const entries = await explainConfig({ paths: here.where, cwd: project, env: { REEVE_AGENT: 'third' } })
  const said = Object.fromEntries(entries.map(({ key, value, where }) => [key, [value, where]]))
  expect(said).toMatchObject({
    defaultModel: ['a/b', here.where.configFile],
    effort: ['high', join(project, 'reeve.yaml')],
    defaultAgent: ['third', 'REEVE_AGENT'],
    maxProcesses: [10_000, 'default'],
    mcp: [{}, 'default'],
    trusted: [[], 'default'],
  })
  expect(said['providers']?.[1]).toBe(`${here.where.configFile}: the first 1; the others are built in`)
  expect(formatEntry('fallback', ['a/b', 'c/d'])).toBe('fallback:\n  - a/b\n  - c/d')
  expect(formatEntry('fallback', [])).toBe('fallback: []')
})
