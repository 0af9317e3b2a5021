// `reeve crew spawn`, `replace` and `retire` on a real daemon: the user adds, replaces and retires members.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT } from '../../support/env.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'

let daemon: LocalDaemon
let repository: Repository
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'T')
  repository.git('config', 'user.email', 't@example.org')
  repository.commit({ 'README.md': 'hello\n', 'tasks.md': '## which: Which word?\nkind: human\nOne word.\n' })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const TIMEOUT_MS = 300_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`
const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work } })
const crewOf = async (): Promise<CrewView> => (await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')).crew

/** Waits until the crew matches. Checks it at each of its events. */
async function waitForCrew(isMatch: (crew: CrewView) => boolean): Promise<void> {
  const cursorBefore = await daemon.readCursor()
  if (isMatch(await crewOf())) return
  for await (const _ of daemon.client.events('/v1/processes/fix/events', {
    query: { after: cursorBefore, follow: true },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })) {
    if (isMatch(await crewOf())) return
  }
}

const isOn =
  (member: string) =>
  ({ members }: CrewView): boolean =>
    members.some(({ id, state }) => id === member && state === 'on')
const isGone =
  (member: string) =>
  ({ members }: CrewView): boolean =>
    members.some(({ id, state }) => id === member && state === 'gone')

test('`spawn` adds, `replace` replaces and `retire` retires a member', { timeout: TIMEOUT_MS }, async () => {
  expect(
    await reeve('crew', 'up', '-d', '--name', 'fix', '--workers', '1', '--max-workers', '3', '--tasks', 'tasks.md', '--model', WORKER),
  ).toMatchObject({ code: 0 })
  await waitForCrew(isOn('worker-1'))

  expect(await reeve('crew', 'spawn', 'fix', 'reviewer')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'worker-2 is being started; a task can be assigned to it already\n',
  })
  await waitForCrew(isOn('worker-2'))
  expect(await reeve('crew', 'spawn', 'fix', 'boss')).toMatchObject({
    code: 64,
    stderr: 'reeve: no role "boss"\n       The roles are generic, implementer, reviewer, researcher.\n',
  })

  expect(await reeve('crew', 'replace', 'fix', 'worker-1', 'mind the full stop')).toMatchObject({
    code: 0,
    stderr: 'worker-3 takes over from worker-1, which leaves as soon as worker-3 is running\n',
  })
  await waitForCrew(isGone('worker-1'))
  await daemon.waitForView('fix.worker-3', ({ turn, status }) => turn === 1 && status === 'ready')
  expect((await reeve('logs', 'fix.worker-3')).stdout).toContain('You take over from worker-1. It wrote: mind the full stop')
  expect(await reeve('crew', 'replace', 'fix', 'worker-1')).toMatchObject({
    code: 1,
    stderr: 'reeve: worker-1 has left the crew\n       worker-3 took over.\n',
  })

  expect(JSON.parse((await reeve('crew', 'retire', 'fix', 'worker-2', 'nothing to review', '--json')).stdout)).toMatchObject({
    version: 1,
    note: 'worker-2 is retired',
  })
  await waitForCrew(isGone('worker-2'))
  expect(await reeve('crew', 'retire', 'fix', 'worker-9')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^reeve: the crew has no member "worker-9"\n {7}It has worker-1, worker-2, worker-3\.\n$/) as string,
  })
  expect(await reeve('crew', 'replace', 'fix', 'coordinator')).toMatchObject({ code: 3 })
  const { members } = await crewOf()
  expect(members.map(({ id, role, state, leave }) => [id, role, state, leave?.how])).toEqual([
    ['worker-1', 'generic', 'gone', 'replaced'],
    ['worker-2', 'reviewer', 'gone', 'retired'],
    ['worker-3', 'generic', 'on', undefined],
  ])
  expect((await reeve('crew')).stdout).toMatch(/^reeve crew retire +retire a worker$/m)
  await reeve('crew', 'stop', 'fix')
})

test('the history of a task names the successor, and the summary for it', { timeout: TIMEOUT_MS }, async () => {
  repository.commit({ 'tasks.md': '## lexer: The lexer\nWrite lexer.txt with tokens.\n' })
  writeFileSync(join(daemon.work, 'hold-task-lexer'), '')
  expect(
    await reeve('crew', 'up', '-d', '--name', 'fix', '--workers', '1', '--no-reviews', '--tasks', 'tasks.md', '--model', WORKER),
  ).toMatchObject({ code: 0 })
  await waitUntil(() => existsSync(join(daemon.work, 'held-task-lexer')), 'the worker waits in its task')
  expect(await reeve('crew', 'replace', 'fix', 'worker-1', 'nothing is there yet')).toMatchObject({ code: 0 })
  await daemon.waitForEnd('fix')
  expect((await reeve('crew', 'show', 'fix', 'lexer')).stdout).toMatch(/worker-2 takes over from worker-1\n +nothing is there yet\n/)
  expect(repository.git('show', 'reeve/fix:lexer.txt')).toBe('tokens.')
})
