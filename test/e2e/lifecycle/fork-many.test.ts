// Many forks of one process, long chains of forks, and forks after a kill -9 or after the removal of their origins. All of
// them can continue, and each has the history up to its fork.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LineageView } from '../../../src/api/views/lineage.ts'
import type { ResumablesView } from '../../../src/api/views/resume.ts'
import type { ProcessView, ResumeBody, SteerView } from '../../../src/api/views/process.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { deep } from '../../support/deep.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const FORK_COUNT = deep(50, 1_000)
const CHAIN_LENGTH = deep(40, 100)

const echoStep = (word: string): object => ({ tools: [{ name: 'bash', input: { command: `echo ${word}` } }] })
/** The last tool result in the answer shows which history a process has. */
const RUN = [echoStep('one'), echoStep('two'), echoStep('three'), { text: 'the end' }, { text: 'on: {{ lastResult }}' }]

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const fork = async (ref: string, body: ResumeBody = {}): Promise<ProcessView> => (await daemon.resume(ref, { fork: true, ...body })).process
const remove = (uuid: string): Promise<unknown> => daemon.client.delete(`/v1/processes/${uuid}`)
const runToEnd = async (): Promise<ProcessView> => daemon.waitForEnd((await daemon.spawnScripted(RUN)).uuid)

test(`the middle and the last fork of a chain of ${CHAIN_LENGTH} can be resumed after the removal of the others`, async () => {
  const chain = [await runToEnd()]
  while (chain.length <= CHAIN_LENGTH) chain.push(await daemon.waitForEnd((await fork(chain.at(-1)?.uuid ?? '')).uuid))
  const { processes } = await daemon.client.get<LineageView>(`/v1/processes/${chain[CHAIN_LENGTH / 2]?.uuid}/lineage`)
  expect(processes.map(({ uuid }) => uuid)).toEqual(chain.map(({ uuid }) => uuid))
  const lastFork = chain.pop() as ProcessView
  const middleFork = chain[CHAIN_LENGTH / 2] as ProcessView
  for (const { uuid } of chain) if (uuid !== middleFork.uuid) await remove(uuid)
  for (const { uuid } of [middleFork, lastFork]) {
    await daemon.resume(uuid, { message: 'and?' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'completed',
      step: 5,
      lastText: expect.stringMatching(/^on: three\n/) as string,
      usage: { steps: 1 },
    })
  }
  expect(await daemon.waitForEnd((await fork(lastFork.uuid, { fromStep: 2 })).uuid)).toMatchObject({ step: 4, lastText: 'the end' })
}, 180_000)

test(`${FORK_COUNT} forks of one process leave it unchanged, and continue after its removal`, async () => {
  const origin = await runToEnd()
  const forkUuids: string[] = []
  for (let count = 0; count < FORK_COUNT; count += 50) {
    forkUuids.push(...(await Promise.all(Array.from({ length: 50 }, () => fork(origin.uuid)))).map(({ uuid }) => uuid))
  }
  for (const uuid of forkUuids) await daemon.waitForEnd(uuid)
  expect(await daemon.view(origin.uuid)).toEqual(origin)
  const { processes, truncated } = await daemon.client.get<LineageView>(`/v1/processes/${origin.uuid}/lineage`)
  expect([processes.length, truncated]).toEqual([FORK_COUNT + 1, false])
  await remove(origin.uuid)
  for (const uuid of [forkUuids[0], forkUuids[FORK_COUNT / 2], forkUuids[FORK_COUNT - 1]] as string[]) {
    await daemon.resume(uuid, { message: 'and?' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ lastText: expect.stringMatching(/^on: three\n/) as string, usage: { steps: 1 } })
  }
  const { processes: resumable } = await daemon.client.get<ResumablesView>('/v1/resumable', { limit: 1_000 })
  expect(new Set(resumable.map(({ modes }) => modes.continue))).toEqual(new Set([null]))
}, 300_000)

test('after a kill -9 of the daemon in the middle of a step, a fork begins at the last complete step', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  const { uuid } = await home.spawn({
    model: home.writeScript([
      echoStep('one'),
      { tools: [{ name: 'bash', input: { command: 'echo begun; sleep 600' } }] },
      { text: 'I read: {{ lastResult }}' },
    ]),
  })
  await home.waitForView(uuid, ({ step }) => step === 2)
  await home.kill()
  await home.start()
  const { process } = await home.client.post<SteerView>(`/v1/processes/${uuid}/resume`, {
    fork: true,
    model: home.writeScript([{ text: 'x' }, { text: 'I read: {{ lastResult }}' }]),
  })
  expect(process).toMatchObject({ originUuid: uuid, originStep: 1 })
  expect(await home.waitForEnd(process.uuid)).toMatchObject({
    status: 'completed',
    step: 2,
    lastText: expect.stringMatching(/^I read: one\n/) as string,
  })
  expect(await home.view(uuid)).toMatchObject({ status: 'interrupted', step: 2 })
  await home.stop()
  await home.waitUntilNothingIsLeft()
}, 300_000)
