// Merges into the crew's branch, with a real daemon, a real repository and scripted models. Covers concurrent changes of one file, and
// workers that commit something else than the approved change.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CrewReportView } from '../../../src/api/views/crew-report.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { CrewHome } from '../../support/crew/crew-home.ts'

const TIMEOUT_MS = 300_000

let crew: CrewHome
beforeEach(async () => {
  crew = await CrewHome.make()
})
afterEach(() => crew[Symbol.asyncDispose]())

/**
 * Returns a worker script that runs a shell function for a task (`impl`), for the review of a differing commit (`again`) and for a commit
 * (`commit`).
 */
function workerScript(functions: string): string {
  const writerScript = join(crew.home.work, 'do.sh')
  writeFileSync(writerScript, functions)
  const call = (name: string): string => `tools: [{ name: bash, input: { command: '. ${writerScript}; ${name} {{ id }}' } }]`
  const file = join(crew.home.work, 'worker.yaml')
  writeFileSync(
    file,
    `rules:
  - when: '/^Task (?<id>[a-z]+) /'
    steps: [{ ${call('impl')} }, { tools: [{ name: mcp__reeve__report_implementation_complete, input: { summary: did it } }] }, { text: . }]
  - when: '/^Review (?<id>[a-z]+)[^]*something that differs in/'
    steps: [{ ${call('again')} }, { choose: [{ if: DENIED, tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: DENIED, comments: not this } }] }, { tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: APPROVED, comments: as it is } }] }] }, { text: . }]
  - when: '/^Review /'
    steps: [{ tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: APPROVED, comments: ok } }] }, { text: . }]
  - when: '/^(?<id>[a-z]+) [^]*(approved: commit it|not committed yet)/'
    steps: [{ ${call('commit')} }, { tools: [{ name: mcp__reeve__signal_ready }] }, { text: . }]
  - when: '/ sent (?<id>[a-z]+) /'
    steps: [{ tools: [{ name: mcp__reeve__report_implementation_complete, input: { summary: once more } }] }, { text: . }]
steps: [{ tools: [{ name: mcp__reeve__signal_ready }] }, { text: . }]
`,
  )
  return `script:${file}`
}

const makeTasks = (...ids: string[]) => ids.map((id) => ({ id, title: id, text: 'x' }))
const readReport = (): Promise<CrewReportView> => crew.home.client.get<CrewReportView>('/v1/crews/team/report')
const readRefs = (): string => crew.repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads', 'refs/reeve')

test(
  'tasks that add a line to the same file all land, and the author of a change resolves its conflict',
  { timeout: TIMEOUT_MS },
  async () => {
    const model = workerScript(`
impl() { echo "$1" > $1.txt; echo "use $1" >> index.txt; }
again() { :; }
commit() { git add -A; git commit -qm "$1: done"; git merge-base --is-ancestor reeve/team HEAD || git merge -q reeve/team > /dev/null || { sed -i '/^[<=>]\\{7\\}/d' index.txt; git add -A; git commit -qm "$1: merged"; }; }
`)
    await crew.up({ coordinator: 'engine', workers: 3, model, tasks: makeTasks('a', 'b', 'c') })
    await crew.waitForEnd()
    const { tasks: reportedTasks, open } = await readReport()
    expect(reportedTasks.map(({ id, state, attempts }) => [id, state, attempts])).toEqual([
      ['a', 'done', 0],
      ['b', 'done', 0],
      ['c', 'done', 0],
    ])
    expect(crew.repository.git('show', 'reeve/team:index.txt').split('\n').toSorted()).toEqual(['use a', 'use b', 'use c'])
    for (const { commit } of reportedTasks) expect(crew.repository.git('merge-base', '--is-ancestor', `${commit}`, 'reeve/team')).toBe('')
    await crew.waitUntil(() => readRefs() === 'main\nreeve/team', 'no other branch or ref is left')
    expect(open.map(({ how }) => how)).toEqual(['reeve merge team'])
  },
)

test(
  'only the approved files land, also when the worker drops its files, withdraws a commit or commits other files',
  { timeout: TIMEOUT_MS },
  async () => {
    const model = workerScript(`
impl() { echo "$1" > $1.txt; }
again() { echo DENIED; }
commit() { case $1 in
  dropped) git reset -q --hard; git clean -fdq ;;
  half) echo x > other.txt; git add other.txt; git commit -qm "$1: half"; git reset -q --hard HEAD~1 ;;
  other) echo 'steal' > $1.txt; git add -A; git commit -qm "$1: done" ;;
  esac; }
`)
    await crew.up({ coordinator: 'engine', workers: 2, model, max_attempts: 1, tasks: makeTasks('dropped', 'half', 'other') })
    await crew.waitForEnd()
    const { tasks: reportedTasks } = await readReport()
    expect(reportedTasks.map(({ id, state }) => [id, state])).toEqual([
      ['dropped', 'done'],
      ['half', 'done'],
      ['other', 'failed'],
    ])
    expect(['dropped', 'half'].map((id) => crew.repository.git('show', `reeve/team:${id}.txt`))).toEqual(['dropped', 'half'])
    expect(crew.repository.git('ls-tree', '--name-only', 'reeve/team')).toBe('README.md\ndropped.txt\nhalf.txt\nreeve.yaml')
    expect(reportedTasks[2]?.verdicts.map(({ verdict }) => verdict)).toEqual(['APPROVED', 'DENIED'])
  },
)

test(
  "while the user has the crew's branch checked out, nothing lands and the user is notified; the crew continues once the user checks out another branch",
  { timeout: TIMEOUT_MS },
  async () => {
    const goFile = join(crew.membersHome, 'go')
    const model = workerScript(`
impl() { until [ -e ${goFile} ]; do sleep 0.02; done; echo "$1" > $1.txt; }
again() { :; }
commit() { git add -A; git commit -qm "$1: done"; }
`)
    await crew.up({ coordinator: 'engine', workers: 2, model, tasks: makeTasks('a', 'b') })
    await crew.waitForFact('task.prepared')
    crew.repository.git('checkout', '-q', 'reeve/team')
    const head = crew.repository.git('rev-parse', 'HEAD')
    writeFileSync(goFile, '')
    const { task, reason } = await crew.waitForFact('task.blocked')
    const other = task === 'a' ? 'b' : 'a'
    expect(reason).toBe(
      `reeve/team is checked out in ${crew.repository.dir}, and reeve does not move a branch that is checked out: check out another branch there`,
    )
    const notice = `"${task as string}" is committed and waits to be merged: ${reason}`
    const readMessages = async (): Promise<string> =>
      (await runCli(crew.home.path, ['crew', 'ps', 'team'], { cwd: crew.repository.dir, env: { HOME: crew.membersHome } })).stderr
    expect(await readMessages()).toContain(notice)
    await crew.waitForFact('task.approved', (fact) => fact['task'] === other)
    expect(await readMessages()).toContain(`"${other}" is approved, and waits until another task has landed`)
    // A daemon that is killed or stopped meanwhile keeps waiting, and repeats no notice.
    await crew.restartDaemon()
    expect(await crew.home.stop()).toMatchObject({ code: 0 })
    await crew.home.start()
    await crew.waitUntil(async () => (await readMessages()).includes(notice), 'the crew still waits')
    expect([crew.repository.git('rev-parse', 'reeve/team'), crew.repository.git('status', '--porcelain')]).toEqual([head, ''])
    crew.repository.git('checkout', '-q', 'main')
    expect(await crew.waitForEnd()).toMatchObject({ status: 'completed', exit: { code: 0 } })
    const { tasks: reportedTasks } = await readReport()
    expect(reportedTasks.map(({ id, state, merged, attempts }) => [id, state, merged !== null, attempts])).toEqual([
      ['a', 'done', true, 0],
      ['b', 'done', true, 0],
    ])
    expect((await crew.home.readEvents()).filter((event) => event['fact'] === 'task.blocked')).toHaveLength(1)
    await crew.waitUntil(() => readRefs() === 'main\nreeve/team', 'no other branch or ref is left')
  },
)
