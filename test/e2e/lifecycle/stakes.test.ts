// The stakes of an action: what it would cost. On a real daemon, the stakes are compared with what the action then does: to the step, the
// messages, the children, the task, the nodes and the files, and what a resume does with open calls.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Crews } from '../../../src/api/client/crews.ts'
import { testEnv } from '../../support/env.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { ComposeRuns, bashCall, shellNode, stateList, waitForFileCommand } from '../../support/compose/compose-runs.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import type { StakesView } from '../../../src/api/views/stakes.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const askStakes = (ref: string, query: Readonly<Record<string, string | number>> = {}): Promise<StakesView> =>
  daemon.client.get<StakesView>(`/v1/processes/${ref}/stakes`, query)
/** the longest time of git: the usual one is too short for a busy machine */
const FILES_MS = 10_000
const isLiving = ({ state }: ProcessView): boolean => state === 'created' || state === 'running'

/** Sends the signal of an action, and compares the outcome with the stakes. Returns the process after its end. */
async function endAndCompare(stakes: StakesView): Promise<ProcessView> {
  const before = await daemon.view(stakes.uuid)
  await daemon.signal(stakes.uuid, stakes.action === 'kill' ? 'SIGKILL' : 'SIGTERM', { subtree: stakes.subtree })
  await daemon.waitForEnd(stakes.uuid)
  for (const { uuid } of stakes.children.end) await daemon.waitForEnd(uuid)
  const after = await daemon.view(stakes.uuid)
  expect([stakes.queue, stakes.messagesLost]).toEqual([before.queueCount, 0])
  expect(after.queueCount).toBe(stakes.queue)
  expect(isLiving(after)).toBe(stakes.restart === 'comes back')
  for (const { uuid } of stakes.children.goOn) expect(isLiving(await daemon.view(uuid))).toBe(true)
  return after
}

test('the stakes of a native agent come true: its step, its messages, its children, and its calls after a resume', async () => {
  const log = join(daemon.work, 'log')
  const { uuid, pid } = await daemon.spawnScripted([
    bashCall(`echo one >> ${log}`),
    bashCall(`echo two >> ${log}; sleep 600`),
    { text: 'I read: {{ lastResult }}' },
  ])
  await waitUntil(() => existsSync(log), 'the first call has begun')
  await daemon.waitForEvent(uuid, ({ fact, step }) => fact === 'tool.started' && step === 2)
  const child = await daemon.spawnShell('sleep 600', { parent: uuid, name: 'helper' })
  await daemon.waitForStatus(child.uuid, 'working')
  await daemon.send(uuid, 'And then?')
  const cursor = await daemon.readCursor()
  const stakes = await askStakes(uuid, { action: 'kill' })
  expect(await daemon.readCursor(), 'it writes nothing').toBe(cursor)
  expect(stakes).toMatchObject({
    pid,
    action: 'kill',
    refused: null,
    inFlight: [{ what: expect.stringMatching(/^bash echo two/) as string, effect: 'once', becomes: 'interrupted' }],
    queue: 1,
    children: { goOn: [{ uuid: child.uuid, name: 'helper' }], end: [] },
    kept: { step: 1, resumable: true, worktree: null, salvage: null },
    notes: [],
  })
  expect(Date.parse(stakes.inFlight[0]?.since ?? '')).toBeGreaterThan(0)
  await endAndCompare(stakes)
  const resumed = await daemon.resume(uuid)
  expect(resumed.process.resumedFromStep).toBe(stakes.kept.step)
  const end = await daemon.waitForEnd(uuid)
  expect(end.status).toBe('completed')
  const results = (await daemon.readHistory(uuid)).filter(({ fact, step }) => fact === 'tool.finished' && step === 2)
  expect(results).toMatchObject([{ outcome: 'interrupted' }])
  const tree = await askStakes(uuid, { action: 'stop' })
  expect(tree.refused).toBe(`process ${end.pid} has ended`)
  await daemon.signal(child.uuid, 'SIGKILL')
})

test('the stakes name a model call that a resume repeats, the children that end with the subtree, and those of a supervisor', async () => {
  const { uuid } = await daemon.spawnScripted([{ text: 'slow', delay_ms: 600_000 }])
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'model.started')
  const child = await daemon.spawnShell('sleep 600', { parent: uuid })
  const grandchild = await daemon.spawnShell('sleep 600', { parent: child.uuid })
  await daemon.waitForStatus(grandchild.uuid, 'working')
  expect((await askStakes(uuid)).children.goOn.map((one) => one.uuid)).toEqual([child.uuid, grandchild.uuid])
  const stakes = await askStakes(uuid, { subtree: 1 })
  expect(stakes.inFlight.map(({ what, becomes }) => `${what} ${becomes}`)).toEqual([
    'the model call of step 1 repeated',
    'the command sh -c sleep 600 interrupted',
    'the command sh -c sleep 600 interrupted',
  ])
  expect(stakes.children.end).toHaveLength(2)
  await endAndCompare(stakes)
  await daemon.resume(uuid)
  await daemon.waitForEvent(uuid, ({ fact, pid }) => fact === 'model.started' && pid !== stakes.pid)
  await daemon.signal(uuid, 'SIGKILL')

  const { process: supervisor } = await daemon.client.post<{ process: ProcessView }>('/v1/processes', {
    cwd: daemon.work,
    env: testEnv(daemon.work),
    supervisor: { children: [{ childId: 'one', argv: ['sleep', '600'], restart: 'always' }] },
  })
  const [one = ''] = (await daemon.waitForView(supervisor.uuid, ({ children }) => children.length === 1)).children
  await daemon.waitForStatus(one, 'working')
  const stop = await askStakes(supervisor.uuid)
  expect(stop).toMatchObject({ children: { goOn: [], end: [{ uuid: one }] }, kept: { step: null }, restart: 'stays' })
  await endAndCompare(stop)
})

test('the stakes count the files of a worktree that no record has; a kill keeps them, and a removal saves them', async () => {
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'one\ntwo\n' })
  const go = join(daemon.work, 'go')
  const { uuid } = await daemon.spawnScripted(
    [bashCall('echo recorded > first'), bashCall(`echo three >> a.txt; printf 'x\\ny\\n' > new; touch ${go}; sleep 600`), { text: 'end' }],
    { cwd: repository.dir, worktree: true, name: 'docs' },
  )
  await waitUntil(() => existsSync(go), 'the files have changed')
  const stakes = await askStakes(uuid, { action: 'kill', filesMs: FILES_MS })
  const { worktree } = await daemon.view(uuid)
  expect(stakes).toMatchObject({ unrecorded: { files: 2, added: 3, removed: 0 }, unmerged: [], kept: { step: 1, worktree: worktree?.dir } })
  await endAndCompare(stakes)
  expect(existsSync(join(stakes.kept.worktree ?? '', 'new'))).toBe(true)
  const removal = await askStakes(uuid, { action: 'remove', filesMs: FILES_MS })
  expect(removal).toMatchObject({ refused: null, kept: { step: null, resumable: false, worktree: null } })
  expect(removal.unrecorded?.files).toBe(3)
  const removed = await daemon.client.delete<{ worktree?: { salvaged?: string } }>(`/v1/processes/${uuid}`)
  expect(removed.worktree?.salvaged).toBe(removal.kept.salvage)
})

test('without time for git the files are unknown, and a note gives the reason', async () => {
  const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'one\n' })
  const { uuid } = await daemon.spawnScripted([bashCall('sleep 600')], { cwd: repository.dir, worktree: true })
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'tool.started')
  const stakes = await askStakes(uuid, { action: 'kill', filesMs: 0 })
  expect(stakes).toMatchObject({ unrecorded: null, notes: ['Its files are not known: git took more than 0 ms.'] })
  await daemon.signal(uuid, 'SIGKILL')
})

test('the stakes of a plain command note that it cannot continue, and leave out its files on request', async () => {
  const { uuid } = await daemon.spawnShell('sleep 600')
  await daemon.waitForStatus(uuid, 'working')
  expect(await askStakes(uuid, { files: 0, action: 'remove' })).toMatchObject({
    unrecorded: null,
    refused: expect.stringContaining('has not ended') as string,
  })
  expect(await askStakes(uuid, { action: 'pause' })).toMatchObject({ inFlight: [{ becomes: 'stands still' }], restart: 'stays' })
  const stakes = await askStakes(uuid)
  expect(stakes.notes).toEqual(['It cannot continue: `--rerun` runs it again from its beginning.'])
  await endAndCompare(stakes)
})

const WORKER = `rules:
  - when: '/^Task (?<id>[\\w.-]+)/'
    steps: [{ text: I think about it, delay_ms: 60000 }]
steps:
  - tools: [{ name: mcp__reeve__signal_ready }]
  - text: ready
`

test('the stakes of a killed worker come true: its task has the state that was named', async () => {
  const crews = new Crews(daemon.client)
  writeFileSync(join(daemon.work, 'worker.yaml'), WORKER)
  const model = `script:${join(daemon.work, 'worker.yaml')}`
  const { process } = await crews.up({
    cwd: daemon.work,
    env: testEnv(daemon.work),
    name: 'team',
    model,
    workers: 2,
    worktrees: false,
    stay: true,
  })
  const findCrew = async (isMatch: (crew: CrewView) => boolean): Promise<CrewView> => {
    let crew = await crews.get(process.uuid)
    await expect.poll(async () => isMatch((crew = await crews.get(process.uuid))), { timeout: 100_000 }).toBe(true)
    return crew
  }
  await findCrew(({ members }) => members.length === 2 && members.every(({ status }) => status === 'ready'))
  await crews.command(process.uuid, { type: 'add_task', id: 'one', text: 'Do it.' })
  for (const isLast of [false, true]) {
    const { members } = await findCrew(({ members: all }) => all.some(({ task, status }) => task === 'one' && status === 'working'))
    const uuid = members.find(({ task }) => task === 'one')?.uuid ?? ''
    const stakes = await askStakes(uuid, { action: 'kill' })
    expect(stakes.task).toEqual(
      isLast ? { id: 'one', becomes: 'queued', worker: null } : { id: 'one', becomes: 'implementing', worker: 'worker-2' },
    )
    await endAndCompare(stakes)
    const { tasks, members: left } = await findCrew(({ members: all }) => all.some((one) => one.uuid === uuid && one.state === 'gone'))
    if (!isLast)
      expect(tasks.find(({ id }) => id === 'one')).toMatchObject({ state: stakes.task?.becomes, implementer: stakes.task?.worker })
    else {
      // The new worker may have the task already.
      expect(stakes.notes).toEqual(['The crew starts worker-3.'])
      expect(left.map(({ id }) => id)).toContain('worker-3')
      expect((await daemon.readFactTypes(process.uuid)).filter((fact) => fact === 'task.requeued')).toHaveLength(2)
    }
  }
  const stakes = await askStakes(process.uuid, { action: 'kill' })
  expect(stakes.notes).toContain('1 task is not done; a resume of the crew continues.')
  await endAndCompare(stakes)
})

test('the stakes of a killed node come true: the nodes that need it are blocked, and the run ends', async () => {
  const runs = new ComposeRuns(daemon)
  const { uuid: run, pid } = await runs.start({
    first: shellNode(waitForFileCommand('go')),
    second: { ...shellNode('true'), depends_on: ['first'] },
    third: { ...shellNode('true'), depends_on: ['second'] },
  })
  await runs.waitForRun(run, (view) => stateList(view).startsWith('first running'))
  expect((await askStakes(run)).run).toEqual({ blocks: ['second', 'third'] })
  const first = await runs.processOf(run, 'first')
  await daemon.waitForStatus(first, 'working')
  const stakes = await askStakes(first, { action: 'kill' })
  expect(stakes.run).toEqual({ blocks: ['second', 'third'] })
  expect(stakes.notes).toContain(`The compose work (PID ${pid}) ends, too.`)
  await endAndCompare(stakes)
  expect(stateList(await runs.waitForEnd(run))).toBe('first cancelled, second blocked, third blocked')
})
