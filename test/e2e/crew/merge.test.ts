// `reeve diff`, `merge` and `pr` of a crew. They show what its branch changed, merge it into the user's branch, also as one commit, and
// push it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MergePlanView, ProcessDiffView } from '../../../src/api/views/diff.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { CrewHome, makeTask } from '../../support/crew/crew-home.ts'

const TIMEOUT_MS = 300_000

let crew: CrewHome
beforeEach(async () => {
  crew = await CrewHome.make()
})
afterEach(() => crew[Symbol.asyncDispose]())

const cli = (...args: string[]): Promise<CliResult> =>
  runCli(crew.home.path, args, { cwd: crew.repository.dir, env: { HOME: crew.membersHome, COLUMNS: '80' } })
const git = (...args: string[]): string => crew.repository.git(...args)

async function finishCrew(): Promise<void> {
  await crew.up({ coordinator: 'engine', workers: 2, model: CrewHome.model('worker'), tasks: [makeTask('lexer'), makeTask('docs')] })
  await crew.waitForEnd()
}

test('`diff` shows and `merge` merges the branch of a crew, and then there is nothing more to merge', { timeout: TIMEOUT_MS }, async () => {
  await finishCrew()
  const base = git('rev-parse', 'main')
  expect(await cli('diff', '--stat', 'team')).toMatchObject({
    code: 0,
    stdout: ' docs.txt  | 1 + (new)\n lexer.txt | 1 + (new)\n 2 files, +2 -0\n',
    stderr: expect.stringMatching(new RegExp(`^PID \\d+ \\(team\\): 2 files, \\+2 -0 on reeve/team since ${base.slice(0, 12)}\n$`)),
  })
  expect((await cli('diff', 'team')).stdout).toMatch(
    /^diff --git a\/docs.txt [^]*\n\+docs\.\n[^]*diff --git a\/lexer.txt [^]*\n\+lexer\.\n/,
  )
  expect(JSON.parse((await cli('diff', '--json', 'team')).stdout) as ProcessDiffView).toMatchObject({
    of: 'crew',
    base,
    branch: 'reeve/team',
  })
  expect(await cli('diff', '--step', '1', 'team')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('a crew, which has no steps'),
  })

  const dry = await cli('merge', '--dry-run', 'team')
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining(' 2 files, +2 -0\n') })
  expect(git('rev-parse', 'main')).toBe(base)
  expect(await cli('merge', 'team')).toMatchObject({ code: 0, stderr: expect.stringMatching(/\nmerged into main as [0-9a-f]{12}\n$/) })
  expect(git('rev-parse', 'main')).toBe(git('rev-parse', 'reeve/team'))
  expect(git('show', 'main:lexer.txt')).toBe('lexer.')
  expect(await cli('merge', 'team')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to merge: main has all the work') })
})

test('with --squash all the work becomes one commit of the user, on top of other work', { timeout: TIMEOUT_MS }, async () => {
  await finishCrew()
  crew.repository.commit({ 'mine.txt': 'mine\n' }, 'mine')
  const before = git('rev-parse', 'main')
  expect(await cli('merge', '--squash', 'team')).toMatchObject({ code: 0, stderr: expect.stringContaining('merged into main as') })
  expect(git('log', '--format=%P|%an|%s', '-1', 'main')).toMatch(new RegExp(`^${before}\\|P\\|Work of team \\(process \\d+ of reeve\\)$`))
  expect(git('log', '--format=%b', '-1', 'main')).toMatch(/^- .+\n- /)
  expect(git('ls-tree', '--name-only', 'main').split('\n')).toEqual(expect.arrayContaining(['docs.txt', 'lexer.txt', 'mine.txt']))
  expect(git('status', '--porcelain')).toBe('')
  expect(await cli('merge', 'team')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to merge') })
})

test(
  '`pr` pushes the branch with the list of its commits, and `merge` works for a later crew of the same name',
  { timeout: TIMEOUT_MS },
  async () => {
    await finishCrew()
    const origin = join(crew.home.work, 'origin.git')
    git('clone', '-q', '--bare', '--single-branch', '.', origin)
    git('remote', 'add', 'origin', origin)
    expect((await cli('pr', '--dry-run', '--trust-programs', 'team')).stderr).toContain('  team: 2 tasks\n\n  - ')
    const pushed = await cli('pr', '--json', '--trust-programs', '--title', 'Team: all', 'team')
    expect(pushed.code, pushed.stderr).toBe(0)
    const { request } = JSON.parse(pushed.stdout) as { request: { body: string } }
    expect(request.body).toMatch(/^- .*lexer[^]*\n\nMade by reeve, process \d+ \(team\)\.$|^- .*docs[^]*lexer/)
    expect(crew.repository.gitIn(origin, 'rev-parse', 'reeve/team')).toBe(git('rev-parse', 'reeve/team'))
    expect((await cli('crew', 'up', 'team')).code).toBe(0)
    expect(await cli('merge', 'team')).toMatchObject({ code: 0, stderr: expect.stringContaining('merged into main as') })
    expect(git('show', 'main:lexer.txt')).toBe('lexer.')
  },
)

test('`merge` refuses a conflict, and changes of the user in the way, without any effect', { timeout: TIMEOUT_MS }, async () => {
  await finishCrew()
  writeFileSync(join(crew.repository.dir, 'lexer.txt'), 'mine\n')
  expect(await cli('merge', 'team')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('your own changes are in the way: lexer.txt'),
  })
  crew.repository.commit({ 'lexer.txt': 'mine\n' }, 'mine')
  const before = git('for-each-ref')
  const refused = await cli('merge', '--json', 'team')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('conflicts with main in 1 file: lexer.txt') })
  expect(refused.stderr).toContain('`git merge reeve/team` brings the conflicts into your files.')
  expect((JSON.parse(refused.stdout) as { plan: MergePlanView }).plan).toMatchObject({ of: 'crew', dir: null, branch: 'reeve/team' })
  expect(git('for-each-ref')).toBe(before)
})

test(
  '`diff` takes a member as a process with a worktree, and `merge` of a crew that has not ended needs --unfinished',
  { timeout: TIMEOUT_MS },
  async () => {
    await crew.up({ coordinator: 'engine', workers: 2, stay: true, model: CrewHome.model('worker'), tasks: [makeTask('lexer')] })
    await crew.waitForFact('task.merged')
    expect(await cli('diff', '--name-only', 'team')).toMatchObject({ code: 0, stdout: 'lexer.txt\n' })
    const { implementer } = (await crew.home.client.get<{ task: { implementer: string } }>('/v1/crews/team/task', { id: 'lexer' })).task
    expect(await cli('diff', '--name-only', `team.${implementer}`)).toMatchObject({ code: 0, stdout: 'lexer.txt\n' })
    expect(await cli('merge', 'team')).toMatchObject({ code: 1, stderr: expect.stringContaining('has not ended') })
    expect(await cli('merge', '--unfinished', 'team')).toMatchObject({ code: 0 })
    expect(git('show', 'main:lexer.txt')).toBe('lexer.')
  },
)
