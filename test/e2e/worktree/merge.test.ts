// The merge of a process's work into the user's checkout, with real git. Each refusal comes before anything changes.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MergePlanView } from '../../../src/api/views/diff.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository, filesOf } from '../../support/git/repository.ts'

let daemon: LocalDaemon
let repository: Repository

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n' }, 'first')
  repository.git('config', 'user.name', 'Ann')
  repository.git('config', 'user.email', 'ann@example.org')
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const merge = (...args: readonly string[]): Promise<CliResult> => runCli(daemon.home, ['merge', ...args], { cwd: repository.dir })
/** Runs a shell command in a worktree to its end. */
async function work(command: string, name = 'docs'): Promise<ProcessView> {
  const { uuid } = await daemon.spawnShell(command, { cwd: repository.dir, worktree: true, name })
  return daemon.waitForEnd(uuid)
}
const COMMIT = 'git -c user.name=Agent -c user.email=agent@example.org commit -q'

/** Everything that a refused merge must not change: refs, the index, and the files of both checkouts. */
function stateOf({ worktree }: ProcessView): unknown {
  const places = [repository.dir, ...(existsSync(worktree?.dir ?? '') ? [worktree?.dir ?? ''] : [])]
  return [
    repository.git('for-each-ref'),
    ...places.map((dir) => [repository.gitIn(dir, 'ls-files', '-s'), repository.gitIn(dir, 'rev-parse', 'HEAD'), filesOf(dir)]),
  ]
}

async function expectRefusal(process: ProcessView, args: readonly string[], exit: number, text: string | RegExp): Promise<void> {
  const before = stateOf(process)
  const { code, stderr } = await merge(...args)
  expect([code, stderr]).toEqual([exit, typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text)])
  expect(stateOf(process), 'a refusal changes nothing').toEqual(before)
}

describe('a merge', () => {
  test('commits all uncommitted files in the name of the user, and moves the branch forward', async () => {
    const { pid, uuid, worktree } = await work(
      `echo TWO > b.txt; git add b.txt; ${COMMIT} -m by-agent; echo new > new.txt; rm a.txt; git rm -q --cached b.txt`,
    )
    const dry = await merge('--dry-run', 'docs')
    expect([dry.code, dry.stdout, repository.git('log', '--format=%s', 'main')]).toEqual([
      0,
      ' a.txt   | 3 --- (deleted)\n b.txt   | 2 +-\n new.txt | 1 + (new)\n 3 files, +2 -4\n',
      'first',
    ])
    const { code, stderr } = await merge('docs')
    const head = repository.git('rev-parse', 'HEAD')
    expect([code, stderr.replaceAll(/[0-9a-f]{10,}/g, 'ID')]).toEqual([
      0,
      `PID ${pid} (docs): 1 commit and 2 uncommitted files on reeve/docs, into main\n ID by-agent\nmerged into main as ID; \`reeve rm ${pid}\` removes the process with its worktree\n`,
    ])
    expect(repository.git('log', '--format=%an %ae|%s', 'main').split('\n')).toEqual([
      expect.stringMatching(/^Ann ann@example\.org\|sh -c echo TWO > b\.txt; /),
      'Agent agent@example.org|by-agent',
      'T t@example.org|first',
    ])
    expect(repository.git('log', '-1', '--format=%b')).toBe(`Made by reeve, process ${pid} (docs).\n\nReeve-Process: ${uuid}`)
    expect([repository.git('ls-files'), repository.git('status', '--porcelain'), repository.git('rev-parse', 'reeve/docs')]).toEqual([
      'b.txt\nnew.txt',
      '',
      head,
    ])
    expect(repository.gitIn(worktree?.dir ?? '', 'status', '--porcelain'), 'the worktree is clean').toBe('')
    expect((await runCli(daemon.home, ['rm', 'docs'])).stderr).toBe(`PID ${pid} (docs) was removed\n`)
    expect(repository.git('for-each-ref', '--format=%(refname)'), 'nothing is left to keep').toBe('refs/heads/main')
  })

  test('into a branch that has moved makes a merge commit, with the hooks of the user', async () => {
    const mark = join(daemon.work, 'hook')
    writeFileSync(join(repository.dir, '.git/hooks/post-merge'), `#!/bin/sh\necho from the hook\ntouch ${mark}\n`, { mode: 0o755 })
    const { pid, worktree } = await work('echo 1 > one')
    repository.commit({ 'mine.txt': 'mine' }, 'mine')
    writeFileSync(join(repository.dir, 'untracked'), 'stays')
    writeFileSync(join(repository.dir, 'b.txt'), 'changed, not in the way')
    const { code, stdout, stderr } = await merge('--json', 'docs')
    const result = JSON.parse(stdout) as {
      merged: boolean
      commit: string
      files: readonly { path: string }[]
      conflicts: readonly string[]
    }
    expect([code, result.merged, result.commit, result.files.map(({ path }) => path), result.conflicts]).toEqual([
      0,
      true,
      repository.git('rev-parse', 'main'),
      ['one'],
      [],
    ])
    expect(stderr).toContain('\nfrom the hook\nmerged into main')
    expect(existsSync(mark)).toBe(true)
    expect(repository.git('log', '-1', '--format=%s|%an|%p').split('|')).toEqual([
      `Merge branch 'reeve/docs' (process ${pid} of reeve)`,
      'Ann',
      expect.stringMatching(/ /),
    ])
    expect(readFileSync(join(repository.dir, 'b.txt'), 'utf8')).toBe('changed, not in the way')
    const again = await merge('--json', 'docs')
    expect([again.code, again.stderr, JSON.parse(again.stdout)]).toEqual([
      0,
      `nothing to merge: main has all the work of PID ${pid} (docs)\n`,
      expect.objectContaining({ merged: false, commit: null, files: [], conflicts: [] }),
    ])
    writeFileSync(join(worktree?.dir ?? '', 'one'), '2')
    expect((await merge('docs')).code, 'later work is merged on top').toBe(0)
    expect(readFileSync(join(repository.dir, 'one'), 'utf8')).toBe('2')
  })

  test('keeps the directory in which the user is, although all of its files move', async () => {
    repository.commit({ 'sub/x.txt': 'some text\nthat is kept\n' })
    await work('git mv sub/x.txt sub/y.txt')
    const cwd = join(repository.dir, 'sub')
    const before = statSync(cwd).ino
    const { code, stderr } = await runCli(daemon.home, ['merge', 'docs'], { cwd })
    expect([code, stderr, statSync(cwd).ino]).toEqual([
      0,
      expect.stringContaining(': 1 uncommitted file on reeve/docs, into main\n'),
      before,
    ])
    expect(repository.git('ls-files')).toBe('a.txt\nb.txt\nsub/y.txt')
  })

  test('of a process that changed nothing reports that there is nothing to merge', async () => {
    const process = await work('true')
    const before = stateOf(process)
    const { code, stdout, stderr } = await merge('docs')
    expect([code, stdout, stderr]).toEqual([0, '', `nothing to merge: main has all the work of PID ${process.pid} (docs)\n`])
    expect(stateOf(process)).toEqual(before)
  })
})

describe('a merge is refused, and changes nothing', () => {
  test('when both sides changed the same lines, which is reported first', async () => {
    const process = await work('sed -i s/two/theirs/ a.txt; echo new > new.txt')
    repository.commit({ 'a.txt': 'one\nours\nthree\n' }, 'ours')
    await expectRefusal(process, ['docs'], 1, `PID ${process.pid} (docs) conflicts with main in 1 file: a.txt; nothing was changed\n`)
    await expectRefusal(process, ['--dry-run', 'docs'], 1, 'conflicts with main')
    const { stdout } = await merge('--json', 'docs')
    expect(JSON.parse(stdout)).toMatchObject({ merged: false, commit: null, conflicts: ['a.txt'] })
    const file = join(daemon.work, 'patch')
    writeFileSync(file, (await runCli(daemon.home, ['diff', 'docs'])).stdout)
    expect(() => repository.git('apply', '--3way', file), 'the hint works').toThrow(/Command failed/)
    expect(readFileSync(join(repository.dir, 'a.txt'), 'utf8')).toContain('<<<<<<< ours')
  })

  test("when the user's own changes are in the way", async () => {
    const process = await work('echo four >> a.txt; echo new > new.txt')
    repository.write({ 'a.txt': 'mine\n' })
    await expectRefusal(process, ['docs'], 1, 'your own changes are in the way: a.txt; nothing was changed')
    repository.git('checkout', '-q', 'a.txt')
    repository.write({ 'new.txt': 'mine\n' })
    await expectRefusal(process, ['docs'], 1, 'in the way: new.txt;')
    rmSync(join(repository.dir, 'new.txt'))
    repository.write({ 'b.txt': 'staged\n' })
    repository.git('add', 'b.txt')
    await expectRefusal(process, ['docs'], 1, 'in the way: b.txt;')
  })

  test('while the process runs or is paused, except with `--unfinished`', async () => {
    const go = join(daemon.work, 'go')
    const { uuid } = await daemon.spawnShell(`echo 1 > one; echo done; until [ -e '${go}' ]; do sleep 0.02; done`, {
      cwd: repository.dir,
      worktree: true,
      name: 'docs',
    })
    await daemon.waitForEvent(uuid, ({ fact, text }) => fact === 'process.output' && String(text).includes('done'))
    await expectRefusal(await daemon.view(uuid), ['docs'], 1, 'has not ended, and may still change its files\n')
    await daemon.pause(uuid)
    await expectRefusal(await daemon.view(uuid), ['docs'], 1, 'has not ended')
    expect((await daemon.post(`/v1/processes/${uuid}/commit`, { author: { name: 'A', email: 'a@b' } })).body.error).toMatchObject({
      code: 'CONFLICT',
    })
    expect((await merge('--unfinished', 'docs')).code).toBe(0)
    expect(repository.git('ls-files')).toBe('a.txt\nb.txt\none')
    writeFileSync(go, '')
    await daemon.resume(uuid)
    await daemon.waitForEnd(uuid)
  })

  test('in another repository, in none, in the worktree itself, and without a worktree', async () => {
    const process = await work('echo 1 > one')
    const other = Repository.make(join(daemon.work, 'other'), daemon.work)
    const from = (cwd: string, ref = 'docs'): Promise<CliResult> => runCli(daemon.home, ['merge', ref], { cwd })
    const before = stateOf(process)
    expect(await from(other.dir)).toMatchObject({ code: 64, stderr: expect.stringContaining('has no commit yet') })
    other.commit({ a: 'a' })
    expect(await from(other.dir)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining(
        `process ${process.pid} works in the repository ${repository.dir}, and this is another one (${other.dir})`,
      ),
    })
    expect(await from(daemon.work)).toMatchObject({ code: 64, stderr: expect.stringContaining('is not a git checkout') })
    expect(await from(process.worktree?.dir ?? '')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('this is the worktree of PID'),
    })
    await daemon.waitForEnd((await daemon.spawnShell('true', { name: 'plain' })).uuid)
    expect(await from(repository.dir, 'plain')).toMatchObject({ code: 64, stderr: expect.stringContaining('has no worktree') })
    expect(await from(repository.dir, 'nobody')).toMatchObject({ code: 3 })
    expect(stateOf(process)).toEqual(before)
  })

  test('when a program that git would run has changed since the process began', async () => {
    const mark = join(daemon.work, 'ran')
    const process = await work(
      `cd "$(git rev-parse --git-common-dir)"; printf '#!/bin/sh\\ntouch ${mark}\\n' > hooks/post-merge; chmod +x hooks/post-merge; touch -d 2001-01-01 hooks/post-merge; git config core.fsmonitor '${mark}'; cd "$OLDPWD"; echo 1 > one`,
    )
    await expectRefusal(
      process,
      ['docs'],
      1,
      `git would run programs that changed since PID ${process.pid} (docs) began: ${repository.dir}/.git/hooks/post-merge, core.fsmonitor in ${repository.dir}/.git/config\n`,
    )
    expect(existsSync(mark)).toBe(false)
    repository.git('config', '--unset', 'core.fsmonitor')
    expect((await merge('--trust-programs', 'docs')).code).toBe(0)
    expect(existsSync(mark)).toBe(true)
  })

  test('when the worktree is in the middle of a merge, or its `.git` was replaced', async () => {
    const process = await work(
      `echo 1 > a.txt; ${COMMIT} -am one; git checkout -q -b side main; echo 2 > a.txt; ${COMMIT} -am two; git checkout -q reeve/docs; git merge side || true`,
    )
    await expectRefusal(process, ['docs'], 64, 'in the middle of a merge or rebase (MERGE_HEAD)')
    await work('rm .git; git init -q; touch x', 'other')
    const refs = repository.git('for-each-ref')
    expect(await merge('other')).toMatchObject({ code: 64, stderr: expect.stringContaining('.git is not the file that git wrote there') })
    expect(repository.git('for-each-ref')).toBe(refs)
  })

  test('when git has no identity', async () => {
    const process = await work('echo 1 > one')
    repository.git('config', '--unset', 'user.name')
    repository.git('config', 'user.useConfigOnly', 'true')
    await expectRefusal(process, ['docs'], 1, 'git does not know who you are')
  })
})

test('the commit runs no program for a process that may run none', async () => {
  const mark = join(daemon.work, 'ran')
  const evil = join(daemon.work, 'evil.sh')
  writeFileSync(evil, `#!/bin/sh\ntouch ${mark}\ncat\n`, { mode: 0o755 })
  const { uuid } = await daemon.spawnScripted(
    [
      { text: '', tools: [{ name: 'write', input: { path: 'a.txt', content: 'three\n' } }] },
      { text: '', tools: [{ name: 'write', input: { path: '.gitattributes', content: '* filter=evil merge=evil\n' } }] },
      { text: 'end' },
    ],
    { cwd: repository.dir, worktree: true, name: 'docs', allow: ['read', 'write', 'edit', 'ls'] },
  )
  await daemon.waitForEnd(uuid)
  for (const key of ['filter.evil.clean', 'merge.evil.driver', 'core.fsmonitor']) repository.git('config', key, evil)
  const plan = await daemon.client.get<MergePlanView>(`/v1/processes/${uuid}/merge`, {
    onto: repository.git('rev-parse', 'HEAD'),
    repository: join(repository.dir, '.git'),
    top: repository.dir,
  })
  expect([plan.uncommitted, plan.ended, plan.files.map(({ path }) => path)]).toEqual([2, true, ['.gitattributes', 'a.txt']])
  await daemon.client.post(`/v1/processes/${uuid}/commit`, { author: { name: 'Ann', email: 'ann@example.org' } })
  expect([existsSync(mark), repository.git('show', 'reeve/docs:a.txt')]).toEqual([false, 'three'])
})

describe('after the worktree was removed by hand', () => {
  const removeByHand = ({ worktree }: ProcessView): string => repository.git('worktree', 'remove', '--force', worktree?.dir ?? '')

  test('its branch is merged; without a branch nothing is left', async () => {
    const process = await work(`echo 1 > one; git add one; ${COMMIT} -m one`)
    removeByHand(process)
    const { code } = await merge('docs')
    expect([code, repository.git('log', '-1', '--format=%s')]).toEqual([0, 'one'])
    repository.git('branch', '-D', 'reeve/docs')
    await expectRefusal(process, ['docs'], 3, 'is gone (')
  })

  test('uncommitted files that only a record has are not merged, and the hint takes them over', async () => {
    const { uuid } = await daemon.spawnScripted(
      [{ text: '', tools: [{ name: 'write', input: { path: 'one', content: '1\n' } }] }, { text: 'end' }],
      {
        cwd: repository.dir,
        worktree: true,
        name: 'docs',
      },
    )
    const process = await daemon.waitForEnd(uuid)
    removeByHand(process)
    await expectRefusal(process, ['docs'], 64, 'its branch lacks files that were recorded after step 1')
    const file = join(daemon.work, 'patch')
    writeFileSync(file, (await runCli(daemon.home, ['diff', 'docs'])).stdout)
    repository.git('apply', '--3way', file)
    expect(readFileSync(join(repository.dir, 'one'), 'utf8')).toBe('1\n')
  })
})

test('a dry run takes the newest of several ended processes with a name, and a merge is refused', async () => {
  for (const file of ['one.txt', 'two.txt']) await work(`touch ${file}`, 'twice')
  const dryRun = await merge('--dry-run', 'twice')
  expect(dryRun).toMatchObject({ code: 0, stderr: expect.stringContaining('"twice" names several ended processes; the newest is PID 2 ') })
  expect(dryRun.stdout + dryRun.stderr).toContain('two.txt')
  expect(await merge('twice')).toMatchObject({ code: 3, stderr: expect.stringContaining('"twice" may be any of') })
})

test('of several ended processes with a name, the only one of this repository is merged', async () => {
  const elsewhere = Repository.make(join(daemon.work, 'elsewhere'), daemon.work)
  elsewhere.commit({ 'a.txt': 'a' })
  const workElsewhere = async (): Promise<ProcessView> =>
    daemon.waitForEnd((await daemon.spawnShell('touch other.txt', { cwd: elsewhere.dir, worktree: true, name: 'fix' })).uuid)
  await workElsewhere()
  await work('touch mine.txt', 'fix')
  await workElsewhere()
  for (const flags of [['--dry-run'], []])
    expect(await merge(...flags, 'fix')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^PID 2 \(fix\): 1 uncommitted file/) })
  expect(repository.git('ls-tree', '--name-only', 'HEAD').split('\n')).toContain('mine.txt')
})
