// `reeve config` shows the effective configuration and changes the user's file. It starts no daemon.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { userInfo } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
})
afterEach(async () => {
  expect(existsSync(join(dir.path, 'reeve.sock'))).toBe(false)
  await dir[Symbol.asyncDispose]()
})

const configFile = (): string => join(dir.path, 'config.yaml')
const runConfig = (...args: string[]): Promise<CliResult> => runCli(dir.path, ['config', ...args])

test('path prints the paths of the files', async () => {
  const { code, stdout } = await runConfig('path', '--json')
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    expect.objectContaining({ configFile: configFile(), socket: join(dir.path, 'reeve.sock') }),
  ])
})

describe('show', () => {
  test('prints the effective configuration with its sources', async () => {
    writeFileSync(configFile(), 'defaultModel: anthropic/some\neffort: low\n')
    const { stdout } = await runCli(dir.path, ['config', 'show'], { env: { REEVE_EFFORT: 'max' } })
    expect(stdout).toMatch(new RegExp(`^defaultModel: anthropic/some +# ${configFile()}$`, 'm'))
    expect(stdout).toMatch(/^effort: max +# REEVE_EFFORT$/m)
    expect(stdout).toMatch(/^maxProcesses: 10000 +# default$/m)
    const json = await runCli(dir.path, ['config', 'show', '--json'], { env: { REEVE_MODEL: 'a/b' } })
    expect(JSON.parse(json.stdout)).toMatchObject({
      version: 1,
      config: { defaultModel: 'a/b' },
      from: { defaultModel: { source: 'environment', where: 'REEVE_MODEL' }, effort: { source: 'user', where: configFile() } },
    })
  })

  test('of one key prints only its value', async () => {
    expect(await runConfig('set', 'fallback', 'a/b,c/d')).toMatchObject({
      code: 0,
      stderr: `fallback: not set -> [ a/b, c/d ] (${configFile()})\n`,
    })
    expect(await runConfig('show', 'fallback')).toEqual({ code: 0, stdout: '- a/b\n- c/d\n', stderr: `from: ${configFile()}\n` })
    expect(await runConfig('show', 'defaultAgent', '-q')).toEqual({ code: 0, stdout: 'default\n', stderr: '' })
    expect(await runConfig('show', 'fallbak')).toEqual({
      code: 64,
      stdout: '',
      stderr: 'reeve: there is no key `fallbak`; did you mean `fallback`?\n       `reeve config show` lists the keys.\n',
    })
    await runConfig('set', 'limits.budgetUsd', '3')
    expect(await runConfig('show', 'limits.budgetUsd')).toEqual({ code: 0, stdout: '3\n', stderr: `from: ${configFile()}\n` })
    expect(await runConfig('show', 'limits.timeout')).toEqual({ code: 0, stdout: 'null\n', stderr: 'from: not set\n' })
  })

  test('reports the line of a mistake', async () => {
    writeFileSync(configFile(), '\ncolour: red\n')
    expect(await runConfig('show')).toMatchObject({ code: 64, stderr: expect.stringContaining(`${configFile()}:2`) as string })
  })
})

describe('a change', () => {
  test('prints the old and the new value', async () => {
    expect((await runConfig('set', 'effort', 'low')).stderr).toBe(`effort: not set -> low (${configFile()})\n`)
    expect((await runConfig('set', 'effort', 'low')).stderr).toBe(`effort: low, as before (${configFile()})\n`)
    expect(JSON.parse((await runConfig('set', 'effort', 'high', '--json')).stdout)).toEqual({
      version: 1,
      key: 'effort',
      before: 'low',
      after: 'high',
      file: configFile(),
    })
    expect((await runConfig('unset', 'effort')).stderr).toBe(`effort: high -> not set (${configFile()})\n`)
    expect(readFileSync(configFile(), 'utf8')).toBe('')
  })

  test('reports an override, and when it takes effect', async () => {
    const { stderr } = await runCli(dir.path, ['config', 'set', 'defaultModel', 'a/b'], { env: { REEVE_MODEL: 'c/d' } })
    expect(stderr).toBe(`defaultModel: not set -> a/b (${configFile()})\nREEVE_MODEL sets c/d here, and overrides it\n`)
    expect((await runConfig('set', 'maxProcesses', '7')).stderr).toContain('it takes effect at the next start of the daemon')
  })

  test('with an invalid value is refused with the next step', async () => {
    const { code, stderr } = await runConfig('set', 'maxProcesses', 'many')
    expect([code, stderr]).toEqual([64, expect.stringMatching(/^reeve: maxProcesses: .*\n {7}Nothing was changed\. /)])
    expect(existsSync(configFile())).toBe(false)
  })

  test.runIf(userInfo().uid !== 0)('of a file that cannot be written changes nothing', async () => {
    writeFileSync(configFile(), 'effort: low\n')
    chmodSync(dir.path, 0o500)
    const result = await runConfig('set', 'effort', 'high')
    chmodSync(dir.path, 0o700)
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was changed.') as string })
  })

  test('of a path that is not a file changes nothing', async () => {
    mkdirSync(configFile())
    expect(await runConfig('set', 'effort', 'high')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('it is not a regular file') as string,
    })
  })
})

test('a directory is trusted and untrusted', async () => {
  const project = join(dir.path, 'project')
  mkdirSync(project)
  const runConfigInProject = (...args: string[]): Promise<CliResult> => runCli(dir.path, ['config', ...args], { cwd: project })
  expect((await runConfigInProject('trust')).stderr).toBe(`trusted: not set -> [ ${project} ] (${configFile()})\n`)
  expect((await runConfigInProject('trust')).stderr).toBe(`already trusted: ${project}\n`)
  expect((await runConfig('untrust', 'project')).stderr).toBe(`trusted: [ ${project} ] -> not set (${configFile()})\n`)
  expect(await runConfig('trust', '/no/such')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('there is no directory /no/such\n') as string,
  })
  expect(await runConfig('untrust', 'project')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining(`${project} is not trusted`) as string,
  })
})

test.each([
  [['sohw'], 'config sohw: choose from show, path, set, unset, trust, untrust', 'Did you mean `reeve config show`?'],
  [['set', 'effort'], 'config set needs more arguments', 'See `reeve help config`; a value with spaces needs quotes.'],
  [['unset', 'a', 'b'], 'config unset does not take "b"', 'See `reeve help config`; a value with spaces needs quotes.'],
])('%j is refused', async (args, message, hint) => {
  expect(await runConfig(...args)).toEqual({ code: 64, stdout: '', stderr: `reeve: ${message}\n       ${hint}\n` })
})
