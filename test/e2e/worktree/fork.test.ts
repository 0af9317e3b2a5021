// Forks with the files of a step. A fork's worktree has the origin's files after that step, and
// no longer needs the origin.
import { existsSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProcessView, ResumeBody } from '../../../src/api/views/process.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository, filesOf } from '../../support/git/repository.ts'

let daemon: LocalDaemon
let repository: Repository

/** A process that tests fork without changing it. */
let sixStepProcess: ProcessView

async function startOrigin(): Promise<void> {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'a\n', 'gone-at-4.txt': 'x\n', 'sub/s.txt': 's\n' })
  sixStepProcess = await runSixSteps()
}

async function stopDaemon(): Promise<void> {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
}

const bashStep = (command: string): object => ({ text: '', tools: [{ name: 'bash', input: { command } }] })
const filesIn = (view: ProcessView): Record<string, string> => filesOf(view.worktree?.dir ?? '')
const readFileOf = (view: ProcessView, path: string): string => readFileSync(join(view.worktree?.dir ?? '', path), 'utf8')

/** Runs a process of six steps; each changes a file in its own way. */
async function runSixSteps(): Promise<ProcessView> {
  const { uuid } = await daemon.spawnScripted(
    [
      bashStep('echo 1 > a.txt'),
      bashStep('echo 2 > b.txt; chmod +x b.txt'),
      bashStep('echo 3 >> a.txt; mv sub/s.txt sub/renamed.txt; ln -s a.txt link'),
      bashStep('rm gone-at-4.txt link'),
      bashStep('git add -A && git -c user.name=x -c user.email=x commit -qm five'),
      bashStep('echo 6 > a.txt'),
      { text: 'done' },
      { text: 'the fork is done' },
      { text: 'done' },
    ],
    { cwd: repository.dir, worktree: true, name: 'six' },
  )
  const view = await daemon.waitForEnd(uuid)
  expect([view.status, view.worktree?.recordedStep]).toEqual(['completed', 6])
  return view
}

async function fork(origin: ProcessView, body: ResumeBody = {}): Promise<{ view: ProcessView; note: string | undefined }> {
  const { process, note } = await daemon.resume(origin.uuid, { fork: true, withFiles: true, ...body })
  return { view: await daemon.waitForEnd(process.uuid), note }
}

const refusalOf = async (ref: string, body: ResumeBody): Promise<string> => {
  const { status, body: answer } = await daemon.post(`/v1/processes/${ref}/resume`, { fork: true, ...body })
  return `${status} ${answer.error?.code} ${answer.error?.message}`
}

describe('a fork', () => {
  beforeAll(startOrigin)
  afterAll(stopDaemon)

  test('the worktree of a fork at step 3 of 6 has the files of step 3', async () => {
    const origin = sixStepProcess
    const filesBefore = filesIn(origin)
    const { view, note } = await fork(origin, { fromStep: 3, name: 'three' })
    expect([view.originUuid, view.originStep, view.worktree?.branch, note]).toEqual([
      origin.uuid,
      3,
      'reeve/three',
      expect.stringContaining('with the files of step 3'),
    ])
    // The fork then repeats the origin's steps from the fourth on: only its first record has the initial files.
    const [first] = (await daemon.readHistory(view.uuid)).filter((event) => event['fact'] === 'files.recorded')
    expect(first).toMatchObject({ step: 3, left: [] })
    const outputDir = join(daemon.work, 'out')
    repository.git(
      `--git-dir=${join(daemon.paths.state, 'files', `${view.uuid}.git`)}`,
      'worktree',
      'add',
      '-q',
      outputDir,
      String(first?.['commit']),
    )
    expect(Object.keys(filesOf(outputDir)).toSorted()).toEqual(['a.txt', 'b.txt', 'gone-at-4.txt', 'link', 'sub/renamed.txt'])
    expect([readFileSync(join(outputDir, 'a.txt'), 'utf8'), filesOf(outputDir)['b.txt']?.slice(0, 4), filesOf(outputDir)['link']]).toEqual([
      '1\n3\n',
      'run ',
      '-> a.txt',
    ])
    expect(filesIn(origin), 'the origin is as it was').toEqual(filesBefore)
  })

  test('the command line names the step whose files a fork begins with', async () => {
    const origin = sixStepProcess
    const { code, stderr } = await runCli(daemon.home, [
      'resume',
      '-d',
      '--fork',
      '--from-step',
      '3',
      '--with-files',
      '--name',
      'told',
      'six',
    ])
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(new RegExp(`forked from ${origin.uuid.slice(-8)}; with the files of step 3\n$`)),
    ])
    expect((await daemon.waitForEnd('told')).worktree).toMatchObject({ branch: 'reeve/told', base: repository.git('rev-parse', 'HEAD') })
  })

  test('a fork at each step has the files of that step, on top of its checkout', async () => {
    const origin = sixStepProcess
    const work = repository.gitIn(origin.worktree?.dir ?? '', 'rev-parse', 'HEAD')
    const base = repository.git('rev-parse', 'HEAD')
    const records: unknown[] = []
    for (const fromStep of [0, 1, 2, 3, 4, 5, 6]) {
      // The fork's first record is made before a tool of its own can write.
      const { process } = await daemon.resume(origin.uuid, { fork: true, withFiles: true, fromStep })
      const event = await daemon.waitForEvent(process.uuid, ({ fact }) => fact === 'files.recorded')
      const git = `--git-dir=${join(daemon.paths.state, 'files', `${process.uuid}.git`)}`
      const names = repository.gitIn(daemon.work, git, 'ls-tree', '-r', '--name-only', String(event['commit'])).split('\n').length
      records.push([
        fromStep,
        event['head'] === work ? 'work' : event['head'] === base ? 'base' : event['head'],
        names,
        repository.gitIn(daemon.work, git, 'show', `${String(event['commit'])}:a.txt`),
      ])
      await daemon.waitForEnd(process.uuid)
    }
    expect(records).toEqual([
      [0, 'base', 3, 'a'],
      [1, 'base', 3, '1'],
      [2, 'base', 4, '1'],
      [3, 'base', 5, '1\n3'],
      [4, 'base', 3, '1\n3'],
      [5, 'work', 3, '1\n3'],
      [6, 'work', 3, '6'],
    ])
  })

  test('a step that only read has the files of the step before it, and the fork names that step', async () => {
    const { uuid } = await daemon.spawnScripted(
      [bashStep('echo 1 > a.txt'), { text: '', tools: [{ name: 'read', input: { path: 'a.txt' } }] }, { text: 'done' }, { text: 'done' }],
      { cwd: repository.dir, worktree: true },
    )
    const { note } = await fork(await daemon.waitForEnd(uuid), { fromStep: 2 })
    expect(note).toContain('with the files of step 1')
  })

  test('files of a fork from before the fork are those of its origin', async () => {
    const { view: child } = await fork(sixStepProcess, { fromStep: 5 })
    const { process, note } = await daemon.resume(child.uuid, { fork: true, withFiles: true, fromStep: 2 })
    expect(note).toContain('with the files of step 2')
    const event = await daemon.waitForEvent(process.uuid, ({ fact }) => fact === 'files.recorded')
    const git = `--git-dir=${join(daemon.paths.state, 'files', `${process.uuid}.git`)}`
    expect(repository.gitIn(daemon.work, git, 'ls-tree', '-r', '--name-only', String(event['commit']))).toBe(
      'a.txt\nb.txt\ngone-at-4.txt\nsub/s.txt',
    )
    await daemon.waitForEnd(process.uuid)
  })

  test('a fork with files works in its worktree, although its origin has changed directory', async () => {
    const { uuid } = await daemon.spawnScripted(
      [bashStep('echo 1 > a.txt'), { text: 'done' }, { text: 'elsewhere' }, { text: 'the fork' }],
      {
        cwd: repository.dir,
        worktree: true,
      },
    )
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { cwd: repository.dir, message: 'more' })
    const { view } = await fork(await daemon.waitForEnd(uuid), { message: 'and now' })
    expect([view.cwd, readFileOf(view, 'a.txt')]).toEqual([view.worktree?.dir, '1\n'])
  })

  test('the fork continues when its origin is removed, and so does a fork of it', async () => {
    const origin = sixStepProcess
    const { view: child } = await fork(origin, { message: 'and now' })
    await daemon.client.delete(`/v1/processes/${origin.uuid}`)
    expect(existsSync(origin.worktree?.dir ?? '')).toBe(false)
    const { view: grandchild } = await fork(child, { message: 'and now' })
    expect([readFileOf(child, 'a.txt'), readFileOf(grandchild, 'a.txt'), grandchild.originUuid]).toEqual(['6\n', '6\n', child.uuid])
    expect(await refusalOf(child.uuid, { withFiles: true, fromStep: 2 })).toBe(
      `400 INVALID the files of step 2 are missing: process ${origin.uuid} recorded them; they are removed with it, and exports do not contain them`,
    )
  })
})

describe('a refusal leaves the records unchanged', () => {
  beforeAll(startOrigin)
  afterAll(stopDaemon)

  test('for a shared worktree, and for missing records', async () => {
    const origin = sixStepProcess
    expect(await refusalOf(origin.uuid, {})).toBe(
      `400 INVALID process ${origin.pid} has a worktree of its own, which a fork does not share. Use --with-files for a new worktree with the files of that step, or --cwd DIR for another directory`,
    )
    expect(await refusalOf(origin.uuid, { withFiles: true, cwd: repository.dir })).toBe(
      '400 INVALID --with-files and --cwd exclude each other: the files of a step come in a new worktree',
    )
    const elsewhere = await daemon.resume(origin.uuid, { fork: true, cwd: repository.dir, message: 'more' })
    expect([elsewhere.process.cwd, elsewhere.process.worktree]).toEqual([repository.dir, null])
    await daemon.waitForEnd(elsewhere.process.uuid)
    const { uuid, pid } = await daemon.spawnScripted([{ text: 'done' }], { cwd: repository.dir })
    await daemon.waitForEnd(uuid)
    expect(await refusalOf(uuid, { withFiles: true })).toBe(
      `400 INVALID no files of process ${pid} are recorded: only those of \`reeve run --worktree\` are`,
    )
    expect(readdirSync(join(daemon.paths.state, 'files'))).toEqual([`${origin.uuid}.git`])
  })

  test('for a repository that is gone', async () => {
    const origin = sixStepProcess
    renameSync(repository.dir, `${repository.dir}-moved`)
    expect(await refusalOf(origin.uuid, { withFiles: true })).toBe(`400 INVALID the repository ${join(repository.dir, '.git')} is gone`)
    expect(readdirSync(join(daemon.paths.state, 'files'))).toEqual([`${origin.uuid}.git`])
    renameSync(`${repository.dir}-moved`, repository.dir)
  })

  test('for a damaged record', async () => {
    const origin = sixStepProcess
    rmSync(join(daemon.paths.state, 'files', `${origin.uuid}.git`, 'objects'), { recursive: true })
    expect(await refusalOf(origin.uuid, { withFiles: true })).toMatch(/^400 INVALID the files of step 6 cannot be read: /)
    expect(readdirSync(join(daemon.paths.state, 'files'))).toEqual([`${origin.uuid}.git`])
  })
})
