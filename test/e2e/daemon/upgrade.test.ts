// An upgrade of the files under a running daemon. All its files are gone or of another build, and it continues as before. The command line
// reports once that the builds differ, with the command that helps: `reeve daemon upgrade`. These tests run only with the build, because
// the sources are never upgraded.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DaemonView } from '../../../src/index.ts'
import { BUNDLE_ID } from '../../support/daemon/build-id.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { Installation } from '../../support/daemon/installation.ts'
import { deep } from '../../support/deep.ts'
import { FORM } from '../../support/env.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

const ACP_AGENT = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')
const OTHER_BUILD = 'feedfeedfeedfeed'

let dir: TempDir
let home: string
let installed: Installation
beforeEach(async () => {
  dir = await tempDir()
  home = join(dir.path, 'home')
  mkdirSync(home, { mode: 0o700 })
  if (FORM === 'bundle') installed = Installation.copy(join(dir.path, 'lib'))
})
afterEach(async () => {
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

/** Runs the command line under test. */
const run = (...args: string[]): Promise<CliResult> => runCli(home, args)

/** Starts a daemon of the copy by the copy's command line. */
async function startCopy(): Promise<void> {
  expect(await installed.run(home, ['daemon', 'start'])).toMatchObject({ code: 0, stderr: '' })
}

const readDaemon = async (): Promise<DaemonView> => JSON.parse((await run('daemon', 'status', '--json')).stdout) as DaemonView

describe.runIf(FORM === 'bundle')('a daemon whose files were removed', () => {
  test('can still use each feature for the first time: agents, tools, models, runs, exports, API errors', async () => {
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
    await startCopy()
    installed.remove()
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
    // The agent starts reeve's own tools as a program, and lists them.
    const command = [process.execPath, ACP_AGENT, `sessions=${home}`, `log=${join(home, 'agent.log')}`]
    mkdirSync(join(home, '.reeve/agents'), { recursive: true })
    writeFileSync(join(home, '.reeve/agents/coder.md'), `---\ndriver: acp\nreeve: true\ncommand: ${JSON.stringify(command)}\n---\n`)
    expect(await run('run', '--agent', 'coder', 'say hello')).toMatchObject({ code: 0 })
    expect(readFileSync(join(home, 'agent.log'), 'utf8')).toMatch(/^tools 200/m)
    // The errors of these models and agents come from code that is loaded on demand.
    expect(await run('run', '--model', 'anthropic/claude-x', 'go')).toMatchObject({
      stderr: expect.stringContaining('ANTHROPIC_API_KEY') as string,
    })
    expect(readFileSync(join(home, 'daemon.log'), 'utf8')).not.toContain('ERR_MODULE_NOT_FOUND')
  }, 300_000)
})

test.runIf(FORM === 'bundle' && deep(0, 1) === 1)(
  'a daemon whose files were removed ends when nothing runs',
  async () => {
    await startCopy()
    expect(await installed.run(home, ['run', '-d', '--', 'sh', '-c', 'until [ -e end ]; do sleep 0.1; done'])).toMatchObject({ code: 0 })
    const { pid } = await readDaemon()
    installed.remove()
    // The two checks come 30 s and 60 s after the start.
    await new Promise((resolve) => setTimeout(resolve, 70_000))
    expect(await readDaemon()).toMatchObject({ pid })
    writeFileSync(join(home, 'end'), '')
    await expect.poll(() => existsSync(`/proc/${pid}/exe`), { timeout: 60_000, interval: 500 }).toBe(false)
    expect(readFileSync(join(home, 'daemon.log'), 'utf8')).toContain('was removed and nothing runs, so the daemon stops')
  },
  200_000,
)

describe.runIf(FORM === 'bundle')('a daemon of another build', () => {
  test('answers as before; each command reports the different build once, with the command that helps', async () => {
    installed.setBuildId(OTHER_BUILD)
    await startCopy()
    const line = 'the daemon runs another build than this command, as after an upgrade: `reeve daemon upgrade`\n'
    expect(await run('ps')).toMatchObject({ code: 0, stderr: line })
    expect(await run('ps', '-q')).toMatchObject({ code: 0, stderr: '' })
    expect(await run('run', '--', 'echo', 'hi')).toMatchObject({ code: 0, stdout: 'hi\n', stderr: expect.stringContaining(line) as string })
    expect((await run('daemon', 'status')).stdout).toMatch(
      /^build +feedfeedfeedfeed, this command has [0-9a-f]{16}: `reeve daemon upgrade` replaces the daemon$/m,
    )
    const doctor = await run('doctor')
    expect([doctor.code, doctor.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^no {4}build: the daemon has reeve [\d.]+ \(feedfeedfeedfeed\), this command build [0-9a-f]{16}\n {6}.*`reeve daemon upgrade`/m,
      ),
    ])
  }, 300_000)

  const oldName = `reeve 0.1.0 \\(build ${OTHER_BUILD}\\)`
  const newName = `reeve 0.1.0 \\(build ${BUNDLE_ID}\\)`

  test('`upgrade` replaces it, and agents continue; a second `upgrade`, and one without a daemon, do nothing', async () => {
    installed.setBuildId(OTHER_BUILD)
    await startCopy()
    writeFileSync(join(home, 'wait.yaml'), '- text: said\n')
    await installed.run(home, ['run', '-d', '--interactive', '--name', 'chat', '--model', `script:${join(home, 'wait.yaml')}`])
    expect(await run('daemon', 'upgrade')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        new RegExp(`^1 agent will be suspended, [^\n]*: PID 1\nthe daemon has ended\nupgraded from ${oldName} to ${newName}\n$`),
      ),
      stdout: expect.stringContaining('1 live'),
    })
    expect(await run('send', 'chat', 'go')).toMatchObject({ code: 0 })
    await expect.poll(async () => (await run('logs', 'chat')).stdout, { timeout: 60_000 }).toContain('said')
    const { pid } = await readDaemon()
    expect(await run('daemon', 'upgrade')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(new RegExp(`^nothing to upgrade: the daemon already runs ${newName}\n$`)),
    })
    const { version: _, ...again } = JSON.parse((await run('daemon', 'upgrade', '--json')).stdout) as Record<string, unknown>
    expect(again).toMatchObject({ pid, upgradedFrom: null })
    expect((await run('doctor')).stdout).toMatch(/^ok {4}build: reeve [\d.]+ \([0-9a-f]{16}\)$/m)
    await run('daemon', 'stop')
    expect(await run('daemon', 'upgrade')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^no daemon runs; the next command starts ${newName}\n$`)),
    })
  }, 300_000)

  test('commands are ended only with consent', async () => {
    installed.setBuildId(OTHER_BUILD)
    await startCopy()
    await installed.run(home, ['run', '-d', '--', 'sleep', '1000'])
    expect(await run('daemon', 'upgrade')).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(
        /would end 1 command \(PID 1\), and there is no terminal to ask on\n[^]*`reeve daemon upgrade --force`/,
      ),
    })
    expect((await run('ps', '-q')).stdout).not.toBe('')
    expect(await run('daemon', 'upgrade', '--force', '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`"upgradedFrom":\\s*{[^}]*"build":\\s*"${OTHER_BUILD}"`)),
    })
    expect((await run('ps', '-q')).stdout).toBe('')
  }, 300_000)

  test('`upgrade` leaves it running when its store has a newer schema, or when the new version cannot start', async () => {
    installed.setBuildId(OTHER_BUILD)
    const { schema } = JSON.parse((await installed.run(home, ['daemon', 'start', '--json'])).stdout) as DaemonView
    await installed.run(home, ['daemon', 'stop'])
    installed.replace('dist/daemon.js', '`DROP INDEX journal_reborn;', '`SELECT 1;`,`DROP INDEX journal_reborn;')
    await startCopy()
    const { pid } = await readDaemon()
    expect(await run('daemon', 'upgrade')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `the store has schema ${schema + 1}, but this version (reeve 0.1.0) knows ${schema}: the old daemon goes on\n`,
      ),
    })
    const broken = Installation.copy(join(dir.path, 'broken')).setBuildId('0123456789abcdef')
    writeFileSync(join(broken.dir, 'dist/daemon.js'), 'throw new Error("half of it")\n')
    expect(await broken.run(home, ['daemon', 'upgrade'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^reeve: the new daemon cannot start, so the old one goes on: .*half of it/),
    })
    expect(await readDaemon()).toMatchObject({ pid })
    await run('daemon', 'stop')
    expect(await run('ps')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`The store has schema ${schema + 1}; this version knows ${schema}.`),
    })
  }, 300_000)
})
