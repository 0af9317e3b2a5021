// The identity of processes: a handle of an ended process signals nothing, and some targets are always refused.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { handleOf, handleState, signalGroup, signalOne } from '../../../src/drivers/contain/proc/handle.ts'
import { readProcessTable, readRow } from '../../../src/drivers/contain/proc/process-table.ts'
import { psTable, psRow } from '../../../src/drivers/contain/proc/ps-output.ts'
import type { OsHandle } from '../../../src/kernel/model/process.ts'
import { newToken, readProcess } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

function startSleeper(env: Record<string, string> = {}): { child: ChildProcess; handle: OsHandle } {
  const child = spawn('sleep', [`3600.${newToken()}`], { detached: true, stdio: 'ignore', env: { PATH: '/usr/bin:/bin', ...env } })
  children.push(child)
  const handle = handleOf(child.pid ?? 0)
  if (handle === null) throw new Error('no handle')
  return { child, handle }
}

test('a valid handle signals the group and the process', async () => {
  const first = startSleeper()
  expect(handleState(first.handle)).toBe('alive')
  expect(signalGroup(first.handle, 'SIGTERM')).toBe('sent')
  expect(await once(first.child, 'exit')).toEqual([null, 'SIGTERM'])
  const second = startSleeper()
  expect(signalOne(second.handle, 'SIGINT')).toBe('sent')
  expect(await once(second.child, 'exit')).toEqual([null, 'SIGINT'])
})

test.each([
  ['another start time', (handle: OsHandle) => ({ ...handle, startTime: String(Number(handle.startTime) - 1) })],
  ['a group that it is not in', (handle: OsHandle) => ({ ...handle, pgid: handle.pgid + 1 })],
])('a stale handle signals nothing: %s', (_, change) => {
  const { handle } = startSleeper()
  expect(signalGroup(change(handle), 'SIGKILL')).toBe('stale')
  expect(readProcess(handle.pid)).not.toBe(null)
})

test('a single process with another start time is stale', () => {
  const { handle } = startSleeper()
  const stale = { ...handle, startTime: '1' }
  expect(handleState(stale)).toBe('stale')
  expect(signalOne(stale, 'SIGKILL')).toBe('stale')
  expect(readProcess(handle.pid)).not.toBe(null)
})

test('the state of an ended process is `gone`, and nothing is signalled', async () => {
  const { child, handle } = startSleeper()
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect([handleState(handle), signalGroup(handle, 'SIGTERM'), signalOne(handle, 'SIGTERM')]).toEqual(['gone', 'gone', 'gone'])
})

test.each([1, 0, -1, Number.NaN])('group %d is refused', (pgid) => {
  const { handle } = startSleeper()
  expect(signalGroup({ ...handle, pgid }, 'SIGKILL')).toBe('refused')
  expect(readProcess(handle.pid)).not.toBe(null)
})

test('OS pid 1, OS pid 0, this OS process and its group are refused', () => {
  const ownHandle = handleOf(process.pid)
  const init = handleOf(1)
  if (ownHandle === null || init === null) throw new Error('no handle')
  expect(signalOne(ownHandle, 'SIGCONT')).toBe('refused')
  expect(signalGroup(ownHandle, 'SIGCONT')).toBe('refused')
  expect(signalOne(init, 'SIGCONT')).toBe('refused')
  expect(signalGroup({ ...init, pgid: 2 }, 'SIGCONT')).toBe('refused')
  expect(signalOne({ ...init, pid: 0 }, 'SIGCONT')).toBe('refused')
})

test('the state of a zombie is `gone`, but its handle still identifies its group', async () => {
  // The parent never waits for its child, the leader of a group with one living member. A shell could wait, so the child ends only
  // when the parent is no longer a shell.
  const script = 'setsid sh -c "sleep 3600.$0 & read _" <&3 & echo $!; exec sleep 3600.$0'
  const parent = spawn('sh', ['-c', script, newToken()], { detached: true, stdio: ['ignore', 'pipe', 'ignore', 'pipe'] })
  children.push(parent)
  const [line] = (await once(parent.stdout as Readable, 'data')) as [Buffer]
  const pid = Number(line.toString())
  await waitUntil(() => readProcess(parent.pid ?? 0)?.argv[0] === 'sleep' && readRow(pid)?.pgid === pid)
  ;(parent.stdio[3] as Socket).end()
  const row = await waitUntil(() => {
    const currentRow = readRow(pid)
    return currentRow?.state === 'Z' && currentRow.pgid === pid && currentRow
  })
  const handle = { pid, startTime: row.startTime, pgid: pid }
  expect(handleState(handle)).toBe('gone')
  expect(signalGroup(handle, 'SIGKILL')).toBe('sent')
})

test('the marker is read from the environment, by its whole name', async () => {
  const markedProgram = startSleeper({ REEVE_PROC: 'a.1.b.c' })
  const other = startSleeper({ NOT_REEVE_PROC: 'a.1.b.c' })
  await waitUntil(() => [markedProgram, other].every(({ handle }) => readProcess(handle.pid)?.state === 'S'), 'both sleep')
  const markerOf = (pid: number) => readProcessTable('younger').get(pid)?.marker
  expect([markerOf(markedProgram.handle.pid), markerOf(other.handle.pid)]).toEqual(['a.1.b.c', null])
})

test('`ps` gives the same rows as /proc', async () => {
  const { handle } = startSleeper({ REEVE_PROC: 'x.2.y.z' })
  await waitUntil(() => readProcess(handle.pid)?.state === 'S')
  const row = readRow(handle.pid)
  expect(psRow(handle.pid)).toMatchObject({ pid: handle.pid, ppid: row?.ppid, pgid: row?.pgid, state: 'S' })
  expect(psRow(handle.pid)?.startTime).toMatch(/^\w+_\w+_\d+_[\d:]+_\d{4}$/)
  expect(psTable().find(({ pid }) => pid === handle.pid)?.marker).toBe('x.2.y.z')
  expect(psRow(2 ** 22 + 1)).toBe(null)
})
