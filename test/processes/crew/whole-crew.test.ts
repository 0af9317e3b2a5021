// A whole crew, with a daemon that is killed: a coordinator and three workers on a real repository, and five tasks. One task is denied
// once, one worker is killed in mid-task, and the daemon twice with `kill -9`, once during a commit. All five are committed once, each
// reviewed by another member, and nothing is left.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CrewReportView } from '../../../src/api/views/crew-report.ts'
import { CrewHome, makeTask } from '../../support/crew/crew-home.ts'
import { crewFacts, ofType, violationsOfCrew } from '../../support/crew/crew-journal-check.ts'

const TASKS = [
  makeTask('one'),
  makeTask('two', [], true),
  makeTask('three', ['one']),
  makeTask('four', ['one', 'two']),
  makeTask('five', ['three', 'four']),
]
const IDS = TASKS.map(({ id }) => id)
const TIMEOUT_MS = 600_000

let crew: CrewHome
let killed: string
beforeEach(async () => {
  crew = await CrewHome.make()
})
afterEach(() => crew[Symbol.asyncDispose]())

/** Runs the crew to its end, with a kill of a worker and two kills of the daemon. */
async function workThroughKills(definition: object): Promise<void> {
  crew.hold('task', 'three')
  crew.hold('feedback', 'two')
  crew.hold('commit', 'four')
  await crew.up({ ...definition, workers: { generic: { count: 3, model: CrewHome.model('worker') } }, tasks: TASKS })
  await crew.waitForHold('task', 'three')
  killed = (await crew.memberOf('three')).uuid
  await crew.cli('kill', '-s', 'KILL', killed)
  await crew.waitForFact('task.requeued', ({ task }) => task === 'three')
  await crew.waitForHold('feedback', 'two')
  await crew.restartDaemon()
  await crew.waitForHold('commit', 'four')
  await crew.restartDaemon()
  const view = await crew.waitForEnd()
  expect(view).toMatchObject({ status: 'completed', exit: { code: 0 } })
}

async function expectCompleted(): Promise<void> {
  const { repository, home } = crew
  const report = JSON.parse(await crew.cli('crew', 'report', 'team', '--json')) as CrewReportView
  expect(await home.stop()).toMatchObject({ code: 0 })
  await home.waitUntilNothingIsLeft()
  const { crew: crewJournal, members, violations } = await crew.journals()
  expect([...violations, ...violationsOfCrew(crewJournal, members, true)]).toEqual([])
  const facts = crewFacts(crewJournal.facts)
  expect(
    ofType(facts, 'task.committed')
      .map(({ task }) => task)
      .toSorted(),
  ).toEqual(IDS.toSorted())
  expect(
    ofType(facts, 'task.merged')
      .map(({ task }) => task)
      .toSorted(),
  ).toEqual(IDS.toSorted())
  expect(
    ofType(facts, 'task.done')
      .map(({ task }) => task)
      .toSorted(),
  ).toEqual(IDS.toSorted())
  expect(
    ofType(facts, 'task.verdict')
      .filter(({ verdict }) => verdict === 'DENIED')
      .map(({ task }) => task),
  ).toEqual(['two'])
  for (const id of IDS) expect(reviewersOf(facts, id)).not.toContain(implementerOf(facts, id))
  const log = repository.git('log', '--format=%H %s', '--no-merges', 'main..reeve/team').split('\n')
  for (const id of IDS) expect(log.filter((line) => line.includes(` ${id}:`)).length, `commits of ${id}: ${log.join(', ')}`).toBe(1)
  expect(log.length).toBe(5)
  for (const id of IDS) expect(repository.git('show', `reeve/team:${id}.txt`)).toBe(`${id}.`)
  // The user may resume a killed process, so its files stay until it is removed.
  await home.start()
  await crew.cli('rm', killed)
  expect(await home.stop()).toMatchObject({ code: 0 })
  await home.waitUntilNothingIsLeft()
  expectCleanRepository()
  expectCorrectReport(report, facts)
}

/** Checks that the user's checkout is unchanged, and that only the crew's branch is left. */
function expectCleanRepository(): void {
  const { repository } = crew
  expect(repository.git('status', '--porcelain')).toBe('')
  expect(repository.git('log', '--format=%s', 'main')).toBe('begin')
  expect(repository.git('worktree', 'list', '--porcelain').split('\n\n').length).toBe(1)
  expect(repository.git('branch', '--format=%(refname:short)').split('\n').toSorted()).toEqual(['main', 'reeve/team'])
  expect(crew.leftIn('worktrees')).toEqual([])
  expect(crew.leftIn('tmp')).toEqual([])
  expect(existsSync(join(repository.dir, '.git/index.lock'))).toBe(false)
  expect(readFileSync(join(repository.dir, 'README.md'), 'utf8')).toBe('# a project\n')
}

/** Checks that the crew's report matches the journal and the branch. */
function expectCorrectReport(report: CrewReportView, facts: ReturnType<typeof crewFacts>): void {
  expect(
    report.tasks.map(({ id, state, implementer, reviewers, commit }) => [
      id,
      state,
      implementer,
      reviewers.includes(implementer ?? ''),
      commit,
    ]),
  ).toEqual(
    IDS.map((id) => {
      const commit = ofType(facts, 'task.committed').find(({ task }) => task === id)?.commit
      return [id, 'done', implementerOf(facts, id), false, commit]
    }),
  )
  const [, second, third] = report.tasks
  expect(second?.verdicts.map(({ verdict }) => verdict)).toEqual(['DENIED', 'APPROVED'])
  expect(third?.tries.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ['requeued', expect.stringContaining('SIGKILL from user')],
    ['done', null],
  ])
  for (const { id, commit } of report.tasks)
    expect(crew.repository.git('diff', '--name-only', `${String(commit)}^`, String(commit))).toBe(`${id}.txt`)
}

const implementerOf = (facts: ReturnType<typeof crewFacts>, id: string): string | undefined =>
  ofType(facts, 'task.assigned').findLast(({ task }) => task === id)?.member
const reviewersOf = (facts: ReturnType<typeof crewFacts>, id: string): unknown[] =>
  ofType(facts, 'task.verdict')
    .filter(({ task }) => task === id)
    .map(({ member }) => member)

test('a crew with the engine as coordinator completes its tasks through the kills', { timeout: TIMEOUT_MS }, async () => {
  await workThroughKills({ coordinator: 'engine' })
  await expectCompleted()
})

test('a crew with an agent as coordinator completes its tasks through the kills', { timeout: TIMEOUT_MS }, async () => {
  await workThroughKills({ coordinator: { model: CrewHome.model('coordinator') } })
  await expectCompleted()
})
