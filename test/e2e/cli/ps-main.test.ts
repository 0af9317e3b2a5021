// `reeve ps` has its own file in the build, whose output must equal that of the main file to the byte.
// Both are run from the build, on one daemon whose processes do not change.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Reeve } from '../../../src/index.ts'
import { testEnv } from '../../support/env.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const bundleFile = (name: string): string => join(root, 'dist/cli', name)
const PS_FILE_COMMAND = [join(root, 'bin/reeve')] as const
const MAIN_FILE_COMMAND = [process.execPath, bundleFile('main.cjs')] as const

interface Output {
  readonly stdout: string
  readonly stderr: string
  readonly status: number | null
}
type Env = Readonly<Record<string, string>>

let dir: TempDir
let reeve: Reeve
beforeAll(async () => {
  for (const name of ['main.cjs', 'ps.cjs']) if (!existsSync(bundleFile(name))) throw new Error('these tests need a build: npm run build')
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
  run(dir.path, PS_FILE_COMMAND, ['daemon', 'start'])
  const script = join(dir.path, 'wait.yaml')
  writeFileSync(script, '- { text: 日本 größe, usage: { input: 1200, output: 34 } }\n')
  const { uuid } = await reeve.spawn({ intent: 'x', model: `script:${script}`, name: 'one-with-a-long-name', interactive: true })
  await reeve.wait(uuid, { for: 'ready' })
  const child = await reeve.spawn({ argv: ['sleep', '1000'], name: 'child', parent: uuid })
  for (const each of [child.uuid, uuid]) await reeve.pause(each, { now: true })
  for (const argv of [['true'], ['false']]) await reeve.wait((await reeve.spawn({ argv, name: argv[0] ?? '' })).uuid)
})
afterAll(async () => {
  run(dir.path, PS_FILE_COMMAND, ['daemon', 'stop', '--now'])
  await dir[Symbol.asyncDispose]()
})

function run(home: string, [command = '', ...leadingArgs]: readonly string[], args: readonly string[], env: Env = {}): Output {
  const { stdout, stderr, status } = spawnSync(command, [...leadingArgs, ...args], { encoding: 'utf8', cwd: home, env: testEnv(home, env) })
  return { stdout, stderr, status }
}

describe('both files print the same', () => {
  test.each<[args: string[], status: number, env?: Env]>([
    [[], 0],
    [['-a'], 0],
    [['--tree'], 0],
    [['--all', '--tree'], 0, { REEVE_ASCII: '1' }],
    [['-a'], 0, { COLUMNS: '60' }],
    [['--tree', '-a'], 0, { COLUMNS: '20', LANG: 'C' }],
    [['-q'], 0],
    [['-aq', '--no-color'], 0],
    [['--json'], 0],
    [['--json', '-a', '-q'], 0],
    [['--filter', 'status=failed'], 0],
    [['--filter=agent=command,name=true', '--filter', 'state=dead'], 0],
    [['--filter', 'driver=native', '--json'], 0],
    [['--filter', 'name=nobody', '-q'], 0],
    [['-h'], 0],
    [['--help', '--json'], 0],
    [['--filter', 'x=y'], 64],
    [['--filter', 'status=nothing', '--json'], 64],
    [['--filter'], 64],
    [['--al'], 64],
    [['--all=1'], 64],
    [['--nothing', '--json'], 64],
    [['one'], 64],
    [['--', '--json'], 64],
    [['--watch', '-q'], 64],
    [[], 4, { REEVE_HOME: '/dev/null/x' }],
    [['--json'], 4, { REEVE_HOME: '/dev/null/x' }],
  ])('reeve ps %j', (args, status, env) => {
    // A program's measurements may change between two requests. The output of the file of ps must equal that of the main file before or
    // after it.
    const runMainFile = (): Output => run(dir.path, MAIN_FILE_COMMAND, ['ps', ...args], env)
    const mainOutput = runMainFile()
    const psOutput = run(dir.path, PS_FILE_COMMAND, ['ps', ...args], env)
    expect(psOutput.status).toBe(status)
    if (psOutput.stdout !== mainOutput.stdout || psOutput.stderr !== mainOutput.stderr) expect(psOutput).toEqual(runMainFile())
    expect(psOutput.stdout === '', 'an error is printed only on stderr').toBe(status !== 0 || args.includes('name=nobody'))
  })

  test('when it must start the daemon', async () => {
    const outputs: Output[] = []
    for (const command of [PS_FILE_COMMAND, MAIN_FILE_COMMAND]) {
      await using home = await tempDir()
      outputs.push(run(home.path, command, ['ps']))
      run(home.path, PS_FILE_COMMAND, ['daemon', 'stop'])
    }
    expect(outputs[0]).toEqual({ stdout: expect.stringMatching(/^PID .*\n$/), stderr: '', status: 0 })
    expect(outputs[0]).toEqual(outputs[1])
  })

  test('with --watch', async () => {
    const readFirstText = async ([command = '', ...leadingArgs]: readonly string[]): Promise<string> => {
      const child = spawn(command, [...leadingArgs, 'ps', '--watch'], {
        cwd: dir.path,
        env: testEnv(dir.path),
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const closed = once(child, 'close')
      const [text] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
      child.kill('SIGINT')
      await closed
      return text
    }
    const firstPsText = await readFirstText(PS_FILE_COMMAND)
    expect(firstPsText).toContain('⏸ suspended')
    expect(firstPsText).toBe(await readFirstText(MAIN_FILE_COMMAND))
  })
})

test('the file of ps stays small, because each start of ps reads it whole', () => {
  expect(readFileSync(bundleFile('ps.cjs')).length).toBeLessThan(56 * 1024)
})

test('ps begins with its own file, and loads the main file only for what it cannot do', async () => {
  await using home = await tempDir()
  mkdirSync(join(home.path, '.cache'))
  const readBuildId = (name: string): string => readFileSync(bundleFile(name), 'latin1').slice(3, 19)
  const listStoredFiles = (): string[] =>
    readdirSync(join(home.path, '.cache/reeve'), { withFileTypes: true })
      .filter((one) => one.isFile())
      .map(({ name }) => name.slice(0, 16))
  run(home.path, PS_FILE_COMMAND, ['ps', '-a'], { REEVE_HOME: dir.path })
  expect(listStoredFiles()).toEqual([readBuildId('ps.cjs')])
  run(home.path, PS_FILE_COMMAND, ['ps', '--help'])
  expect(listStoredFiles().toSorted()).toEqual([readBuildId('main.cjs'), readBuildId('ps.cjs')].toSorted())
})

test('an error of ps is printed without the main file', async () => {
  await using home = await tempDir()
  for (const file of ['bin/reeve', 'dist/cli/ps.cjs']) cpSync(join(root, file), join(home.path, file))
  expect(run(home.path, [process.execPath, join(home.path, 'bin/reeve')], ['ps', '--nothing'])).toEqual({
    stdout: '',
    stderr: expect.stringMatching(/^reeve: unknown flag --nothing\n/) as string,
    status: 64,
  })
})
