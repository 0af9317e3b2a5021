// An upgrade under a running daemon: all its files are gone or of another build, and it continues as before. The command line reports
// once that the builds differ, with the command that helps. Only for the build: the sources are never upgraded.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BUNDLE_ID } from '../../support/daemon/built.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { FORM, ROOT, testEnv } from '../../support/env.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
let home: string
let installed: string
beforeEach(async () => {
  dir = await tempDir()
  home = join(dir.path, 'home')
  installed = join(dir.path, 'lib')
  mkdirSync(home, { mode: 0o700 })
  cpSync(join(ROOT, 'dist'), join(installed, 'dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'))
})
afterEach(async () => {
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

/** The command line under test. */
const run = (...args: string[]): Promise<CliResult> => runCli(home, args)

/** Starts a daemon of the copy by the copy's command line. */
function startCopy(): void {
  const { status, stderr } = spawnSync(process.execPath, [join(installed, 'dist/cli/main.cjs'), 'daemon', 'start'], {
    encoding: 'utf8',
    env: testEnv(home),
  })
  expect([status, stderr]).toEqual([0, ''])
}

/** Makes the copy another build: only its name differs. */
function renameBuild(newId: string): void {
  const currentId = BUNDLE_ID ?? ''
  const files = ['dist/daemon.js', 'dist/cli/main.cjs'].map((name) => join(installed, name))
  for (const file of files) {
    const text = readFileSync(file, 'latin1')
    expect(text).toContain(currentId)
    writeFileSync(file, text.replaceAll(currentId, newId), 'latin1')
  }
}

describe.runIf(FORM === 'bundle')('a daemon whose files were removed', () => {
  test('does everything for the first time: agents, tools, models, runs, exports, notices of its API', async () => {
    writeFileSync(
      join(home, 'agent.yaml'),
      JSON.stringify([
        {
          tools: [
            { name: 'bash', input: { command: 'echo made > made.txt' } },
            { name: 'read', input: { path: 'made.txt' } },
          ],
        },
        { text: 'all is made' },
      ]),
    )
    writeFileSync(join(home, 'reeve.yaml'), 'agents: { one: { agent: default, intent: go, model: "script:agent.yaml" } }\n')
    startCopy()
    rmSync(installed, { recursive: true })
    const model = `script:${join(home, 'agent.yaml')}`
    const native = await run('run', '--reeve', '--name', 'first', '--model', model, 'go')
    expect([native.code, native.stdout, native.stderr]).toEqual([0, 'all is made\n', expect.not.stringContaining('Cannot find module')])
    expect(await run('compose', 'up')).toMatchObject({ code: 0 })
    expect(await run('export', 'first', join(home, 'out'))).toMatchObject({ code: 0 })
    expect(await run('import', join(home, 'out'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already exists here') as string,
    })
    expect(await run('run', '--model', 'replay:first', 'go')).toMatchObject({ code: 0 })
    expect(await run('gc', '--dry-run')).toMatchObject({ code: 0 })
    // The errors of these models and agents come from code that is loaded on demand.
    expect(await run('run', '--model', 'anthropic/claude-x', 'go')).toMatchObject({
      stderr: expect.stringContaining('ANTHROPIC_API_KEY') as string,
    })
    expect(readFileSync(join(home, 'daemon.log'), 'utf8')).not.toContain('ERR_MODULE_NOT_FOUND')
  }, 120_000)
})

describe.runIf(FORM === 'bundle')('a daemon of another build', () => {
  test('answers as before; each command reports the different build once, with the command that helps', async () => {
    renameBuild('feedfeedfeedfeed')
    startCopy()
    const line = 'the daemon runs another build than this command, as after an upgrade: `reeve daemon restart`\n'
    expect(await run('ps')).toMatchObject({ code: 0, stderr: line })
    expect(await run('ps', '-q')).toMatchObject({ code: 0, stderr: '' })
    expect(await run('run', '--', 'echo', 'hi')).toMatchObject({ code: 0, stdout: 'hi\n', stderr: expect.stringContaining(line) as string })
    expect((await run('daemon', 'status')).stdout).toMatch(
      /^build +feedfeedfeedfeed, this command has [0-9a-f]{16}: `reeve daemon restart` updates the daemon$/m,
    )
    const doctor = await run('doctor')
    expect([doctor.code, doctor.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^no {4}build: the daemon has reeve [\d.]+ \(feedfeedfeedfeed\), this command build [0-9a-f]{16}\n {6}.*`reeve daemon restart`/m,
      ),
    ])
    expect(await run('daemon', 'restart')).toMatchObject({ code: 0, stderr: 'the daemon has ended\n' })
    expect(await run('ps')).toMatchObject({ code: 0, stderr: '' })
    expect((await run('doctor')).stdout).toMatch(/^ok {4}build: reeve [\d.]+ \([0-9a-f]{16}\)$/m)
  }, 120_000)
})
