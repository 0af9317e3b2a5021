// Hostile repositories with real git: repositories and worktrees that an agent has prepared, in all git operations of reeve.
// For a process that may run no programs nothing runs; for one that may, its filters, merge drivers and hooks run. A `.git` that
// points elsewhere does not mislead reeve.
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findCrewLeftovers } from '../../../src/drivers/git/crew/leftovers.ts'
import { crewHead, joinCommits } from '../../../src/drivers/git/crew/merge.ts'
import { commitTask } from '../../../src/drivers/git/crew/commit-task.ts'
import { resetTo, handOver, salvageFiles, commitForReview } from '../../../src/drivers/git/crew/member-worktree.ts'
import { Git } from '../../../src/drivers/git/git.ts'
import { Records } from '../../../src/drivers/git/records.ts'
import { addWorktree, findRepository, removeWorktree } from '../../../src/drivers/git/worktree.ts'
import { mergeIntoBranch } from '../../support/crew/merge-into.ts'
import { openContainmentHarness, PROCESS_UUID, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { deep } from '../../support/deep.ts'
import { Repository, filesOf, gitBytes } from '../../support/git/repository.ts'

const CREW = 'reeve/fix'
const TIMEOUT_MS = 300_000
const SALVAGE = { name: 'refs/reeve/salvage/fix/worker', message: 'left' }

let contained: ContainmentHarness
let git: Git
let repository: Repository
let base: string
let marker: string

beforeEach(async () => {
  contained = await openContainmentHarness()
  git = new Git(() => contained.open('group'))
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  base = repository.commit({ 'a.txt': 'a\n', 'log.txt': 'one\n', 'src/b.txt': 'b\n' })
  repository.git('update-ref', `refs/heads/${CREW}`, base)
  marker = join(contained.dir, 'ran')
})

afterEach(async () => {
  await git[Symbol.asyncDispose]()
  await contained[Symbol.asyncDispose]()
})

const gitDir = (): string => join(repository.dir, '.git')
const targetFields = (programs: boolean) => ({ env: repository.env, repository: gitDir(), programs, lockMs: 100 })
const member = (n: number, programs: boolean) => ({
  ...targetFields(programs),
  dir: join(contained.dir, 'w', String(n)),
  branch: `${CREW}.worker-${n}`,
})
const addMemberWorktree = (n: number, programs: boolean): Promise<void> => addWorktree(git, { ...member(n, programs), base })
/** A program that records its run, and copies its input to its output. */
function writeProgram(name: string): string {
  const file = join(contained.dir, 'programs', name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `#!/bin/sh\necho ${name} >> ${marker}\ncat\n`, { mode: 0o755 })
  return file
}
/** The programs that ran. */
const listProgramsThatRan = (): string[] =>
  existsSync(marker) ? [...new Set(readFileSync(marker, 'utf8').trim().split('\n'))].toSorted() : []
const addConfig = (...settings: readonly (readonly [string, string])[]): void => {
  for (const [key, value] of settings) repository.git('config', '--add', key, value)
}
const appendAttributes = (text: string): void => appendFileSync(join(gitDir(), 'info', 'attributes'), text)

/** Changes two files and writes a new one, as an agent does in its worktree. */
function changeFiles(dir: string, content: string): void {
  if (!existsSync(dir)) return
  repository.write({ 'a.txt': `${content}\n`, 'log.txt': `one\n${content}\n`, [`${content}.txt`]: content }, dir)
}

/** Runs all git operations of reeve in turn, and returns the errors of those that fail, by operation. */
async function useAllOperations(programs: boolean, attack: () => void): Promise<Record<string, string>> {
  const errorByOperation: Record<string, string> = {}
  const step = async (name: string, run: () => Promise<unknown>): Promise<void> => {
    await run().catch((error: Error) => {
      errorByOperation[name] = error.message
    })
  }
  const [one, second, third] = [member(1, programs), member(2, programs), member(3, programs)]
  const crew = { ...targetFields(programs), branch: CREW, dir: one.dir }
  await addMemberWorktree(1, programs)
  await addMemberWorktree(2, programs)
  changeFiles(one.dir, 'first')
  attack()
  await step('findRepository', () => findRepository(git, repository.dir, repository.env))
  await step('addWorktree', () => addMemberWorktree(3, programs))
  await step('record and restore', async () => {
    const records = await Records.open(git, {
      ...targetFields(programs),
      dir: join(contained.dir, 'records.git'),
      worktree: one.dir,
      writer: 1,
    })
    const { commit } = await records.record(1)
    await records.restore(commit)
  })
  await step('commitForReview', () => commitForReview(git, one, 'refs/reeve/review/fix/one'))
  await step('commitTask', () => commitTask(git, one, { base, crew: CREW, message: 'first\n', mayCommit: true }))
  changeFiles(second.dir, 'second')
  await step('commitTask of another member', () => commitTask(git, second, { base, crew: CREW, message: 'second\n', mayCommit: true }))
  const commits = [one, second].map(({ branch }) => repository.git('rev-parse', `refs/heads/${branch}`))
  for (const commit of commits)
    await step('mergeIntoBranch', () => mergeIntoBranch(git, crew, { commit, message: 'Merge\n', unmergedBranch: `${CREW}.left` }))
  await step('joinCommits', () => joinCommits(git, crew, base, { commits, ref: 'refs/reeve/base/x' }))
  changeFiles(one.dir, 'third')
  await step('salvageFiles', () => salvageFiles(git, one, SALVAGE))
  await step('handOver', () => handOver(git, { from: one, to: third, ref: 'refs/reeve/handover/x', salvage: SALVAGE }))
  changeFiles(one.dir, 'fourth')
  await step('resetTo', () => resetTo(git, one, base, SALVAGE))
  await step('crewHead', () => crewHead(git, crew, base))
  await step('findCrewLeftovers', () =>
    findCrewLeftovers(git, crew, {
      base,
      salvagePatterns: ['refs/reeve/salvage/fix/'],
      temporaryRefs: { refs: ['refs/reeve/review/fix/'], until: Infinity },
    }),
  )
  for (const tree of [one, second, third]) {
    changeFiles(tree.dir, 'last')
    await step('removeWorktree', () => removeWorktree(git, { ...tree, uuid: PROCESS_UUID }))
  }
  return errorByOperation
}

/** Settings that each name a program. */
const settingsThatName = (name: string): readonly (readonly [string, string])[] => [
  ['core.fsmonitor', name],
  ['core.hooksPath', dirname(name)],
  ['core.pager', name],
  ['core.editor', name],
  ['core.sshCommand', name],
  ['core.askPass', name],
  ['core.alternateRefsCommand', name],
  ['core.gitProxy', name],
  ['credential.helper', `!${name}`],
  ['sequence.editor', name],
  ['diff.external', name],
  ['gpg.program', name],
  ['gpg.ssh.program', name],
  ['commit.gpgSign', 'true'],
  ['tag.gpgSign', 'true'],
  ['log.showSignature', 'true'],
  ['interactive.diffFilter', name],
  ['trailer.x.command', name],
  ['pager.status', name],
  ['pager.branch', name],
  ...['status', 'add', 'read-tree', 'rev-parse', 'update-ref', 'commit', 'worktree'].map((verb) => [`alias.${verb}`, `!${name}`] as const),
]
const includeConfig = (): void => {
  writeFileSync(
    join(contained.dir, 'more'),
    `[filter "more"]\n\tclean = ${writeProgram('included')}\n[core]\n\tfsmonitor = ${writeProgram('fsmonitor')}\n`,
  )
  addConfig(['include.path', join(contained.dir, 'more')], ['includeIf.gitdir:/.path', join(contained.dir, 'more')])
}
const setUserConfig = (): void =>
  writeFileSync(
    join(contained.dir, '.gitconfig'),
    `[filter "user"]\n\tclean = ${writeProgram('user')}\n[core]\n\tfsmonitor = ${writeProgram('fsmonitor')}\n`,
  )
const HOOKS = [
  'post-checkout',
  'pre-commit',
  'commit-msg',
  'post-commit',
  'reference-transaction',
  'post-index-change',
  'post-merge',
  'post-rewrite',
]
const writeHooks = (): void => {
  for (const hook of HOOKS) cpSync(writeProgram('hook'), join(gitDir(), 'hooks', hook))
}

/** The preparations of a process before reeve's git runs, and the programs that run if the process may run programs. */
const PREPARED: readonly { readonly name: string; readonly attack: () => void; readonly run: readonly string[] }[] = [
  {
    name: 'filters',
    run: ['clean', 'included', 'long', 'own', 'smudge', 'user'],
    attack: () => {
      includeConfig()
      setUserConfig()
      addConfig(
        ['filter.x.clean', writeProgram('clean')],
        ['filter.x.smudge', writeProgram('smudge')],
        ['filter.x.required', 'true'],
        ['filter.long.process', writeProgram('long')],
        ['filter.own.clean', writeProgram('own')],
      )
      appendAttributes('a.txt filter=x\nlog.txt filter=long\nfirst.txt filter=more\nsecond.txt filter=user\n')
      repository.write({ '.gitattributes': '*.mine filter=own\n', 'an.mine': 'x' }, member(1, false).dir)
    },
  },
  {
    name: 'merge drivers, with merge.renormalize,',
    run: ['driver', 'renormalize'],
    attack: () => {
      addConfig(
        ['merge.renormalize', 'true'],
        ['filter.x.clean', writeProgram('renormalize')],
        ['merge.x.driver', `${writeProgram('driver')} %A`],
      )
      appendAttributes('* filter=x merge=x\n')
    },
  },
  {
    name: 'diff drivers, and settings that name programs,',
    run: [],
    attack: () => {
      addConfig(
        ['diff.x.textconv', writeProgram('textconv')],
        ['diff.x.command', writeProgram('command')],
        ...settingsThatName(writeProgram('setting')),
      )
      appendAttributes('* diff=x\n')
    },
  },
  { name: 'hooks', run: ['hook'], attack: writeHooks },
]

test('no prepared program runs for a process that may run no programs', { timeout: TIMEOUT_MS }, async () => {
  const errorByOperation = await useAllOperations(false, () => {
    for (const { attack } of PREPARED.toReversed()) attack()
  })
  expect([listProgramsThatRan(), errorByOperation]).toEqual([[], {}])
})

test.each(PREPARED.filter(({ run }) => run.length >= deep(1, 0)))(
  '$name run for a process that may run programs, and only these: $run',
  { timeout: TIMEOUT_MS },
  async ({ attack, run }) => {
    const errorByOperation = await useAllOperations(true, attack)
    expect([listProgramsThatRan(), errorByOperation]).toEqual([run, {}])
  },
)

test('a missing object is not fetched from a remote: operations that need it fail', { timeout: TIMEOUT_MS }, async () => {
  const errorByOperation = await useAllOperations(false, () => {
    addConfig(
      ['core.repositoryFormatVersion', '1'],
      ['extensions.partialClone', 'evil'],
      ['remote.evil.promisor', 'true'],
      ['remote.evil.url', `ext::${writeProgram('remote')}`],
      ['protocol.ext.allow', 'always'],
      ['core.sshCommand', writeProgram('ssh')],
    )
    const object = repository.git('rev-parse', `${base}:a.txt`)
    rmSync(join(gitDir(), 'objects', object.slice(0, 2), object.slice(2)), { force: true })
  })
  const missing = expect.stringContaining('unable to read sha1 file of a.txt')
  expect([listProgramsThatRan(), errorByOperation]).toEqual([[], { addWorktree: missing, resetTo: missing }])
})

test('git does not run in a submodule that an agent has made up', { timeout: TIMEOUT_MS }, async () => {
  const innerRepository = Repository.make(join(contained.dir, 'inner'), contained.dir)
  const commit = innerRepository.commit({ 'i.txt': 'i\n' })
  repository.git('update-index', '--add', '--cacheinfo', `160000,${commit},sub`)
  repository.git('commit', '-q', '-m', 'a submodule')
  base = repository.git('rev-parse', 'HEAD')
  innerRepository.git('config', 'filter.x.clean', writeProgram('clean'))
  innerRepository.git('config', 'core.fsmonitor', writeProgram('fsmonitor'))
  writeFileSync(join(innerRepository.dir, '.git', 'info', 'attributes'), '* filter=x\n')
  const errorByOperation = await useAllOperations(false, () => {
    for (const n of [1, 2]) {
      cpSync(innerRepository.dir, join(member(n, false).dir, 'sub'), { recursive: true })
      repository.write({ 'sub/i.txt': 'changed\n' }, member(n, false).dir)
    }
  })
  expect([listProgramsThatRan(), errorByOperation]).toEqual([[], {}])
})

describe('a .git that git did not write', () => {
  let victim: Repository
  let stateBefore: unknown
  const readState = (): unknown => [
    gitBytes(victim),
    filesOf(victim.dir),
    victim.git('for-each-ref'),
    victim.git('worktree', 'list', '--porcelain'),
  ]
  const memberDir = (): string => member(1, false).dir
  const makeHostileGit = (hostileDir: string): void => {
    const attackerRepository = Repository.make(hostileDir, contained.dir)
    attackerRepository.commit({ 'e.txt': 'e' })
    attackerRepository.git('config', 'filter.x.clean', writeProgram('clean'))
    attackerRepository.git('config', 'filter.x.smudge', writeProgram('smudge'))
    writeFileSync(join(hostileDir, '.git', 'info', 'attributes'), '* filter=x\n')
  }

  beforeEach(() => {
    victim = Repository.make(join(contained.dir, 'victim'), contained.dir)
    victim.commit({ 'precious.txt': 'precious\n' })
    victim.git('worktree', 'add', '-q', '-b', 'other', join(contained.dir, 'elsewhere'))
    victim.write({ 'mine.txt': 'not committed', 'precious.txt': 'changed' })
    stateBefore = readState()
  })

  const REPLACED: readonly [string, () => void][] = [
    ['is gone', () => rmSync(join(memberDir(), '.git'))],
    [
      'names a directory in the worktree',
      () => {
        makeHostileGit(join(memberDir(), 'in'))
        renameSync(join(memberDir(), 'in', '.git'), join(memberDir(), 'evil'))
        writeFileSync(join(memberDir(), '.git'), 'gitdir: evil\n')
      },
    ],
    [
      'is a repository of its own',
      () => {
        rmSync(join(memberDir(), '.git'))
        makeHostileGit(memberDir())
      },
    ],
    [
      'is a link to a repository',
      () => {
        makeHostileGit(join(contained.dir, 'e'))
        rmSync(join(memberDir(), '.git'))
        symlinkSync(join(contained.dir, 'e', '.git'), join(memberDir(), '.git'))
      },
    ],
    [
      'is a link to the file that git wrote',
      () => {
        cpSync(join(memberDir(), '.git'), join(contained.dir, 'moved'))
        rmSync(join(memberDir(), '.git'))
        symlinkSync(join(contained.dir, 'moved'), join(memberDir(), '.git'))
      },
    ],
    ['names a repository of the user', () => writeFileSync(join(memberDir(), '.git'), `gitdir: ${join(victim.dir, '.git')}\n`)],
    [
      'names a worktree of another repository',
      () => writeFileSync(join(memberDir(), '.git'), `gitdir: ${join(victim.dir, '.git', 'worktrees', 'elsewhere')}\n`),
    ],
    [
      'names another worktree of the same repository',
      () => writeFileSync(join(memberDir(), '.git'), `gitdir: ${join(gitDir(), 'worktrees', '2')}\n`),
    ],
  ]

  test.each(REPLACED)('if it %s, all files stay unchanged, and each operation fails', { timeout: TIMEOUT_MS }, async (_, attack) => {
    await addMemberWorktree(1, true)
    await addMemberWorktree(2, true)
    changeFiles(memberDir(), 'first')
    attack()
    const files = filesOf(memberDir(), () => false)
    const one = member(1, true)
    const message = /(is not the file that git wrote there|has no \.git any more), so its files stay where they are: /
    const jobs = [
      () => commitForReview(git, one, 'refs/reeve/review/fix/one'),
      () => commitTask(git, one, { base, crew: CREW, message: 'first\n', mayCommit: true }),
      () => salvageFiles(git, one, SALVAGE),
      () => handOver(git, { from: one, to: member(2, true), ref: 'refs/reeve/handover/x', salvage: SALVAGE }),
      () => resetTo(git, one, base, SALVAGE),
      () => removeWorktree(git, { ...one, uuid: PROCESS_UUID }),
    ]
    for (const job of jobs) await expect(job()).rejects.toThrow(message)
    await expect(
      removeWorktree(git, { dir: memberDir(), uuid: PROCESS_UUID, branch: null, env: repository.env }),
      'of an unknown process',
    ).rejects.toThrow(/not a worktree|not the file that git wrote/)
    expect([listProgramsThatRan(), filesOf(memberDir(), () => false), readState()]).toEqual([[], files, stateBefore])
  })

  test('the repository and the work tree are those of the process, in spite of git configuration', { timeout: TIMEOUT_MS }, async () => {
    const errorByOperation = await useAllOperations(false, () => {
      addConfig(['core.repositoryFormatVersion', '1'], ['extensions.worktreeConfig', 'true'], ['core.worktree', victim.dir])
      writeFileSync(join(gitDir(), 'worktrees', '1', 'config.worktree'), `[core]\n\tworktree = ${victim.dir}\n`)
      writeFileSync(join(gitDir(), 'worktrees', '1', 'commondir'), `${join(victim.dir, '.git')}\n`)
    })
    expect([listProgramsThatRan(), readState()]).toEqual([[], stateBefore])
    // The `commondir` of the first worktree names the other repository, so git finds no commit there.
    expect(Object.keys(errorByOperation)).toEqual(expect.arrayContaining(['commitForReview', 'commitTask', 'salvageFiles', 'resetTo']))
    expect(repository.git('for-each-ref', 'refs/reeve/salvage')).not.toBe('')
  })

  test('a search for a repository refuses files that look like a bare repository', async () => {
    const sourceDir = join(repository.dir, 'src')
    makeHostileGit(join(contained.dir, 'e'))
    for (const name of readdirSync(join(contained.dir, 'e', '.git')))
      cpSync(join(contained.dir, 'e', '.git', name), join(sourceDir, name), { recursive: true })
    appendFileSync(join(sourceDir, 'config'), `[core]\n\tbare = false\n\tworktree = ${sourceDir}\n`)
    await expect(findRepository(git, sourceDir, repository.env)).rejects.toThrow(/bareRepository/)
    expect(listProgramsThatRan()).toEqual([])
  })
})

test('a commit without programs equals that of git: line ends, modes, merges; a note reports the skipped hooks', async () => {
  addConfig(['core.autocrlf', 'input'])
  await addMemberWorktree(1, false)
  const one = member(1, false)
  cpSync(writeProgram('hook'), join(gitDir(), 'hooks', 'pre-commit'))
  repository.write({ 'crlf.txt': 'x\r\n' }, one.dir)
  writeFileSync(join(one.dir, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  const end = await commitTask(git, one, { base, crew: CREW, message: 'first\n', mayCommit: true })
  expect(end).toMatchObject({ type: 'committed', notes: ['its worker must not run programs, so pre-commit did not run'] })
  expect([
    repository.git('show', `${one.branch}:crlf.txt`),
    repository.git('ls-tree', one.branch, 'run.sh').slice(0, 6),
    repository.git('log', '-1', '--format=%an', one.branch),
    repository.gitIn(one.dir, 'status', '--porcelain'),
    listProgramsThatRan(),
  ]).toEqual(['x', '100755', 'T', '', []])
})

test("the user's identity comes from the configuration that the environment names", async () => {
  const env = Object.fromEntries(Object.entries(repository.env).filter(([name]) => !name.startsWith('GIT_')))
  writeFileSync(join(contained.dir, 'mine'), '[user]\n\tname = Own\n\temail = own@example.org\n')
  await addMemberWorktree(1, false)
  changeFiles(member(1, false).dir, 'first')
  const end = await commitTask(
    git,
    { ...member(1, false), env: { ...env, GIT_CONFIG_GLOBAL: join(contained.dir, 'mine') } },
    { base, crew: CREW, message: 'first\n', mayCommit: true },
  )
  expect([end.type, repository.git('log', '-1', '--format=%an <%ae> %cn', member(1, false).branch)]).toEqual([
    'committed',
    'Own <own@example.org> Own',
  ])
})
