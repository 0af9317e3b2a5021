// Crews in a real daemon, led by the user. Members cannot start, are stopped and resumed, or retire. Pauses outlive a restart,
// and the API refuses invalid commands.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Crews } from '../../../src/api/client/crews.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewUpBody } from '../../../src/api/views/crew-up.ts'
import type { CrewMemberView, CrewView } from '../../../src/api/views/crew.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'

/** The worker implements, reviews and reports that it is ready. It never reports a task with the word `wait`. */
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

async function startCrew(body: Partial<CrewUpBody> = {}): Promise<string> {
  const { process } = await crews.up({
    cwd: daemon.work,
    env: testEnv(daemon.work),
    name: 'team',
    model: `script:${join(daemon.work, 'worker.yaml')}`,
    workers: 2,
    worktrees: false,
    stay: true,
    ...body,
  })
  return process.uuid
}

async function waitForCrew(ref: string, isMatch: (crew: CrewView) => boolean): Promise<CrewView> {
  let view = await crews.get(ref)
  await expect
    .poll(async () => isMatch((view = await crews.get(ref))), { interval: 30 })
    .toBe(true)
    .catch((error: unknown) => {
      throw new Error(JSON.stringify({ ...view, asks: [] }, null, 1), { cause: error })
    })
  return view
}

const findMember = (crew: CrewView, id: string): CrewMemberView | undefined => crew.members.find((one) => one.id === id)
const isReady = (crew: CrewView): boolean => crew.members.length > 0 && crew.members.every(({ status }) => status === 'ready')
const stateOf = (crew: CrewView, id: string): string | undefined => crew.tasks.find((one) => one.id === id)?.state

test('the user leads a crew: adds a task, stops, resumes and retires workers, and ends the crew', async () => {
  const ref = await startCrew()
  await waitForCrew(ref, (crew) => crew.members.length === 2 && isReady(crew))
  const added = await crews.command(ref, { type: 'add_task', id: 'one', text: 'Do it.' })
  expect(added).toMatchObject({ note: 'added one', crew: { uuid: ref } })
  await waitForCrew(ref, (crew) => stateOf(crew, 'one') === 'done')
  await crews.command(ref, { type: 'stop_worker', member: 'worker-1', reason: 'later' })
  const stoppedCrew = await waitForCrew(ref, (crew) => findMember(crew, 'worker-1')?.state === 'gone')
  expect(findMember(stoppedCrew, 'worker-1')).toMatchObject({ status: 'stopped', leave: { how: 'stopped', reason: 'later' } })
  await daemon.client.post(`/v1/processes/${findMember(stoppedCrew, 'worker-1')?.uuid}/resume`, {})
  await waitForCrew(ref, (crew) => findMember(crew, 'worker-1')?.state === 'on' && isReady(crew))
  await crews.command(ref, { type: 'retire_worker', member: 'worker-2', reason: 'enough' })
  const retired = await waitForCrew(ref, (crew) => findMember(crew, 'worker-2')?.state === 'gone')
  expect(findMember(retired, 'worker-2')).toMatchObject({ status: 'retired', leave: { how: 'retired', reason: 'enough' } })
  expect(await daemon.view(findMember(retired, 'worker-2')?.uuid ?? '')).toMatchObject({
    exit: { code: 0, reason: 'retired' },
    role: 'generic',
  })
  await crews.command(ref, { type: 'complete_crew', outcome: 'completed', summary: 'it is enough' })
  expect(await daemon.waitForEnd(ref)).toMatchObject({ status: 'completed', exit: { code: 0, reason: 'completed' } })
  const { members } = await crews.get(ref)
  expect(members.map(({ status }) => status)).toEqual(['retired', 'retired'])
  await expect(daemon.client.post(`/v1/processes/${members[0]?.uuid}/resume`, {})).rejects.toMatchObject({
    code: 'NOT_RESUMABLE',
    message: expect.stringMatching(/was worker-1 of a crew, and left it/),
    hint: expect.stringContaining('--fork'),
  })
  expect((await daemon.readHistory(ref)).findLast(({ fact }) => fact === 'process.ready')).toMatchObject({ result: 'it is enough' })
  await expect(daemon.client.post(`/v1/processes/${ref}/resume`, {})).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
})

test('the API refuses invalid commands with a hint, and they change nothing', async () => {
  const ref = await startCrew({ workers: 1 })
  await waitForCrew(ref, isReady)
  const factCountBefore = (await daemon.readFactTypes(ref)).length
  await expect(crews.command(ref, { type: 'assign_task', task: 'none', member: 'worker-1' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    hint: expect.stringContaining('none'),
  })
  await expect(crews.command(ref, { type: 'retire_worker', member: 'worker-7', reason: 'x' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    hint: expect.stringContaining('worker-1'),
  })
  await expect(crews.command(ref, { type: 'assign_task', task: 'x', member: '../x' })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(crews.command(ref, { type: 'begin' } as never)).rejects.toMatchObject({ code: 'INVALID' })
  await expect(
    crews.command((await waitForCrew(ref, isReady)).members[0]?.uuid ?? '', { type: 'spawn_worker', role: 'generic' }),
  ).rejects.toMatchObject({ code: 'INVALID' })
  await expect(daemon.client.post(`/v1/processes/${ref}/send`, { text: 'hello' })).rejects.toMatchObject({ code: 'INVALID' })
  expect((await daemon.readFactTypes(ref)).length).toBe(factCountBefore)
})

test('workers that cannot start are lost, and after some of them the crew fails with the reason', async () => {
  // The script exists when the crew starts, and is missing for the later members.
  const script = join(daemon.work, 'nothing.yaml')
  writeFileSync(script, '[]')
  const tasks = [
    { id: 'which', text: 'Which?', kind: 'human' as const },
    { id: 'one', text: 'Do it.', needs: ['which'] },
  ]
  const ref = await startCrew({ model: `script:${script}`, workers: 1, stay: false, tasks })
  await waitForCrew(ref, isReady)
  rmSync(script)
  await crews.command(ref, { type: 'retire_worker', member: 'worker-1', reason: 'x' })
  await waitForCrew(ref, (crew) => findMember(crew, 'worker-1')?.state === 'gone')
  await daemon.client.post(`/v1/processes/${ref}/answer`, { text: 'this' })
  const view = await daemon.waitForEnd(ref)
  expect(view).toMatchObject({ status: 'failed', exit: { code: 1 } })
  const {
    tasks: [, one],
    members: [, ...others],
  } = await crews.get(ref)
  expect(one).toMatchObject({ id: 'one', state: 'failed', reason: expect.stringContaining('nothing.yaml') as string })
  expect(others.length).toBeLessThanOrEqual(6)
  expect(others.map(({ leave }) => leave?.how)).toEqual(others.map(() => 'lost'))
}, 300_000)

test('a member whose files cannot be created is lost with the reason, and the crew continues', async () => {
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  const ref = await startCrew({ cwd: repository.dir, workers: 1, maxWorkers: 3, worktrees: true })
  await waitForCrew(ref, isReady)
  renameSync(join(repository.dir, '.git'), join(daemon.work, 'away'))
  await crews.command(ref, { type: 'spawn_worker', role: 'generic' })
  const crewWithoutWorker = await waitForCrew(ref, (crew) => findMember(crew, 'worker-2')?.state === 'gone')
  expect(findMember(crewWithoutWorker, 'worker-2')).toMatchObject({ uuid: null, leave: { how: 'lost' } })
  expect(findMember(crewWithoutWorker, 'worker-1')).toMatchObject({ state: 'on', status: 'ready' })
  renameSync(join(daemon.work, 'away'), join(repository.dir, '.git'))
  await crews.command(ref, { type: 'spawn_worker', role: 'generic' })
  expect(findMember(await waitForCrew(ref, (crew) => findMember(crew, 'worker-3')?.status === 'ready'), 'worker-3')).toMatchObject({
    worktree: { branch: 'reeve/team.worker-3' },
  })
})

test('a crew paused by the user stays paused over a daemon restart, and continues after a resume', async () => {
  const ref = await startCrew({
    workers: 1,
    tasks: [
      { id: 'one', text: 'Do it.' },
      { id: 'two', text: 'Do that.', needs: ['one'] },
    ],
    reviews: false,
  })
  await daemon.waitForEvent(ref, ({ fact, task }) => fact === 'task.done' && task === 'one')
  await daemon.client.post(`/v1/processes/${ref}/pause`, { subtree: true })
  await daemon.restart()
  expect(await daemon.view(ref)).toMatchObject({ status: 'suspended' })
  const pausedCrew = await crews.get(ref)
  expect(pausedCrew.members.map(({ status }) => status)).toEqual(['suspended'])
  await daemon.client.post(`/v1/processes/${ref}/resume`, { subtree: true })
  await waitForCrew(ref, (crew) => stateOf(crew, 'two') === 'done')
}, 300_000)

test('a paused worker gets no new work, is not resumed by a message, and reads it after its resume', async () => {
  const ref = await startCrew({ workers: 1 })
  const {
    members: [worker],
  } = await waitForCrew(ref, isReady)
  const uuid = worker?.uuid ?? ''
  await daemon.client.post(`/v1/processes/${uuid}/pause`, {})
  await crews.command(ref, { type: 'send_message', to: 'worker-1', text: 'hello' })
  await crews.command(ref, { type: 'add_task', id: 'one', text: 'Do it.' })
  expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', queueCount: 1, turn: 0 })
  await daemon.client.post(`/v1/processes/${uuid}/resume`, {})
  await waitForCrew(ref, (crew) => ['awaiting_review', 'waiting'].includes(stateOf(crew, 'one') ?? ''))
  expect(
    (await daemon.readHistory(uuid))
      .filter(({ fact }) => fact === 'process.incoming')
      .map(({ from }) => from)
      .slice(0, 2),
  ).toEqual(['user', 'coordinator'])
})

test('the events that a follower of a member gets equal those read later, with the status, phase and task of their time', async () => {
  const ref = await startCrew({ workers: 1 })
  const {
    members: [worker],
  } = await waitForCrew(ref, isReady)
  const uuid = worker?.uuid ?? ''
  const followed: EventView[] = []
  const following = (async () => {
    for await (const event of daemon.client.events(`/v1/processes/${uuid}/events`, { query: { after: 0, follow: true } }))
      followed.push(event)
  })()
  await daemon.client.post(`/v1/processes/${uuid}/pause`, {})
  await crews.command(ref, { type: 'add_task', id: 'one', text: 'Do it.' })
  await daemon.client.post(`/v1/processes/${uuid}/resume`, {})
  await waitForCrew(ref, (crew) => ['awaiting_review', 'waiting'].includes(stateOf(crew, 'one') ?? ''))
  await daemon.signal(ref, 'SIGKILL', { subtree: true })
  await daemon.waitForEnd(ref)
  await following
  expect(followed).toEqual(await daemon.readHistory(uuid))
  const eventTexts = followed.map(({ status, phase, taskId }) => `${status} ${phase} ${taskId ?? '-'}`)
  expect(eventTexts[0]).toBe('pending idle -')
  expect(eventTexts).toEqual(expect.arrayContaining(['ready idle -', 'suspended idle -', 'working implementing one']))
  expect(eventTexts.at(-1)).toMatch(/^stopped /)
})

test('a crew that was stopped in the middle of a task continues the task after a resume', async () => {
  const ref = await startCrew({ workers: 1, tasks: [{ id: 'one', text: 'Please wait.' }] })
  await daemon.waitForEvent(ref, ({ fact }) => fact === 'crew.turn.begun')
  await daemon.signal(ref, 'SIGTERM')
  expect(await daemon.waitForEnd(ref)).toMatchObject({ status: 'stopped' })
  const {
    members: [worker],
  } = await crews.get(ref)
  expect(worker).toMatchObject({ status: 'stopped', state: 'on', phase: 'implementing', task: 'one' })
  await daemon.client.post(`/v1/processes/${ref}/resume`, {})
  const resumedCrew = await waitForCrew(ref, (crew) => crew.members[0]?.status === 'working')
  expect(resumedCrew.members[0]).toMatchObject({ uuid: worker?.uuid, phase: 'implementing', task: 'one' })
  await daemon.signal(ref, 'SIGKILL', { subtree: true })
  await daemon.waitForEnd(ref)
})
