// The report of a crew by a real daemon on a real repository. The report agrees with git and with the recorded usage, also for an ended
// crew under another daemon.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CrewReportView, ReportUsageView } from '../../../src/api/views/crew-report.ts'
import type { UsageReportView } from '../../../src/api/views/usage.ts'
import { CrewHome, makeTask } from '../../support/crew/crew-home.ts'

const TIMEOUT_MS = 300_000
const TOKENS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'steps'] as const

let crew: CrewHome
beforeEach(async () => {
  crew = await CrewHome.make()
})
afterEach(() => crew[Symbol.asyncDispose]())

const readReport = (): Promise<CrewReportView> => crew.home.client.get<CrewReportView>('/v1/crews/team/report')
const sum = (usages: readonly ReportUsageView[]) => TOKENS.map((name) => usages.reduce((total, usage) => total + usage[name], 0))
/** Returns the worker's script with a usage of tokens at each step. */
function makeScriptWithTokens(): string {
  const file = join(crew.home.work, 'counted.yaml')
  writeFileSync(
    file,
    readFileSync(CrewHome.model('worker').slice('script:'.length), 'utf8').replaceAll(
      /^( *)- (?:tools|text): .*$/gm,
      '$&\n$1  usage: { input: 100, output: 10 }',
    ),
  )
  return `script:${file}`
}
const figures = (usage: ReportUsageView | UsageReportView['rows'][number] | undefined) => TOKENS.map((name) => usage?.[name])

test(
  'the figures add up and the commits are those of git, in all forms of the report, also after a restart and a move of the repository',
  { timeout: TIMEOUT_MS },
  async () => {
    await crew.up({
      coordinator: 'engine',
      workers: { generic: { count: 2, model: makeScriptWithTokens() } },
      tasks: [makeTask('one', [], true), makeTask('two', ['one'])],
    })
    await crew.waitForEnd()
    const { repository, home } = crew
    const report = await readReport()
    const { tasks, members, totals, git, open } = report
    expect(tasks.map(({ id, state, denials, verdicts }) => [id, state, denials, verdicts.map(({ verdict }) => verdict)])).toEqual([
      ['one', 'done', 1, ['DENIED', 'APPROVED']],
      ['two', 'done', 0, ['APPROVED']],
    ])
    for (const { id, implementer, reviewers, tries, commit, base, merged, workedMs, verdicts } of tasks) {
      expect(reviewers).not.toContain(implementer)
      expect(tries).toMatchObject([{ member: implementer, outcome: 'done' }])
      expect(verdicts.map(({ by }) => by)).toEqual(verdicts.map(() => reviewers[0]))
      expect([
        repository.git('log', '-1', '--format=%s', `${commit}`),
        repository.git('rev-list', '--count', `${base}..${commit}`),
      ]).toEqual([`${id}: it is written`, '1'])
      expect(repository.git('merge-base', `${merged}`, 'reeve/team')).toBe(merged)
      expect(workedMs).toBeGreaterThan(0)
    }
    expect(verdictsOf(report, 'one')).toEqual(['one.txt:1: it must be one with a full stop', 'one.txt is right'])
    const { rows } = await home.client.get<UsageReportView>('/v1/usage', { by: 'tree' })
    expect(figures(totals.usage)).toEqual(figures(rows.find(({ key }) => key === crew.uuid)))
    expect([totals.usage.steps > 10, totals.usage.inputTokens > 1_000, totals.usage.outputTokens > 100]).toEqual([true, true, true])
    expect([totals.usage.costUsd, totals.usage.unpriced]).toEqual([rows.find(({ key }) => key === crew.uuid)?.costUsd, false])
    expect(sum([...tasks.map(({ usage }) => usage), totals.apart])).toEqual(figures(totals.usage))
    expect(sum(members.map(({ usage }) => usage))).toEqual(figures(totals.usage))
    expect(git).toMatchObject({
      branch: { name: 'reeve/team', commit: repository.git('rev-parse', 'reeve/team'), taken: false },
      unmerged: [],
      salvaged: [],
      worktrees: [],
    })
    expect(open).toEqual([
      { what: expect.stringMatching(/^reeve\/team has \d commits that are not in your checkout$/), how: 'reeve merge team' },
    ])

    const text = await crew.cli('crew', 'report')
    expect(text).toContain('# Crew team: completed')
    expect(text).toContain('> one.txt:1: it must be one with a full stop')
    expect(JSON.parse(await crew.cli('crew', 'report', 'team', '--json'))).toEqual(JSON.parse(JSON.stringify(report)))

    repository.git('merge', '-q', 'reeve/team')
    await crew.restartDaemon()
    expect(await readReport()).toEqual({ ...report, open: [], git: git && { ...git, branch: { ...git.branch, taken: true } } })
    renameSync(repository.dir, join(home.work, 'elsewhere'))
    expect(await readReport()).toEqual({
      ...report,
      open: [],
      git: null,
      problems: [`the repository ${join(repository.dir, '.git')} is gone: if it was moved, move it back`],
    })
  },
)

function verdictsOf({ tasks }: CrewReportView, task: string): string[] | undefined {
  return tasks.find(({ id }) => id === task)?.verdicts.map(({ comments }) => comments)
}

test('the report names what is left for the user: a killed worker, its files, an unfinished task', { timeout: TIMEOUT_MS }, async () => {
  crew.hold('task', 'one')
  await crew.up({
    coordinator: 'engine',
    reviews: false,
    max_attempts: 1,
    workers: { generic: { count: 1, model: CrewHome.model('worker') } },
    tasks: [makeTask('one'), makeTask('two', ['one'])],
  })
  await crew.waitForHold('task', 'one')
  const worker = await crew.memberOf('one')
  crew.repository.write({ 'half.txt': 'half' }, worker.worktree?.dir ?? '')
  rmSync(join(crew.membersHome, 'held-task-one'))
  crew.hold('task', 'one')
  await crew.cli('kill', '-s', 'KILL', worker.uuid)
  await crew.waitForHold('task', 'one')
  await crew.cli('crew', 'cancel', 'team', 'one', 'nobody finishes it')
  await crew.waitForEnd()
  await crew.waitUntil(() => crew.leftIn('worktrees').length === 0, 'its worktree is removed with the crew')
  const { tasks, git, open } = await readReport()
  expect(tasks).toMatchObject([
    { id: 'one', state: 'cancelled', attempts: 0, tries: [{ outcome: 'requeued' }, { outcome: 'cancelled' }] },
    { id: 'two', state: 'failed', reason: expect.stringContaining('needs one') },
  ])
  const [ref = ''] = git?.salvaged.map((one) => one.ref) ?? []
  expect(crew.repository.git('show', `${ref}:half.txt`)).toBe('half')
  expect(git).toMatchObject({ worktrees: [], unmerged: [] })
  expect(open.map(({ how }) => how)).toEqual([null, `reeve crew up --cwd ${crew.repository.dir} team`, `git show ${ref}`])
  await crew.cli('rm', worker.uuid)
  expect((await readReport()).members).toMatchObject([
    { id: 'worker-1', agent: null, usage: { steps: expect.any(Number) as number } },
    { id: 'worker-2' },
  ])
  expect(JSON.parse(await crew.cli('rm', 'team', '--json'))).toMatchObject({
    results: [{ crew: { branch: 'reeve/team', commits: 0, unmerged: [], salvaged: [ref] } }],
  })
})
