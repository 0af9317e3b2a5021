// Resumed and forked nodes of a run. The tests check which nodes continue or run again, and which requests are refused with their reason.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { waitForFileCommand, ComposeRuns, shellNode, stateList } from '../../support/compose/compose-runs.ts'

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

const createFile = (file: string): void => writeFileSync(join(daemon.work, file), '')
const readWorkFile = (file: string): string => readFileSync(join(daemon.work, file), 'utf8')
const resumeError = async (ref: string, body: object): Promise<unknown> => (await daemon.post(`/v1/compose/${ref}/resume`, body)).body.error

/** `think` answers with its last message; `print` appends the answer to a file. */
async function makeThinkAndPrint(more: object = {}): Promise<{ think: object; print: object }> {
  return {
    think: { model: await daemon.writeScript([{ text: 'first' }, { text: 'second' }, { text: 'third' }]), intent: 'think', ...more },
    print: { command: ['sh', '-c', 'echo "$1" >> printed', 'sh', '{{ nodes.think.result }}'], depends_on: ['think'] },
  }
}

test('a resumed node that failed runs again as the same process, with its dependents, in a new incarnation of the ended run', async () => {
  const { uuid, pid } = await runs.start({
    flaky: shellNode('test -e fixed', {}),
    after: shellNode('echo done > after', { depends_on: ['flaky'] }),
    other: shellNode('echo other >> others'),
  })
  const failed = await runs.waitForEnd(uuid)
  expect(stateList(failed)).toBe('flaky failed, after blocked, other completed')
  createFile('fixed')
  const { run, note } = await runs.resume(uuid, { node: 'flaky' })
  expect(note).toBe('node flaky runs again from its start: it has no session to continue')
  expect(run.uuid).toBe(uuid)
  expect(run.pid).toBeGreaterThan(pid)
  const end = await runs.waitForEnd(uuid)
  expect(stateList(end)).toBe('flaky completed, after completed, other completed')
  expect(end).toMatchObject({ status: 'completed', exit: { code: 0 } })
  expect(end.nodes[0]?.process?.uuid).toBe(failed.nodes[0]?.process?.uuid)
  expect(readWorkFile('others')).toBe('other\n')
})

test('after another message to a completed node, its dependents run again with the new result, as new processes', async () => {
  const { uuid } = await runs.start(await makeThinkAndPrint())
  const runBefore = await runs.waitForEnd(uuid)
  expect(readWorkFile('printed')).toBe('first\n')
  await runs.resume(uuid, { node: 'think', message: 'and now?' })
  const end = await runs.waitForEnd(uuid)
  expect(stateList(end)).toBe('think completed, print completed')
  expect(readWorkFile('printed')).toBe('first\nsecond\n')
  expect(end.nodes[0]?.process?.uuid).toBe(runBefore.nodes[0]?.process?.uuid)
  expect(end.nodes[1]?.process?.uuid).not.toBe(runBefore.nodes[1]?.process?.uuid)
  expect(await daemon.view(runBefore.nodes[1]?.process?.uuid ?? '')).toMatchObject({ status: 'completed' })
})

test('a fork replaces its origin in the run, and the origin stays untouched', async () => {
  const { uuid } = await runs.start(await makeThinkAndPrint())
  const runBefore = await runs.waitForEnd(uuid)
  await runs.resume(uuid, { node: 'think', message: 'once more' })
  await runs.waitForEnd(uuid)
  const { run } = await runs.resume(uuid, { node: 'think', fork: true, fromStep: 1, message: 'another way' })
  const origin = runBefore.nodes[0]?.process?.uuid ?? ''
  const fork = run.nodes[0]?.process?.uuid ?? ''
  expect(fork).not.toBe(origin)
  const end = await runs.waitForEnd(uuid)
  expect(stateList(end)).toBe('think completed, print completed')
  expect(await daemon.view(fork)).toMatchObject({
    originUuid: origin,
    originStep: 1,
    childId: 'think',
    parentUuid: uuid,
    name: 'work.think',
  })
  expect((await daemon.view(origin)).step).toBe(2)
  expect(readWorkFile('printed')).toBe('first\nsecond\nsecond\n')
})

test('a cancelled node can be resumed while its run works, and after the run was stopped', async () => {
  const { uuid } = await runs.start({
    a: shellNode(`${waitForFileCommand('go')}; echo a >> log`),
    b: shellNode('true', { depends_on: ['a'] }),
    c: shellNode(waitForFileCommand('go2')),
  })
  await runs.waitForRun(uuid, (view) => stateList(view) === 'a running, b waiting, c running')
  await daemon.signal(await runs.processOf(uuid, 'a'), 'SIGKILL')
  await runs.waitForRun(uuid, (view) => stateList(view) === 'a cancelled, b blocked, c running')
  await runs.resume(uuid, { node: 'a' })
  await runs.waitForRun(uuid, (view) => stateList(view) === 'a running, b waiting, c running')
  await daemon.signal(uuid, 'SIGTERM', { graceMs: 300 })
  expect(stateList(await runs.waitForEnd(uuid))).toBe('a cancelled, b cancelled, c cancelled')
  createFile('go')
  createFile('go2')
  await runs.resume(uuid, { node: 'a' })
  const end = await runs.waitForEnd(uuid)
  expect(stateList(end)).toBe('a completed, b completed, c completed')
  expect(readWorkFile('log')).toBe('a\n')
})

test('a suspended node can be resumed with a message', async () => {
  const slowModel = await daemon.writeScript([
    { tools: [{ name: 'bash', input: { command: waitForFileCommand('go') } }] },
    { text: 'so' },
    { text: 'heard' },
  ])
  const { uuid } = await runs.start({
    slow: { model: slowModel, intent: 'x' },
    after: { command: ['sh', '-c', 'echo "$1" > got', 'sh', '{{ nodes.slow.result }}'], depends_on: ['slow'] },
  })
  await runs.waitForRun(uuid, ({ nodes }) => nodes[0]?.process?.step === 1)
  await daemon.pause(await runs.processOf(uuid, 'slow'))
  createFile('go')
  await runs.resume(uuid, { node: 'slow', message: 'hurry' })
  expect(stateList(await runs.waitForEnd(uuid))).toBe('slow completed, after completed')
  expect(existsSync(join(daemon.work, 'got'))).toBe(true)
})

test('a resume that is not possible is refused with its reason, and changes nothing', async () => {
  const { uuid, pid } = await runs.start({
    a: shellNode('exit 1'),
    b: shellNode('true', { depends_on: ['a'] }),
    c: shellNode('true'),
    d: shellNode(waitForFileCommand('go'), { depends_on: ['c'] }),
    e: { ...(await makeThinkAndPrint()).think },
  })
  await runs.waitForRun(uuid, (view) => stateList(view) === 'a failed, b blocked, c completed, d running, e completed')
  expect(await resumeError('nobody', { node: 'a' })).toMatchObject({ code: 'NOT_FOUND', message: 'no process "nobody"' })
  expect(await resumeError(uuid, { node: 'z' })).toMatchObject({
    code: 'NOT_FOUND',
    message: 'run work has no node "z"; it has a, b, c, d, e',
  })
  expect(await resumeError(uuid, { node: 'b' })).toMatchObject({
    code: 'INVALID',
    message: 'node "b" needs "a", which is failed: resume that',
  })
  expect(await resumeError(uuid, { node: 'c' })).toMatchObject({
    code: 'INVALID',
    message: 'node "d" depends on "c" and is running: wait for its end, or stop it first',
  })
  expect(await resumeError(uuid, { node: 'd', message: 'x' })).toMatchObject({
    code: 'INVALID',
    message: 'a plain command takes no messages',
  })
  expect(await resumeError(uuid, { node: 'a', message: 'x' })).toMatchObject({
    code: 'INVALID',
    message: 'a plain command takes no messages',
  })
  expect(await resumeError(uuid, { node: 'd', fork: true })).toMatchObject({ code: 'NOT_RESUMABLE' })
  expect(await resumeError(uuid, { node: 'b', fork: true })).toMatchObject({
    code: 'INVALID',
    message: 'node "b" has no process that could be forked',
  })
  expect(await resumeError(uuid, { node: 'e', fork: true, fromStep: 9 })).toMatchObject({
    code: 'INVALID',
    message: expect.stringContaining('9') as string,
  })
  expect(await resumeError(uuid, { node: 'e', fromStep: 1 })).toMatchObject({
    code: 'INVALID',
    message: expect.stringContaining('--from-step needs --fork') as string,
  })
  expect(await resumeError(await runs.processOf(uuid, 'd'), { node: 'd' })).toMatchObject({
    code: 'INVALID',
    message: expect.stringContaining('is not a run of a compose file') as string,
  })
  expect(stateList(await runs.read(uuid))).toBe('a failed, b blocked, c completed, d running, e completed')
  createFile('go')
  const end = await runs.waitForEnd(uuid)
  expect(end.pid).toBe(pid)
  const removedUuid = end.nodes[2]?.process?.uuid ?? ''
  await daemon.client.delete(`/v1/processes/${removedUuid}`)
  expect(await resumeError(uuid, { node: 'c' })).toMatchObject({
    code: 'COLLECTED',
    message: expect.stringContaining('the process of node "c" no longer exists') as string,
  })
  expect((await runs.read(uuid)).status).toBe('failed')
  await daemon.client.delete(`/v1/processes/${uuid}`)
  expect(await resumeError(uuid, { node: 'a' })).toMatchObject({ code: 'COLLECTED' })
})

test('a node fails with the reason when the process of a result that it needs was removed', async () => {
  const { think, print } = await makeThinkAndPrint()
  const { uuid } = await runs.start({
    think,
    hold: shellNode(waitForFileCommand('go'), { depends_on: ['think'] }),
    print: { ...print, depends_on: ['think', 'hold'] },
  })
  await runs.waitForRun(uuid, (view) => stateList(view) === 'think completed, hold running, print waiting')
  await daemon.client.delete(`/v1/processes/${await runs.processOf(uuid, 'think')}`)
  createFile('go')
  const end = await runs.waitForEnd(uuid)
  expect(stateList(end)).toBe('think completed, hold completed, print failed')
  expect(end.nodes[2]?.reason).toBe('the process of node "think" was removed, and its result with it')
})
