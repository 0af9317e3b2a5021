// Processes that are removed at their end (`run --rm`), by the command that follows them or by the daemon. Work in a worktree, a restart
// and a pause keep them.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { REMOVAL_DELAY_MS } from '../../../src/daemon/operations/auto-removals.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { ManualClock } from '../../support/clock.ts'
import { Repository } from '../../support/git/repository.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })
const allUuids = async (): Promise<string[]> =>
  (await daemon.client.get<{ processes: { uuid: string }[] }>('/v1/processes', { all: true })).processes.map(({ uuid }) => uuid)

test('a followed process is removed when it has ended, and the command has its output and exit code', async () => {
  daemon = await LocalDaemon.start()
  expect(await reeve('run', '--rm', '--', 'sh', '-c', 'echo out; exit 3')).toMatchObject({ code: 3, stdout: 'out\n' })
  expect(await allUuids()).toEqual([])
  expect(await reeve('inspect', '1')).toMatchObject({ code: 3, stderr: expect.stringContaining('was removed') })
})

test('the daemon removes a detached process some seconds after its end, also after a restart', async () => {
  const clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock })
  const [first, second] = [
    (await reeve('run', '-d', '--rm', '--', 'true')).stdout.trim(),
    (await reeve('run', '-d', '--', 'true')).stdout.trim(),
  ]
  for (const uuid of [first, second]) await daemon.waitForEnd(uuid)
  clock.wind(REMOVAL_DELAY_MS - 1)
  expect(await allUuids()).toHaveLength(2)
  clock.wind(1)
  await waitUntil(async () => (await allUuids()).length === 1, 'it is removed')
  const third = (await reeve('run', '-d', '--rm', '--', 'true')).stdout.trim()
  await daemon.waitForEnd(third)
  await daemon.restart()
  expect(await allUuids()).toContain(third)
  await waitUntil(async () => {
    clock.wind(REMOVAL_DELAY_MS)
    return !(await allUuids()).includes(third)
  }, 'the next daemon removes it')
  expect(await allUuids()).toEqual([second])
})

test('a process stays if its worktree has changes, and is removed with its worktree if not', async () => {
  const clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock })
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'a\n' })
  const run = (...command: string[]): Promise<CliResult> =>
    runCli(daemon.home, ['run', '--rm', '--worktree', '--', ...command], { cwd: repository.dir })
  expect((await run('true')).code).toBe(0)
  expect(await allUuids()).toEqual([])
  const { code, stderr } = await run('touch', 'new.txt')
  expect(code).toBe(0)
  expect(stderr).toMatch(/process 2 has changes in its worktree, so it is not removed; `reeve rm 2` removes it\n$/)
  clock.wind(REMOVAL_DELAY_MS)
  await waitUntil(() => daemon.logMessages.some((line) => line.includes('process 2 stays after its end')), 'the daemon keeps it')
  expect(existsSync(join((await daemon.view(2)).worktree?.dir ?? '', 'new.txt'))).toBe(true)
})

test('a suspended process stays, and so does a resumed one until its own end', async () => {
  const clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock })
  const uuid = (await reeve('run', '-d', '--rm', '--name', 'it', '--', 'sleep', '600')).stdout.trim()
  await reeve('pause', '--now', 'it')
  await daemon.restart()
  clock.wind(REMOVAL_DELAY_MS)
  expect(await daemon.view('it')).toMatchObject({ uuid, status: expect.stringMatching(/suspended|interrupted/), removeAtEnd: true })
  await reeve('kill', 'it')
  await reeve('resume', '-d', '--rerun', 'it')
  clock.wind(REMOVAL_DELAY_MS)
  expect(await daemon.view('it')).toMatchObject({ uuid, state: 'running' })
  await reeve('kill', 'it')
  clock.wind(REMOVAL_DELAY_MS)
  await waitUntil(async () => (await allUuids()).length === 0, 'it is removed')
})

test('`run --rm` refuses a process that may restart', async () => {
  daemon = await LocalDaemon.start()
  for (const flags of [
    ['--restart', 'always'],
    ['--supervisor', 'x'],
    ['--child-id', 'x', '--parent', '1'],
  ])
    expect((await reeve('run', '--rm', ...flags, ...(flags[0] === '--supervisor' ? [] : ['--', 'true']))).code, flags[0]).toBe(125)
  expect(await allUuids()).toEqual([])
})
