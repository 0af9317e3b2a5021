// Forks with the files of a step: a fork's worktree has what the origin's had when that step was over, whatever came later, and
// needs nothing of the origin any more.
import { existsSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProcessView, ResumeBody } from '../../src/api/views.ts'
import { runCli } from '../support/cli.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { Repository, filesOf } from '../support/repository.ts'

let daemon: LocalDaemon
let repository: Repository

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'a\n', 'gone-at-4.txt': 'x\n', 'sub/s.txt': 's\n' })
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const runs = (command: string): object => ({ text: '', tools: [{ name: 'bash', input: { command } }] })
const filesIn = (view: ProcessView): Record<string, string> => filesOf(view.worktree?.dir ?? '')
const text = (view: ProcessView, path: string): string => readFileSync(join(view.worktree?.dir ?? '', path), 'utf8')

/** Six steps; each changes a file in its own way. */
async function sixSteps(): Promise<ProcessView> {
  const { uuid } = await daemon.play([
    runs('echo 1 > a.txt'), runs('echo 2 > b.txt; chmod +x b.txt'), runs('echo 3 >> a.txt; mv sub/s.txt sub/renamed.txt; ln -s a.txt link'),
    runs('rm gone-at-4.txt link'), runs('git add -A && git -c user.name=x -c user.email=x commit -qm five'), runs('echo 6 > a.txt'), { text: 'done' }, { text: 'the fork is done' }, { text: 'done' },
  ], { cwd: repository.dir, worktree: true, name: 'six' })
  const view = await daemon.ended(uuid)
  expect([view.status, view.worktree?.recordedStep]).toEqual(['completed', 6])
  return view
}

async function fork(origin: ProcessView, body: ResumeBody = {}): Promise<{ view: ProcessView; note: string | undefined }> {
  const { process, note } = await daemon.resume(origin.uuid, { fork: true, withFiles: true, ...body })
  return { view: await daemon.ended(process.uuid), note }
}

const refused = async (ref: string, body: ResumeBody): Promise<string> => {
  const { status, body: answer } = await daemon.post(`/v1/processes/${ref}/resume`, { fork: true, ...body })
  return `${status} ${answer.error?.code} ${answer.error?.message}`
}

test('the worktree of a fork at step 3 of 6 has the files of step 3', async () => {
  const origin = await sixSteps()
  const before = filesIn(origin)
  const { view, note } = await fork(origin, { fromStep: 3, name: 'three' })
  expect([view.originUuid, view.originStep, view.worktree?.branch, note]).toEqual([origin.uuid, 3, 'reeve/three', expect.stringContaining('with the files of step 3')])
  // What its own steps, which are those of the origin from the fourth on, make of them is another matter: its first record is what it began with.
  const [first] = (await daemon.history(view.uuid)).filter((event) => event['fact'] === 'files.recorded')
  expect(first).toMatchObject({ step: 3, left: [] })
  const out = join(daemon.work, 'out')
  repository.git(`--git-dir=${join(daemon.paths.state, 'files', `${view.uuid}.git`)}`, 'worktree', 'add', '-q', out, String(first?.['commit']))
  expect(Object.keys(filesOf(out)).toSorted()).toEqual(['a.txt', 'b.txt', 'gone-at-4.txt', 'link', 'sub/renamed.txt'])
  expect([readFileSync(join(out, 'a.txt'), 'utf8'), filesOf(out)['b.txt']?.slice(0, 4), filesOf(out)['link']]).toEqual(['1\n3\n', 'run ', '-> a.txt'])
  expect(filesIn(origin), 'the origin is as it was').toEqual(before)
})

test('the command line says which files a fork begins with', async () => {
  const origin = await sixSteps()
  const { code, stderr } = await runCli(daemon.home, ['resume', '--fork', '--from-step', '3', '--with-files', '--name', 'three', 'six'])
  expect([code, stderr]).toEqual([0, expect.stringMatching(new RegExp(`forked from ${origin.uuid.slice(-8)}; with the files of step 3\n$`))])
  expect((await daemon.ended('three')).worktree).toMatchObject({ branch: 'reeve/three', base: repository.git('rev-parse', 'HEAD') })
})

test('a fork at each step has the files of that step, on top of what was checked out then', async () => {
  const origin = await sixSteps()
  const work = repository.gitIn(origin.worktree?.dir ?? '', 'rev-parse', 'HEAD')
  const base = repository.git('rev-parse', 'HEAD')
  const begun: unknown[] = []
  for (const fromStep of [0, 1, 2, 3, 4, 5, 6]) {
    // Its first record is made before a tool of its own can write.
    const { process } = await daemon.resume(origin.uuid, { fork: true, withFiles: true, fromStep })
    const event = await daemon.event(process.uuid, ({ fact }) => fact === 'files.recorded')
    const git = `--git-dir=${join(daemon.paths.state, 'files', `${process.uuid}.git`)}`
    const names = repository.gitIn(daemon.work, git, 'ls-tree', '-r', '--name-only', String(event['commit'])).split('\n').length
    begun.push([fromStep, event['head'] === work ? 'work' : event['head'] === base ? 'base' : event['head'], names, repository.gitIn(daemon.work, git, 'show', `${String(event['commit'])}:a.txt`)])
    await daemon.ended(process.uuid)
  }
  expect(begun).toEqual([[0, 'base', 3, 'a'], [1, 'base', 3, '1'], [2, 'base', 4, '1'], [3, 'base', 5, '1\n3'], [4, 'base', 3, '1\n3'], [5, 'work', 3, '1\n3'], [6, 'work', 3, '6']])
}, 60_000)

test('a step that only read has the files of the step before it, and the fork says which', async () => {
  const { uuid } = await daemon.play([runs('echo 1 > a.txt'), { text: '', tools: [{ name: 'read', input: { path: 'a.txt' } }] }, { text: 'done' }, { text: 'done' }], { cwd: repository.dir, worktree: true })
  const { note } = await fork(await daemon.ended(uuid), { fromStep: 2 })
  expect(note).toContain('with the files of step 1')
})

test('it goes on when its origin is removed, and so does a fork of it', async () => {
  const origin = await sixSteps()
  const { view: child } = await fork(origin, { message: 'and now' })
  await daemon.client.delete(`/v1/processes/${origin.uuid}`)
  expect(existsSync(origin.worktree?.dir ?? '')).toBe(false)
  const { view: grandchild } = await fork(child, { message: 'and now' })
  expect([text(child, 'a.txt'), text(grandchild, 'a.txt'), grandchild.originUuid]).toEqual(['6\n', '6\n', child.uuid])
  expect(await refused(child.uuid, { withFiles: true, fromStep: 2 })).toBe(`400 INVALID the files of step 2 were recorded by process ${origin.uuid}, and are not here: they go with that process, and no export has them`)
})

test('files of a fork from before it was forked are those of its origin', async () => {
  const { view: child } = await fork(await sixSteps(), { fromStep: 5 })
  const { process, note } = await daemon.resume(child.uuid, { fork: true, withFiles: true, fromStep: 2 })
  expect(note).toContain('with the files of step 2')
  const event = await daemon.event(process.uuid, ({ fact }) => fact === 'files.recorded')
  const git = `--git-dir=${join(daemon.paths.state, 'files', `${process.uuid}.git`)}`
  expect(repository.gitIn(daemon.work, git, 'ls-tree', '-r', '--name-only', String(event['commit']))).toBe('a.txt\nb.txt\ngone-at-4.txt\nsub/s.txt')
  await daemon.ended(process.uuid)
})

test('a worktree is never shared, and what is not recorded is not promised', async () => {
  const origin = await sixSteps()
  expect(await refused(origin.uuid, {})).toBe(`400 INVALID process ${origin.pid} has a worktree of its own, which a fork does not share: --with-files gives it one with the files of that step, --cwd DIR another directory`)
  expect(await refused(origin.uuid, { withFiles: true, cwd: repository.dir })).toBe('400 INVALID the files of a step come in a worktree of its own: --with-files and --cwd do not go together')
  const elsewhere = await daemon.resume(origin.uuid, { fork: true, cwd: repository.dir, message: 'more' })
  expect([elsewhere.process.cwd, elsewhere.process.worktree]).toEqual([repository.dir, null])
  await daemon.ended(elsewhere.process.uuid)
  const { uuid, pid } = await daemon.play([{ text: 'done' }], { cwd: repository.dir })
  await daemon.ended(uuid)
  expect(await refused(uuid, { withFiles: true })).toBe(`400 INVALID no files of process ${pid} are recorded: only those of \`reeve run --worktree\` are`)
  expect(readdirSync(join(daemon.paths.state, 'files'))).toEqual([`${origin.uuid}.git`])
})

test('a record that is damaged is refused, and leaves nothing', async () => {
  const origin = await sixSteps()
  rmSync(join(daemon.paths.state, 'files', `${origin.uuid}.git`, 'objects'), { recursive: true })
  expect(await refused(origin.uuid, { withFiles: true })).toMatch(/^400 INVALID the files of step 6 cannot be read: /)
  expect(readdirSync(join(daemon.paths.state, 'files'))).toEqual([`${origin.uuid}.git`])
})

test('a fork that has no repository to begin in leaves no record', async () => {
  const origin = await sixSteps()
  renameSync(repository.dir, `${repository.dir}-moved`)
  expect(await refused(origin.uuid, { withFiles: true })).toBe(`400 INVALID the repository ${join(repository.dir, '.git')} is gone`)
  expect(readdirSync(join(daemon.paths.state, 'files'))).toEqual([`${origin.uuid}.git`])
  renameSync(`${repository.dir}-moved`, repository.dir)
})

test('a fork with files works in its worktree, wherever its origin went', async () => {
  const { uuid } = await daemon.play([runs('echo 1 > a.txt'), { text: 'done' }, { text: 'elsewhere' }, { text: 'the fork' }], { cwd: repository.dir, worktree: true })
  await daemon.ended(uuid)
  await daemon.resume(uuid, { cwd: repository.dir, message: 'more' })
  const { view } = await fork(await daemon.ended(uuid), { message: 'and now' })
  expect([view.cwd, text(view, 'a.txt')]).toEqual([view.worktree?.dir, '1\n'])
})
