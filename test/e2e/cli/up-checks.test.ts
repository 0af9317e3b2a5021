// Problems that `crew up` and `compose up` find before anything starts: unusable scripts, and workers that cannot do the tasks.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  const { processes } = await daemon.client.get<{ processes: object[] }>('/v1/processes', { all: true })
  await daemon[Symbol.asyncDispose]()
  expect([processes, daemon.errors]).toEqual([[], []])
})

const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`
const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work, env: { HOME: daemon.work } })
const write = (file: string, text: string): void => writeFileSync(join(daemon.work, file), text)

test('`crew up` and `compose up` refuse a missing and an invalid script', async () => {
  write('tasks.md', '## one: One\nDo it.\n')
  write('bad.yaml', 'steps: 3\n')
  const startCrew = (model: string): Promise<CliResult> =>
    reeve('crew', 'up', '-d', '--no-worktrees', '--workers', '2', '--tasks', 'tasks.md', '--model', model)
  expect(await startCrew('script:no.yaml')).toMatchObject({ code: 125, stderr: expect.stringMatching(/no\.yaml/) as string })
  expect(await startCrew('script:bad.yaml')).toMatchObject({ code: 125, stderr: expect.stringMatching(/bad\.yaml/) as string })
  for (const model of ['script:no.yaml', 'script:bad.yaml']) {
    write('reeve.yaml', JSON.stringify({ agents: { one: { model, intent: 'go' } } }))
    expect(await reeve('compose', 'up', '-d')).toMatchObject({
      code: 125,
      stderr: expect.stringMatching(/node one: .*(no|bad)\.yaml/) as string,
    })
  }
})

test('`crew up` refuses workers that cannot do the tasks, too many workers, and a repeated role', async () => {
  write('tasks.md', '## one: One\nDo it.\n')
  const startCrew = (...flags: string[]): Promise<CliResult> =>
    reeve('crew', 'up', '-d', '--no-worktrees', '--tasks', 'tasks.md', '--model', WORKER, ...flags)
  expect(await startCrew('--workers', 'reviewer=1')).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/no worker of the crew could do one "One"/) as string,
  })
  expect(await startCrew('--workers', '3', '--max-workers', '2')).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/the crew starts with 3 workers, but its maximum is 2/) as string,
  })
  expect(await startCrew('--workers', 'implementer=1,implementer=2')).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/implementer is given twice/) as string,
  })
})
