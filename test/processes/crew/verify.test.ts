// The command that verifies a task in the files of a worker: its changes are reverted, its remaining programs are ended, and its time
// and output are limited. With a real crew, a failure returns to the worker, and after a kill of the daemon the command runs again.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CrewShellCommandRunner } from '../../../src/daemon/crew/jobs/shell-command-runner.ts'
import { systemClock } from '../../../src/daemon/loop/clock.ts'
import { restoreSnapshot, snapshotTree } from '../../../src/drivers/git/crew/snapshot.ts'
import { openMember } from '../../../src/drivers/git/crew/member-worktree.ts'
import { Git } from '../../../src/drivers/git/git.ts'
import { openWorktree } from '../../../src/drivers/git/open-worktree.ts'
import { addWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { CrewHome, makeTask } from '../../support/crew/crew-home.ts'
import { crewFacts, ofType, violationsOfCrew } from '../../support/crew/crew-journal-check.ts'
import { kernelSpec } from '../../support/kernel/world.ts'
import { Repository } from '../../support/git/repository.ts'
import { uuidOf } from '../../support/store/facts.ts'
import type { CrewReportView } from '../../../src/api/views/crew-report.ts'
import type { ShellCommandRun } from '../../../src/kernel/model/crew/shell-command-results.ts'
import type { MemberTree } from '../../../src/drivers/git/crew/member-worktree.ts'

const BRANCH = 'reeve/fix.worker-1'
const TO = { branch: BRANCH, ref: 'refs/reeve/review/fix/one' }

describe('the command', () => {
  let contained: ContainmentHarness
  let commands: CrewShellCommandRunner
  let directoryCount = 0
  const state = (): string => join(contained.dir, 'state-of-commands')
  beforeEach(async () => {
    contained = await openContainmentHarness()
    commands = new CrewShellCommandRunner({
      containments: contained.manager,
      state: state(),
      tmpDir: contained.dir,
      newUuid: () => uuidOf(5_000 + (directoryCount += 1)),
      clock: systemClock,
      log: (message) => {
        throw new Error(message)
      },
    })
  })
  afterEach(() => contained[Symbol.asyncDispose]())

  function run(command: string | readonly string[], timeoutMs = 60_000, signal = new AbortController().signal): Promise<ShellCommandRun> {
    const spec = kernelSpec({ cwd: contained.dir, env: { PATH: process.env['PATH'] ?? '', WHO: 'the member' }, containment: 'auto' })
    return commands.run(spec, { command, timeoutMs }, signal)
  }

  test('a text runs in a shell, and a list runs directly, with the environment of the member', async () => {
    expect(await run('echo "$WHO"; echo beside >&2; exit 3')).toMatchObject({
      end: 'exited',
      code: 3,
      output: 'the member\nbeside',
      left: 0,
    })
    expect(await run(['printf', '%s', '$WHO; x'])).toMatchObject({ end: 'exited', code: 0, output: '$WHO; x' })
    expect(existsSync(join(state(), 'commands'))).toBe(true)
  })

  test.each<[string, string | readonly string[], Partial<ShellCommandRun>]>([
    ['an unknown program', ['no-such-program'], { end: 'unable', code: 127 }],
    ['an unknown program in a text for the shell', 'no-such-program', { end: 'exited', code: 127 }],
    ['a file that is not a program', ['./data'], { end: 'unable', code: 126 }],
    ['a program that a signal ends', 'kill -SEGV $$', { end: 'exited', code: null, signal: 'SIGSEGV' }],
  ])('%s is reported with its end and its exit code or signal', async (_, command, expected) => {
    writeFileSync(join(contained.dir, 'data'), 'x')
    expect(await run(command)).toMatchObject(expected)
  })

  test('a command that takes too long is ended with all its programs', async () => {
    const ran = await run('(trap "" TERM; echo deep; sleep 600) & (setsid sleep 600 &) ; sleep 600', 3_000)
    expect(ran).toMatchObject({ end: 'late', code: null, output: 'deep' })
  })

  test('programs that remain after the command are ended, and counted', async () => {
    const pids = join(contained.dir, 'pid')
    const ran = await run(`setsid sleep 600 > /dev/null 2>&1 & echo $! > ${pids}; echo done`)
    expect(ran).toMatchObject({ end: 'exited', code: 0, output: 'done', left: 1 })
  })

  test('the end of large or binary output is kept, as text', async () => {
    const ran = await run('head -c 3000000 /dev/urandom; yes "a line" | head -n 500000; printf "\\033[31mnot ok\\033[0m\\r\\n\\000the end"')
    expect(ran.output.length).toBeLessThanOrEqual(8_001)
    expect(ran.output.endsWith('a line\nnot ok\nthe end')).toBe(true)
    expect(ran.output.isWellFormed()).toBe(true)
  })

  test('an abort returns its reason, and nothing is left', async () => {
    const abortController = new AbortController()
    const ran = run('echo $$ > began; sleep 600', 60_000, abortController.signal)
    await expect.poll(() => existsSync(join(contained.dir, 'began'))).toBe(true)
    abortController.abort(new Error('no caller waits for it'))
    await expect(ran).rejects.toThrow('no caller waits for it')
  })

  test('programs of a dead daemon are ended by the next one', async () => {
    const intent = contained.manager.plan(uuidOf(7), 0, 'auto')
    const containment = await contained.manager.open(intent, contained.dir)
    const program = await containment.spawn({ argv: ['sleep', '600'], cwd: '/', env: { PATH: process.env['PATH'] ?? '' }, stdin: 'null' })
    mkdirSync(join(state(), 'commands'), { recursive: true })
    writeFileSync(join(state(), 'commands', uuidOf(7)), JSON.stringify(intent))
    writeFileSync(join(state(), 'commands', `${uuidOf(8)}.draft`), '{"kin')
    await commands.recover()
    expect(await program.exited).toMatchObject({ signal: 'SIGKILL' })
    expect(existsSync(join(state(), 'commands', uuidOf(7)))).toBe(false)
    await containment.dispose()
  })
})

describe('the files in which the command runs', () => {
  let contained: ContainmentHarness
  let repository: Repository
  let tree: MemberTree
  beforeEach(async () => {
    contained = await openContainmentHarness()
    repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
    const base = repository.commit({
      '.gitignore': 'node_modules\n',
      'a.txt': 'a\n',
      'b.txt': 'b\n',
      'dir/c.txt': 'c\n',
      'run.sh': 'echo\n',
    })
    tree = { repository: join(repository.dir, '.git'), dir: join(contained.dir, 'w'), branch: BRANCH, env: repository.env, programs: true }
    await using git = new Git(() => contained.open('group'))
    await addWorktree(git, { ...tree, base })
    writeFileSync(join(tree.dir, 'a.txt'), 'changed by the worker\n')
    writeFileSync(join(tree.dir, 'new.txt'), 'new\n')
    writeFileSync(join(tree.dir, 'staged.txt'), 'staged\n')
    gitInTree('add', 'staged.txt')
  })
  afterEach(() => contained[Symbol.asyncDispose]())

  const gitInTree = (...args: string[]): string => repository.gitIn(tree.dir, ...args)
  const runShell = (command: string): void => {
    execFileSync('sh', ['-ec', command], { cwd: tree.dir, env: repository.env, stdio: 'ignore' })
  }

  test.each<[string, string, readonly string[]]>([
    ['nothing', ':', []],
    ['changes to ignored files', 'mkdir node_modules; echo x > node_modules/x', []],
    [
      'changed, new and removed files',
      'echo y >> a.txt; rm b.txt new.txt; mkdir -p out/deep; echo 1 > out/deep/1; chmod +x run.sh',
      ['a.txt', 'b.txt', 'new.txt', 'out/deep/1', 'run.sh'],
    ],
    [
      'the replacement of a directory by a file, and of a file by a directory',
      'rm -r dir; echo 1 > dir; rm b.txt; mkdir b.txt; echo 2 > b.txt/x',
      ['b.txt', 'b.txt/x', 'dir', 'dir/c.txt'],
    ],
    ['new links that lead outside', 'ln -s / root; rm a.txt; ln -s /etc/passwd a.txt', ['a.txt', 'root']],
    ['changes to the index', 'git add -A; git reset -q staged.txt', []],
    ['a commit by the command', 'git add -A; git -c user.name=x -c user.email=x@y commit -qm own', []],
    ['a stash by the command', 'git -c user.name=x -c user.email=x@y stash -qu', ['a.txt', 'new.txt', 'staged.txt']],
    [
      'a checkout of another branch',
      'git add -A; git stash -q; git checkout -q -b elsewhere; echo x > x.txt',
      ['a.txt', 'new.txt', 'staged.txt', 'x.txt'],
    ],
    ['a checkout of no branch', 'git checkout -q --detach', []],
  ])('are restored after %s', async (_, command, changed) => {
    await using git = new Git(() => contained.open('group'))
    const [status, head] = [gitInTree('status', '--porcelain', '-uall'), gitInTree('rev-parse', 'HEAD')]
    const treeBefore = await snapshotTree(git, await openMember(git, tree), TO)
    runShell(command)
    expect((await restoreSnapshot(git, await openWorktree(git, tree), treeBefore)).toSorted()).toEqual([...changed].toSorted())
    expect(gitInTree('status', '--porcelain', '-uall')).toBe(status)
    expect([gitInTree('rev-parse', 'HEAD'), gitInTree('symbolic-ref', '--short', 'HEAD')]).toEqual([head, BRANCH])
    expect((await snapshotTree(git, await openMember(git, tree), TO)).tree).toBe(treeBefore.tree)
    expect(repository.git('rev-parse', 'refs/reeve/review/fix/one^{tree}')).toBe(treeBefore.tree)
    expect(readFileSync('/etc/passwd', 'utf8')).not.toBe('')
  })

  test.each<[string, readonly string[], string, string | null]>([
    ['no branch', ['checkout', '-q', '--detach', 'main'], ':', null],
    ['no branch, and the command checks one out', ['checkout', '-q', '--detach', 'main'], 'git checkout -q -b elsewhere', null],
    ['another branch', ['checkout', '-q', '-b', 'elsewhere', 'main'], ':', 'refs/heads/elsewhere'],
    [
      'another branch, and the command leaves it',
      ['checkout', '-q', '-b', 'elsewhere', 'main'],
      'git checkout -q --detach',
      'refs/heads/elsewhere',
    ],
    // The owner of that branch is unknown, so it stays where the command has moved it.
    [
      'another branch, and the command moves it',
      ['checkout', '-q', '-b', 'elsewhere', 'main'],
      'git -c user.name=x -c user.email=x@y commit -q --allow-empty -m own',
      null,
    ],
  ])('stay unchanged, like the branch of the worker, with this checked out: %s', async (_, checkout, command, branch) => {
    await using git = new Git(() => contained.open('group'))
    gitInTree('add', '-A')
    gitInTree('-c', 'user.name=x', '-c', 'user.email=x@y', 'commit', '-q', '-m', 'work that only this branch has')
    const headBefore = gitInTree('rev-parse', 'HEAD')
    gitInTree(...checkout)
    const head = gitInTree('rev-parse', 'HEAD')
    const treeBefore = await snapshotTree(git, await openMember(git, tree), TO)
    runShell(command)
    await restoreSnapshot(git, await openWorktree(git, tree), treeBefore)
    expect([gitInTree('rev-parse', 'HEAD'), repository.git('rev-parse', BRANCH)]).toEqual([head, headBefore])
    expect(gitInTree('rev-parse', '--symbolic-full-name', 'HEAD')).toBe(branch ?? 'HEAD')
    expect(gitInTree('status', '--porcelain')).toBe('')
  })
})

describe('a crew', () => {
  let crew: CrewHome
  beforeEach(async () => {
    crew = await CrewHome.make()
  })
  afterEach(() => crew[Symbol.asyncDispose]())

  /**
   * Each file must end with a full stop. The command waits while the user's file exists, and leaves files and a program behind each time.
   */
  const VERIFY = [
    'echo changed >> README.md; echo 1 > snapshot.out; git add -A',
    'touch ~/began; while [ -e ~/hold-verify ]; do sleep 0.05; done',
    'for f in *.txt; do grep -q "[.]$" "$f" || { echo "$f:1: it must be ${f%.txt} with a full stop"; exit 1; }; done; echo all is well',
  ].join('\n')

  test(
    'a failed task returns to its worker without a review; after a kill of the daemon the command runs again',
    { timeout: 300_000 },
    async () => {
      writeFileSync(join(crew.membersHome, 'hold-verify'), '')
      await crew.up({
        coordinator: 'engine',
        verify: { command: VERIFY, timeout: '5m' },
        workers: { generic: { count: 3, model: CrewHome.model('worker') } },
        tasks: [makeTask('one'), makeTask('two', [], true)],
      })
      await crew.waitUntil(() => existsSync(join(crew.membersHome, 'began')), 'it runs')
      rmSync(join(crew.membersHome, 'began'))
      await crew.restartDaemon()
      await crew.waitUntil(() => existsSync(join(crew.membersHome, 'began')), 'it runs again')
      rmSync(join(crew.membersHome, 'hold-verify'))
      expect(await crew.waitForEnd()).toMatchObject({ status: 'completed', exit: { code: 0 } })
      const report = JSON.parse(await crew.cli('crew', 'report', 'team', '--json')) as CrewReportView
      const text = await crew.cli('crew', 'report', 'team')
      expect(await crew.cli('crew', 'show', 'team', 'two')).toContain('all is well')
      expect(await crew.home.stop()).toMatchObject({ code: 0 })
      await crew.home.waitUntilNothingIsLeft()
      const { crew: crewJournal, members, violations } = await crew.journals()
      expect([...violations, ...violationsOfCrew(crewJournal, members, true)]).toEqual([])
      const facts = crewFacts(crewJournal.facts)
      expect(
        ofType(facts, 'task.verify')
          .filter(({ task, stage }) => task === 'two' && stage === 'review')
          .map(({ ok, stage, ran, changed }) => [ok, stage, ran.output, changed]),
      ).toEqual([
        [false, 'review', 'two.txt:1: it must be two with a full stop', ['README.md', 'snapshot.out']],
        [true, 'review', 'all is well', ['README.md', 'snapshot.out']],
      ])
      expect(ofType(facts, 'task.verdict').map(({ verdict }) => verdict)).toEqual(['APPROVED', 'APPROVED'])
      expect(
        report.tasks.map(({ id, attempts, denials, checks }) => [
          id,
          attempts,
          denials,
          checks.filter(({ stage }) => stage === 'review').map(({ ok, code }) => [ok, code]),
        ]),
      ).toEqual([
        ['one', 0, 0, [[true, 0]]],
        [
          'two',
          1,
          0,
          [
            [false, 1],
            [true, 0],
          ],
        ],
      ])
      expect(text).toContain('> two.txt:1: it must be two with a full stop')
      expect(crew.repository.git('ls-tree', '-r', '--name-only', 'reeve/team').split('\n')).toEqual([
        'README.md',
        'one.txt',
        'reeve.yaml',
        'two.txt',
      ])
      expect(crew.repository.git('show', 'reeve/team:README.md')).toBe('# a project')
      expect(crew.leftIn('commands')).toEqual([])
    },
  )
})
