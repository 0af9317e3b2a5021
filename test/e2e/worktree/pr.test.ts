// The push of a process's work and its pull request, with real git, a bare repository, and a program in place of gh or glab. Each
// refusal comes before anything changes.
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { Repository } from '../../support/git/repository.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
let repository: Repository
/** the directory of the remote */
let origin: string
/** the only directory of PATH: it has git, and what a test puts there */
let bin: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'one\n' }, 'first')
  repository.git('config', 'user.name', 'Ann')
  repository.git('config', 'user.email', 'ann@example.org')
  origin = join(daemon.work, 'origin.git')
  repository.git('clone', '-q', '--bare', '.', origin)
  repository.git('remote', 'add', 'origin', origin)
  repository.git('fetch', '-q')
  repository.git('remote', 'set-head', 'origin', 'main')
  bin = join(daemon.work, 'bin')
  mkdirSync(bin)
  symlinkSync(realpathSync(execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()), join(bin, 'git'))
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const pr = (...args: readonly string[]): Promise<CliResult> =>
  runCli(daemon.home, ['pr', ...args], { cwd: repository.dir, env: { PATH: bin } })
/** Runs a shell command in a worktree to its end. */
async function work(command: string, name = 'docs'): Promise<ProcessView> {
  const { uuid } = await daemon.spawnShell(command, { cwd: repository.dir, worktree: true, name })
  return daemon.waitForEnd(uuid)
}
const COMMIT = 'git -c user.name=Agent -c user.email=agent@example.org commit -q'
const inOrigin = (...args: readonly string[]): string => repository.gitIn(origin, ...args)
const branchesOfOrigin = (): string[] => inOrigin('for-each-ref', '--format=%(refname:short)').split('\n')

/** Installs a program that records its arguments, one a line, and then runs a shell text. */
function install(program: 'gh' | 'glab', script: string): { calls(): string[] } {
  const file = join(daemon.work, `${program}.calls`)
  writeFileSync(join(bin, program), `#!/bin/sh\nfor each; do printf '%s\\0' "$each" >> '${file}'; done\n${script}\n`, { mode: 0o755 })
  return { calls: () => (existsSync(file) ? readFileSync(file, 'utf8').split('\0').slice(0, -1) : []) }
}
const PAGE = 'https://github.com/ann/shop/pull/7'

async function expectRefusal(args: readonly string[], exit: number, text: string): Promise<void> {
  const before = [repository.git('for-each-ref'), inOrigin('for-each-ref')]
  const { code, stdout, stderr } = await pr(...args)
  expect([code, stdout, stderr]).toEqual([exit, '', expect.stringContaining(text)])
  expect([repository.git('for-each-ref'), inOrigin('for-each-ref')], 'a refusal changes nothing').toEqual(before)
}

describe('a pull request', () => {
  test('has all work of the process, and gh opens it', async () => {
    const gh = install('gh', `echo 'Creating pull request for reeve/docs' >&2; echo ${PAGE}`)
    const { pid } = await work(`echo 1 > one.txt; git add .; ${COMMIT} -m by-agent; echo 2 > two.txt`)
    const { code, stdout, stderr } = await pr('docs')
    expect([code, stdout, stderr.replaceAll(/[0-9a-f]{10,}/g, 'ID')]).toEqual([
      0,
      `${PAGE}\n`,
      [
        `PID ${pid} (docs): 1 commit and 1 uncommitted file on reeve/docs, to origin (${origin})`,
        ' ID by-agent',
        ' one.txt | 1 + (new)',
        ' two.txt | 1 + (new)',
        ' 2 files, +2 -0',
        'pushed ID to reeve/docs of origin',
        '',
      ].join('\n'),
    ])
    expect(inOrigin('log', '--format=%an|%s', 'main..reeve/docs').split('\n')).toEqual([
      expect.stringMatching(/^Ann\|sh -c echo 1 > one\.txt; /),
      'Agent|by-agent',
    ])
    expect(gh.calls()).toEqual([
      ...['pr', 'create', '--head', 'reeve/docs', '--title', expect.stringMatching(/^sh -c echo 1 > one\.txt; .*…$/)],
      ...['--body', expect.stringContaining(`echo 2 > two.txt\n\nMade by reeve, process ${pid} (docs).`)],
    ])
    expect([repository.git('branch', '--show-current'), repository.git('status', '--porcelain')], 'the checkout stays').toEqual([
      'main',
      '',
    ])
  })

  test('takes title, text, branch, base and draft of the user, and JSON has all of it', async () => {
    const gh = install('gh', `echo ${PAGE}`)
    await work('echo 1 > one.txt')
    const flags = ['--title', 'Docs: one', '--body', 'Why.', '--branch', 'ann/docs', '--base', 'main', '--draft']
    const { code, stdout } = await pr('--json', ...flags, 'docs')
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({
        ...{ version: 1, pushed: true, opened: true, url: PAGE, remote: 'origin', address: origin, branch: 'ann/docs', tool: 'gh' },
        commit: inOrigin('rev-parse', 'ann/docs'),
        request: { title: 'Docs: one', body: 'Why.', draft: true, base: 'main' },
        files: [expect.objectContaining({ path: 'one.txt' })],
        conflicts: [],
      }),
    ])
    expect(gh.calls()).toEqual([
      ...['pr', 'create', '--head', 'ann/docs', '--title', 'Docs: one', '--body', 'Why.', '--base', 'main', '--draft'],
    ])
  })

  test('on GitLab is a merge request, which glab opens', async () => {
    install('gh', 'exit 9')
    const glab = install('glab', 'echo "!4 docs"; echo " https://gitlab.example/ann/shop/-/merge_requests/4"')
    const mirror = join(daemon.work, 'gitlab.example', 'shop.git')
    mkdirSync(mirror, { recursive: true })
    repository.gitIn(mirror, 'init', '-q', '--bare')
    repository.git('remote', 'add', 'lab', mirror)
    await work('echo 1 > one.txt')
    const { code, stdout } = await pr('--remote', 'lab', '--title', 'T', '--body', 'B', '--draft', 'docs')
    expect([code, stdout, glab.calls()]).toEqual([
      0,
      'https://gitlab.example/ann/shop/-/merge_requests/4\n',
      ['mr', 'create', '--source-branch', 'reeve/docs', '--title', 'T', '--description', 'B', '--yes', '--draft'],
    ])
  })

  test('of a fork names its owner, for the repository upstream', async () => {
    const gh = install('gh', `echo ${PAGE}`)
    repository.git('remote', 'add', 'upstream', origin)
    await work('echo 1 > one.txt')
    expect(await pr('docs')).toMatchObject({ code: 0 })
    expect(gh.calls()[3]).toMatch(/^[^/]+:reeve\/docs$/)
  })

  test('that is already open gets the later commits; without new work nothing is pushed', async () => {
    install('gh', `echo 'a pull request for branch "reeve/docs" into branch "main" already exists:' >&2; echo ${PAGE} >&2; exit 1`)
    const { worktree, pid } = await work('echo 1 > one.txt')
    expect(await pr('docs')).toMatchObject({ code: 0, stdout: `${PAGE}\n`, stderr: expect.stringContaining('is open already, and has') })
    expect(await pr('docs'), 'the branch is there already').toMatchObject({ code: 0, stdout: `${PAGE}\n` })
    writeFileSync(join(worktree?.dir ?? '', 'one.txt'), '2\n')
    expect(await pr('docs')).toMatchObject({ code: 0 })
    expect(inOrigin('show', 'reeve/docs:one.txt')).toBe('2')
    inOrigin('update-ref', 'refs/heads/main', 'refs/heads/reeve/docs')
    repository.git('fetch', '-q')
    const again = await pr('--json', 'docs')
    expect([again.code, again.stderr, JSON.parse(again.stdout)]).toEqual([
      0,
      `nothing to push: origin has all the work of PID ${pid} (docs)\n`,
      expect.objectContaining({ pushed: false, opened: false, url: null, commit: null }),
    ])
  })

  test('without gh and glab is a pushed branch, with the page that opens the pull request', async () => {
    writeFileSync(join(origin, 'hooks/post-receive'), '#!/bin/sh\n[ -e silent ] || echo "visit https://git.example/new/reeve" >&2\n', {
      mode: 0o755,
    })
    await work('echo 1 > one.txt')
    expect(await pr('docs')).toMatchObject({
      code: 0,
      stdout: 'https://git.example/new/reeve\n',
      stderr: expect.stringContaining('\nneither gh nor glab is installed: open the pull request on this page\n'),
    })
    expect(branchesOfOrigin()).toEqual(['main', 'reeve/docs'])
    writeFileSync(join(origin, 'silent'), '')
    expect(await pr('--branch', 'other', 'docs')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('neither gh nor glab is installed: open the pull request of other on its hosting site\n'),
    })
  })

  test('that gh cannot open is an error, which says that the branch is pushed', async () => {
    install('gh', 'echo "To get started with GitHub CLI, please run:  gh auth login" >&2; exit 4')
    await work('echo 1 > one.txt')
    expect(await pr('docs')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/gh failed: To get started [^]*The branch reeve\/docs is pushed\./),
    })
    expect(branchesOfOrigin()).toEqual(['main', 'reeve/docs'])
  })
})

describe('nothing is pushed', () => {
  test('by a dry run, which shows title and text', async () => {
    const gh = install('gh', `echo ${PAGE}`)
    await work('echo 1 > one.txt')
    await expectRefusal(
      ['--dry-run', '--title', 'Docs', '--body', 'Why.\nHow.', '--draft', 'docs'],
      0,
      '\na dry run: nothing was changed\n',
    )
    const { stderr } = await pr('--dry-run', '--title', 'Docs', '--body', 'Why.\nHow.', 'docs')
    expect(stderr).toContain('\ngh would open the pull request:\n  Docs\n\n  Why.\n  How.\na dry run')
    expect(gh.calls()).toEqual([])
  })

  test('without a remote, to an unknown one, to a bad branch, and to the branch to merge into', async () => {
    await work('echo 1 > one.txt')
    await expectRefusal(['--remote', 'nobody', 'docs'], 64, 'has no remote "nobody"\n')
    await expectRefusal(['--branch', 'a..b', 'docs'], 64, '"a..b" is not a valid branch name')
    await expectRefusal(['--branch', 'main', 'docs'], 64, 'main is the branch to merge into')
    repository.git('remote', 'remove', 'origin')
    const { code, stderr } = await pr('docs')
    expect([code, stderr]).toEqual([64, expect.stringMatching(/has no remote "origin"\n.*`git remote add origin ADDRESS` adds one\./)])
  })

  test('if the remote branch has commits that are not here', async () => {
    install('gh', `echo ${PAGE}`)
    await work('echo 1 > one.txt')
    const other = repository.commit({ 'b.txt': 'b' }, 'of another one')
    repository.git('push', '-q', 'origin', `${other}:refs/heads/reeve/docs`)
    const { code, stderr } = await pr('docs')
    expect([code, stderr, inOrigin('rev-parse', 'reeve/docs')]).toEqual([
      1,
      expect.stringContaining('the branch reeve/docs of origin has commits that this work does not contain; nothing was pushed\n'),
      other,
    ])
  })

  test('while the process runs, except with `--unfinished`', async () => {
    const go = join(daemon.work, 'go')
    const { uuid } = await daemon.spawnShell(`echo 1 > one.txt; echo done; until [ -e '${go}' ]; do sleep 0.02; done`, {
      cwd: repository.dir,
      worktree: true,
      name: 'docs',
    })
    await daemon.waitForEvent(uuid, ({ fact, text }) => fact === 'process.output' && String(text).includes('done'))
    await expectRefusal(['docs'], 1, 'has not ended, and may still change its files\n')
    expect(await pr('--unfinished', 'docs')).toMatchObject({ code: 0 })
    expect(inOrigin('show', 'reeve/docs:one.txt')).toBe('1')
    writeFileSync(go, '')
    await daemon.waitForEnd(uuid)
  })

  test('when a program that git would run has changed since the process began', async () => {
    const mark = join(daemon.work, 'ran')
    const { pid } = await work(
      `cd "$(git rev-parse --git-common-dir)"; printf '#!/bin/sh\\n: > ${mark}\\n' > hooks/pre-push; chmod +x hooks/pre-push; git config credential.helper '!${mark}'; cd "$OLDPWD"; echo 1 > one.txt`,
    )
    await expectRefusal(
      ['docs'],
      1,
      `git would run programs that changed since PID ${pid} (docs) began: ${repository.dir}/.git/hooks/pre-push, credential.helper in ${repository.dir}/.git/config\n`,
    )
    expect(existsSync(mark)).toBe(false)
    expect(await pr('--trust-programs', 'docs')).toMatchObject({ code: 0 })
    expect(existsSync(mark)).toBe(true)
  })

  test('to an address that the process may have changed', async () => {
    const evil = join(daemon.work, 'evil.git')
    mkdirSync(evil)
    repository.gitIn(evil, 'init', '-q', '--bare')
    const { pid } = await work(`git remote set-url --push origin '${evil}'; echo 1 > one.txt`)
    await expectRefusal(['docs'], 1, `the address may have changed since PID ${pid} (docs) began: remote.origin.url in `)
    expect((await pr('docs')).stderr).toContain(`nothing was pushed to ${evil}\n`)
    expect(repository.gitIn(evil, 'for-each-ref')).toBe('')
    repository.git('config', '--unset', 'remote.origin.pushurl')
    expect(await pr('--trust-programs', 'docs')).toMatchObject({ code: 0 })
    expect(branchesOfOrigin()).toEqual(['main', 'reeve/docs'])
  })

  test('in the worktree itself, and of a process without a worktree', async () => {
    const { worktree } = await work('echo 1 > one.txt')
    expect(await runCli(daemon.home, ['pr', 'docs'], { cwd: worktree?.dir ?? '', env: { PATH: bin } })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('this is the worktree of PID'),
    })
    await daemon.waitForEnd((await daemon.spawnShell('true', { name: 'plain' })).uuid)
    await expectRefusal(['plain'], 64, 'has no worktree')
    await expectRefusal(['nobody'], 3, 'nobody')
  })
})
