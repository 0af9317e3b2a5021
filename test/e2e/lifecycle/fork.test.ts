// Forks through a daemon. A fork's model requests are those of its origin at that step, whatever became of the origin.
// A message of the user in a resume is read before the next model call.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, ResumeBody } from '../../../src/api/views/process.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer } from '../../support/models/model-server.ts'

const STEPS = 10
const commandOfStep = (step: number): string => `echo result ${step}`
const answerWithCall = (step: number): ServedAnswer => ({
  text: `step ${step}`,
  tools: [{ id: `call-${step}`, name: 'bash', input: { command: commandOfStep(step) } }],
})
const RUN: readonly ServedAnswer[] = [...Array.from({ length: STEPS - 1 }, (_, index) => answerWithCall(index + 1)), { text: 'the end' }]

let daemon: LocalDaemon
let server: ModelServer
let answers: ServedAnswer[]

/** Answers by the requested step, which the number of assistant messages gives. */
beforeEach(async () => {
  answers = [...RUN]
  server = await startModelServer((request) => answers[stepOf(request.body) - 1] ?? { text: 'and on' })
  daemon = await LocalDaemon.start({ config: `providers: [{ name: served, kind: openai-compatible, baseURL: "${server.url}/v1" }]\n` })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

interface SentMessage {
  readonly role: string
  readonly content: unknown
}

const messagesOf = (body: Readonly<Record<string, unknown>>): readonly SentMessage[] => body['messages'] as SentMessage[]
const stepOf = (body: Readonly<Record<string, unknown>>): number => messagesOf(body).filter(({ role }) => role === 'assistant').length + 1

async function fork(ref: string, body: ResumeBody = {}): Promise<ProcessView> {
  return (await daemon.resume(ref, { fork: true, ...body })).process
}

const runToEnd = async (): Promise<ProcessView> => daemon.waitForEnd((await daemon.spawn({ model: 'served/m', intent: 'ten steps' })).uuid)

/** The first request after this number of requests. */
const requestAfter = (count: number): Readonly<Record<string, unknown>> | undefined => server.requests[count]?.body

describe('at any step', () => {
  test('a fork sends the request that its origin sent at that step, and the origin is unchanged', async () => {
    const origin = await runToEnd()
    expect(origin).toMatchObject({ status: 'completed', step: STEPS })
    const requests = server.requests.map(({ body }) => body)
    const historyBefore = await daemon.readHistory(origin.uuid)
    for (let step = 0; step < STEPS; step += 1) {
      const count = server.requests.length
      const forkView = await fork(origin.uuid, { fromStep: step })
      expect(forkView).toMatchObject({ originUuid: origin.uuid, originStep: step, usage: { steps: 0, costUsd: 0 }, name: null })
      expect(await daemon.waitForEnd(forkView.uuid)).toMatchObject({
        status: 'completed',
        step: STEPS,
        lastText: 'the end',
        usage: { steps: STEPS - step },
      })
      expect(requestAfter(count)).toEqual(requests[step])
    }
    expect(await daemon.readHistory(origin.uuid)).toEqual(historyBefore)
    expect(await daemon.view(origin.uuid)).toEqual(origin)
  })

  test('at its last step a fork has nothing to do without a message', async () => {
    const origin = await runToEnd()
    const count = server.requests.length
    expect(await daemon.waitForEnd((await fork(origin.uuid)).uuid)).toMatchObject({
      status: 'completed',
      originStep: STEPS,
      usage: { steps: 0 },
    })
    expect(server.requests).toHaveLength(count)
    const endedFork = await daemon.waitForEnd((await fork(origin.uuid, { message: 'and now?' })).uuid)
    expect(endedFork).toMatchObject({ status: 'completed', lastText: 'and on', usage: { steps: 1 } })
    expect(messagesOf(requestAfter(count) ?? {}).at(-1)).toMatchObject({ role: 'user', content: 'and now?' })
  })

  test('a message is read before the next model call, after the results that were there', async () => {
    const origin = await runToEnd()
    const count = server.requests.length
    const forkView = await fork(origin.uuid, { fromStep: 3, message: 'another way' })
    await daemon.waitForEnd(forkView.uuid)
    const [lastMessage, messageBefore] = messagesOf(requestAfter(count) ?? {}).toReversed()
    expect(lastMessage).toMatchObject({ role: 'user', content: 'another way' })
    expect(messageBefore).toMatchObject({ role: 'tool', tool_call_id: 'call-3' })
  })

  test('a fork may have its own name, model, directory and limits', async () => {
    const origin = await runToEnd()
    const forkView = await fork(origin.uuid, { fromStep: 2, name: 'other', model: 'served/n', cwd: daemon.home, limits: { maxSteps: 3 } })
    expect(forkView).toMatchObject({ name: 'other', model: 'served/n', cwd: daemon.home, limits: { maxSteps: 3 } })
    expect(await daemon.waitForEnd(forkView.uuid)).toMatchObject({
      status: 'failed',
      exit: { reason: 'max steps exceeded' },
      step: 5,
      usage: { steps: 3 },
    })
  })

  test("a fork from the newest checkpoint begins at the checkpoint's step", async () => {
    const origin = await runToEnd()
    const [written] = (await daemon.readHistory(origin.uuid)).filter((event) => event['fact'] === 'checkpoint.written').slice(-1)
    expect(await fork(origin.uuid, { fromCheckpoint: true })).toMatchObject({ originStep: written?.['step'] })
  })
})

describe('a fork of a fork', () => {
  test('sends the request of the first origin at that step, at any depth', async () => {
    const origin = await runToEnd()
    const requests = server.requests.map(({ body }) => body)
    let ref = origin.uuid
    for (const step of [8, 6, 6, 2]) {
      const count = server.requests.length
      ref = (await fork(ref, { fromStep: step })).uuid
      await daemon.waitForEnd(ref)
      expect(requestAfter(count)).toEqual(requests[step])
    }
    expect(await daemon.view(ref)).toMatchObject({ originStep: 2, step: STEPS })
  })

  test('outlives its origins', async () => {
    const origin = await runToEnd()
    const requests = server.requests.map(({ body }) => body)
    const first = await daemon.waitForEnd((await fork(origin.uuid, { fromStep: 5 })).uuid)
    await daemon.client.delete(`/v1/processes/${origin.uuid}`)
    const count = server.requests.length
    const second = await fork(first.uuid, { fromStep: 4 })
    await daemon.waitForEnd(second.uuid)
    expect(requestAfter(count)).toEqual(requests[4])
    await daemon.client.delete(`/v1/processes/${first.uuid}`)
    const next = server.requests.length
    expect(await daemon.resume(second.uuid, { message: 'are you there?' })).toMatchObject({
      process: { uuid: second.uuid, originUuid: first.uuid },
    })
    await daemon.waitForEnd(second.uuid)
    expect(messagesOf(requestAfter(next) ?? {}).slice(0, messagesOf(requests[9] ?? {}).length)).toEqual(messagesOf(requests[9] ?? {}))
    await expect(fork(origin.uuid)).rejects.toMatchObject({ code: 'COLLECTED' })
  })
})

test('a fork of a running process begins after its last complete step, and does not disturb the process', async () => {
  const gate = Promise.withResolvers<void>()
  answers[3] = { ...answerWithCall(4), hangAfterBytes: 1, restAfter: gate.promise }
  const origin = await daemon.spawn({ model: 'served/m', intent: 'ten steps' })
  await server.waitForRequests(4)
  const forkView = await daemon.resume(origin.uuid, { fork: true })
  expect(forkView).toMatchObject({
    process: { originStep: 3 },
    note: `step 4 of PID ${origin.pid} is unfinished, so the fork does not contain it`,
  })
  await server.waitForRequests(5)
  expect(server.requests[4]?.body).toEqual(server.requests[3]?.body)
  gate.resolve()
  expect(await daemon.waitForEnd(origin.uuid)).toMatchObject({ status: 'completed', step: STEPS, usage: { steps: STEPS } })
  expect(await daemon.waitForEnd(forkView.process.uuid)).toMatchObject({ status: 'completed', step: STEPS, usage: { steps: STEPS - 3 } })
})

test('a suspended process reads the message of its resume in the open turn', async () => {
  const gate = Promise.withResolvers<void>()
  answers[1] = { ...answerWithCall(2), hangAfterBytes: 1, restAfter: gate.promise }
  const { uuid } = await daemon.spawn({ model: 'served/m', intent: 'ten steps' })
  await server.waitForRequests(2)
  await daemon.pause(uuid)
  gate.resolve()
  await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.drained')
  await daemon.resume(uuid, { message: 'be brief' })
  await server.waitForRequests(3)
  expect(messagesOf(server.requests[2]?.body ?? {}).at(-1)).toMatchObject({ role: 'user', content: 'be brief' })
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', turn: 1 })
})

describe('a resume refuses', () => {
  test.each([
    [
      { fromStep: 1 },
      'INVALID',
      '--from-step needs --fork: a process continues from its last step; only a fork can start at an earlier one',
    ],
    [
      { fork: true, fromStep: 1, fromCheckpoint: true },
      'INVALID',
      '--from-step and --from-checkpoint cannot be combined: each names a starting point',
    ],
    [{ fork: true, fromStep: 11 }, 'INVALID', 'process 1 has no whole step 11: a fork can begin at any step from 0 to 10'],
    [{ fork: true, rerun: true }, 'INVALID', '--fork and --rerun cannot be combined: a fork is a new process'],
    [{ fork: true, withFiles: true }, 'INVALID', 'no files of process 1 are recorded: only those of `reeve run --worktree` are'],
    [{ withFiles: true }, 'INVALID', '--with-files needs --fork: a process continues in its own directory'],
    [{ fork: true, cwd: '/nowhere/at/all' }, 'INVALID', '/nowhere/at/all is not a directory'],
  ] satisfies [ResumeBody, string, string][])('%j', async (body, code, message) => {
    const { uuid } = await runToEnd()
    await expect(daemon.resume(uuid, body)).rejects.toMatchObject({ code, message })
  })

  test('a fork of a plain command, and a plain command without a checkpoint', async () => {
    const { uuid } = await daemon.spawnShell('exit 0')
    await daemon.waitForEnd(uuid)
    await expect(fork(uuid)).rejects.toMatchObject({
      code: 'NOT_RESUMABLE',
      message: 'a command has no session to fork; `reeve resume --rerun` runs it again',
    })
    await expect(daemon.resume(uuid, { fromCheckpoint: true })).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
    await expect(fork('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('a process without a checkpoint, when one is required', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'short' }])
    await daemon.waitForEnd(uuid)
    const message = /^process 1 has no checkpoint yet: without --from-checkpoint it continues from its journal, which has steps 0 to 1$/
    await expect(daemon.resume(uuid, { fromCheckpoint: true })).rejects.toMatchObject({
      code: 'NOT_RESUMABLE',
      message: expect.stringMatching(message),
    })
    await expect(fork(uuid, { fromCheckpoint: true })).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
  })
})

test('a process continues from its checkpoint and the later facts', async () => {
  const origin = await runToEnd()
  const { process } = await daemon.resume(origin.uuid, { fromCheckpoint: true, message: 'more' })
  expect(process).toMatchObject({ uuid: origin.uuid, resumedFromStep: STEPS })
  expect(await daemon.waitForEnd(origin.uuid)).toMatchObject({ status: 'completed', lastText: 'and on' })
})

test('a fork without a worktree works in the directory of its origin, and its journal begins with the fork', async () => {
  const origin = await runToEnd()
  const forkView = await daemon.waitForEnd((await fork(origin.uuid, { fromStep: 9 })).uuid)
  const facts = (await daemon.readHistory(forkView.uuid)).map((event) => event['fact'])
  expect(facts[0]).toBe('process.forked')
  expect(facts).not.toContain('process.spawned')
  expect(forkView.cwd).toBe(origin.cwd)
})
