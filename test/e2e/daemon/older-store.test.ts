// A home whose store is missing or older. No command treats it as a new home. When the user accepts it, no files and no PIDs are lost.
import { cpSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'

test('a backup that is restored under a running daemon ends the daemon, and stays as it is', async () => {
  await using daemon = await LocalDaemon.start()
  const store = join(daemon.paths.state, 'store.db')
  await daemon.stop()
  const backup = readFileSync(store)
  await daemon.start()
  await daemon.waitForEnd((await daemon.spawn({ argv: ['true'] })).uuid)
  await daemon.restart()
  const { uuid } = await daemon.spawn({ argv: ['sleep', '1000'] })
  await daemon.waitForStatus(uuid, 'working')
  writeFileSync(`${store}.new`, backup)
  renameSync(`${store}.new`, store)
  // Only the commits of the first second may still be acknowledged.
  let refusal: unknown = null
  const deadline = Date.now() + 100_000
  while (refusal === null && Date.now() < deadline)
    refusal = await daemon.spawn({ argv: ['true'] }).then(
      () => null,
      (error: unknown) => error,
    )
  // Another write may be the first that is refused; then the daemon is stopping already.
  expect(['FENCED', 'UNAVAILABLE']).toContain((refusal as { code?: string } | null)?.code)
  await daemon.stopped
  expect(daemon.errors.join()).toContain('store.db was replaced while it was open')
  expect(daemon.logMessages).toContain('the store is no longer the store of this daemon, so it stops')
  expect(readFileSync(store).equals(backup)).toBe(true)
  await expect(daemon.start()).rejects.toMatchObject({ code: 'STORE_DAMAGED', message: expect.stringContaining('is older than it was') })
})

test('a missing or older store is refused with the next step; when the user accepts it, worktrees are moved aside and PIDs continue', async () => {
  await using daemon = await LocalDaemon.start()
  const { state } = daemon.paths
  const store = join(state, 'store.db')
  const reeve = (...args: string[]): ReturnType<typeof runCli> => runCli(daemon.home, args)
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'a' })
  const workIn = async (name: string): Promise<string> => {
    const { uuid } = await daemon.spawnScripted(
      [{ text: '', tools: [{ name: 'write', input: { path: 'b.txt', content: name } }] }, { text: 'done' }],
      { cwd: repository.dir, worktree: true, name },
    )
    await daemon.waitForEnd(uuid)
    return uuid
  }
  const earlyProcess = await workIn('early')
  await daemon.stop()
  cpSync(store, join(daemon.work, 'backup.db'))
  await daemon.start()
  const lateProcess = await workIn('late')
  const { pid } = await daemon.view(lateProcess)
  await daemon.stop()

  writeFileSync(store, '')
  for (const change of [() => rmSync(store), () => cpSync(join(daemon.work, 'backup.db'), store)]) {
    const { code, stderr } = await reeve('ps')
    expect([code, stderr]).toEqual([
      4,
      expect.stringMatching(/store.db is (?:empty or gone|older)[^]*\(STORE_DAMAGED\)[^]*reeve daemon start --accept-store/),
    ])
    change()
  }
  expect((await reeve('ps')).stderr).toMatch(/store.db is older than it was/)
  expect(readdirSync(join(state, 'worktrees')).toSorted()).toEqual([earlyProcess, lateProcess].toSorted())

  try {
    expect((await reeve('daemon', 'start', '--accept-store')).code).toBe(0)
    expect(await reeve('daemon', 'start', '--accept-store')).toMatchObject({ code: 1, stderr: expect.stringContaining('already runs') })
    const { processes } = JSON.parse((await reeve('ps', '-a', '--json')).stdout) as { processes: { uuid: string }[] }
    expect(processes.map(({ uuid }) => uuid)).toEqual([earlyProcess])
    expect((await daemon.spawn({ argv: ['true'] })).pid).toBe(pid + 1)
    const { stdout } = await reeve('doctor')
    expect(stdout).toMatch(
      new RegExp(
        `^no +set aside: ${state}/aside has files that the store did not know: worktrees/${lateProcess}, files/${lateProcess}\\.git$`,
        'm',
      ),
    )
  } finally {
    await reeve('daemon', 'stop', '--now')
  }
  expect(readFileSync(join(state, 'aside/worktrees', lateProcess, 'b.txt'), 'utf8')).toBe('late')
  expect(readdirSync(join(state, 'worktrees'))).toEqual([earlyProcess])
  expect(readFileSync(daemon.paths.logFile, 'utf8')).toContain(`the store knows no process ${lateProcess}`)
  // From now on this is the store of the home, so that a start accepts it.
  await daemon.start()
})
