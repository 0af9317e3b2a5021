// The git jobs of a crew, with real git: preparation, commit, landing, handover, parking, salvage. Four workers land tasks while the
// user works in the same repository.
import { execFile } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CrewGit } from '../../../src/daemon/crew/jobs/git.ts'
import { KeyedQueue } from '../../../src/daemon/loop/keyed-queue.ts'
import { Git } from '../../../src/drivers/git/git.ts'
import { WorktreeError } from '../../../src/drivers/git/open-worktree.ts'
import { addWorktree } from '../../../src/drivers/git/worktree.ts'
import type { Task } from '../../../src/kernel/model/crew/crew.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import { openContainmentHarness, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { deep } from '../../support/deep.ts'
import { kernelSpec } from '../../support/kernel/world.ts'
import { Repository } from '../../support/git/repository.ts'
import { uuidOf } from '../../support/store/facts.ts'
import type { MergeMode } from '../../../src/kernel/model/crew/words.ts'

const CREW = 'reeve/fix'
/** The rounds of work, by the first letter of their tasks. Each worker does one task in each round. */
const ROUNDS = ['a', 'b'].slice(0, deep(1, 2))
/** the most commits of the user, who works at the same time */
const MOST_COMMITS = deep(25, Number.POSITIVE_INFINITY)

let contained: ContainmentHarness
let repository: Repository
let base: string
let git: CrewGit
let merge: MergeMode
let openCount = 0
/** the current row of the crew */
let tasks: Task[]

beforeEach(async () => {
  contained = await openContainmentHarness()
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  base = repository.commit({ '.gitattributes': 'log.txt merge=union\n', 'log.txt': '', 'main.txt': 'm\n' })
  git = new CrewGit({
    containments: contained.manager,
    tmpDir: contained.dir,
    newUuid: () => uuidOf(1_000 + (openCount += 1)),
    queue: new KeyedQueue(),
    worktrees: join(contained.dir, 'w'),
  })
  merge = 'auto'
  tasks = []
})

afterEach(() => contained[Symbol.asyncDispose]())

/** The row of the crew, with the fields that jobs read. */
function readCrewRow(): Process {
  const spec = {
    coordinator: 'engine',
    gate: 'auto',
    merge,
    reviews: true,
    maxAttempts: 3,
    maxWorkers: 4,
    staff: [],
    git: { repository: join(repository.dir, '.git'), base, branch: CREW },
    handOver: null,
    stay: false,
    roles: {},
  } as const
  return {
    uuid: uuidOf(1),
    pid: 1,
    spec: { ...kernelSpec({ env: repository.env, driver: 'crew' }), crew: spec },
    crew: { tasks, members: [] },
    life: { state: 'ready' },
    clock: { exitedAt: null },
  } as unknown as Process
}

/** Adds a task, or changes it. */
function setTask(id: string, changes: Partial<Task> = {}): void {
  tasks = [
    ...tasks.filter((one) => one.id !== id),
    {
      id,
      title: `do ${id}`,
      needs: [],
      base: null,
      commit: null,
      merged: null,
      implementer: 'worker-1',
      implementers: [],
      reviewer: 'worker-2',
      times: { added: 0, started: null, ended: tasks.length },
      ...tasks.find((one) => one.id === id),
      ...changes,
    } as unknown as Task,
  ]
}

async function addWorker(n: number): Promise<Process & { readonly dir: string }> {
  const plan = await git.planMemberBranch(readCrewRow(), `worker-${n}`)
  if (!plan) throw new Error('it has a repository')
  const worktree = { repository: join(repository.dir, '.git'), dir: join(contained.dir, 'w', String(n)), ...plan }
  await using own = new Git(() => contained.open('group'))
  await addWorktree(own, { ...worktree, env: repository.env })
  return {
    uuid: uuidOf(10 + n),
    files: { ...worktree },
    spec: { ...kernelSpec({ env: repository.env }), worktree, member: { crew: uuidOf(1), id: `worker-${n}`, role: 'generic' } },
    dir: worktree.dir,
  } as unknown as Process & { readonly dir: string }
}

/** Takes a task from the queue to done, as its worker does. */
async function workOnTask(member: Process & { readonly dir: string }, id: string, needs: readonly string[] = []): Promise<void> {
  setTask(id, { needs })
  const { base: taskBase, salvaged } = await git.prepare({ crew: readCrewRow(), member, task: id })
  expect(salvaged).toBe(null)
  setTask(id, { base: taskBase })
  writeFileSync(join(member.dir, `${id}.txt`), `${id}\n`)
  appendFileSync(join(member.dir, 'log.txt'), `${id}\n`)
  const view = await git.brief({ crew: readCrewRow(), member, task: id })
  expect(repository.git('show', `${view.head}:${id}.txt`)).toBe(id)
  const end = await git.commit({ crew: readCrewRow(), member, task: id }, { base: taskBase, force: true })
  if (end.type !== 'committed') throw new Error(`${id}: ${end.type}`)
  setTask(id, { commit: end.commit })
  if (merge === 'leave') return
  await landTask(member, id, end.commit)
}

/** Several tasks land at the same time here; in a crew only one does. */
async function landTask(member: Process, id: string, commit: string): Promise<void> {
  const mergeAnswer = await git.merge({ crew: readCrewRow(), member, task: id }, commit)
  if (mergeAnswer.type !== 'candidate') throw new Error(`${id}: ${JSON.stringify(mergeAnswer)}`)
  const merged = await git.land(
    { crew: readCrewRow(), member, task: id },
    { commit, candidate: mergeAnswer.commit, head: mergeAnswer.head },
  )
  if (merged.type === 'moved') return landTask(member, id, commit)
  if (merged.type !== 'merged') throw new Error(`${id}: ${JSON.stringify(merged)}`)
  setTask(id, { merged: merged.commit })
}

const readRefs = (...patterns: string[]): string[] =>
  repository
    .git('for-each-ref', '--format=%(refname:short)', ...patterns)
    .split('\n')
    .filter((one) => one !== '')

test('four workers land their tasks while the user commits in the same repository', { timeout: 300_000 }, async () => {
  let isOver = false
  const workAsUser = async (): Promise<number> => {
    const run = (...args: string[]) => promisify(execFile)('git', args, { cwd: repository.dir, env: repository.env })
    let commits = 0
    while ((!isOver && commits < MOST_COMMITS) || commits === 0) {
      commits += 1
      writeFileSync(join(repository.dir, 'main.txt'), `${commits}\n`)
      await run('commit', '-q', '-a', '-m', `by the user ${commits}`)
      await run('status', '--porcelain')
      await run('gc', '-q', '--auto')
      await run('pack-refs', '--all')
    }
    return commits
  }
  const members = await Promise.all([1, 2, 3, 4].map(addWorker))
  const work = Promise.all(
    members.map(async (member, index) => {
      for (const round of ROUNDS) await workOnTask(member, `${round}${index + 1}`)
    }),
  ).finally(() => {
    isOver = true
  })
  const [commits] = await Promise.all([workAsUser(), work])
  const ids = ROUNDS.flatMap((round) => [1, 2, 3, 4].map((n) => `${round}${n}`))
  expect(repository.git('show', `${CREW}:log.txt`).split('\n').toSorted()).toEqual(ids)
  for (const id of ids) expect(repository.git('show', `${CREW}:${id}.txt`)).toBe(id)
  expect(repository.git('log', '--format=%s', '--no-merges', `${base}..${CREW}`).split('\n').toSorted()).toEqual(
    ids.map((id) => `do ${id}`),
  )
  expect(
    repository.git('log', '-1', '--format=%(trailers:key=Reeve-Task,valueonly)%(trailers:key=Reeve-Worker,valueonly)', '--no-merges', CREW),
  ).toMatch(/^[ab]\d\nworker-1$/)
  expect([
    repository.git('rev-list', '--count', `${base}..main`),
    repository.git('status', '--porcelain'),
    repository.git('symbolic-ref', '--short', 'HEAD'),
  ]).toEqual([String(commits), '', 'main'])
  expect([readRefs('refs/reeve'), readRefs('refs/heads')]).toEqual([
    [],
    ['main', CREW, ...members.map((_, index) => `${CREW}.worker-${index + 1}`)],
  ])
})

test("a crew's branch that is deleted before a commit or a merge is created again at the last merge; a landing without the branch is refused", async () => {
  const [firstWorker, secondWorker] = [await addWorker(1), await addWorker(2)]
  setTask('b')
  const { base: taskBase } = await git.prepare({ crew: readCrewRow(), member: secondWorker, task: 'b' })
  setTask('b', { base: taskBase })
  await workOnTask(firstWorker, 'a')
  const { merged } = tasks.find(({ id }) => id === 'a') ?? {}
  const deleteBranch = (): string => repository.git('update-ref', '-d', `refs/heads/${CREW}`)
  const jobTarget = { crew: readCrewRow(), member: secondWorker, task: 'b' }
  const readHead = (): string => repository.git('rev-parse', CREW)
  writeFileSync(join(secondWorker.dir, 'b.txt'), 'b\n')
  deleteBranch()
  const end = await git.commit({ ...jobTarget, crew: readCrewRow() }, { base: taskBase, force: true })
  if (end.type !== 'committed') throw new Error(end.type)
  expect(readHead()).toBe(merged)
  deleteBranch()
  const mergeAnswer = await git.merge({ ...jobTarget, crew: readCrewRow() }, end.commit)
  if (mergeAnswer.type !== 'candidate') throw new Error(mergeAnswer.type)
  expect([readHead(), mergeAnswer.head]).toEqual([merged, merged])
  deleteBranch()
  expect(
    await git.land({ ...jobTarget, crew: readCrewRow() }, { commit: end.commit, candidate: mergeAnswer.commit, head: mergeAnswer.head }),
  ).toEqual({
    type: 'moved',
  })
})

test("a worker whose HEAD is older than the base of its task has changed nothing, even if the crew's branch is gone", async () => {
  const member = await addWorker(1)
  setTask('a')
  await workOnTask(member, 'a')
  setTask('b')
  const { base: taskBase } = await git.prepare({ crew: readCrewRow(), member, task: 'b' })
  repository.gitIn(member.dir, 'checkout', '-q', '--detach', base)
  repository.git('update-ref', '-d', `refs/heads/${CREW}`)
  expect(await git.commit({ crew: readCrewRow(), member, task: 'b' }, { base: taskBase, force: false })).toEqual({ type: 'nothing' })
})

test('with `leave` each task keeps a branch, from which dependent tasks continue', async () => {
  merge = 'leave'
  const [firstWorker, secondWorker] = [await addWorker(1), await addWorker(2)]
  await workOnTask(firstWorker, 'lexer')
  await workOnTask(secondWorker, 'docs')
  await workOnTask(firstWorker, 'parser', ['lexer', 'docs'])
  expect(readRefs('refs/heads')).toEqual([
    'main',
    CREW,
    ...['docs', 'lexer', 'parser', 'worker-1', 'worker-2'].map((name) => `${CREW}.${name}`),
  ])
  expect(repository.git('ls-tree', '--name-only', `${CREW}.parser`)).toBe(
    '.gitattributes\ndocs.txt\nlexer.txt\nlog.txt\nmain.txt\nparser.txt',
  )
  expect([repository.git('rev-parse', CREW), readRefs('refs/reeve/salvage')]).toEqual([base, []])
  setTask('empty', { needs: ['parser', 'docs'] })
  await git.prepare({ crew: readCrewRow(), member: secondWorker, task: 'empty' })
  setTask('other', { needs: ['lexer', 'docs'] })
  await git.prepare({ crew: readCrewRow(), member: secondWorker, task: 'other' })
  expect(await git.reset({ crew: readCrewRow(), member: secondWorker, task: 'other' }), 'the joined base of a task is not salvaged').toBe(
    null,
  )
  const leftovers = await git.findLeftovers(readCrewRow())
  expect(leftovers).toMatchObject({ head: base, commits: 0, taken: true, salvaged: [] })
  expect(leftovers?.unmerged.map(({ name, commits }) => `${name} ${commits}`).toSorted()).toEqual(
    ['docs 1', 'lexer 1', 'parser 4', 'worker-1 4'].map((entry) => `${CREW}.${entry}`),
  )
})

test('a successor continues with the files, from the base of its task', async () => {
  const [firstWorker, secondWorker] = [await addWorker(1), await addWorker(2)]
  await workOnTask(firstWorker, 'first')
  setTask('second')
  const { base: taskBase } = await git.prepare({ crew: readCrewRow(), member: firstWorker, task: 'second' })
  setTask('second', { base: taskBase })
  writeFileSync(join(firstWorker.dir, 'half.txt'), 'half\n')
  await workOnTask(secondWorker, 'other')
  expect(await git.prepare({ crew: readCrewRow(), member: secondWorker, task: 'second' }, { from: firstWorker })).toEqual({
    base: taskBase,
    salvaged: null,
  })
  expect(readFileSync(join(secondWorker.dir, 'half.txt'), 'utf8')).toBe('half\n')
  expect(await git.commit({ crew: readCrewRow(), member: secondWorker, task: 'second' }, { base: taskBase, force: true })).toMatchObject({
    type: 'committed',
    commits: 1,
  })
  expect(repository.git('diff', '--name-only', `${taskBase}`, `${CREW}.second`)).toBe('half.txt')
  setTask('second', { implementers: ['worker-1', 'worker-2'] })
  setTask('third', { implementers: ['worker-1', 'worker-2'] })
  expect(
    await git.prepare({ crew: readCrewRow(), member: secondWorker, task: 'third' }, { from: firstWorker }),
    'a later task gets no files of the old worker',
  ).toEqual({
    base: repository.git('rev-parse', CREW),
    salvaged: null,
  })
  expect(existsSync(join(secondWorker.dir, 'half.txt'))).toBe(false)
})

test('the reported files of a lost worker are given to another, if a ref has them; a successor without files begins again', async () => {
  const [firstWorker, secondWorker] = [await addWorker(1), await addWorker(2)]
  setTask('first')
  const { base: taskBase } = await git.prepare({ crew: readCrewRow(), member: firstWorker, task: 'first' })
  setTask('first', { base: taskBase })
  writeFileSync(join(firstWorker.dir, 'new.txt'), 'new\n')
  rmSync(join(firstWorker.dir, '.git'))
  await expect(git.brief({ crew: readCrewRow(), member: firstWorker, task: 'first' })).rejects.toThrow(WorktreeError)
  const salvaged = await git.salvage({ crew: readCrewRow(), member: firstWorker, task: 'first' })
  setTask('first', { salvaged, base: null })
  await workOnTask(secondWorker, 'other')
  expect(await git.prepare({ crew: readCrewRow(), member: secondWorker, task: 'first' }, { keeps: 'salvage' })).toEqual({
    base: taskBase,
    kept: salvaged,
    salvaged: null,
  })
  expect(repository.git('-C', secondWorker.dir, 'status', '--porcelain')).toBe('?? new.txt')
  await git.brief({ crew: readCrewRow(), member: secondWorker, task: 'first' })
  rmSync(secondWorker.dir, { recursive: true })
  const thirdWorker = await addWorker(3)
  expect(await git.salvage({ crew: readCrewRow(), member: secondWorker, task: 'first' })).toBeNull()
  expect(await git.prepare({ crew: readCrewRow(), member: thirdWorker, task: 'first' }, { keeps: 'review' })).toMatchObject({
    base: taskBase,
    kept: 'refs/reeve/review/fix/first',
  })
  expect(readFileSync(join(thirdWorker.dir, 'new.txt'), 'utf8')).toBe('new\n')
  setTask('first', { implementers: ['worker-2', 'worker-4'] })
  const fourthWorker = await addWorker(4)
  expect(await git.prepare({ crew: readCrewRow(), member: fourthWorker, task: 'first' }, { from: secondWorker })).toMatchObject({
    without: `the worktree ${secondWorker.dir} is gone`,
  })
})

test('files that wait for the user stay on the review ref during another task of the worker, and return for the commit', async () => {
  const member = await addWorker(1)
  setTask('first')
  const { base: taskBase } = await git.prepare({ crew: readCrewRow(), member, task: 'first' })
  setTask('first', { base: taskBase })
  writeFileSync(join(member.dir, 'new.txt'), 'new\n')
  await git.park({ crew: readCrewRow(), member, task: 'first' })
  setTask('first', { parked: true })
  await workOnTask(member, 'other')
  expect(existsSync(join(member.dir, 'new.txt'))).toBe(false)
  expect(repository.git('for-each-ref', 'refs/reeve/salvage'), 'only the review ref has the files').toBe('')
  const { head } = await git.brief({ crew: readCrewRow(), member, task: 'first' })
  expect(repository.git('show', `${head}:new.txt`)).toBe('new')
  setTask('first', { parked: false })
  expect(await git.prepare({ crew: readCrewRow(), member, task: 'first' }, { keeps: 'review' })).toMatchObject({
    base: taskBase,
    salvaged: null,
  })
  expect(readFileSync(join(member.dir, 'new.txt'), 'utf8')).toBe('new\n')
  expect(await git.commit({ crew: readCrewRow(), member, task: 'first' }, { base: taskBase, force: true })).toMatchObject({
    type: 'committed',
    commits: 1,
  })
  expect(repository.git('diff', '--name-only', `${taskBase}`, `${CREW}.first`)).toBe('new.txt')
})

test('commits before a retry do not count for it, and are not lost', async () => {
  const member = await addWorker(1)
  setTask('t')
  const { base: taskBase } = await git.prepare({ crew: readCrewRow(), member, task: 't' })
  writeFileSync(join(member.dir, 'new.txt'), 'n\n')
  repository.gitIn(member.dir, 'add', '-A')
  repository.gitIn(member.dir, 'commit', '-q', '-m', 'a try that failed')
  const secondPreparation = await git.prepare({ crew: readCrewRow(), member, task: 't' })
  expect(secondPreparation).toEqual({ base: taskBase, salvaged: 'refs/reeve/salvage/fix/worker-1-1' })
  expect(await git.commit({ crew: readCrewRow(), member, task: 't' }, { base: taskBase, force: true })).toEqual({ type: 'nothing' })
  expect(repository.git('show', 'refs/reeve/salvage/fix/worker-1-1:new.txt')).toBe('n')
})

test('a cancel keeps all files on a ref and resets the worktree; a retired worker keeps its files', async () => {
  const member = await addWorker(1)
  setTask('t')
  await git.prepare({ crew: readCrewRow(), member, task: 't' })
  writeFileSync(join(member.dir, 'new.txt'), 'n\n')
  expect(await git.salvage({ crew: readCrewRow(), member, task: 't' })).toBe('refs/reeve/salvage/fix/worker-1-1')
  expect(existsSync(join(member.dir, 'new.txt'))).toBe(true)
  expect(await git.reset({ crew: readCrewRow(), member, task: 't' }), 'the same ref').toBe('refs/reeve/salvage/fix/worker-1-1')
  expect([existsSync(join(member.dir, 'new.txt')), await git.reset({ crew: readCrewRow(), member, task: 't' })]).toEqual([false, null])
  expect((await git.findLeftovers(readCrewRow()))?.salvaged).toMatchObject([
    { ref: 'refs/reeve/salvage/fix/worker-1-1', subject: 'reeve: what worker-1 left of t' },
  ])
})

test('the working directory of a worker stays while its files change, even if no commit has it', async () => {
  const [firstWorker, secondWorker] = [await addWorker(1), await addWorker(2)]
  const cwd = join(firstWorker.dir, 'new', 'place')
  const member = { ...firstWorker, spec: { ...firstWorker.spec, cwd } }
  mkdirSync(cwd, { recursive: true })
  const { ino } = statSync(cwd)
  await workOnTask(member, 'first')
  await workOnTask(secondWorker, 'second')
  setTask('third')
  writeFileSync(join(cwd, 'new.txt'), 'n\n')
  writeFileSync(join(firstWorker.dir, 'other.txt'), 'o\n')
  await git.prepare({ crew: readCrewRow(), member, task: 'third' })
  expect([
    statSync(cwd).ino,
    readdirSync(cwd),
    existsSync(join(firstWorker.dir, 'other.txt')),
    existsSync(join(firstWorker.dir, 'second.txt')),
  ]).toEqual([ino, [], false, true])
  writeFileSync(join(cwd, 'new.txt'), 'n\n')
  repository.gitIn(firstWorker.dir, 'add', '-A')
  repository.gitIn(firstWorker.dir, 'commit', '-q', '-m', 'it is in a commit that goes')
  await git.reset({ crew: readCrewRow(), member, task: 'third' })
  expect([statSync(cwd).ino, readdirSync(cwd)]).toEqual([ino, []])
  rmSync(join(firstWorker.dir, 'new'), { recursive: true })
  await git.prepare({ crew: readCrewRow(), member, task: 'third' })
  expect(readdirSync(cwd), 'the removed directory exists again').toEqual([])
})

test('git does not run in the working directory of a worker if that is a link to another repository', async () => {
  const member = await addWorker(1)
  const outsideRepository = Repository.make(join(contained.dir, 'outside'), contained.dir)
  outsideRepository.commit({ 'a.txt': 'a\n' })
  writeFileSync(join(outsideRepository.dir, 'mine.txt'), 'm\n')
  setTask('t')
  symlinkSync(outsideRepository.dir, join(member.dir, 'link'))
  repository.gitIn(member.dir, 'add', '-A')
  repository.gitIn(member.dir, 'commit', '-q', '-m', 'a link')
  repository.git('branch', '-f', CREW, 'reeve/fix.worker-1')
  await git.prepare({ crew: readCrewRow(), member: { ...member, spec: { ...member.spec, cwd: join(member.dir, 'link') } }, task: 't' })
  expect([outsideRepository.git('status', '--porcelain'), repository.gitIn(member.dir, 'log', '-1', '--format=%s')]).toEqual([
    '?? mine.txt',
    'a link',
  ])
})

test('the review ref is deleted with the commit, even if there was nothing to commit', async () => {
  const member = await addWorker(1)
  setTask('t')
  const { base: taskBase } = await git.prepare({ crew: readCrewRow(), member, task: 't' })
  await git.brief({ crew: readCrewRow(), member, task: 't' })
  expect(readRefs('refs/reeve')).toEqual(['reeve/review/fix/t'])
  expect(await git.commit({ crew: readCrewRow(), member, task: 't' }, { base: taskBase, force: false })).toEqual({ type: 'nothing' })
  expect(readRefs('refs/reeve')).toEqual([])
})

test('a deleted branch is created again at the last merge; a crew without a repository has no jobs', async () => {
  const [firstWorker, secondWorker] = [await addWorker(1), await addWorker(2)]
  await workOnTask(firstWorker, 'first')
  repository.git('branch', '-q', '-D', CREW)
  await workOnTask(secondWorker, 'second')
  expect(repository.git('show', `${CREW}:log.txt`)).toBe('first\nsecond')
  const crewWithoutRepository = { ...readCrewRow(), spec: kernelSpec({ driver: 'crew' }) } as Process
  expect([
    await git.planMemberBranch(crewWithoutRepository, 'worker-1'),
    await git.prepare({ crew: crewWithoutRepository, member: firstWorker, task: 'first' }),
    await git.findLeftovers(crewWithoutRepository),
    await git.commit({ crew: crewWithoutRepository, member: firstWorker, task: 'first' }, { base: null, force: true }),
  ]).toEqual([null, { base: null, salvaged: null }, null, { type: 'nothing' }])
})

test('a repository that was moved away is reported by each job', async () => {
  const member = await addWorker(1)
  setTask('t', { commit: base })
  mkdirSync(join(contained.dir, 'elsewhere'))
  renameSync(repository.dir, join(contained.dir, 'elsewhere', 'repo'))
  const jobTarget = { crew: readCrewRow(), member, task: 't' }
  for (const job of [
    () => git.prepare(jobTarget),
    () => git.merge(jobTarget, base),
    () => git.reset(jobTarget),
    () => git.findLeftovers(readCrewRow()),
  ]) {
    await expect(job()).rejects.toThrow(`the repository ${repository.dir}/.git is gone: if it was moved, move it back`)
  }
})
