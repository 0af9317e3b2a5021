// A crew that is stopped goes on where it was: a member that was to begin is not lost, nor is one that was killed with its crew.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Crews } from '../../src/api/crews-client.ts'
import type { ProcessView } from '../../src/api/views.ts'
import { runCli } from '../support/cli.ts'
import { testEnv } from '../support/env.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { Repository } from '../support/repository.ts'

/** The first stays when it is told to stop, as long as it may. */
const WORKER = `rules:
  - when: '/^Task/'
    steps: [{ tools: [{ name: bash, input: { command: 'trap "" TERM INT HUP; touch ~/begun; while :; do sleep 1; done' } }] }]
steps: [{ text: ready }]
`

/** Its second call tells that it went on: a task that began anew would have made the first. */
const HELD = `rules:
  - when: '/^Task/'
    steps:
      - tools: [{ name: bash, input: { command: 'touch ~/begun; exec sleep 600' } }]
      - tools: [{ name: bash, input: { command: 'touch ~/again; exec sleep 600' } }]
steps: [{ text: ready }]
`

let daemon: LocalDaemon
let crews: Crews
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  crews = new Crews(daemon.client)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors.map(String)).toEqual([])
})

const all = async (): Promise<readonly ProcessView[]> => (JSON.parse((await runCli(daemon.home, ['ps', '-a', '--json'])).stdout) as { processes: ProcessView[] }).processes
const at = (name: string): string => join(daemon.work, name)

/** A git that stands still while a file is there. */
function slowGit(): string {
  writeFileSync(at('git'), `#!/bin/sh\nif [ -e ${at('hold')} ]; then touch ${at('held')}; while [ -e ${at('hold')} ]; do sleep 0.05; done; fi\nPATH=$(echo "$PATH" | cut -d: -f2-) exec git "$@"\n`, { mode: 0o755 })
  return `${daemon.work}:${process.env['PATH'] ?? ''}`
}

test('a spawn that is refused because the crew stops is asked for again', async () => {
  const repository = Repository.make(at('repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(at('worker.yaml'), WORKER)
  const { process: { uuid: ref } } = await crews.up({ cwd: repository.dir, env: { ...testEnv(daemon.work), PATH: slowGit() }, name: 'team', model: `script:${at('worker.yaml')}`, workers: 1, maxWorkers: 2, reviews: false, stay: true, tasks: [{ id: 'one', text: 'Do it.' }] })
  await expect.poll(() => existsSync(at('begun')), { timeout: 20_000 }).toBe(true)
  writeFileSync(at('hold'), '')
  await crews.command(ref, { type: 'spawn_worker', role: 'generic' })
  await expect.poll(() => existsSync(at('held')), { timeout: 20_000 }).toBe(true)
  await daemon.signal(ref, 'SIGTERM', { graceMs: 4_000 })
  rmSync(at('hold'))
  expect(await daemon.ended(ref)).toMatchObject({ status: 'stopped' })
  expect((await crews.get(ref)).members.map(({ id, state }) => [id, state])).toEqual([['worker-1', 'on'], ['worker-2', 'starting']])
  await daemon.client.post(`/v1/processes/${ref}/resume`, {})
  await expect.poll(async () => (await crews.get(ref)).members[1]?.state, { timeout: 20_000 }).toBe('on')
  await daemon.signal(ref, 'SIGKILL', { subtree: true })
  await daemon.ended(ref)
  // Both of its incarnations count.
  const { createdAt, exitedAt, elapsedMs } = await crews.report(ref)
  expect(elapsedMs).toBe(Date.parse(exitedAt ?? '') - Date.parse(createdAt))
}, 60_000)

test('who was killed with the crew has its task when the crew goes on', async () => {
  const repository = Repository.make(at('repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(at('worker.yaml'), HELD)
  const { process: { uuid: ref } } = await crews.up({ cwd: repository.dir, env: testEnv(daemon.work), name: 'team', model: `script:${at('worker.yaml')}`, workers: 1, reviews: false, tasks: [{ id: 'one', text: 'Do it.' }] })
  await expect.poll(() => existsSync(at('begun')), { timeout: 20_000 }).toBe(true)
  expect(await runCli(daemon.home, ['crew', 'stop', '--now', 'team'])).toMatchObject({ code: 0, stderr: expect.stringMatching(/\(team\) stopped: SIGKILL from user/) })
  expect((await all()).filter(({ status }) => status !== 'stopped')).toEqual([])
  expect(await runCli(daemon.home, ['crew', 'resume', 'team'])).toMatchObject({ code: 0 })
  await expect.poll(() => existsSync(at('again')), { timeout: 20_000 }).toBe(true)
  const { members, tasks } = await crews.get(ref)
  expect([members.map(({ id, state }) => [id, state]), tasks.map(({ implementer, attempts }) => [implementer, attempts])]).toEqual([[['worker-1', 'on']], [['worker-1', 0]]])
  expect(await runCli(daemon.home, ['crew', 'stop', '--now', 'team'])).toMatchObject({ code: 0 })
}, 60_000)
