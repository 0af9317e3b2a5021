// Limits of the home apply to each process at the top with its subtree, unless the process has its own limits.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SpawnedView } from '../../../src/api/views/process.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const CONFIG = 'limits: { budgetTokens: 250, maxSteps: 40, timeout: 1h }\n'
const HOME_LIMITS = { budgetTokens: 250, maxSteps: 40, timeoutMs: 3_600_000 }

test('limits of the home apply to an agent, a command, a supervisor, a crew and a run, but not to a child, and an own limit replaces them', async () => {
  await using daemon = await LocalDaemon.start({ config: CONFIG })
  const post = <T>(path: string, body: object): Promise<T> => daemon.client.post<T>(path, body)
  const agent = await daemon.spawnScripted([{ text: 'done' }])
  const limitedProcess = await daemon.spawnScripted([{ text: 'done' }], { limits: { maxSteps: 3 } })
  const command = await daemon.spawn({ argv: ['sleep', '1000'] })
  const child = await daemon.spawn({ argv: ['true'], parent: command.uuid })
  const supervisor = await post<SpawnedView>('/v1/processes', {
    supervisor: { children: [{ childId: 'a', argv: ['sleep', '1000'] }] },
    cwd: daemon.work,
    name: 'tree',
  })
  expect([agent, limitedProcess, command, child, supervisor.process].map(({ limits }) => limits)).toEqual([
    HOME_LIMITS,
    { ...HOME_LIMITS, maxSteps: 3 },
    { timeoutMs: 3_600_000 },
    {},
    HOME_LIMITS,
  ])
  const model = await daemon.writeScript([{ text: 'done' }])
  await writeFile(
    join(daemon.work, 'reeve.yaml'),
    `agents:\n  a: { command: [sleep, "1000"] }\ncrews:\n  team: { worktrees: false, reviews: false, workers: 1, model: "${model}", limits: { budgetTokens: 90 }, tasks: [{ id: t, text: do it }] }\n`,
  )
  const { process: crew } = await post<SpawnedView>('/v1/crews', { cwd: daemon.work })
  expect(crew.limits).toEqual({ ...HOME_LIMITS, budgetTokens: 90 })
  const { run } = await post<{ run: { uuid: string; nodes: unknown } }>('/v1/compose', { cwd: daemon.work })
  expect((await daemon.view(run.uuid)).limits).toEqual(HOME_LIMITS)
  expect(daemon.errors).toEqual([])
})

test('limits of the home hold a process like its own limits, and a changed file applies to the next process', async () => {
  await using daemon = await LocalDaemon.start({ config: CONFIG })
  const costlyStep = { text: 'x', tools: [{ name: 'ls', input: {} }], usage: { input: 200, output: 60 } }
  const { uuid } = await daemon.spawnScripted([costlyStep, costlyStep])
  await daemon.waitForStatus(uuid, 'suspended')
  expect((await daemon.view(uuid)).holds).toMatchObject([{ reason: 'budget' }])
  await writeFile(daemon.paths.configFile, '')
  expect((await daemon.spawnScripted([{ text: 'done' }])).limits).toEqual({})
})

test('`reeve config set` writes a limit of the home, and `inspect` names its origin until a resume changes the limit', async () => {
  await using daemon = await LocalDaemon.start()
  expect(await runCli(daemon.home, ['config', 'set', 'limits.budgetUsd', '3'])).toMatchObject({ code: 0 })
  const { uuid } = await daemon.spawnScripted([{ text: 'done' }], { interactive: true, limits: { maxSteps: 9 } })
  const inspect = async (): Promise<string> => (await runCli(daemon.home, ['inspect', uuid])).stdout
  expect(await inspect()).toMatch(/limits +0 of 9 steps, then terminate\n +\$0\.00 of \$3, then suspend \(config\.yaml\)\n/)
  await runCli(daemon.home, ['pause', uuid])
  await runCli(daemon.home, ['resume', '-d', '--budget-usd', '+2', uuid])
  expect(await inspect()).toContain('of $5, then suspend\n')
})
