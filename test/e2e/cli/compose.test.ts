// `reeve compose` as the user types it: `up` with its lines and its exit code, `down`, `ps`, `resume`, and the example of the repository.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, startCli, type CliResult } from '../../support/daemon/cli.ts'
import { waitForFileCommand, ComposeRuns, shellNode, stateList } from '../../support/compose/compose-runs.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { ROOT } from '../../support/env.ts'
import type { RunView } from '../../../src/api/views/compose.ts'

let daemon: LocalDaemon
let runs: ComposeRuns
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  runs = new ComposeRuns(daemon)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })
const createFile = (file: string): void => writeFileSync(join(daemon.work, file), '')

test('`up` follows the run: it prints a line for each node and one at the end, and has the exit code of the run', async () => {
  runs.write({ a: shellNode('true'), bad: shellNode('exit 3', { depends_on: ['a'] }), after: shellNode('true', { depends_on: ['bad'] }) })
  const { code, stdout, stderr } = await reeve('compose', 'up')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^run work \(PID 1\) of .*reeve\.yaml: 3 nodes$/m)
  expect(stderr).toMatch(/^a {6}completed {2}\d+s$/m)
  expect(stderr).toMatch(/^bad {4}failed: exit code 3 {2}\d+s$/m)
  expect(stderr).toMatch(/^after {2}blocked: needs bad$/m)
  expect(stderr).toMatch(/^run work failed: bad failed; after blocked \| 3 nodes \| \d+s$/m)
  runs.write({ a: shellNode('true') })
  expect(await reeve('compose', 'up', '-q')).toMatchObject({ code: 0, stderr: '' })
})

test('`up` reports an agent file that replaces a built-in agent once', async () => {
  mkdirSync(join(daemon.work, '.reeve/agents'), { recursive: true })
  writeFileSync(join(daemon.work, '.reeve/agents/default.md'), '---\ndescription: x\n---\nBe kind.')
  const think = { model: await daemon.writeScript([{ text: 'one' }]), intent: 'think' }
  runs.write({ a: think, b: think })
  const { code, stderr } = await reeve('compose', 'up')
  expect([code, stderr.match(/using .*/g)]).toEqual([
    0,
    [`using .reeve/agents/default.md of ${daemon.work}, in place of the built-in agent`],
  ])
  expect((await reeve('compose', 'up', '-d', '--json')).stderr).toContain('using .reeve/agents/default.md')
})

test('`up -d` starts a run, `ps` lists it, `resume` continues a node, and `down` stops the run', async () => {
  runs.write({
    a: shellNode(`test -e fixed && echo "$1"`),
    b: shellNode(waitForFileCommand('go')),
    c: shellNode('true', { depends_on: ['a'] }),
  })
  const { stdout } = await reeve('compose', 'up', '-d', '--name', 'nightly')
  const uuid = stdout.trim()
  await runs.waitForRun(uuid, (view) => stateList(view) === 'a failed, b running, c blocked')
  const listResult = await reeve('compose', 'ps')
  expect(listResult.stdout).toMatch(
    /^NODE +STATE +PID +ATTEMPTS +ELAPSED +COST +NOTE\na +failed +\d+ +- +\d+s +- +exit code 1\nb +running .*\nc +blocked +- .*needs a$/m,
  )
  expect(JSON.parse((await reeve('compose', 'ps', '--json')).stdout)).toMatchObject({
    version: 1,
    run: { uuid, name: 'nightly', nodes: [{ name: 'a', state: 'failed' }, { name: 'b' }, { name: 'c', reason: 'needs a' }] },
  })
  expect((await reeve('compose')).stdout).toMatch(/^RUN +PID +ID .*\nnightly +\d+ +[0-9a-f]{8} +ready +0 of 3, 2 not /m)
  expect((await reeve('ps')).stdout).toMatch(/ nightly +compose +ready .* 0 of 3 nodes completed, 1 running, 1 failed, 1 blocked$/m)
  expect(await reeve('compose', 'resume')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('compose resume needs --node NAME') as string,
  })
  expect(await reeve('compose', 'resume', '--node', 'z')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('run nightly has no node "z"; it has a, b, c') as string,
  })
  const completeLine = async (...line: string[]): Promise<string[]> =>
    (await reeve('completion', '--', ...line)).stdout
      .trim()
      .split('\n')
      .map((row) => row.split('\t')[0] ?? '')
  expect(await completeLine('compose', 'down', '')).toEqual(['nightly'])
  expect(await completeLine('compose', 'resume', '--node', '')).toEqual(['a', 'b', 'c'])
  expect(await completeLine('compose', 'up', 'a', '')).toEqual(['a', 'b', 'c'])
  createFile('fixed')
  const resumeResult = await reeve('compose', 'resume', '--node', 'a')
  expect(resumeResult).toMatchObject({ code: 0, stdout: '' })
  expect(resumeResult.stderr).toMatch(
    /^node a of run nightly: PID \d+ spawned \(command\) \| resumed from [0-9a-f]{8}; node a runs again from its start: it has no session to continue/,
  )
  await runs.waitForRun(uuid, (view) => stateList(view) === 'a completed, b running, c completed')
  const downResult = await reeve('compose', 'down')
  expect(downResult).toMatchObject({ code: 0, stderr: expect.stringMatching(/PID \d+ \(nightly\) stopped/) as string })
  expect(stateList(await runs.read(uuid))).toBe('a completed, b cancelled, c completed')
  expect(await reeve('compose', 'down')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('no run is alive') as string,
  })
})

test('`up` reports an error in the file with its line before anything starts, and --dry-run shows the order', async () => {
  writeFileSync(join(daemon.work, 'other.yaml'), 'agents:\n  a: { command: [echo] }\n  b:\n    command: [echo]\n    depends_on: [aa]\n')
  expect(await reeve('compose', 'up', '-f', 'other.yaml')).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/other\.yaml:5: agents\.b\.depends_on\.0: there is no node `aa`; did you mean `a`\?/) as string,
  })
  runs.write({ c: shellNode('true', { depends_on: ['a'] }), a: { intent: 'x', model: 'anthropic/claude-x' } })
  const { code, stdout, stderr } = await reeve('compose', 'up', '--dry-run')
  expect([code, stdout]).toEqual([
    0,
    'ROW  NODE  NEEDS  RUNS                RETRIES\n1    a     -      anthropic/claude-x        -\n2    c     a      command                   -\n',
  ])
  expect(stderr).toMatch(/reeve\.yaml is valid; nothing was started/)
  expect(await reeve('compose', 'up')).toMatchObject({
    code: 125,
    stderr: expect.stringContaining('node a: anthropic/claude-x needs ANTHROPIC_API_KEY') as string,
  })
  expect((await reeve('ps', '-aq')).stdout).toBe('')
})

test('a signal to `up` stops its run, and `up` follows its run over a restart of the daemon', async () => {
  runs.write({ slow: shellNode('sleep 600') })
  const followed = startCli(daemon.home, ['compose', 'up'], { cwd: daemon.work })
  await followed.waitForText('slow  running')
  followed.child.kill('SIGTERM')
  expect(await followed.result).toMatchObject({
    code: 143,
    stderr: expect.stringMatching(/slow {2}cancelled: .*\nrun work stopped: SIGTERM from user/) as string,
  })
  runs.write({
    think: {
      model: await daemon.writeScript([{ tools: [{ name: 'bash', input: { command: waitForFileCommand('go') } }] }, { text: 'so' }]),
      intent: 'x',
    },
    late: shellNode('true', { depends_on: ['think'] }),
  })
  const second = startCli(daemon.home, ['compose', 'up', '--json'], { cwd: daemon.work })
  await second.waitForText('"running"')
  const stopPromise = daemon.stop()
  createFile('go')
  await stopPromise
  await daemon.start()
  const { code, stdout } = await second.result
  const lastLine = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { run: RunView }
  expect([code, lastLine.run.status, stateList(lastLine.run)]).toEqual([0, 'completed', 'think completed, late completed'])
})

test('the example runs offline', async () => {
  const dir = join(daemon.work, 'example')
  mkdirSync(dir)
  cpSync(join(ROOT, 'examples/compose'), dir, { recursive: true })
  const { code, stderr } = await runCli(daemon.home, ['compose', 'up'], { cwd: dir })
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^run example completed \| 5 nodes \| \d+s$/m)])
  expect(readFileSync(join(dir, 'out/samples.md'), 'utf8')).toContain('every five minutes')
  expect(existsSync(join(dir, 'out/cron.md'))).toBe(true)
  const report = await daemon.view('example.report')
  expect(report.intent).toMatch(
    /^The check counted 3 expressions\. The page was written by process [0-9a-f-]{36}, which said:\n\nout\/cron\.md has two paragraphs\./,
  )
})
