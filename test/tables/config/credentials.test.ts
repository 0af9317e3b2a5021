// API keys: which variables are secrets, the permissions of credentials.yaml, and the order of the sources.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findKeys, readCredentials, type KeySources } from '../../../src/config/credentials/find-keys.ts'
import { MAX_ENV_BYTES, splitEnv } from '../../../src/config/credentials/secret-variables.ts'
import { pathsFrom } from '../../../src/config/paths.ts'
import { tempDir } from '../../support/tmp.ts'

describe('the split of an environment', () => {
  test.each([
    'ANTHROPIC_API_KEY',
    'OPENAI_APIKEY',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'GITHUB_TOKEN',
    'GH_TOKEN',
    'NPM_TOKEN',
    'PGPASSWORD',
    'DB_PASSWORD',
    'DB_PASS',
    'db_passwd',
    'CLIENT_SECRET',
    'GITHUB_PAT',
    'SIGNING_KEY_BASE64',
    'DOCKER_AUTH_CONFIG',
    'SENTRY_DSN',
    'npm_config_//registry/:_authToken',
    'HF_TOKEN',
    'OPENAI_API_KEY_2',
    'GOOGLE_CREDENTIALS_JSON',
    'KEY',
    'PASSWORD',
  ])('%s is a secret', (name) => {
    expect(splitEnv({ [name]: 'value' })).toEqual({ recorded: {}, secrets: { [name]: 'value' } })
  })

  test.each([
    'PATH',
    'HOME',
    'LANG',
    'LC_ALL',
    'TERM',
    'SHELL',
    'USER',
    'TMPDIR',
    'TZ',
    'XDG_RUNTIME_DIR',
    'NODE_OPTIONS',
    'HTTPS_PROXY',
    'SSH_AUTH_SOCK',
    'SSH_ASKPASS',
    'GOOGLE_APPLICATION_CREDENTIALS_FILE',
    'TOKENIZERS_PARALLELISM',
    'KEYBOARD',
    'MONKEY',
    'MAX_OUTPUT_TOKENS',
    'XAUTHORITY',
    'GIT_AUTHOR_NAME',
    'COMPASS',
    'REEVE_HOME',
    'KUBECONFIG',
  ])('%s is recorded', (name) => {
    expect(splitEnv({ [name]: 'value' })).toEqual({ recorded: { [name]: 'value' }, secrets: {} })
  })

  test.each([
    ['a key by its form', 'sk-ant-REDACTED'],
    ['a GitHub token', 'ghp_abcdefghijklmnopqrst'],
    ['a URL with a password', 'postgres://me:hunter2@db/x'],
    ['a proxy with a password', 'http://:pw@proxy:3128'],
    ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----\nabc'],
    ['a header', 'Authorization: Bearer abcdefghijklmnop'],
  ])('%s is a secret with any name', (_, value) => {
    expect(splitEnv({ HARMLESS: value })).toEqual({ recorded: {}, secrets: { HARMLESS: value } })
  })

  test.each([
    ['a URL', 'http://proxy:3128'],
    ['a user without a password', 'ssh://git@host/x'],
    ['a word', 'sk-etch'],
  ])('%s is recorded', (_, value) => {
    expect(splitEnv({ HARMLESS: value }).recorded).toEqual({ HARMLESS: value })
  })

  test.each([
    '_',
    'SHLVL',
    'PWD',
    'OLDPWD',
    'REEVE_PROC',
    'NODE_CHANNEL_FD',
    'NOTIFY_SOCKET',
    'LISTEN_FDS',
    'REEVE_MCP_TOKEN',
    'REEVE_MCP_PROCESS',
  ])('%s belongs to the caller and is dropped', (name) => {
    expect(splitEnv({ [name]: 'x' })).toEqual({ recorded: {}, secrets: {} })
  })

  test('an empty secret counts as not set', () => {
    expect(splitEnv({ API_KEY: '' }).secrets).toEqual({})
    expect(splitEnv({ ACCOUNT: 'x', OTHER: '' }, new Set(['ACCOUNT', 'OTHER']))).toEqual({
      recorded: { OTHER: '' },
      secrets: { ACCOUNT: 'x' },
    })
  })

  test('a too large environment is refused', () => {
    expect(() => splitEnv({ A: 'x'.repeat(MAX_ENV_BYTES - 1) })).not.toThrow()
    expect(() => splitEnv({ A: 'x'.repeat(MAX_ENV_BYTES) })).toThrow(/at most 524288 can be recorded/)
  })
})

async function newHome(): Promise<
  AsyncDisposable & { paths: ReturnType<typeof pathsFrom>; writeCredentials: (text: string, mode?: number) => void }
> {
  const dir = await tempDir()
  const paths = pathsFrom({ REEVE_HOME: dir.path })
  mkdirSync(paths.config, { recursive: true })
  const writeCredentials = (text: string, mode = 0o600): void => {
    writeFileSync(paths.credentialsFile, text)
    chmodSync(paths.credentialsFile, mode)
  }
  return { paths, writeCredentials, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() }
}

describe('credentials.yaml', () => {
  test('has names and values, and a missing file has none', async () => {
    await using home = await newHome()
    expect(await readCredentials(home.paths)).toEqual({})
    home.writeCredentials('A_KEY: one\nB_KEY: "2"\n')
    expect(await readCredentials(home.paths)).toEqual({ A_KEY: 'one', B_KEY: '2' })
  })

  test.each(['640', '604', '644', '660'])('the mode %s is refused', async (octal) => {
    await using home = await newHome()
    home.writeCredentials('A: b', Number.parseInt(octal, 8))
    await expect(readCredentials(home.paths)).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: `${home.paths.credentialsFile}: other users can read it (mode 0${octal}); run: chmod 600 ${home.paths.credentialsFile}`,
    })
  })

  test.each([
    ['a syntax error', 'A_KEY: *hunter2', '1: not valid YAML: an alias is unknown, or there are too many'],
    ['an unfinished text', 'A_KEY: "hunter2', '1: not valid YAML (MISSING_CHAR)'],
    ['a line in the format of a shell', 'A_KEY=hunter2', '1: must be an object with keys and values'],
    ['a number as a key', 'X: y\nA_KEY: 123', '2: A_KEY: must be a text'],
    ['an invalid name', 'a-b: hunter2', '1: a-b: is not a valid name: expected the name of a variable'],
  ])('%s is refused, and its content is not quoted', async (_, text, message) => {
    await using home = await newHome()
    home.writeCredentials(text)
    const error: Error = await readCredentials(home.paths).then(
      () => new Error('it was accepted'),
      (reason: Error) => reason,
    )
    expect(error.message).toBe(`${home.paths.credentialsFile}:${message}`)
    expect(JSON.stringify(error)).not.toContain('hunter2')
  })
})

describe('the search for a key', () => {
  const calls: string[][] = []
  const command: Pick<KeySources, 'keyCommand' | 'run'> = {
    keyCommand: ['vault', 'get', 'keys/{name}'],
    run: async (argv) => {
      calls.push([...argv])
      return argv[2] === 'keys/C'
        ? { code: 0, stdout: 'from command\n' }
        : { code: argv[2] === 'keys/D' ? 0 : 1, stdout: argv[2] === 'keys/D' ? '' : 'half' }
    },
  }

  test('asks the environment, then the file, then the command; a failing or empty command finds nothing', async () => {
    await using home = await newHome()
    home.writeCredentials('A: from file\nB: from file')
    calls.length = 0
    const found = await findKeys(['A', 'B', 'C', 'D', 'E'], { secrets: { A: 'from env' }, paths: home.paths, ...command })
    expect(found).toEqual({ values: { A: 'from env', B: 'from file', C: 'from command' }, missing: ['D', 'E'] })
    expect(calls).toEqual([
      ['vault', 'get', 'keys/C'],
      ['vault', 'get', 'keys/D'],
      ['vault', 'get', 'keys/E'],
    ])
  })

  test('reports a missing key without a command', async () => {
    await using home = await newHome()
    expect(await findKeys(['A'], { secrets: {}, paths: home.paths, ...command, keyCommand: null })).toEqual({ values: {}, missing: ['A'] })
  })

  test('is not affected by an invalid file that it need not read', async () => {
    await using home = await newHome()
    home.writeCredentials('A: b', 0o644)
    expect(await findKeys(['K'], { secrets: { K: 'v' }, paths: home.paths, ...command, keyCommand: null })).toEqual({
      values: { K: 'v' },
      missing: [],
    })
  })
})
