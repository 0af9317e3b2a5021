// A task that names an agent or a model gets a worker with it, also if the task is added later. A task whose agent cannot run is refused.
// The daemon and the repository are real, and a script plays the members.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'

const TIMEOUT_MS = 300_000
const WORKER_SCRIPT = join(ROOT, 'test/support/crew-scripts/worker.yaml')

let daemon: LocalDaemon
let repository: Repository
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'T')
  repository.git('config', 'user.email', 't@example.org')
  mkdirSync(join(repository.dir, '.reeve/agents'), { recursive: true })
  for (const name of ['usual', 'big']) copyFileSync(WORKER_SCRIPT, join(daemon.work, `${name}.yaml`))
  writeFileSync(
    join(repository.dir, '.reeve/agents/careful.md'),
    `---\ndescription: x\nmodel: script:${join(daemon.work, 'big.yaml')}\n---\nYou are careful.`,
  )
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(
    join(daemon.work, 'tasks.md'),
    '## one: The first\nWrite one.txt with tokens.\n\n## two: The second\nmodel: script:big.yaml\nWrite two.txt with trees.\n',
  )
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const runInRepository = (...args: string[]): Promise<CliResult> =>
  runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work } })
const startCrew = (...flags: string[]): Promise<CliResult> =>
  runInRepository(
    'crew',
    'up',
    '--name',
    'fix',
    '--workers',
    '2',
    '--tasks',
    join(daemon.work, 'tasks.md'),
    '--model',
    `script:${join(daemon.work, 'usual.yaml')}`,
    '--no-reviews',
    ...flags,
  )

async function waitForDone(count: number): Promise<CrewView> {
  const cursorBefore = await daemon.readCursor()
  const readViewWhenDone = async (): Promise<CrewView | null> => {
    const { crew } = await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')
    return crew.tasks.filter(({ state }) => state === 'done').length === count ? crew : null
  }
  const crewView = await readViewWhenDone()
  if (crewView) return crewView
  for await (const _ of daemon.client.events('/v1/processes/fix/events', {
    query: { after: cursorBefore, follow: true },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })) {
    const laterCrewView = await readViewWhenDone()
    if (laterCrewView) return laterCrewView
  }
  throw new Error('the crew has ended')
}

/** Returns the agent and the model of the worker that did a task. */
async function workerOf({ tasks, members }: CrewView, id: string): Promise<string> {
  const uuid = members.find((one) => one.id === tasks.find((task) => task.id === id)?.implementer)?.uuid
  const {
    process: { agent, model },
  } = await daemon.client.get<{ process: ProcessView }>(`/v1/processes/${uuid}`)
  return `${agent} ${model?.split('/').at(-1)}`
}

test('a worker with the model and the agent that a task names does the task', { timeout: TIMEOUT_MS }, async () => {
  const plan = (await startCrew('--dry-run')).stdout
  expect(plan).toMatch(/two +The second.* script:\S*big\.yaml/)
  expect(await startCrew('-d', '--stay')).toMatchObject({ code: 0 })
  expect(await runInRepository('crew', 'add', 'fix', 'Write three.txt with words.', '--id', 'three', '--agent', 'careful')).toMatchObject({
    code: 0,
  })
  const crew = await waitForDone(3)
  expect(await Promise.all(['one', 'two', 'three'].map((id) => workerOf(crew, id)))).toEqual([
    'default usual.yaml',
    'default big.yaml',
    'careful big.yaml',
  ])
  expect(repository.git('show', 'reeve/fix:one.txt', 'reeve/fix:two.txt', 'reeve/fix:three.txt')).toBe('tokens.\ntrees.\nwords.')
  expect((await runInRepository('crew', 'show', 'fix', 'two')).stdout).toMatch(/model +script:.*big\.yaml/)
  expect(crew.tasks.map(({ agent, model }) => [agent, model !== null])).toEqual([
    [null, false],
    [null, true],
    ['careful', false],
  ])

  expect(await runInRepository('crew', 'add', 'fix', 'x', '--agent', 'nobody')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('which is for agent nobody: '),
  })
  expect(await runInRepository('crew', 'add', 'fix', 'x', '--model', 'script:nowhere.yaml')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('nowhere.yaml'),
  })
  expect(await runInRepository('crew', 'add', 'fix', 'x', '--model', 'anthropic/claude-sonnet-5')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('ANTHROPIC_API_KEY'),
  })
  expect((await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')).crew.tasks).toHaveLength(3)
  expect(await runInRepository('crew', 'stop', '--now', 'fix')).toMatchObject({ code: 0 })
})

test('a crew with a task for an unknown agent does not start', async () => {
  writeFileSync(join(daemon.work, 'tasks.md'), '## one: The first\nagent: nobody\nWrite one.txt.\n')
  expect(await startCrew('-d')).toMatchObject({ code: 125, stderr: expect.stringContaining('task one, which is for agent nobody: ') })
  expect(await daemon.client.get('/v1/crews')).toMatchObject({ crews: [] })
})
