// After a kill of the daemon the next one restores the processes of policies and supervisors, and none that the user ended.
// After three deaths it holds the processes that it would restore.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'

const LONG_BACKOFF = { initialMs: 600_000, maxMs: 600_000, factor: 1 }

function sleeperArgv(home: DaemonHome, file: string): string[] {
  return ['sh', '-c', `echo $$ >> ${join(home.work, file)}; exec sleep 600`]
}

function countStarts(home: DaemonHome, file: string): number {
  const path = join(home.work, file)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
}

async function waitForStarts(home: DaemonHome, file: string, times: number): Promise<void> {
  const deadline = performance.now() + 60_000
  while (countStarts(home, file) < times) {
    if (performance.now() > deadline)
      throw new Error(`${file} was started ${countStarts(home, file)} times, not ${times}: ${home.readLog()}`)
    await home.client.get('/v1/daemon')
  }
  expect(countStarts(home, file)).toBe(times)
}

async function restartAfterKill(home: DaemonHome): Promise<void> {
  await home.kill()
  await home.start()
}

function findChild({ supervisor }: ProcessView, id: string): NonNullable<ProcessView['supervisor']>['children'][number] | undefined {
  return supervisor?.children.find((one) => one.id === id)
}

test('a policy restores its processes; processes that the user killed or paused stay so', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  const keptProcess = await home.spawn({ name: 'kept', argv: sleeperArgv(home, 'kept'), restart: 'on-failure' })
  const plain = await home.spawn({ name: 'plain', argv: sleeperArgv(home, 'plain') })
  const killedProcess = await home.spawn({ name: 'killed', argv: sleeperArgv(home, 'killed'), restart: 'always' })
  const pausedProcess = await home.spawn({ name: 'paused', argv: sleeperArgv(home, 'paused'), restart: 'always' })
  for (const file of ['kept', 'plain', 'killed', 'paused']) await waitForStarts(home, file, 1)
  await home.signal(killedProcess.uuid, { signal: 'SIGKILL' })
  await home.waitForEnd(killedProcess.uuid)
  await home.pause(pausedProcess.uuid)
  await restartAfterKill(home)
  await waitForStarts(home, 'kept', 2)
  expect(await home.view(plain.uuid)).toMatchObject({ status: 'interrupted' })
  expect(await home.view(killedProcess.uuid)).toMatchObject({ status: 'stopped' })
  expect(await home.view(pausedProcess.uuid)).toMatchObject({ status: 'suspended', holds: [{ reason: 'user', by: 'user' }] })
  expect((await home.view(keptProcess.uuid)).pid).toBeGreaterThan(keptProcess.pid)
  await home.resume(pausedProcess.uuid)
  await waitForStarts(home, 'paused', 2)
  expect([countStarts(home, 'plain'), countStarts(home, 'killed')]).toEqual([1, 1])
})

test('a supervisor comes back after a kill and after an orderly stop, and finds its children by their ids; it leaves those that the user killed', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  const children = ['a', 'b', 'c'].map((id) => ({ childId: id, argv: sleeperArgv(home, id), restart: 'always' as const }))
  const { uuid } = await home.spawn({ name: 'team', supervisor: { strategy: 'rest_for_one', children } })
  for (const id of ['a', 'b', 'c']) await waitForStarts(home, id, 1)
  await home.signal(findChild(await home.view(uuid), 'b')?.uuid ?? '', { signal: 'SIGKILL' })
  await home.waitForView(uuid, (view) => findChild(view, 'b')?.status === null)
  await restartAfterKill(home)
  for (const id of ['a', 'c']) await waitForStarts(home, id, 2)
  const view = await home.waitForView(
    uuid,
    ({ status, supervisor }) => status === 'ready' && supervisor?.children.filter((one) => one.status === 'working').length === 2,
  )
  expect(view.supervisor?.children.map(({ id, status, restarts }) => [id, status, restarts])).toEqual([
    ['a', 'working', 0],
    ['b', null, 0],
    ['c', 'working', 0],
  ])
  await home.stop()
  await home.start()
  for (const id of ['a', 'c']) await waitForStarts(home, id, 3)
  await home.waitForView(uuid, ({ status }) => status === 'ready')
  expect(countStarts(home, 'b')).toBe(1)
})

test('a waiting restart keeps waiting, after a kill and after an orderly stop', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  const { uuid } = await home.spawn({ argv: ['sh', '-c', 'exit 3'], restart: { type: 'always', backoff: LONG_BACKOFF } })
  const waitingView = await home.waitForView(uuid, ({ pendingRestart }) => pendingRestart !== null)
  await restartAfterKill(home)
  const laterView = await home.view(uuid)
  expect(laterView).toMatchObject({ status: 'pending', pid: waitingView.pid, pendingRestart: { attempt: 1, cause: 'exit code 3' } })
  expect(Math.abs(Date.parse(laterView.pendingRestart?.at ?? '') - Date.parse(waitingView.pendingRestart?.at ?? ''))).toBeLessThan(60_000)
  await home.stop()
  await home.start()
  expect(await home.view(uuid)).toMatchObject({ status: 'pending', pid: waitingView.pid })
})

test('a daemon that was killed three times holds the processes that it would restore, and the user releases them', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  const { uuid } = await home.spawn({ argv: sleeperArgv(home, 'loop'), restart: 'always' })
  const team = await home.spawn({ name: 'team', supervisor: { children: [{ childId: 'x', argv: sleeperArgv(home, 'x') }] } })
  for (const times of [1, 2]) {
    await waitForStarts(home, 'loop', times)
    await waitForStarts(home, 'x', times)
    await restartAfterKill(home)
  }
  await waitForStarts(home, 'loop', 3)
  await waitForStarts(home, 'x', 3)
  await restartAfterKill(home)
  for (const ref of [uuid, team.uuid])
    expect(await home.view(ref)).toMatchObject({ status: 'suspended', holds: [{ reason: 'daemon-crash', by: 'system' }] })
  expect(findChild(await home.view(team.uuid), 'x')).toMatchObject({ status: 'pending' })
  expect([countStarts(home, 'loop'), countStarts(home, 'x')]).toEqual([3, 3])
  expect(home.readLog()).toContain('3 daemons died within 10 minutes')
  await home.resume(uuid)
  await home.resume(team.uuid)
  await waitForStarts(home, 'loop', 4)
  await waitForStarts(home, 'x', 4)
})
