// The grace after SIGTERM is set by the user, by an agent file, or by the known needs of an agent.
// The programs end at once, so that no test waits for a grace. The tests read its length from the recorded fact.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { SpawnBody } from '../../../src/api/views/process.ts'

const WAITING_COMMAND = ['sh', '-c', 'echo up; exec sleep 600'] as const

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeFile(
    join(daemon.work, '.reeve/agents/tidy.md'),
    `---\ndriver: command\ncommand: ${JSON.stringify(WAITING_COMMAND)}\ngrace: 60s\n---\n`,
  )
  await writeFile(join(daemon.work, 'claude'), '#!/bin/sh\necho up\nexec sleep 600\n', { mode: 0o755 })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const plain: Partial<SpawnBody> = { argv: [...WAITING_COMMAND] }
const tidy: Partial<SpawnBody> = { agent: 'tidy', intent: 'wait' }

test.each<[string, Partial<SpawnBody>, string[], number]>([
  ['a command', plain, ['kill'], 300],
  ['a command', plain, ['kill', '--grace', '4s'], 4_000],
  ['a command', plain, ['stop'], 10_000],
  ['a command', plain, ['rm', '--force'], 300],
  ['an agent with a grace', tidy, ['kill'], 60_000],
  ['an agent with a grace', tidy, ['stop'], 60_000],
  ['an agent with a grace', tidy, ['rm', '--force'], 60_000],
  ['an agent with a grace', tidy, ['kill', '--grace', '4s'], 4_000],
  ['an agent with a grace', tidy, ['kill', '-s', 'KILL'], 0],
  ['an agent with a grace', tidy, ['kill', '-s', 'INT'], 60_000],
  ['a known command', { argv: ['./claude', '-p', 'wait', '--output-format', 'stream-json', '--verbose'] }, ['kill'], 3_000],
])('%s: %j, reeve %j gives it a grace of %i ms', async (_, body, [verb = '', ...flags], graceMs) => {
  const { uuid } = await daemon.spawn({ ...body, env: testEnv(daemon.work) })
  const stopping = daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.stopping')
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.output')
  expect(await runCli(daemon.home, [verb, ...flags, uuid], { cwd: daemon.work })).toMatchObject({ code: 0 })
  expect(await stopping).toMatchObject({ stopping: { graceMs } })
})

test('kill --subtree waits for all processes that it reached', async () => {
  const root = await daemon.spawn({ ...plain, env: testEnv(daemon.work) })
  const slowProcess = await daemon.spawn({
    argv: ['sh', '-c', 'trap "sleep 1; exit 0" TERM; echo up; while :; do sleep 0.05; done'],
    parent: root.uuid,
    env: testEnv(daemon.work),
  })
  for (const { uuid } of [root, slowProcess]) await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.output')
  expect(await runCli(daemon.home, ['kill', '--subtree', '--grace', '30s', root.uuid], { cwd: daemon.work })).toMatchObject({ code: 0 })
  expect((await daemon.view(slowProcess.uuid)).exit).not.toBeNull()
})
