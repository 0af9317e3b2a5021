// A daemon that runs but does not answer. Every verb reports it within seconds, and names the command that ends it. The tests stop
// the daemon with SIGSTOP; for a client this equals a blocked event loop.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readHolder, readHolderRecord } from '../../../src/api/client/daemon-holder.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { readProcess, signalFound } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Well below the 30 s of silence after which any request fails, with room for a machine under load. */
const SOON_MS = 15_000

let home: DaemonHome
beforeEach(async () => {
  home = await DaemonHome.create()
  await home.start()
})
afterEach(async () => home[Symbol.asyncDispose](), 60_000)

const run = (...args: string[]): Promise<CliResult> => runCli(home.path, args, { cwd: home.work })

/** Sends SIGSTOP to our own child. */
function stopDaemon(): number {
  signalFound(readProcess(home.pid), 'SIGSTOP')
  return home.pid
}

describe.runIf(process.platform === 'linux')('a daemon that a signal stopped or killed', () => {
  test('is reported within seconds by each verb that needs it, with the command that helps; an orderly stop does not end it', async () => {
    const pid = stopDaemon()
    const beganMs = performance.now()
    const verbs = [
      ['daemon', 'status'],
      ['daemon', 'stop'],
      ['daemon', 'start'],
      ['doctor'],
      ['ps'],
      ['ps', '--json'],
      ['run', '--', 'true'],
    ]
    const results = await Promise.all(verbs.map((args) => run(...args)))
    expect(performance.now() - beganMs).toBeLessThan(SOON_MS)
    for (const [index, { code, stderr }] of results.entries()) {
      expect([verbs[index], code, stderr]).toEqual([
        verbs[index],
        verbs[index]?.[0] === 'run' ? 125 : 4,
        expect.stringMatching(
          new RegExp(
            `the daemon \\(PID ${pid}\\) has been hanging (since \\d\\d:\\d\\d:\\d\\d|for more than 5 s): a signal has stopped it`,
          ),
        ),
      ])
      expect(stderr).toMatch(/`reeve daemon (restart|stop) --now` kills it/)
    }
    expect(readProcess(pid)).not.toBeNull()
    signalFound(readProcess(pid), 'SIGCONT')
    expect((await run('daemon', 'status')).code).toBe(0)
  })

  test('is ended by `stop --now` with all its programs, and the next daemon reports the interrupted processes', async () => {
    const process = await home.spawn({ argv: ['sh', '-c', 'setsid sleep 1000 & echo up; wait'] })
    await home.waitForView(process.uuid, ({ status }) => status === 'working')
    const guardians = home.findGuardians().map(({ pid }) => pid)
    const pid = stopDaemon()
    expect(await run('daemon', 'stop', '--now', '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`"killed": true`) as string,
    })
    expect(readProcess(pid)).toBeNull()
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false)
    await waitUntil(() => home.findLeftovers().length === 0 && guardians.every((one) => readProcess(one) === null), 'its programs are gone')
    expect(await run('daemon', 'stop', '--now')).toEqual({ code: 0, stdout: '', stderr: 'the daemon is not running\n' })
    await home.start()
    expect(await home.view(process.uuid)).toMatchObject({ status: 'interrupted' })
  })

  test('is replaced by `restart --now`', async () => {
    const pid = stopDaemon()
    const { code, stdout, stderr } = await run('daemon', 'restart', '--now', '--json')
    expect([code, stderr]).toEqual([0, ''])
    const view = JSON.parse(stdout) as { pid: number; stopped: number; killed: boolean }
    expect([view.stopped, view.killed]).toEqual([pid, true])
    expect(view.pid).not.toBe(pid)
    expect((await run('daemon', 'stop', '--now')).code).toBe(0)
  })

  test('whose PID belongs to another program by now is not signalled', async () => {
    const record = JSON.parse(readFileSync(home.paths.holderFile, 'utf8')) as { pid: number; startTime: string }
    expect(record.pid).toBe(home.pid)
    await home.kill()
    // After a loss of power the PID may belong to another program: here to this very test.
    writeFileSync(home.paths.holderFile, JSON.stringify({ ...record, pid: process.pid }))
    expect(await run('daemon', 'stop', '--now')).toEqual({ code: 0, stdout: '', stderr: 'the daemon is not running\n' })
    expect(existsSync(join(home.path, 'reeve.sock'))).toBe(true)
  })

  test('of another boot of the machine is not signalled, although another process has its PID and start time', async () => {
    await home.kill()
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
    try {
      const pid = child.pid ?? 0
      // The process looks like a daemon that hangs.
      await waitUntil(() => readProcess(pid)?.state === 'S', 'it sleeps')
      child.kill('SIGSTOP')
      await waitUntil(() => readProcess(pid)?.state === 'T', 'it is stopped')
      const record = readHolderRecord(pid)
      writeFileSync(home.paths.holderFile, JSON.stringify({ ...record, boot: '00000000-0000-4000-8000-000000000000' }))
      expect(await run('daemon', 'stop', '--now')).toEqual({ code: 0, stdout: '', stderr: 'the daemon is not running\n' })
      expect(readProcess(pid)?.state).toBe('T')
      expect(readHolder(home.paths.holderFile)).toBeNull()
      expect(record?.boot).toMatch(/^[0-9a-f-]{36}$/)
    } finally {
      child.kill('SIGKILL')
    }
  })
})
