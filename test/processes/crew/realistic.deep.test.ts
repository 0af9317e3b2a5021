// A realistic crew: eight tasks with dependencies up to three levels deep, four workers, the default limits, reviewers, a command that
// runs the tests, and one index file to which every task adds its line. All of it lands, once, and the tests pass on the crew's branch.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CrewHome } from '../../support/crew/crew-home.ts'
import { violationsOfCrew } from '../../support/crew/crew-journal-check.ts'
import { filesOf } from '../../support/git/repository.ts'
import type { CrewReportView } from '../../../src/api/views/crew-report.ts'

const RUNS = 20
const TIMEOUT_MS = 400_000

const NEEDS: Readonly<Record<string, readonly string[]>> = {
  tokens: [],
  numbers: [],
  names: [],
  parser: ['tokens', 'numbers'],
  scope: ['names'],
  format: ['numbers'],
  calc: ['parser', 'scope'],
  shell: ['calc', 'format'],
}
const IDS = Object.keys(NEEDS)
/** The first attempt at one task fails its tests. The first attempt at the other passes them, and its reviewer sends it back. */
const [RED, DENIED] = ['format', 'scope']

/** The text of `calc()`: its name, and the names of its dependencies. */
const valueOf = (id: string): string => `${id}(${(NEEDS[id] ?? []).map(valueOf).join(' ')})`

/** Shell functions for a worker: the code, its test, its line in the index; conflicts are resolved by keeping both lines. */
const WORKER_SCRIPT = `
line() { echo "export { $1 } from './$1.mjs'"; }
code() {
  echo "// What $1 is."
  for need in $2; do echo "import { $need } from './$need.mjs'"; done
  echo "export const $1 = () => '$1(' + [$(for need in $2; do printf '%s(), ' $need; done)].join(' ') + '$3'"
}
impl() {
  needs=$(cat ~/needs-$1); end=')'
  case $1 in ${RED}) end=']' ;; esac
  mkdir -p src test
  code $1 "$needs" $end > src/$1.mjs
  case $1 in ${DENIED}) sed -i 1d src/$1.mjs ;; esac
  printf "import assert from 'node:assert'\\nimport test from 'node:test'\\nimport { $1 } from '../src/index.mjs'\\ntest('$1', () => { assert.equal($1(), '%s') })\\n" "$(cat ~/value-$1)" > test/$1.test.mjs
  grep -qx "$(line $1)" src/index.mjs || line $1 >> src/index.mjs
}
repair() { code $1 "$(cat ~/needs-$1)" ')' > src/$1.mjs; }
bothSides() { sed -i '/^[<=>]\\{7\\}/d' src/index.mjs; git add -A; }
resolve() { git merge -q --no-commit $2 > /dev/null 2>&1; bothSides; }
commit() { git add -A; git diff --cached --quiet && ! [ -e "$(git rev-parse --git-path MERGE_HEAD)" ] || git commit -q -m "$1: write it"; }
commitAndMerge() { commit $1; git merge-base --is-ancestor $2 HEAD || git merge -q --no-edit $2 > /dev/null 2>&1 || { bothSides; git commit -q --no-edit; }; }
review() {
  git show $2:src/index.mjs | grep -q '^[<=>]\\{7\\}' && { echo 'markers are left'; return; }
  [ -e ~/needs-$1 ] || { echo 'it is good'; return; }
  git show $2:src/index.mjs | grep -qx "$(line $1)" && git show $2:src/$1.mjs | head -n 1 | grep -q '^//' && echo 'it is good' || echo 'no comment describes it'
}
`

function writeModel(crew: CrewHome): string {
  const workerScript = join(crew.home.work, 'hands.sh')
  const model = join(crew.home.work, 'model.yaml')
  const bashStep = (call: string): string => `      - tools: [{ name: bash, input: { command: '. ${workerScript}; ${call}' } }]\n`
  const toolStep = (tool: string, input: string): string =>
    `      - tools: [{ name: mcp__reeve__${tool}, input: { ${input} } }]\n      - text: reported\n`
  const scriptRule = (pattern: string, ...steps: readonly string[]): string => `  - when: '${pattern}'\n    steps:\n${steps.join('')}`
  const reportStep = toolStep('report_implementation_complete', 'summary: "{{ id }} is there, with its test"')
  writeFileSync(workerScript, WORKER_SCRIPT)
  for (const id of IDS) {
    writeFileSync(join(crew.membersHome, `needs-${id}`), (NEEDS[id] ?? []).join(' '))
    writeFileSync(join(crew.membersHome, `value-${id}`), valueOf(id))
  }
  writeFileSync(
    model,
    [
      'rules:\n',
      scriptRule(
        '/^Task (?<id>[\\w-]+) [^]*conflicts with [^]*`git merge (?<branch>[^`]+)`/',
        bashStep('resolve {{ id }} {{ branch }}'),
        reportStep,
      ),
      scriptRule('/^Task (?<id>[\\w-]+) /', bashStep('impl {{ id }}'), reportStep),
      scriptRule('/^(?<id>[\\w-]+) [^]* failed verify/', bashStep('repair {{ id }}'), reportStep),
      scriptRule('/ sent (?<id>[\\w-]+) [^]*back:/', bashStep('repair {{ id }}'), reportStep),
      scriptRule(
        '/^Review (?<id>[\\w-]+)[^]*?\\.\\.(?<head>[0-9a-f]{40})/',
        bashStep('review {{ id }} {{ head }}'),
        '      - choose:\n          - { if: it is good, tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: APPROVED, comments: right } }] }\n          - { tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: DENIED, comments: "src/{{ id }}.mjs:1: {{ lastResult }}" } }] }\n      - text: reviewed\n',
      ),
      scriptRule(
        '/^(?<id>[\\w-]+) [^]*(approved: commit it|not committed yet)[^]*`git merge (?<branch>[^`]+)`/',
        bashStep('commitAndMerge {{ id }} {{ branch }}'),
        toolStep('signal_ready', ''),
      ),
      scriptRule(
        '/^(?<id>[\\w-]+) [^]*(approved: commit it|not committed yet)/',
        bashStep('commit {{ id }}'),
        toolStep('signal_ready', ''),
      ),
      `steps:\n${toolStep('signal_ready', '')}`,
    ].join(''),
  )
  return `script:${model}`
}

/** What belongs to the user: the checkout with uncommitted files, and in git everything except objects and the crew's own refs. */
function readCheckout({ repository }: CrewHome): object {
  const refs = repository
    .git('for-each-ref', '--format=%(refname) %(objectname)')
    .split('\n')
    .filter((ref) => !/^refs\/(heads\/)?reeve\//.test(ref))
  const gitState = ['HEAD', 'index', 'config'].map((name) =>
    createHash('sha1')
      .update(readFileSync(join(repository.dir, '.git', name)))
      .digest('hex'),
  )
  return {
    refs,
    own: gitState,
    files: filesOf(repository.dir),
    status: repository.git('status', '--porcelain'),
    stash: repository.git('stash', 'list'),
  }
}

async function expectAllTasksLanded(): Promise<void> {
  await using crew = await CrewHome.make()
  crew.repository.write({ 'src/index.mjs': '// All parts.\n' })
  const tasks = IDS.map((id) => ({ id, text: `Write src/${id}.mjs and its test, and add its line to src/index.mjs.`, needs: NEEDS[id] }))
  await crew.up({ coordinator: 'engine', verify: 'node --test', workers: 4, model: writeModel(crew), tasks })
  // The user works there too, on the file that all tasks change.
  crew.repository.write({ 'src/index.mjs': '// All parts, as the user sees them.\n', 'staged.txt': 's', 'untracked.txt': 'u' })
  crew.repository.git('add', 'staged.txt')
  const checkoutBefore = readCheckout(crew)
  expect(await crew.home.waitForEnd(crew.uuid, 6)).toMatchObject({ status: 'completed', exit: { code: 0 } })
  expect(readCheckout(crew)).toEqual(checkoutBefore)
  const { tasks: reportedTasks } = JSON.parse(await crew.cli('crew', 'report', 'team', '--json')) as CrewReportView
  expect(reportedTasks.map(({ id, state, merged, attempts }) => [id, state, merged !== null, attempts])).toEqual(
    IDS.map((id) => [id, 'done', true, id === RED || id === DENIED ? 1 : 0]),
  )
  expect(reportedTasks.flatMap(({ id, verdicts }) => (verdicts.some(({ verdict }) => verdict === 'DENIED') ? [id] : []))).toEqual([DENIED])
  await expectWorkOnBranch(crew)
  expect(await crew.home.stop()).toMatchObject({ code: 0 })
  await crew.home.waitUntilNothingIsLeft()
  expect([crew.leftIn('worktrees'), crew.leftIn('branches'), crew.leftIn('commands')]).toEqual([[], [], []])
  expect(crew.repository.git('branch', '--format=%(refname:short)').split('\n').toSorted()).toEqual(['main', 'reeve/team'])
  const { crew: crewJournal, members, violations } = await crew.journals()
  expect([...violations, ...violationsOfCrew(crewJournal, members, true)]).toEqual([])
}

async function expectWorkOnBranch({ repository, home }: CrewHome): Promise<void> {
  const commits = repository.git('log', '--no-merges', '--format=%s', 'main..reeve/team').split('\n')
  expect(commits.toSorted()).toEqual(IDS.map((id) => `${id}: write it`).toSorted())
  const freshDir = join(home.work, 'fresh')
  repository.git('clone', '-q', '--branch', 'reeve/team', repository.dir, freshDir)
  expect(readFileSync(join(freshDir, 'src/index.mjs'), 'utf8').trim().split('\n').toSorted()).toEqual(
    ['// All parts.', ...IDS.map((id) => `export { ${id} } from './${id}.mjs'`)].toSorted(),
  )
  expect(execFileSync('node', ['--test'], { cwd: freshDir, env: repository.env, encoding: 'utf8' })).toMatch(/\bpass 8\n/)
}

test.each(Array.from({ length: RUNS }, (_, run) => run + 1))(
  `eight tasks that share one index land with the default limits (%i of ${RUNS})`,
  { timeout: TIMEOUT_MS },
  expectAllTasksLanded,
)
