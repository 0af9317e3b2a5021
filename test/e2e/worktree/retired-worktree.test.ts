// A retired worker leaves only a ref with its files, or passes its files on to a successor. Its worktree is removed when its
// process has ended, at once or at the next start of the daemon.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessDiffView } from '../../../src/api/views/diff.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { CrewHome, makeTask } from '../../support/crew/crew-home.ts'

const TIMEOUT_MS = 300_000

let crew: CrewHome
beforeEach(async () => {
  crew = await CrewHome.make()
})
afterEach(() => crew[Symbol.asyncDispose]())

/** A worker that has done its task, and has uncommitted files. */
async function startIdleWorker(): Promise<{ readonly worker: ProcessView; readonly dir: string }> {
  await crew.up({
    coordinator: 'engine',
    reviews: false,
    stay: true,
    workers: { generic: { count: 1, model: CrewHome.model('worker') } },
    tasks: [makeTask('one')],
  })
  await crew.waitForFact('task.done')
  const worker = await crew.memberOf('one')
  const dir = worker.worktree?.dir ?? ''
  crew.repository.write({ 'notes.txt': 'dear' }, dir)
  return { worker, dir }
}

const retireWorker = (): Promise<unknown> =>
  crew.home.client.post('/v1/crews/team/commands', { type: 'retire_worker', member: 'worker-1', reason: 'enough' })
const readBranches = (): string => crew.repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')
const waitUntilRemoved = (dir: string): Promise<void> =>
  crew.waitUntil(() => !existsSync(dir) && readBranches() === 'main\nreeve/team', `${dir} and its branch are gone`)

const readSalvagedNotes = ({ uuid }: ProcessView): string => crew.repository.git('show', `refs/reeve/salvage/${uuid}:notes.txt`)

test(
  'uncommitted files are on a ref before the worktree is removed; its branch is merged, and removed too',
  { timeout: TIMEOUT_MS },
  async () => {
    const { worker, dir } = await startIdleWorker()
    await retireWorker()
    await waitUntilRemoved(dir)
    expect(readSalvagedNotes(worker)).toBe('dear')
    expect(await crew.home.view(worker.uuid)).toMatchObject({ status: 'retired' })
    expect(crew.repository.git('worktree', 'list').split('\n').length).toBe(1)
    const { of, files } = await crew.home.client.get<ProcessDiffView>(`/v1/processes/${worker.uuid}/diff`)
    expect([of, files.map(({ path }) => path)], 'a diff has the salvaged files').toEqual(['salvage', expect.arrayContaining(['notes.txt'])])
    crew.repository.git('config', 'user.name', 'Ann')
    crew.repository.git('config', 'user.email', 'ann@example.org')
    const merged = await runCli(crew.home.path, ['merge', String(worker.pid)], { cwd: crew.repository.dir })
    expect([merged.code, merged.stderr]).toEqual([0, expect.stringContaining('salvaged file')])
    expect(crew.repository.git('show', 'HEAD:notes.txt')).toBe('dear')
  },
)

test(
  'a worktree that was in use at its removal, or that a killed daemon left, is removed at the next start, and blocks no other',
  { timeout: TIMEOUT_MS },
  async () => {
    const { worker, dir } = await startIdleWorker()
    const { uuid } = await crew.home.spawn({ cwd: dir, argv: ['sleep', '600'], name: 'looks' })
    await retireWorker()
    await crew.waitUntil(async () => (await crew.home.view(worker.uuid)).status === 'retired', 'it has retired')
    await crew.home.kill()
    expect(existsSync(dir), 'a process works in it').toBe(true)
    await crew.home.start()
    await waitUntilRemoved(dir)
    expect((await crew.home.view(uuid)).status).toBe('interrupted')
    expect(readSalvagedNotes(worker)).toBe('dear')
    await crew.home.client.post('/v1/crews/team/commands', { type: 'add_task', id: 'two', text: 'Write two.txt with two.' })
    await crew.waitForFact('task.done', ({ task }) => task === 'two')
    expect(crew.repository.git('show', 'reeve/team:two.txt')).toBe('two.')
  },
)

describe('after a kill of the daemon between the removal of a worktree and that of its branch', () => {
  /** While a git holds this lock, no other git can remove the branch. */
  const lockOf = (branch: string): string => join(crew.repository.dir, '.git/refs/heads', `${branch}.lock`)
  async function killBetweenRemovals(branch: string, dir: string, remove: () => Promise<unknown>): Promise<void> {
    writeFileSync(lockOf(branch), '')
    const removal = remove().catch(() => null)
    await crew.waitUntil(() => !existsSync(dir), `${dir} is gone`)
    await crew.home.kill()
    await removal
    expect(readBranches()).toContain(branch)
    rmSync(lockOf(branch))
  }

  test('the next daemon removes the branch of a retired worker', { timeout: TIMEOUT_MS }, async () => {
    const { dir } = await startIdleWorker()
    await killBetweenRemovals('reeve/team.worker-1', dir, retireWorker)
    await crew.home.start()
    await waitUntilRemoved(dir)
    // The daemon removes its record after the branch.
    await crew.waitUntil(() => crew.leftIn('branches').length === 0, 'the record of the branch is gone')
  })

  test(
    'the next daemon removes the branch of a removed process, but no branch with commits of its own',
    { timeout: TIMEOUT_MS },
    async () => {
      crew.repository.commit({ 'a.txt': 'a' })
      await crew.home.start()
      const processes = await Promise.all(
        ['one', 'two'].map((name) => crew.home.spawn({ cwd: crew.repository.dir, worktree: true, name, argv: ['true'] })),
      )
      for (const { uuid } of processes) await crew.home.waitForEnd(uuid)
      const [one = '', two = ''] = processes.map(({ worktree }) => worktree?.dir ?? '')
      crew.repository.gitIn(two, 'commit', '-q', '--allow-empty', '-m', 'own')
      await killBetweenRemovals('reeve/one', one, () => crew.home.client.delete(`/v1/processes/${processes[0]?.uuid}`))
      await crew.home.start()
      await crew.home.client.delete(`/v1/processes/${processes[1]?.uuid}`)
      await crew.waitUntil(() => readBranches() === 'main\nreeve/two', 'the branch of the first is gone')
      await crew.home.stop()
      expect([crew.leftIn('branches'), crew.leftIn('worktrees')]).toEqual([[], []])
    },
  )
})

test(
  'a worker is replaced in the middle of its work: the successor has its files, and nothing is salvaged',
  { timeout: TIMEOUT_MS },
  async () => {
    crew.hold('task', 'one')
    await crew.up({
      coordinator: 'engine',
      reviews: false,
      workers: { generic: { count: 1, model: CrewHome.model('worker') } },
      tasks: [makeTask('one')],
    })
    await crew.waitForHold('task', 'one')
    const worker = await crew.memberOf('one')
    crew.repository.write({ 'half.txt': 'half', 'README.md': '# a project, and more' }, worker.worktree?.dir ?? '')
    await crew.home.client.post('/v1/crews/team/commands', {
      type: 'replace_worker',
      member: 'worker-1',
      summary: 'half.txt is there, one.txt is missing',
    })
    await crew.waitForEnd()
    await waitUntilRemoved(worker.worktree?.dir ?? '')
    expect(['half.txt', 'README.md', 'one.txt'].map((name) => crew.repository.git('show', `reeve/team:${name}`))).toEqual([
      'half',
      '# a project, and more',
      'one.',
    ])
    expect(crew.repository.git('for-each-ref', 'refs/reeve/salvage')).toBe('')
  },
)
