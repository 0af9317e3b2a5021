// Completion without a daemon: candidates from the verb table, the configuration and existing files.
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KNOWN_MODELS } from '../../../../src/config/known-models.ts'
import { completeLine } from '../../../../src/cli/completion/complete-line.ts'
import { nextWords } from '../../../../src/cli/completion/next-words.ts'
import { listVerbs } from '../../../../src/cli/table/verb-names.ts'
import { VERBS } from '../../../../src/cli/table/verbs.ts'
import { testEnv } from '../../../support/env.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

let dir: TempDir
const originalProcess = { env: { ...process.env }, cwd: process.cwd() }
beforeAll(async () => {
  dir = await tempDir()
  Object.assign(process.env, testEnv(dir.path))
  process.chdir(dir.path)
  writeFileSync(
    'config.yaml',
    'defaultModel: local/big\nfallback: [openai/gpt-5]\nproviders: [{ name: local, kind: openai-compatible, baseURL: "http://h/", models: { big: {}, small: {} } }]\n',
  )
  mkdirSync('.reeve/agents', { recursive: true })
  writeFileSync('.reeve/agents/reviewer.md', '---\ndescription: Reads\nmodel: anthropic/claude\n---\n')
  mkdirSync('plays/deep', { recursive: true })
  for (const file of ['plays/one.yaml', 'plays/notes.txt', 'top.yaml', '.hidden.yaml']) writeFileSync(file, '')
})
afterAll(async () => {
  process.chdir(originalProcess.cwd)
  process.env = originalProcess.env
  await dir[Symbol.asyncDispose]()
})

const completionsOf = async (...line: string[]): Promise<string[]> => (await completeLine(VERBS, line)).words.map(([word]) => word)

test.each<[string, string, string[]]>([
  ['reeve ps [-a] [--tree]', '', []],
  ['reeve kill [-s SIGNAL] P...', '', ['P']],
  ['reeve kill [-s SIGNAL] P...', '5 7', ['P']],
  ['reeve send P TEXT', '', ['P']],
  ['reeve send P TEXT', '5', ['TEXT']],
  ['reeve send P TEXT', '5 hello', []],
  ['reeve events [-f] [--after CURSOR] [P]', '', ['P']],
  ['reeve events [-f] [P]', '5', []],
  ['reeve run [FLAG]... "INTENT"', '', []],
  ['reeve run [FLAG]... -- COMMAND [ARG]...', '', []],
  ['reeve daemon stop|restart [--drain D | --now]', '', ['stop', 'restart']],
  ['reeve daemon stop|restart [--drain D | --now]', 'stop', []],
  ['reeve config set KEY VALUE', '', ['set']],
  ['reeve config set KEY VALUE', 'set', ['KEY']],
  ['reeve config set KEY VALUE', 'set effort', ['VALUE']],
  ['reeve config set KEY VALUE', 'show', []],
  ['reeve help [VERB | TOPIC]', '', ['VERB', 'TOPIC']],
])('with the usage %s, the words after %j are %j', (usage, typed, expected) => {
  expect(
    nextWords(
      [usage],
      typed.split(' ').filter((word) => word !== ''),
    ),
  ).toEqual(expected)
})

describe('the completion has', () => {
  test('all verbs, only matching verbs after a prefix, and nothing after an unknown verb', async () => {
    expect(await completionsOf('')).toEqual(Object.keys(VERBS))
    expect(await completionsOf('res')).toEqual(['resume'])
    expect(await completionsOf('--json', 'ki')).toEqual(['kill'])
    expect(await completionsOf('nosuch', '')).toEqual([])
    expect(await completionsOf()).toEqual(Object.keys(VERBS))
  })

  test('the verbs of a family, and the flags of one of them', async () => {
    expect(await completionsOf('crew', '')).toEqual(Object.keys(VERBS['crew']?.parts ?? {}))
    expect(await completionsOf('crew', 'ro')).toEqual(['roles'])
    expect(await completionsOf('crew', 'roles', '--js')).toEqual(['--json'])
    expect(await completionsOf('crew', 'nosuch', '')).toEqual([])
  })

  test.each(listVerbs(VERBS).map(([name, verb]) => [name.split(' '), verb] as const))('each flag of %j, once', async (name, verb) => {
    for (const [flag, { kind, short }] of Object.entries(verb.flags)) {
      expect(await completionsOf(...name, `--${flag}`)).toContain(`--${flag}`)
      const value = kind === 'on' ? [] : ['1']
      expect((await completionsOf(...name, `--${flag}`, ...value, '--')).includes(`--${flag}`)).toBe(kind === 'list')
      if (short && kind !== 'on') expect(await completionsOf(...name, `-${short}`, '--')).toEqual([])
    }
    for (const flag of ['--json', '--help', '--no-color']) expect(await completionsOf(...name, flag.slice(0, 5))).toContain(flag)
  })

  test('a description for every candidate', async () => {
    expect((await completeLine(VERBS, ['run', '--det'])).words).toEqual([['--detach', VERBS['run']?.flags['detach']?.help]])
  })
})

describe('the completion of values has', () => {
  test.each<[string[], string[]]>([
    [
      ['run', '--model', 'l'],
      ['local/big', 'local/small', 'local/', 'lmstudio/'],
    ],
    [
      ['run', '--model=anthropic/claude-son'],
      KNOWN_MODELS['anthropic']?.filter((name) => name.startsWith('claude-son')).map((name) => `--model=anthropic/${name}`) ?? [],
    ],
    [
      ['run', '--fallback', 'openai/gpt-5-'],
      ['openai/gpt-5-mini', 'openai/gpt-5-nano', 'openai/gpt-5-pro'],
    ],
    [
      ['run', '--agent', ''],
      ['claude', 'codex', 'default', 'gemini', 'opencode', 'reviewer'],
    ],
    [
      ['crew', 'up', '--gate', ''],
      ['auto', 'coordinator', 'human'],
    ],
    [['crew', 'up', '--merge=l'], ['--merge=leave']],
    [
      ['crew', 'roles', 're'],
      ['reviewer', 'researcher'],
    ],
    [
      ['run', '--effort', 'm'],
      ['minimal', 'medium', 'max'],
    ],
    [['run', '--containment', 'p'], ['pidns']],
    [
      ['run', '--allow', 'g'],
      ['glob', 'grep'],
    ],
    [['run', '--name', ''], []],
    [['run', '--timeout', '1'], []],
    [['kill', '-s', 'SIGK'], ['SIGKILL']],
    [['kill', '--signal=SIGT'], ['--signal=SIGTERM']],
    [
      ['wait', '--for', ''],
      ['exited', 'ready', 'suspended', 'waiting', 'done'],
    ],
    [
      ['ps', '--filter', 'st'],
      ['status=', 'state='],
    ],
    [
      ['ps', '--filter', 'status=s'],
      ['status=starting', 'status=suspended', 'status=stopping', 'status=stopped'],
    ],
    [['ps', '--filter=state=z'], ['--filter=state=zombie']],
    [
      ['run', '--model', 'script:'],
      ['script:config.yaml', 'script:plays/', 'script:top.yaml'],
    ],
    [
      ['run', '--model', 'script:plays/'],
      ['script:plays/deep/', 'script:plays/one.yaml'],
    ],
    [['run', '--model=script:plays/o'], ['--model=script:plays/one.yaml']],
    [['run', '--model', 'script:.h'], ['script:.hidden.yaml']],
    [
      ['config', ''],
      ['show', 'path', 'set', 'unset', 'trust', 'untrust'],
    ],
    [
      ['config', 'set', 'default'],
      ['defaultAgent', 'defaultModel'],
    ],
    [['config', 'unset', 'tr'], ['trusted']],
    [['config', 'set', 'effort', 'h'], ['high']],
    [['config', 'set', 'defaultAgent', 'r'], ['reviewer']],
    [['config', 'set', 'maxProcesses', ''], []],
    [['daemon', 're'], ['restart']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['help', 'mo'], ['models']],
    [['help', 'ru'], ['run']],
    [['inspect', ''], []],
  ])('exactly the possible values as candidates for %j', async (line, found) => {
    expect(await completionsOf(...line)).toEqual(found)
  })

  test('an error for a missing directory', async () => {
    await expect(completionsOf('run', '--model', 'script:none/')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('no words where the shell completes directories or commands', async () => {
    expect(await completeLine(VERBS, ['run', '--cwd', 'x'])).toEqual({ words: [], shell: 'dirs' })
    expect(await completeLine(VERBS, ['config', 'trust', ''])).toEqual({ words: [], shell: 'dirs' })
    expect(await completeLine(VERBS, ['run', '--name', 'x', '--', 'ls', ''])).toEqual({ words: [], shell: 4 })
    expect(await completionsOf('run', '--')).toContain('--detach')
    expect((await completeLine(VERBS, ['kill', '--', ''])).shell, 'only after a verb that takes a command').toBe(undefined)
  })
})
