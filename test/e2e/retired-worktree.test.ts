// Who retires leaves nothing behind but a ref, and to a successor its work: the worktree goes when the process is dead, at once or at the next start of a daemon.
import { existsSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views.ts'
import { CrewHome, taskOf } from '../support/crew-home.ts'

const SLOW = 120_000

let crew: CrewHome
beforeEach(async () => { crew = await CrewHome.make() })
afterEach(() => crew[Symbol.asyncDispose]())

/** A worker that has done its task, and has files that nobody committed. */
async function idle(): Promise<{ readonly worker: ProcessView; readonly dir: string }> {
  await crew.up({ coordinator: 'engine', reviews: false, stay: true, workers: { generic: { count: 1, model: CrewHome.model('worker') } }, tasks: [taskOf('one')] })
  await crew.fact('task.done')
  const worker = await crew.memberOf('one')
  const dir = worker.worktree?.dir ?? ''
  crew.repository.write({ 'notes.txt': 'dear' }, dir)
  return { worker, dir }
}

const retire = (): Promise<unknown> => crew.home.client.post('/v1/crews/team/commands', { type: 'retire_worker', member: 'worker-1', reason: 'enough' })
const branches = (): string => crew.repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')
const gone = (dir: string): Promise<void> => crew.wait(() => !existsSync(dir) && branches() === 'main\nreeve/team', `${dir} and its branch are gone`)

const salvaged = ({ uuid }: ProcessView): string => crew.repository.git('show', `refs/reeve/salvage/${uuid}:notes.txt`)

test('H5: what was not committed is on a ref before the worktree goes; its branch is merged, and goes too', { timeout: SLOW }, async () => {
  const { worker, dir } = await idle()
  await retire()
  await gone(dir)
  expect(salvaged(worker)).toBe('dear')
  expect(await crew.home.view(worker.uuid)).toMatchObject({ status: 'retired' })
  expect(crew.repository.git('worktree', 'list').split('\n').length).toBe(1)
})

test('H6: one that was in use then, or that a killed daemon did not come to, goes at the next start, and blocks nobody', { timeout: SLOW }, async () => {
  const { worker, dir } = await idle()
  const { uuid } = await crew.home.spawn({ cwd: dir, argv: ['sleep', '600'], name: 'looks' })
  await retire()
  await crew.wait(async () => (await crew.home.view(worker.uuid)).status === 'retired', 'it has retired')
  await crew.home.kill()
  expect(existsSync(dir), 'somebody works in it').toBe(true)
  await crew.home.start()
  await gone(dir)
  expect((await crew.home.view(uuid)).status).toBe('interrupted')
  expect(salvaged(worker)).toBe('dear')
  await crew.home.client.post('/v1/crews/team/commands', { type: 'add_task', id: 'two', text: 'Write two.txt with two.' })
  await crew.fact('task.done', ({ task }) => task === 'two')
  expect(crew.repository.git('show', 'reeve/team:two.txt')).toBe('two.')
})

test('a worker that is replaced in the middle of its work: the successor has what it wrote, and it is salvaged nowhere', { timeout: SLOW }, async () => {
  crew.hold('task', 'one')
  await crew.up({ coordinator: 'engine', reviews: false, workers: { generic: { count: 1, model: CrewHome.model('worker') } }, tasks: [taskOf('one')] })
  await crew.held('task', 'one')
  const worker = await crew.memberOf('one')
  crew.repository.write({ 'half.txt': 'half', 'README.md': '# a project, and more' }, worker.worktree?.dir ?? '')
  await crew.home.client.post('/v1/crews/team/commands', { type: 'replace_worker', member: 'worker-1', summary: 'half.txt is there, one.txt is missing' })
  await crew.ended()
  await gone(worker.worktree?.dir ?? '')
  expect(['half.txt', 'README.md', 'one.txt'].map((name) => crew.repository.git('show', `reeve/team:${name}`))).toEqual(['half', '# a project, and more', 'one.'])
  expect(crew.repository.git('for-each-ref', 'refs/reeve/salvage')).toBe('')
})
