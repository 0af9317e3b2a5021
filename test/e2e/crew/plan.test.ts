// `reeve crew up --dry-run` shows the worker, model, limits and verify command of each task, and the files of a new worktree.
// The daemon and the repository are real, and a script plays the members.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewPlanView } from '../../../src/api/views/crew-up.ts'

const WORKER_SCRIPT = join(ROOT, 'test/support/crew-scripts/worker.yaml')

let daemon: LocalDaemon
let repository: Repository
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  mkdirSync(join(repository.dir, '.reeve/agents'), { recursive: true })
  for (const name of ['usual', 'big', 'read']) copyFileSync(WORKER_SCRIPT, join(daemon.work, `${name}.yaml`))
  writeFileSync(
    join(repository.dir, '.reeve/agents/careful.md'),
    `---\ndescription: x\nmodel: script:${join(daemon.work, 'big.yaml')}\n---\nYou are careful.`,
  )
  repository.commit({ 'README.md': 'hello\n' })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const runInRepository = (...args: string[]): Promise<CliResult> =>
  runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work } })
const script = (name: string): string => `script:${join(daemon.work, `${name}.yaml`)}`

function writeCrewFile(text: string): void {
  repository.commit({ 'reeve.yaml': `crews:\n  fix:\n${text.replaceAll(/^/gm, '    ')}` })
}

test('the plan shows the agent, model, limits and verify command of each task', async () => {
  writeCrewFile(`workers:
  implementer: { count: 2, verify: [make, "all of it"], limits: { budgetUsd: 3 } }
  reviewer: { count: 1, model: '${script('read')}' }
  researcher: 1
model: '${script('usual')}'
setup: { command: npm ci, timeout: 5m }
copy: [.env, "*.local"]
verify: npm test
limits: { budgetUsd: 20 }
tasks:
- { id: a, text: Write a.txt with tokens. }
- { id: b, text: Write b.txt with trees., agent: careful, limits: { budgetUsd: 2, timeout: 30m }, verify: "make b" }
- { id: c, text: Write c.txt with leaves., model: '${script('big')}', verify: false }
- { id: d, text: What is there?, role: researcher }
- { id: e, text: Which?, kind: human }`)
  const { code, stdout, stderr } = await runInRepository('crew', 'up', '--dry-run', 'fix')
  expect([code, stderr]).toEqual([0, 'nothing was started\n'])
  expect(
    stdout
      .replaceAll(`${daemon.work}/`, '')
      .replaceAll(/ +$/gm, '')
      .replaceAll(/ {2,}/g, '  ')
      .replace(/from [0-9a-f]{10}/, 'from BASE'),
  ).toMatchInlineSnapshot(`
    "crew fix | branch reeve/fix from BASE | coordinator: engine | gate: auto | merge: auto | 3 attempts per task | at most 4 workers
    limits of all members together: budgetUsd=20
    setup: npm ci (at most 5m 00s)
    copy: .env, *.local
    verify: npm test (at most 10m 00s)
    ROLE  COUNT  AGENT  MODEL  PERMISSIONS  LIMITS  VERIFY
    implementer  2  default  script:usual.yaml  -  budgetUsd=3  make 'all of it'
    reviewer  1  default  script:read.yaml  -  -  -
    researcher  1  default  script:usual.yaml  -  -  -

    TASK  TITLE  NEEDS  FOR  PRIORITY  AGENT  MODEL  LIMITS  VERIFY
    a  Write a.txt with tokens.  -  implementer  0  default  script:usual.yaml  -  make 'all of it'
    b  Write b.txt with trees.  -  implementer  0  careful  script:big.yaml  budgetUsd=2 timeout=30m 00s  make b
    c  Write c.txt with leaves.  -  implementer  0  default  script:big.yaml  -  -
    d  What is there?  -  researcher  0  default  script:usual.yaml  -  -
    e  Which?  -  human  0  -  -  -  -
    "
  `)
  const plan = JSON.parse((await runInRepository('crew', 'up', '--dry-run', '--json', 'fix')).stdout) as CrewPlanView
  expect([plan.setup, plan.copy, plan.verify?.command]).toEqual([
    { command: 'npm ci', timeoutMs: 300_000 },
    ['.env', '*.local'],
    'npm test',
  ])
  expect(plan.tasks.map(({ id, by, verify }) => [id, by?.agent ?? null, by?.model ?? null, verify?.command ?? null])).toEqual([
    ['a', 'default', script('usual'), ['make', 'all of it']],
    ['b', 'careful', script('big'), 'make b'],
    ['c', 'default', script('big'), null],
    ['d', 'default', script('usual'), null],
    ['e', null, null, null],
  ])
})

test('the plan names the copied files, and a note names each skipped file with the reason', async () => {
  writeCrewFile(`workers: 1\nmodel: '${script('usual')}'\ncopy: '*.local'\ntasks: [{ id: a, text: Write a.txt with tokens. }]`)
  repository.commit({ '.gitignore': '.env*\n*.local\n', '.worktreeinclude': '.env\n.env.test\nnotes.txt\n' })
  for (const name of ['.env', '.env.test', '.env.other', 'notes.txt', 'a.local']) writeFileSync(join(repository.dir, name), 'x\n')
  const { stdout, stderr } = await runInRepository('crew', 'up', '--dry-run', 'fix')
  expect(stdout).toContain('\ncopy: *.local\ncopied into each worktree: .env, .env.test, a.local\n')
  expect(stderr).toContain('notes.txt is not copied into worktrees: git does not ignore it\n')
  expect(JSON.parse((await runInRepository('crew', 'up', '--dry-run', '--json', 'fix')).stdout)).toMatchObject({
    copy: ['*.local'],
    copied: ['.env', '.env.test', 'a.local'],
  })
  expect((await runInRepository('crew', 'up', '--dry-run', '--no-worktrees', 'fix')).stdout).not.toContain('copied into')
  for (let name = 0; name < 1_001; name += 1) writeFileSync(join(repository.dir, `${name}.local`), '')
  expect(await runInRepository('crew', 'up', '--dry-run', 'fix')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('`copy` and .worktreeinclude match 1005 files; at most 1000 are copied'),
  })
})

test('the plan shows values that all tasks have in common only once', async () => {
  writeCrewFile(`workers: 2\nmodel: '${script('usual')}'\ntasks: [{ id: a, text: Write a.txt with tokens. }]`)
  const { stdout } = await runInRepository('crew', 'up', '--dry-run', '--verify', 'npm test', '--setup', 'npm ci', '--copy', '.env', 'fix')
  expect(stdout).toMatch(
    /^setup: npm ci \(at most 10m 00s\)\ncopy: \.env\nverify: npm test \(at most 10m 00s\)\nROLE +COUNT +AGENT +MODEL +PERMISSIONS +LIMITS +VERIFY$/m,
  )
  expect(stdout).toMatch(/^TASK +TITLE +NEEDS +FOR +PRIORITY +AGENT +MODEL$/m)
})
