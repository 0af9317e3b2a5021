// `reeve crew edit`, `retry`, `priority` and `reopen`. A failed task is edited and retried with its dependents, tasks are reordered, and
// a done task is reopened. The daemon and the repository are real; a script plays the members.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'

const TIMEOUT_MS = 300_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`

let daemon: LocalDaemon
let repository: Repository
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

function writeProject(tasks: string): void {
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'T')
  repository.git('config', 'user.email', 't@example.org')
  repository.commit({ 'README.md': 'hello\n', 'tasks.md': tasks })
}

const runInRepository = (...args: string[]): Promise<CliResult> =>
  runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work } })
const startCrew = (...flags: string[]): Promise<CliResult> =>
  runInRepository('crew', 'up', '--name', 'fix', '--workers', '2', '--tasks', 'tasks.md', '--model', WORKER, ...flags)

/** Waits until the states of all tasks match. Checks them at each event of the crew. */
async function waitForStates(matchesStates: (states: string) => boolean): Promise<void> {
  const cursorBefore = await daemon.readCursor()
  const isMatch = async (): Promise<boolean> =>
    matchesStates(
      (await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')).crew.tasks.map(({ id, state }) => `${id} ${state}`).join(', '),
    )
  if (await isMatch()) return
  for await (const _ of daemon.client.events('/v1/processes/fix/events', {
    query: { after: cursorBefore, follow: true },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })) {
    if (await isMatch()) return
  }
}

test(
  'a failed task can be edited and retried, also its limits and model; a done task can be reopened and reordered',
  { timeout: TIMEOUT_MS },
  async () => {
    writeProject(
      '## LIN-1: The lexer\nWrite lexer.txt with tokens, carelessly.\n\n## parser: The parser\nneeds: LIN-1\nWrite parser.txt with trees.\n',
    )
    expect(await startCrew('-d', '--stay', '--max-attempts', '1')).toMatchObject({ code: 0 })
    await waitForStates((states) => states === 'LIN-1 failed, parser failed')
    mkdirSync(join(daemon.work, 'texts'))
    writeFileSync(join(daemon.work, 'texts/lexer.md'), 'Write lexer.txt with tokens.')
    expect(await runInRepository('crew', 'edit', 'fix', 'LIN-1', '--text', join(daemon.work, 'texts/lexer.md'))).toMatchObject({
      code: 0,
      stderr: 'LIN-1 "The lexer" is changed\n',
    })
    expect(await runInRepository('crew', 'retry', 'fix', 'parser')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Retry LIN-1 first'),
    })
    expect(await runInRepository('crew', 'retry', 'fix', 'LIN-1')).toMatchObject({
      code: 0,
      stderr: 'LIN-1 "The lexer" is back in the queue, with the tasks that need it: parser\n',
    })
    await waitForStates((states) => states === 'LIN-1 done, parser done')
    expect(repository.git('show', 'reeve/fix:lexer.txt', 'reeve/fix:parser.txt')).toBe('tokens.\ntrees.')

    expect(await runInRepository('crew', 'pause', 'fix')).toMatchObject({ code: 0 })
    expect(await runInRepository('crew', 'reopen', 'fix', 'LIN-1')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('the comments are missing'),
    })
    expect(await runInRepository('crew', 'reopen', 'fix', 'LIN-1', '--comments', 'it says words now')).toMatchObject({ code: 0 })
    expect(await runInRepository('crew', 'edit', 'fix', 'LIN-1', '--text', 'nowhere.md')).toMatchObject({
      code: 64,
      stderr:
        'reeve: --text nowhere.md: no such file\n       --text names a file with the text of the task; `--text -` reads it from stdin.\n',
    })
    writeFileSync(join(daemon.work, 'texts/lexer.md'), 'Write lexer.txt with words.')
    expect(await runInRepository('crew', 'edit', 'fix', 'LIN-1', '--text', join(daemon.work, 'texts/lexer.md'))).toMatchObject({ code: 0 })
    expect(await runInRepository('crew', 'add', 'fix', 'Write docs.txt with words.', '--id', 'docs', '--priority', '2')).toMatchObject({
      code: 0,
    })
    expect(await runInRepository('crew', 'priority', 'fix', 'docs', '--before', 'LIN-1')).toMatchObject({
      code: 0,
      stderr: 'docs "Write docs.txt with words." comes before LIN-1 "The lexer"\n',
    })
    expect(await runInRepository('crew', 'priority', 'fix', 'docs', '--', '-1')).toMatchObject({ code: 0 })
    expect(await runInRepository('crew', 'priority', 'fix', 'docs', 'much')).toMatchObject({ code: 64 })
    expect(await runInRepository('crew', 'resume', 'fix')).toMatchObject({ code: 0 })
    await waitForStates((states) => states === 'docs done, LIN-1 done, parser done')
    expect(repository.git('show', 'reeve/fix:lexer.txt', 'reeve/fix:docs.txt')).toBe('words.\nwords.')
    const taskText = (await runInRepository('crew', 'show', 'fix', 'LIN-1')).stdout
    for (const expected of ['failed', 'changed by user: text', 'retried by user', 'reopened by user', 'it says words now'])
      expect(taskText).toContain(expected)
    expect(repository.git('log', '--format=%s', '--no-merges', '--grep=^LIN-1: ', 'reeve/fix').split('\n')).toHaveLength(2)
    expect(await runInRepository('crew', 'add', 'fix', 'Write tight.txt with words.', '--id', 'tight', '--max-steps', '1')).toMatchObject({
      code: 0,
    })
    await waitForStates((states) => states.endsWith('tight failed'))
    expect((await runInRepository('crew', 'show', 'fix', 'tight')).stdout).toMatch(
      /an attempt reached its limit: it has taken \d of 1 steps/,
    )

    copyFileSync(WORKER.slice('script:'.length), join(repository.dir, 'other.yaml'))
    expect(await runInRepository('crew', 'edit', 'fix', 'tight', '--model', 'script:nowhere.yaml')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('nowhere.yaml'),
    })
    expect(await runInRepository('crew', 'edit', 'fix', 'tight', '--as-role', '--agent', 'careful')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--as-role excludes'),
    })
    expect(await runInRepository('crew', 'edit', 'fix', 'tight', '--model', 'script:other.yaml', '--max-steps', '50')).toMatchObject({
      code: 0,
      stderr: 'tight "Write tight.txt with words." is changed\n',
    })
    expect(await runInRepository('crew', 'retry', 'fix', 'tight')).toMatchObject({ code: 0 })
    await waitForStates((states) => states.endsWith('tight done'))
    const { stdout: tight } = await runInRepository('crew', 'show', 'fix', 'tight')
    expect(tight).toMatch(/model +script:.*other\.yaml/)
    expect(tight).toContain('changed by user: limits, agent and model')
    expect(await runInRepository('crew', 'stop', '--now', 'fix')).toMatchObject({ code: 0 })
  },
)
