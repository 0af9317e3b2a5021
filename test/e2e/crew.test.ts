// Crews in a real daemon, led by a person: members that cannot begin, that are stopped and come back, that are let go; pauses over a
// restart; and what the API says where a command does not fit.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Crews } from '../../src/api/crews-client.ts'
import { testEnv } from '../support/env.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { Repository } from '../support/repository.ts'
import type { CrewUpBody } from '../../src/api/crew-up-views.ts'
import type { CrewMemberView, CrewView } from '../../src/api/crew-views.ts'

/** Implements, reviews and says that it is ready; a task that says `wait` is not reported. */
const WORKER = `rules:
  - when: '/^Task (?<id>[\\w.-]+)[^]*wait/'
    steps: [{ text: I think about it, delay_ms: 60000 }]
  - when: '/^Task (?<id>[\\w.-]+)/'
    steps:
      - tools: [{ name: mcp__reeve__report_implementation_complete, input: { summary: '{{ id }} is there' } }]
      - text: reported
  - when: '/^Review (?<id>[\\w.-]+)/'
    steps:
      - tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: APPROVED, comments: '{{ id }} is right' } }]
      - text: reviewed
steps:
  - tools: [{ name: mcp__reeve__signal_ready }]
  - text: ready
`

let daemon: LocalDaemon
let crews: Crews
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  crews = new Crews(daemon.client)
  writeFileSync(join(daemon.work, 'worker.yaml'), WORKER)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors.map(String)).toEqual([])
})

async function up(body: Partial<CrewUpBody> = {}): Promise<string> {
  const { process } = await crews.up({ cwd: daemon.work, env: testEnv(daemon.work), name: 'team', model: `script:${join(daemon.work, 'worker.yaml')}`, workers: 2, worktrees: false, stay: true, ...body })
  return process.uuid
}

async function until(ref: string, isSo: (crew: CrewView) => boolean): Promise<CrewView> {
  let view = await crews.get(ref)
  await expect.poll(async () => isSo(view = await crews.get(ref)), { timeout: 20_000, interval: 30 }).toBe(true).catch((error: unknown) => {
    throw new Error(JSON.stringify({ ...view, asks: [] }, null, 1), { cause: error })
  })
  return view
}

const member = (crew: CrewView, id: string): CrewMemberView | undefined => crew.members.find((one) => one.id === id)
const isReady = (crew: CrewView): boolean => crew.members.length > 0 && crew.members.every(({ status }) => status === 'ready')
const stateOf = (crew: CrewView, id: string): string | undefined => crew.tasks.find((one) => one.id === id)?.state

test('a person leads: tasks, messages, workers that are stopped, come back, are let go, and the end', async () => {
  const ref = await up()
  await until(ref, (crew) => crew.members.length === 2 && isReady(crew))
  const added = await crews.command(ref, { type: 'add_task', id: 'one', text: 'Do it.' })
  expect(added).toMatchObject({ note: 'added one', crew: { uuid: ref } })
  await until(ref, (crew) => stateOf(crew, 'one') === 'done')
  await crews.command(ref, { type: 'stop_worker', member: 'worker-1', reason: 'later' })
  const stopped = await until(ref, (crew) => member(crew, 'worker-1')?.state === 'gone')
  expect(member(stopped, 'worker-1')).toMatchObject({ status: 'stopped', leave: { how: 'stopped', reason: 'later' } })
  await daemon.client.post(`/v1/processes/${member(stopped, 'worker-1')?.uuid}/resume`, {})
  await until(ref, (crew) => member(crew, 'worker-1')?.state === 'on' && isReady(crew))
  await crews.command(ref, { type: 'retire_worker', member: 'worker-2', reason: 'enough' })
  const retired = await until(ref, (crew) => member(crew, 'worker-2')?.state === 'gone')
  expect(member(retired, 'worker-2')).toMatchObject({ status: 'retired', leave: { how: 'retired', reason: 'enough' } })
  expect(await daemon.view(member(retired, 'worker-2')?.uuid ?? '')).toMatchObject({ exit: { code: 0, reason: 'retired' }, role: 'generic' })
  await crews.command(ref, { type: 'complete_crew', outcome: 'completed', summary: 'it is enough' })
  expect(await daemon.ended(ref)).toMatchObject({ status: 'completed', exit: { code: 0, reason: 'completed' } })
  const { members } = await crews.get(ref)
  expect(members.map(({ status }) => status)).toEqual(['retired', 'retired'])
  expect((await daemon.history(ref)).findLast(({ fact }) => fact === 'process.ready')).toMatchObject({ result: 'it is enough' })
  await expect(daemon.client.post(`/v1/processes/${ref}/resume`, {})).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
})

test('what does not fit is refused with what can be done, and changes nothing', async () => {
  const ref = await up({ workers: 1 })
  await until(ref, isReady)
  const before = (await daemon.facts(ref)).length
  await expect(crews.command(ref, { type: 'assign_task', task: 'none', member: 'worker-1' })).rejects.toMatchObject({ code: 'NOT_FOUND', hint: expect.stringContaining('none') })
  await expect(crews.command(ref, { type: 'retire_worker', member: 'worker-7', reason: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND', hint: expect.stringContaining('worker-1') })
  await expect(crews.command(ref, { type: 'assign_task', task: 'x', member: '../x' })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(crews.command(ref, { type: 'begin' } as never)).rejects.toMatchObject({ code: 'INVALID' })
  await expect(crews.command((await until(ref, isReady)).members[0]?.uuid ?? '', { type: 'spawn_worker', role: 'generic' })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(daemon.client.post(`/v1/processes/${ref}/send`, { text: 'hello' })).rejects.toMatchObject({ code: 'INVALID' })
  expect((await daemon.facts(ref)).length).toBe(before)
})

test('workers that cannot begin are lost, and after some of them the crew says so and fails, and starts no more', async () => {
  // It is there as the crew is started, and not any more when others are to begin.
  const script = join(daemon.work, 'nothing.yaml')
  writeFileSync(script, '[]')
  const tasks = [{ id: 'which', text: 'Which?', kind: 'human' as const }, { id: 'one', text: 'Do it.', needs: ['which'] }]
  const ref = await up({ model: `script:${script}`, workers: 1, stay: false, tasks })
  await until(ref, isReady)
  rmSync(script)
  await crews.command(ref, { type: 'retire_worker', member: 'worker-1', reason: 'x' })
  await until(ref, (crew) => member(crew, 'worker-1')?.state === 'gone')
  await daemon.client.post(`/v1/processes/${ref}/answer`, { text: 'this' })
  const view = await daemon.ended(ref)
  expect(view).toMatchObject({ status: 'failed', exit: { code: 1 } })
  const { tasks: [, one], members: [, ...others] } = await crews.get(ref)
  expect(one).toMatchObject({ id: 'one', state: 'failed', reason: expect.stringContaining('nothing.yaml') as string })
  expect(others.length).toBeLessThanOrEqual(6)
  expect(others.map(({ leave }) => leave?.how)).toEqual(others.map(() => 'lost'))
}, 120_000)

test('a member whose files cannot be made is an answer with the reason: the crew goes on', async () => {
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  const ref = await up({ cwd: repository.dir, workers: 1, maxWorkers: 3, worktrees: true })
  await until(ref, isReady)
  renameSync(join(repository.dir, '.git'), join(daemon.work, 'away'))
  await crews.command(ref, { type: 'spawn_worker', role: 'generic' })
  const lost = await until(ref, (crew) => member(crew, 'worker-2')?.state === 'gone')
  expect(member(lost, 'worker-2')).toMatchObject({ uuid: null, leave: { how: 'lost' } })
  expect(member(lost, 'worker-1')).toMatchObject({ state: 'on', status: 'ready' })
  renameSync(join(daemon.work, 'away'), join(repository.dir, '.git'))
  await crews.command(ref, { type: 'spawn_worker', role: 'generic' })
  expect(member(await until(ref, (crew) => member(crew, 'worker-3')?.status === 'ready'), 'worker-3')).toMatchObject({ worktree: { branch: 'reeve/team.worker-3' } })
})

test('what a person paused stays paused over a restart of the daemon, and goes on where it was', async () => {
  const ref = await up({ workers: 1, tasks: [{ id: 'one', text: 'Do it.' }, { id: 'two', text: 'Do that.', needs: ['one'] }], reviews: false })
  await daemon.event(ref, ({ fact, task }) => fact === 'task.done' && task === 'one')
  await daemon.client.post(`/v1/processes/${ref}/pause`, { subtree: true })
  await daemon.restart()
  expect(await daemon.view(ref)).toMatchObject({ status: 'suspended' })
  const paused = await crews.get(ref)
  expect(paused.members.map(({ status }) => status)).toEqual(['suspended'])
  await daemon.client.post(`/v1/processes/${ref}/resume`, { subtree: true })
  await until(ref, (crew) => stateOf(crew, 'two') === 'done')
}, 120_000)

test('a worker that is paused gets nothing new and is not woken by a message; it reads that when it goes on', async () => {
  const ref = await up({ workers: 1 })
  const { members: [worker] } = await until(ref, isReady)
  const uuid = worker?.uuid ?? ''
  await daemon.client.post(`/v1/processes/${uuid}/pause`, {})
  await crews.command(ref, { type: 'send_message', to: 'worker-1', text: 'hello' })
  await crews.command(ref, { type: 'add_task', id: 'one', text: 'Do it.' })
  expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', queueCount: 1, turn: 0 })
  await daemon.client.post(`/v1/processes/${uuid}/resume`, {})
  await until(ref, (crew) => ['awaiting_review', 'waiting'].includes(stateOf(crew, 'one') ?? ''))
  expect((await daemon.history(uuid)).filter(({ fact }) => fact === 'process.incoming').map(({ from }) => from).slice(0, 2)).toEqual(['user', 'coordinator'])
})

test('a crew that is stopped in the middle of a task goes on with it when it is resumed', async () => {
  const ref = await up({ workers: 1, tasks: [{ id: 'one', text: 'Please wait.' }] })
  await daemon.event(ref, ({ fact }) => fact === 'crew.turn.begun')
  await daemon.signal(ref, 'SIGTERM')
  expect(await daemon.ended(ref)).toMatchObject({ status: 'stopped' })
  const { members: [worker] } = await crews.get(ref)
  expect(worker).toMatchObject({ status: 'stopped', state: 'on', phase: 'implementing', task: 'one' })
  await daemon.client.post(`/v1/processes/${ref}/resume`, {})
  const back = await until(ref, (crew) => crew.members[0]?.status === 'working')
  expect(back.members[0]).toMatchObject({ uuid: worker?.uuid, phase: 'implementing', task: 'one' })
  await daemon.signal(ref, 'SIGKILL', { subtree: true })
  await daemon.ended(ref)
})
