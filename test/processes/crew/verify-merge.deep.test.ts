// Two tasks that each pass, and break each other when merged: one removes a name that the other begins to use. The second
// is caught before the branch moves, in any order and with kills of the daemon at any time. No commit of the branch is broken.
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CrewHome } from '../../support/crew/crew-home.ts'
import { crewFacts, ofType, violationsOfCrew } from '../../support/crew/crew-journal-check.ts'
import { seededRandom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'
import type { DaemonView } from '../../../src/api/views/daemon.ts'
import type { CrewReportView } from '../../../src/api/views/crew-report.ts'

const SEEDS = Array.from({ length: 50 }, (_, run) => SEED + run)
/** approximate number of facts from the start of the crew to its end */
const FACTS_OF_A_CREW = 330

const CHECK =
  'for name in $(sed -n "s/^use //p" *.use); do grep -qx "def $name" lib || { echo "not ok: $name is not defined"; exit 1; }; done; echo ok\n'

/** Both tasks have begun before either reports. */
const TOGETHER = 'touch ~/at-{{ id }}; until [ -e ~/at-rename ] && [ -e ~/at-caller ]; do sleep 0.02; done'
const report = (summary: string): string =>
  `      - tools: [{ name: mcp__reeve__report_implementation_complete, input: { summary: ${summary} } }]\n      - text: reported\n`
const bashStep = (command: string): string => `      - tools: [{ name: bash, input: { command: '${command}' } }]\n`
/** Two calls of the same command: one that a kill cuts off may have done nothing, and is not repeated. */
const repeatedBashStep = (command: string): string => bashStep(command) + bashStep(command)
const WORKER = `rules:
  - when: '/^Task (?<id>\\w+)[^]*Merged with the changes that landed since/'
    steps:
${repeatedBashStep('sed -i s/old/fresh/ lib *.use')}${report('both use the new name')}
  - when: '/^Task (?<id>rename)/'
    steps:
${bashStep(TOGETHER)}${repeatedBashStep('sed -i s/old/fresh/ lib a.use')}${report('renamed')}
  - when: '/^Task (?<id>caller)/'
    steps:
${bashStep(TOGETHER)}${repeatedBashStep('echo use old > b.use')}${report('it calls')}
  - when: '/^Review (?<id>\\w+)/'
    steps:
      - tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: APPROVED, comments: right } }]
      - text: reviewed
  - when: '/^(?<id>\\w+)[^]*? is (approved: commit it|not committed yet)/'
    steps:
${bashStep('git add -A; git diff --cached --quiet || git commit -q -m "{{ id }}: done"')}      - tools: [{ name: mcp__reeve__signal_ready }]
      - text: committed
steps:
  - tools: [{ name: mcp__reeve__signal_ready }]
  - text: ready
`

/** The number of facts in all, and whether the crew has ended. */
async function readProgress({ home }: CrewHome): Promise<{ readonly facts: number; readonly isOver: boolean }> {
  const { cursor, processes } = await home.client.get<DaemonView>('/v1/daemon')
  return { facts: cursor, isOver: processes.live === 0 }
}

async function runBreakingTasks(next: () => number): Promise<void> {
  await using crew = await CrewHome.make()
  const model = `script:${join(crew.home.work, 'worker.yaml')}`
  writeFileSync(join(crew.home.work, 'worker.yaml'), WORKER)
  crew.repository.commit({ lib: 'def old\n', 'a.use': 'use old\n', 'check.sh': CHECK }, 'a library')
  await crew.up({
    coordinator: 'engine',
    verify: 'sh check.sh',
    max_attempts: 5,
    workers: { generic: { count: 3, model } },
    tasks: [
      { id: 'rename', text: 'Call it fresh.' },
      { id: 'caller', text: 'Use old.' },
    ],
  })
  for (let kills = 0; kills < 2; kills += 1) {
    const factsAtKill = (await readProgress(crew)).facts + next() * FACTS_OF_A_CREW
    await crew.waitUntil(async () => {
      const { facts, isOver } = await readProgress(crew)
      return facts >= factsAtKill || isOver
    }, 'enough facts have happened')
    await crew.restartDaemon()
  }
  expect(await crew.home.waitForEnd(crew.uuid, 5)).toMatchObject({ status: 'completed', exit: { code: 0 } })
  const report = JSON.parse(await crew.cli('crew', 'report', 'team', '--json')) as CrewReportView
  expect(report.tasks.map(({ state, merged }) => [state, merged !== null])).toEqual([
    ['done', true],
    ['done', true],
  ])
  expect(await crew.home.stop()).toMatchObject({ code: 0 })
  await crew.home.waitUntilNothingIsLeft()
  expect([crew.leftIn('worktrees'), crew.leftIn('commands')]).toEqual([[], []])
  const { crew: crewJournal, members, violations } = await crew.journals()
  expect([...violations, ...violationsOfCrew(crewJournal, members, true)]).toEqual([])
  const red = ofType(crewFacts(crewJournal.facts), 'task.verify').filter(({ stage, ok }) => stage === 'merge' && !ok)
  expect(red.map(({ ran }) => ran.output)).toEqual(['not ok: old is not defined'])
  expectNoBrokenCommit(crew)
}

function expectNoBrokenCommit({ repository, home }: CrewHome): void {
  const commits = repository.git('rev-list', '--first-parent', 'main..reeve/team').split('\n')
  expect(commits.length).toBeGreaterThanOrEqual(2)
  const dir = join(home.work, 'looked-at')
  for (const commit of commits) {
    repository.git('worktree', 'add', '-q', '--detach', dir, commit)
    expect(execFileSync('sh', ['check.sh'], { cwd: dir, encoding: 'utf8' })).toBe('ok\n')
    repository.git('worktree', 'remove', '--force', dir)
    rmSync(dir, { recursive: true, force: true })
  }
  expect(repository.git('branch', '--format=%(refname:short)').split('\n').toSorted()).toEqual(['main', 'reeve/team'])
}

test.each(SEEDS)(
  'two tasks that break each other are caught before the branch moves, with kills of the daemon (seed %i)',
  { timeout: 400_000 },
  (seed) => runBreakingTasks(seededRandom(seed)),
)
