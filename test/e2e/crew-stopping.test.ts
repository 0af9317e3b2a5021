// A member that was to begin when its crew was stopped: it is not lost, and begins when the crew goes on.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Crews } from '../../src/api/crews-client.ts'
import { testEnv } from '../support/env.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { Repository } from '../support/repository.ts'

/** The first stays when it is told to stop, as long as it may. */
const WORKER = `rules:
  - when: '/^Task/'
    steps: [{ tools: [{ name: bash, input: { command: 'trap "" TERM INT HUP; touch ~/begun; while :; do sleep 1; done' } }] }]
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
