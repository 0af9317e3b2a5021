// `crew up` with the tasks of an ended crew takes over the done tasks with a note, and runs the others. A dry run shows the plan. The
// daemon and the repository are real; a script plays the members.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewPlanView } from '../../../src/api/views/crew-up.ts'

const TIMEOUT_MS = 300_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`
const TASKS =
  '## a: The first\nWrite a.txt with tokens.\n\n## b: The second\nWrite b.txt with trees, carelessly.\n\n## c: The third\nneeds: b\nWrite c.txt with leaves.\n'
const CAREFUL_TASKS = TASKS.replace(', carelessly', '')

let daemon: LocalDaemon
let repository: Repository
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'T')
  repository.git('config', 'user.email', 't@example.org')
  repository.commit({ 'README.md': 'hello\n' })
  writeTasks(TASKS)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

function writeTasks(text: string): void {
  writeFileSync(join(daemon.work, 'tasks.md'), text)
}

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
    '--max-attempts',
    '1',
    '--tasks',
    join(daemon.work, 'tasks.md'),
    '--model',
    WORKER,
    ...flags,
  )
/** Returns the commits of the user's branch and of the crew's branch. */
const readBranches = (): string => repository.git('for-each-ref', 'refs/heads/main', 'refs/heads/reeve/fix')
const readPlan = async (...flags: string[]): Promise<CrewPlanView> =>
  JSON.parse((await startCrew('--dry-run', '--json', ...flags)).stdout) as CrewPlanView
const describeTakeOver = ({ tasks: all }: CrewPlanView): string =>
  all.map(({ id, takenOver, again }) => `${id} ${takenOver ? 'taken' : (again ?? '-')}`).join(', ')

test('a second `crew up` takes over the done tasks, and does the failed ones again', { timeout: TIMEOUT_MS }, async () => {
  expect(describeTakeOver(await readPlan())).toBe('a -, b -, c -')
  expect((await runInRepository('crew', 'ps', '-aq')).stdout).toBe('')
  expect(await startCrew()).toMatchObject({ code: 1 })
  const retryResult = await runInRepository('crew', 'retry', 'fix', 'b')
  expect(retryResult).toMatchObject({ code: 3, stderr: expect.stringContaining('has ended') })
  const [, command = ''] = /`(reeve crew up [^`]+)` takes over the done tasks/.exec(retryResult.stderr) ?? []
  expect(command).toContain(`--tasks ${join(daemon.work, 'tasks.md')}`)

  writeTasks(CAREFUL_TASKS)
  const refs = readBranches()
  const plan = await startCrew('--dry-run')
  expect(plan).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^1 of 3 tasks is done already, in crew fix \(PID \d+, ended \d+ s ago\): taken over; --anew does all again$/m,
    ),
  })
  expect(plan.stdout).toMatch(/^a +The first +- +work +0 +- +- +taken over, [0-9a-f]{10}$/m)
  expect(plan.stderr).toContain('nothing was started')
  expect([readBranches(), (await runInRepository('crew', 'ps', '-aq')).stdout.trim().split('\n').length]).toEqual([refs, 1])
  expect(describeTakeOver(await readPlan('--anew'))).toBe('a -, b -, c -')

  const takeOverResult = await runInRepository(...command.split(' ').slice(1))
  expect(takeOverResult).toMatchObject({ code: 0, stderr: expect.stringContaining('1 of 3 tasks is done already') })
  expect(takeOverResult.stdout).toMatch(/^a +done +- /m)
  expect(repository.git('show', 'reeve/fix:a.txt', 'reeve/fix:b.txt', 'reeve/fix:c.txt')).toBe('tokens.\ntrees.\nleaves.')
  expect((await runInRepository('crew', 'show', 'fix', 'a')).stdout).toContain('done in an earlier crew, fix, as')
  const crewIds = (await runInRepository('crew', 'ps', '-aq')).stdout
  expect(await startCrew()).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(
      /^all 3 tasks are done already, in crew fix \(PID \d+, ended .* ago\): nothing was started\n`reeve crew report fix` .*; --anew does all of them again, --stay starts the crew for more tasks\n$/,
    ),
  })
  const newest = crewIds.trim().split('\n').at(-1) ?? ''
  expect(await startCrew('-d')).toMatchObject({ code: 0, stdout: `${newest}\n` })
  expect(JSON.parse((await startCrew('-d', '--json')).stdout)).toMatchObject({
    process: { uuid: newest, state: 'dead' },
    branch: 'reeve/fix',
    tasks: 3,
    notes: [expect.stringContaining('all 3 tasks are done already'), expect.stringContaining('--anew')],
  })
  const emptyPlan = await startCrew('--dry-run')
  expect(emptyPlan).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^all 3 tasks are done already, in crew fix .*: nothing would start; --anew does all of them again, --stay starts the crew for more tasks$/m,
    ),
  })
  expect(emptyPlan.stdout).toMatch(/^c .*taken over, [0-9a-f]{10}$/m)
  expect((await runInRepository('crew', 'ps', '-aq')).stdout).toBe(crewIds)

  writeTasks(CAREFUL_TASKS.replace('with trees.', 'with bushes.'))
  expect(describeTakeOver(await readPlan())).toBe('a taken, b its text changed, c it needs b, which is not done')
  expect((await readPlan()).notes[1]).toMatch(/^b was done in crew fix \(PID \d+, ended .* ago\), and is done again: its text changed$/)
  writeTasks(CAREFUL_TASKS.replace('needs: b', 'needs: a'))
  expect(describeTakeOver(await readPlan())).toBe('a taken, b taken, c its needs changed')
  writeTasks(CAREFUL_TASKS)
  repository.git('merge', '-q', 'reeve/fix')
  repository.git('branch', '-D', 'reeve/fix')
  expect(describeTakeOver(await readPlan('--stay'))).toBe('a taken, b taken, c taken')
  repository.git('reset', '-q', '--hard', 'HEAD~1')
  expect(describeTakeOver(await readPlan())).toContain('is neither on reeve/fix nor in your checkout')
  expect(await startCrew('--dry-run', '--workers', 'reviewer=1')).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('no worker of the crew could do a'),
  })
})

test('a note names an unfinished task that the new list lacks', { timeout: TIMEOUT_MS }, async () => {
  writeTasks('## a: The first\nWrite a.txt with tokens.\n')
  expect(await startCrew('-d', '--gate', 'human')).toMatchObject({ code: 0 })
  expect(await runInRepository('crew', 'add', 'fix', 'Write z.txt with stars.')).toMatchObject({ code: 0 })
  expect(await runInRepository('crew', 'stop', '--now', 'fix')).toMatchObject({ code: 0 })
  const note =
    /^task-2 was not finished in crew fix \(PID (\d+), ended \d+ s ago\), and was not taken over: `reeve (crew show \1 task-2)` shows the task$/m
  const { stderr } = await startCrew('--dry-run')
  expect(stderr).toMatch(note)
  expect((await runInRepository(...(note.exec(stderr)?.[2] ?? '').split(' '))).stdout).toContain('Write z.txt with stars.')
  expect((await startCrew('--dry-run', '--anew')).stderr).not.toContain('task-2')
})
