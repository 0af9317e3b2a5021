// Git jobs of a crew as they are asked for: four workers at a time, and a person who works in the same repository.
import { execFile } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CrewGit } from '../../src/daemon/crew-git.ts'
import { Lines } from '../../src/daemon/lines.ts'
import { Git } from '../../src/drivers/files/git.ts'
import { addWorktree } from '../../src/drivers/files/worktree.ts'
import type { Merge, Task } from '../../src/crew/types.ts'
import type { Process } from '../../src/kernel/types.ts'
import { newContained, type Contained } from '../support/contained.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import { Repository } from '../support/repository.ts'
import { uuidOf } from '../support/store-facts.ts'

const CREW = 'reeve/fix'

let contained: Contained
let repository: Repository
let base: string
let git: CrewGit
let merge: Merge
let opened = 0
/** the row of the crew, as it is now */
let tasks: Task[]

beforeEach(async () => {
  contained = await newContained()
  repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
  base = repository.commit({ '.gitattributes': 'log.txt merge=union\n', 'log.txt': '', 'main.txt': 'm\n' })
  git = new CrewGit({ container: contained.container, tmpDir: contained.dir, newUuid: () => uuidOf(1_000 + (opened += 1)), lines: new Lines() })
  merge = 'auto'
  tasks = []
})

afterEach(() => contained[Symbol.asyncDispose]())

/** What jobs look at: the kernel makes these rows. */
function crew(): Process {
  const spec = { coordinator: 'engine', gate: 'auto', merge, reviews: true, maxAttempts: 3, maxWorkers: 4, staff: [], git: { repository: join(repository.dir, '.git'), base, branch: CREW }, handOver: null, stay: false, roles: {} } as const
  return { uuid: uuidOf(1), pid: 1, spec: { ...kernelSpec({ env: repository.env, driver: 'crew' }), crew: spec }, crew: { tasks, members: [] } } as unknown as Process
}

function task(id: string, changes: Partial<Task> = {}): void {
  tasks = [...tasks.filter((one) => one.id !== id), { id, title: `do ${id}`, needs: [], base: null, commit: null, merged: null, implementer: 'worker-1', implementers: [], reviewer: 'worker-2', times: { added: 0, started: null, ended: tasks.length }, ...tasks.find((one) => one.id === id), ...changes } as unknown as Task]
}

async function worker(n: number): Promise<Process & { readonly dir: string }> {
  const place = await git.place(crew(), `worker-${n}`)
  if (!place) throw new Error('it has a repository')
  const worktree = { repository: join(repository.dir, '.git'), dir: join(contained.dir, 'w', String(n)), ...place }
  await using own = new Git(() => contained.open('group'))
  await addWorktree(own, { ...worktree, env: repository.env })
  return { uuid: uuidOf(10 + n), files: { ...worktree }, spec: { ...kernelSpec({ env: repository.env }), worktree, member: { crew: uuidOf(1), id: `worker-${n}`, role: 'generic' } }, dir: worktree.dir } as unknown as Process & { readonly dir: string }
}

/** From a queue to done, as its worker does it. */
async function through(member: Process & { readonly dir: string }, id: string, needs: readonly string[] = []): Promise<void> {
  task(id, { needs })
  const { base: at, salvaged } = await git.prepare({ crew: crew(), member, task: id }, null)
  expect(salvaged).toBe(null)
  task(id, { base: at })
  writeFileSync(join(member.dir, `${id}.txt`), `${id}\n`)
  appendFileSync(join(member.dir, 'log.txt'), `${id}\n`)
  const view = await git.brief({ crew: crew(), member, task: id })
  expect(repository.git('show', `${view.head}:${id}.txt`)).toBe(id)
  const end = await git.commit({ crew: crew(), member, task: id }, { base: at, force: true })
  if (end.type !== 'committed') throw new Error(`${id}: ${end.type}`)
  task(id, { commit: end.commit })
  if (merge === 'leave') return
  const merged = await git.merge({ crew: crew(), member, task: id }, end.commit)
  if (merged.type !== 'merged') throw new Error(`${id}: ${JSON.stringify(merged)}`)
  task(id, { merged: merged.commit })
}

const refs = (...patterns: string[]): string[] => repository.git('for-each-ref', '--format=%(refname:short)', ...patterns).split('\n').filter((one) => one !== '')

test('four workers and a person at the same time', { timeout: 120_000 }, async () => {
  let over = false
  const person = async (): Promise<number> => {
    const run = (...args: string[]) => promisify(execFile)('git', args, { cwd: repository.dir, env: repository.env })
    let commits = 0
    while (!over || commits === 0) {
      commits += 1
      writeFileSync(join(repository.dir, 'main.txt'), `${commits}\n`)
      await run('commit', '-q', '-a', '-m', `by a person ${commits}`)
      await run('status', '--porcelain')
      await run('gc', '-q', '--auto')
      await run('pack-refs', '--all')
    }
    return commits
  }
  const members = await Promise.all([1, 2, 3, 4].map(worker))
  const work = Promise.all(members.map(async (member, index) => {
    for (const round of ['a', 'b']) await through(member, `${round}${index + 1}`)
  })).finally(() => { over = true })
  const [commits] = await Promise.all([person(), work])
  const ids = ['a', 'b'].flatMap((round) => [1, 2, 3, 4].map((n) => `${round}${n}`))
  expect(repository.git('show', `${CREW}:log.txt`).split('\n').toSorted()).toEqual(ids)
  for (const id of ids) expect(repository.git('show', `${CREW}:${id}.txt`)).toBe(id)
  expect(repository.git('log', '--format=%s', '--no-merges', `${base}..${CREW}`).split('\n').toSorted()).toEqual(ids.map((id) => `do ${id}`))
  expect(repository.git('log', '-1', '--format=%(trailers:key=Reeve-Task,valueonly)%(trailers:key=Reeve-Worker,valueonly)', '--no-merges', CREW)).toMatch(/^[ab]\d\nworker-1$/)
  expect([repository.git('rev-list', '--count', `${base}..main`), repository.git('status', '--porcelain'), repository.git('symbolic-ref', '--short', 'HEAD')]).toEqual([String(commits), '', 'main'])
  expect([refs('refs/reeve'), refs('refs/heads')]).toEqual([[], ['main', CREW, ...members.map((_, index) => `${CREW}.worker-${index + 1}`)]])
})

test('with `leave` each task keeps a branch, and who needs it goes on from it', async () => {
  merge = 'leave'
  const [one, two] = [await worker(1), await worker(2)]
  await through(one, 'lexer')
  await through(two, 'docs')
  await through(one, 'parser', ['lexer', 'docs'])
  expect(refs('refs/heads')).toEqual(['main', CREW, ...['docs', 'lexer', 'parser', 'worker-1', 'worker-2'].map((name) => `${CREW}.${name}`)])
  expect(repository.git('ls-tree', '--name-only', `${CREW}.parser`)).toBe('.gitattributes\ndocs.txt\nlexer.txt\nlog.txt\nmain.txt\nparser.txt')
  expect([repository.git('rev-parse', CREW), refs('refs/reeve/salvage')]).toEqual([base, []])
  task('empty', { needs: ['parser', 'docs'] })
  await git.prepare({ crew: crew(), member: two, task: 'empty' }, null)
  task('other', { needs: ['lexer', 'docs'] })
  await git.prepare({ crew: crew(), member: two, task: 'other' }, null)
  expect(await git.reset({ crew: crew(), member: two, task: 'other' }), 'a beginning is no work').toBe(null)
  const left = await git.left(crew())
  expect(left).toMatchObject({ head: base, commits: 0, taken: true, salvaged: [] })
  expect(left?.unmerged.map(({ name, commits }) => `${name} ${commits}`).toSorted()).toEqual(['docs 1', 'lexer 1', 'parser 4', 'worker-1 4'].map((words) => `${CREW}.${words}`))
})

test('a successor goes on with the files, from where its task began', async () => {
  const [one, two] = [await worker(1), await worker(2)]
  await through(one, 'first')
  task('second')
  const { base: at } = await git.prepare({ crew: crew(), member: one, task: 'second' }, null)
  task('second', { base: at })
  writeFileSync(join(one.dir, 'half.txt'), 'half\n')
  await through(two, 'other')
  expect(await git.prepare({ crew: crew(), member: two, task: 'second' }, one)).toEqual({ base: at, salvaged: null })
  expect(readFileSync(join(two.dir, 'half.txt'), 'utf8')).toBe('half\n')
  expect(await git.commit({ crew: crew(), member: two, task: 'second' }, { base: at, force: true })).toMatchObject({ type: 'committed', commits: 1 })
  expect(repository.git('diff', '--name-only', `${at}`, `${CREW}.second`)).toBe('half.txt')
  task('second', { implementers: ['worker-1', 'worker-2'] })
  task('third', { implementers: ['worker-1', 'worker-2'] })
  expect(await git.prepare({ crew: crew(), member: two, task: 'third' }, one), 'a later task has nothing of it').toEqual({ base: repository.git('rev-parse', CREW), salvaged: null })
  expect(existsSync(join(two.dir, 'half.txt'))).toBe(false)
})

test('H2: what was committed before a retry is no work of it, and is not lost', async () => {
  const one = await worker(1)
  task('t')
  const { base: at } = await git.prepare({ crew: crew(), member: one, task: 't' }, null)
  writeFileSync(join(one.dir, 'new.txt'), 'n\n')
  repository.gitIn(one.dir, 'add', '-A')
  repository.gitIn(one.dir, 'commit', '-q', '-m', 'a try that failed')
  const again = await git.prepare({ crew: crew(), member: one, task: 't' }, null)
  expect(again).toEqual({ base: at, salvaged: 'refs/reeve/salvage/fix/worker-1-1' })
  expect(await git.commit({ crew: crew(), member: one, task: 't' }, { base: at, force: true })).toEqual({ type: 'nothing' })
  expect(repository.git('show', 'refs/reeve/salvage/fix/worker-1-1:new.txt')).toBe('n')
})

test('a cancel puts all of it on a ref, and the worktree is as before; who is gone keeps the files', async () => {
  const one = await worker(1)
  task('t')
  await git.prepare({ crew: crew(), member: one, task: 't' }, null)
  writeFileSync(join(one.dir, 'new.txt'), 'n\n')
  expect(await git.salvage({ crew: crew(), member: one, task: 't' })).toBe('refs/reeve/salvage/fix/worker-1-1')
  expect(existsSync(join(one.dir, 'new.txt'))).toBe(true)
  expect(await git.reset({ crew: crew(), member: one, task: 't' }), 'the same').toBe('refs/reeve/salvage/fix/worker-1-1')
  expect([existsSync(join(one.dir, 'new.txt')), await git.reset({ crew: crew(), member: one, task: 't' })]).toEqual([false, null])
  expect((await git.left(crew()))?.salvaged).toMatchObject([{ ref: 'refs/reeve/salvage/fix/worker-1-1', subject: 'reeve: what worker-1 left of t' }])
})

test('the directory of a process stays while its files change, also where no commit has it', async () => {
  const [one, two] = [await worker(1), await worker(2)]
  const cwd = join(one.dir, 'new', 'place')
  const member = { ...one, spec: { ...one.spec, cwd } }
  mkdirSync(cwd, { recursive: true })
  const { ino } = statSync(cwd)
  await through(member, 'first')
  await through(two, 'second')
  task('third')
  writeFileSync(join(cwd, 'new.txt'), 'n\n')
  writeFileSync(join(one.dir, 'other.txt'), 'o\n')
  await git.prepare({ crew: crew(), member, task: 'third' }, null)
  expect([statSync(cwd).ino, readdirSync(cwd), existsSync(join(one.dir, 'other.txt')), existsSync(join(one.dir, 'second.txt'))]).toEqual([ino, [], false, true])
  writeFileSync(join(cwd, 'new.txt'), 'n\n')
  repository.gitIn(one.dir, 'add', '-A')
  repository.gitIn(one.dir, 'commit', '-q', '-m', 'it is in a commit that goes')
  await git.reset({ crew: crew(), member, task: 'third' })
  expect([statSync(cwd).ino, readdirSync(cwd)]).toEqual([ino, []])
  rmSync(join(one.dir, 'new'), { recursive: true })
  await git.prepare({ crew: crew(), member, task: 'third' }, null)
  expect(readdirSync(cwd), 'somebody removed it').toEqual([])
})

test('a directory that is a link, or another repository, is no place for git to stand in', async () => {
  const one = await worker(1)
  const outside = Repository.make(join(contained.dir, 'outside'), contained.dir)
  outside.commit({ 'a.txt': 'a\n' })
  writeFileSync(join(outside.dir, 'mine.txt'), 'm\n')
  task('t')
  symlinkSync(outside.dir, join(one.dir, 'link'))
  repository.gitIn(one.dir, 'add', '-A')
  repository.gitIn(one.dir, 'commit', '-q', '-m', 'a link')
  repository.git('branch', '-f', CREW, 'reeve/fix.worker-1')
  await git.prepare({ crew: crew(), member: { ...one, spec: { ...one.spec, cwd: join(one.dir, 'link') } }, task: 't' }, null)
  expect([outside.git('status', '--porcelain'), repository.gitIn(one.dir, 'log', '-1', '--format=%s')]).toEqual(['?? mine.txt', 'a link'])
})

test('what was looked at is forgotten with the commit, also where there was nothing to commit', async () => {
  const one = await worker(1)
  task('t')
  const { base: at } = await git.prepare({ crew: crew(), member: one, task: 't' }, null)
  await git.brief({ crew: crew(), member: one, task: 't' })
  expect(refs('refs/reeve')).toEqual(['reeve/review/fix/t'])
  expect(await git.commit({ crew: crew(), member: one, task: 't' }, { base: at, force: false })).toEqual({ type: 'nothing' })
  expect(refs('refs/reeve')).toEqual([])
})

test('a branch that somebody deleted is made again where the last merge was; a crew without a repository has no jobs', async () => {
  const [one, two] = [await worker(1), await worker(2)]
  await through(one, 'first')
  repository.git('branch', '-q', '-D', CREW)
  await through(two, 'second')
  expect(repository.git('show', `${CREW}:log.txt`)).toBe('first\nsecond')
  const none = { ...crew(), spec: kernelSpec({ driver: 'crew' }) } as Process
  expect([await git.place(none, 'worker-1'), await git.prepare({ crew: none, member: one, task: 'first' }, null), await git.left(none), await git.commit({ crew: none, member: one, task: 'first' }, { base: null, force: true })]).toEqual([null, { base: null, salvaged: null }, null, { type: 'nothing' }])
})

test('a repository that was moved away is said by each job', async () => {
  const one = await worker(1)
  task('t', { commit: base })
  mkdirSync(join(contained.dir, 'elsewhere'))
  renameSync(repository.dir, join(contained.dir, 'elsewhere', 'repo'))
  const on = { crew: crew(), member: one, task: 't' }
  for (const job of [() => git.prepare(on, null), () => git.merge(on, base), () => git.reset(on), () => git.left(crew())]) {
    await expect(job()).rejects.toThrow(`the repository ${repository.dir}/.git is gone: if it was moved, move it back`)
  }
})
