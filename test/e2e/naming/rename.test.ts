// `reeve rename` of processes that run, are suspended or have ended in a real daemon, and its refusals.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args)

test('a running, a suspended and an ended process get another name, which restarts and resumes keep', async () => {
  const { uuid, pid } = await daemon.spawnShell('sleep 600', { name: 'old' })
  expect(await reeve('rename', 'old', 'new')).toEqual({ code: 0, stdout: '', stderr: `PID ${pid} is now called new\n` })
  expect(await reeve('rename', 'new', 'new')).toEqual({ code: 0, stdout: '', stderr: `PID ${pid} is already called new\n` })
  expect(await reeve('inspect', 'old')).toMatchObject({ code: 3, stderr: expect.stringContaining('no process "old"') })
  expect((await reeve('logs', 'new')).stdout).toContain('renamed from old to new (by user)')
  expect((await reeve('ps')).stdout).toMatch(/ new /)
  await reeve('pause', '--now', 'new')
  expect((await reeve('rename', 'new', 'newer')).code).toBe(0)
  await daemon.restart()
  expect(await daemon.view('newer')).toMatchObject({ uuid, name: 'newer' })
  await reeve('kill', 'newer')
  expect(JSON.parse((await reeve('rename', 'newer', 'newest', '--json')).stdout)).toMatchObject({
    version: 1,
    process: { uuid, name: 'newest', state: 'dead' },
  })
  await daemon.restart()
  await reeve('resume', '-d', '--rerun', 'newest')
  expect(await daemon.view('newest')).toMatchObject({ uuid, name: 'newest', state: 'running' })
})

test('the name of a living process, an invalid name and an unknown process are refused', async () => {
  await daemon.spawnShell('sleep 600', { name: 'one' })
  const { uuid, pid } = await daemon.spawnShell('true')
  await daemon.waitForEnd(uuid)
  expect(await reeve('rename', String(pid), 'one')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^reeve: a living process is called "one"\n/),
  })
  expect(await reeve('rename', 'one', '12')).toMatchObject({ code: 64, stderr: expect.stringContaining('"12" is not a valid name') })
  expect(await reeve('rename', 'none', 'two')).toMatchObject({ code: 3, stderr: expect.stringContaining('no process "none"') })
  expect(await reeve('rename', 'one')).toMatchObject({ code: 64 })
  expect((await daemon.view('one')).name).toBe('one')
})
