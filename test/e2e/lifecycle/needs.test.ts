// The needs: what waits for the user, through the API and the command line. Covers questions with their evidence, the gate of a crew and
// ends, in the order of urgency, and what the user has seen or snoozed, also after a restart of the daemon.
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { Repository } from '../../support/git/repository.ts'
import { ROOT } from '../../support/env.ts'
import type { NeedView, NeedsView } from '../../../src/api/views/needs.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const CREW_TIMEOUT_MS = 120_000
const needs = (query: Record<string, string | number> = {}): Promise<NeedsView> => daemon.client.get<NeedsView>('/v1/needs', query)
const needOf = async (id: string): Promise<NeedView> => (await daemon.client.get<{ need: NeedView }>(`/v1/needs/${id}`)).need
const cli = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })
const kinds = async (query: Record<string, string | number> = {}): Promise<string[]> => (await needs(query)).needs.map(({ kind }) => kind)
const waitUntilAsking = async (ref: string): Promise<void> => {
  await daemon.client.get(`/v1/processes/${ref}/wait`, { for: 'waiting' })
}

/** Starts an agent that asks about these calls, one after another. */
async function startAsking(calls: readonly object[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  const process = await daemon.spawnScripted([...calls.map((call) => ({ tools: [call] })), { text: 'done' }], {
    permissions: 'ask',
    ...body,
  })
  await waitUntilAsking(process.uuid)
  return process
}
const RUN = { name: 'bash', input: { command: 'true' } }
const WRITE = { name: 'write', input: { path: 'a', content: 'x' } }

test('questions come first, then failures, then ends; the command line shows a command for each', async () => {
  await daemon.waitForEnd((await daemon.spawnShell('true', { name: 'ok' })).uuid)
  await daemon.waitForEnd((await daemon.spawnShell('exit 3', { name: 'boom' })).uuid)
  const { pid } = await startAsking([WRITE], { name: 'asks' })
  expect(await needs()).toMatchObject({
    total: 3,
    snoozed: 0,
    needs: [
      { kind: 'edit', rank: 1, name: 'asks', title: 'write: a', ask: { diff: [{ path: 'a', old: null, new: 'x' }] } },
      { kind: 'failed', rank: 4, name: 'boom', title: 'exit code 3', evidence: { error: expect.stringContaining('3') } },
      { kind: 'finished', rank: 6, name: 'ok', ask: null, options: [{ id: 'logs' }, { id: 'seen' }] },
    ],
  })
  const { stdout } = await cli('needs')
  expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toMatchObject([
    ['PID', 'NAME', 'KIND', 'SINCE', 'WHAT', 'COMMAND'],
    [String(pid), 'asks', 'edit', expect.any(String), 'write: a', `reeve answer ${pid} NUMBER`],
    [expect.any(String), 'boom', 'failed', expect.any(String), 'exit code 3', expect.stringMatching(/^reeve logs \d+$/)],
    [expect.any(String), 'ok', 'finished', expect.any(String), 'has finished', expect.stringMatching(/^reeve logs \d+$/)],
    [''],
  ])
  expect((await cli('needs', '--evidence', 'asks')).stdout).toMatch(
    /^PID \d+ \(asks\): edit, \d+s\n {2}write: a\n {4}1 Allow[^]*new file a\n {2}\+x\n/,
  )
})

test('a need of a grandchild names its root, and a list below that root has no other needs', async () => {
  const [root, other] = [await daemon.spawnScripted([{ text: 'hello' }], { interactive: true, name: 'root' }), await startAsking([RUN])]
  const child = await daemon.spawnScripted([{ text: 'hello' }], { interactive: true, parent: root.uuid })
  const { uuid } = await startAsking([RUN], { parent: child.uuid })
  expect((await needs({ under: 'root' })).needs).toMatchObject([{ uuid, root: root.uuid, rootName: 'root', kind: 'command' }])
  expect(new Set((await needs()).needs.map(({ uuid: each }) => each))).toEqual(new Set([uuid, other.uuid]))
})

test('a need has all its evidence until it ends', async () => {
  const { uuid } = await startAsking([RUN])
  const [need] = (await needs()).needs
  expect(await needOf(need?.id ?? '')).toEqual(need)
  await daemon.client.post(`/v1/processes/${uuid}/answer`, { option: 'allow', seen: need?.ask?.hash })
  await daemon.waitForEnd(uuid)
  await expect(needOf(need?.id ?? '')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

describe('the user', () => {
  test('has seen an end, for all clients and after a restart', async () => {
    const { uuid } = await daemon.spawnShell('true', { name: 'ok' })
    await daemon.waitForEnd(uuid)
    expect(await cli('needs', '--seen')).toMatchObject({ code: 0, stderr: '1 process seen\n' })
    expect(await kinds()).toEqual([])
    expect(await daemon.client.post(`/v1/processes/${uuid}/seen`, {})).toMatchObject({ affected: 0, note: 'there is nothing new' })
    await daemon.restart()
    expect(await kinds()).toEqual([])
  })

  test.skipIf(!HAS_TERMINAL)('has seen an end that `reeve run` printed on a terminal, and no other end', async () => {
    using terminal = new Terminal(daemon.home, ['run', '--', 'true'])
    expect(await terminal.exitCode).toBe(0)
    expect(await kinds()).toEqual([])
    expect(await cli('run', '--', 'true')).toMatchObject({ code: 0 })
    expect(await kinds()).toEqual(['finished'])
  })

  test('snoozes the question of a process, and the next question ends the snooze', async () => {
    const { uuid, pid } = await startAsking([RUN, WRITE])
    expect(await cli('needs', '--snooze', '2h', String(pid))).toMatchObject({ code: 0, stderr: '1 process put off\n' })
    expect(await needs()).toMatchObject({ needs: [], total: 0, snoozed: 1 })
    expect((await cli('needs')).stderr).toBe('nothing waits for you\n1 need put off: `reeve needs --all` lists them\n')
    expect((await needs({ all: 1 })).needs).toMatchObject([{ kind: 'command', snoozedUntil: expect.stringMatching(/^20/) }])
    await daemon.client.post(`/v1/processes/${uuid}/answer`, { option: 'allow' })
    await daemon.waitForEvent(uuid, ({ fact, question }) => fact === 'process.waiting' && String(question).startsWith('write'))
    expect(await kinds()).toEqual(['edit'])
    await cli('needs', '--snooze', '2h', String(pid))
    expect(await cli('needs', '--snooze', 'off', String(pid))).toMatchObject({ code: 0, stderr: '1 process shown again\n' })
    expect(await kinds()).toEqual(['edit'])
  })

  test('gets an error for a snooze until a past time, and for a text that is not a duration', async () => {
    const { uuid } = await startAsking([RUN])
    await expect(daemon.client.post(`/v1/processes/${uuid}/snooze`, { until: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({
      code: 'INVALID',
      message: 'needs can be put off only until a time in the future',
    })
    expect(await cli('needs', '--snooze', 'soon')).toMatchObject({ code: 64, stderr: expect.stringContaining('not a duration') })
    expect(await cli('needs', '--snooze', '1h', '--seen')).toMatchObject({ code: 64 })
  })
})

test('a plain command that prints a question has no ask, and only its end is a need', async () => {
  const { uuid } = await daemon.spawnShell('echo "May I continue? (y/n)"; read answer < /dev/null; exit 1')
  await daemon.waitForEnd(uuid)
  expect((await needs()).needs).toMatchObject([{ kind: 'failed', ask: null }])
})

test("the need of a crew's gate has the change of the task", { timeout: CREW_TIMEOUT_MS }, async () => {
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'T')
  repository.git('config', 'user.email', 't@example.org')
  repository.commit({ 'tasks.md': '## lexer: The lexer\nWrite lexer.txt with tokens.\n' })
  const worker = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`
  const inRepository = (...args: string[]): Promise<CliResult> =>
    runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work, COLUMNS: '120' } })
  const started = await inRepository(
    'crew',
    'up',
    '-d',
    '--name',
    'fix',
    '--workers',
    '2',
    '--gate',
    'human',
    '--tasks',
    'tasks.md',
    '--model',
    worker,
  )
  expect(started).toMatchObject({ code: 0 })
  await waitUntilAsking('fix')
  const [gate] = (await needs({ under: 'fix' })).needs
  expect(gate).toMatchObject({
    kind: 'gate',
    rank: 2,
    name: 'fix',
    task: { id: 'lexer', title: 'The lexer', verdict: 'APPROVED' },
    options: [{ id: 'approve' }, { id: 'deny' }, { id: 'cancel' }],
    commands: ['reeve crew approve fix lexer', 'reeve crew deny fix lexer TEXT', 'reeve answer fix'],
    evidence: { change: null },
  })
  await daemon.waitUntilReady(`fix.${gate?.task?.implementer}`)
  expect((await needOf(gate?.id ?? '')).evidence).toMatchObject({
    text: 'Write lexer.txt with tokens.',
    report: expect.any(String),
    change: { files: [{ path: 'lexer.txt' }], diff: expect.stringContaining('+tokens.') },
  })
  expect((await inRepository('needs', 'fix')).stdout).toMatch(/ fix +gate +\S+ +May lexer .*reeve crew approve fix lexer$/m)
})
