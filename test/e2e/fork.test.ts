// Forks through a daemon: what a fork is told is what its origin had been told at that step, whatever became of the origin;
// and what a person adds to a resume is read before the next model call.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, ResumeBody } from '../../src/api/views.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { modelServer, type ModelServer, type ServedAnswer } from '../support/model-server.ts'

const STEPS = 10
const COMMAND = (step: number): string => `echo result ${step}`
const asked = (step: number): ServedAnswer => ({ text: `step ${step}`, tools: [{ id: `call-${step}`, name: 'bash', input: { command: COMMAND(step) } }] })
const RUN: readonly ServedAnswer[] = [...Array.from({ length: STEPS - 1 }, (_, index) => asked(index + 1)), { text: 'the end' }]

let daemon: LocalDaemon
let server: ModelServer
let answers: ServedAnswer[]

/** It answers by the step that is asked for: the messages of the assistant say which. */
beforeEach(async () => {
  answers = [...RUN]
  server = await modelServer((request) => answers[stepOf(request.body) - 1] ?? { text: 'and on' })
  daemon = await LocalDaemon.start({ config: `providers: [{ name: served, kind: openai-compatible, baseURL: "${server.url}/v1" }]\n` })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

interface Told { readonly role: string; readonly content: unknown }

const messagesOf = (body: Readonly<Record<string, unknown>>): readonly Told[] => body['messages'] as Told[]
const stepOf = (body: Readonly<Record<string, unknown>>): number => messagesOf(body).filter(({ role }) => role === 'assistant').length + 1

async function fork(ref: string, body: ResumeBody = {}): Promise<ProcessView> {
  return (await daemon.resume(ref, { fork: true, ...body })).process
}

const ran = async (): Promise<ProcessView> => daemon.ended((await daemon.spawn({ model: 'served/m', intent: 'ten steps' })).uuid)

/** The first request after so many. */
const requestAfter = (count: number): Readonly<Record<string, unknown>> | undefined => server.requests[count]?.body

describe('at any step', () => {
  test('a fork asks what its origin asked at that step, and the origin is as it was', async () => {
    const origin = await ran()
    expect(origin).toMatchObject({ status: 'completed', step: STEPS })
    const requests = server.requests.map(({ body }) => body)
    const before = await daemon.history(origin.uuid)
    for (let step = 0; step < STEPS; step += 1) {
      const count = server.requests.length
      const made = await fork(origin.uuid, { fromStep: step })
      expect(made).toMatchObject({ originUuid: origin.uuid, originStep: step, usage: { steps: 0, costUsd: 0 }, name: null })
      expect(await daemon.ended(made.uuid)).toMatchObject({ status: 'completed', step: STEPS, lastText: 'the end', usage: { steps: STEPS - step } })
      expect(requestAfter(count)).toEqual(requests[step])
    }
    expect(await daemon.history(origin.uuid)).toEqual(before)
    expect(await daemon.view(origin.uuid)).toEqual(origin)
  }, 60_000)

  test('at its last step there is nothing to do, unless it is told something', async () => {
    const origin = await ran()
    const count = server.requests.length
    expect(await daemon.ended((await fork(origin.uuid)).uuid)).toMatchObject({ status: 'completed', originStep: STEPS, usage: { steps: 0 } })
    expect(server.requests).toHaveLength(count)
    const told = await daemon.ended((await fork(origin.uuid, { message: 'and now?' })).uuid)
    expect(told).toMatchObject({ status: 'completed', lastText: 'and on', usage: { steps: 1 } })
    expect(messagesOf(requestAfter(count) ?? {}).at(-1)).toMatchObject({ role: 'user', content: 'and now?' })
  })

  test('a message is read before the next model call, after the results that were there', async () => {
    const origin = await ran()
    const count = server.requests.length
    const made = await fork(origin.uuid, { fromStep: 3, message: 'another way' })
    await daemon.ended(made.uuid)
    const [last, before] = messagesOf(requestAfter(count) ?? {}).toReversed()
    expect(last).toMatchObject({ role: 'user', content: 'another way' })
    expect(before).toMatchObject({ role: 'tool', tool_call_id: 'call-3' })
  })

  test('its name, model, directory and limits are its own', async () => {
    const origin = await ran()
    const made = await fork(origin.uuid, { fromStep: 2, name: 'other', model: 'served/n', cwd: daemon.home, limits: { maxSteps: 3 } })
    expect(made).toMatchObject({ name: 'other', model: 'served/n', cwd: daemon.home, limits: { maxSteps: 3 } })
    expect(await daemon.ended(made.uuid)).toMatchObject({ status: 'failed', exit: { reason: 'max steps exceeded' }, step: 5, usage: { steps: 3 } })
  })

  test('from the newest checkpoint: at the step that it was written for', async () => {
    const origin = await ran()
    const [written] = (await daemon.history(origin.uuid)).filter((event) => event['fact'] === 'checkpoint.written').slice(-1)
    expect(await fork(origin.uuid, { fromCheckpoint: true })).toMatchObject({ originStep: written?.['step'] })
  })
})

describe('of forks', () => {
  test('a chain: each asks what the first one asked', async () => {
    const origin = await ran()
    const requests = server.requests.map(({ body }) => body)
    let ref = origin.uuid
    for (const step of [8, 6, 6, 2]) {
      const count = server.requests.length
      ref = (await fork(ref, { fromStep: step })).uuid
      await daemon.ended(ref)
      expect(requestAfter(count)).toEqual(requests[step])
    }
    expect(await daemon.view(ref)).toMatchObject({ originStep: 2, step: STEPS })
  })

  test('removed origins are no loss', async () => {
    const origin = await ran()
    const requests = server.requests.map(({ body }) => body)
    const first = await daemon.ended((await fork(origin.uuid, { fromStep: 5 })).uuid)
    await daemon.client.delete(`/v1/processes/${origin.uuid}`)
    const count = server.requests.length
    const second = await fork(first.uuid, { fromStep: 4 })
    await daemon.ended(second.uuid)
    expect(requestAfter(count)).toEqual(requests[4])
    await daemon.client.delete(`/v1/processes/${first.uuid}`)
    const next = server.requests.length
    expect(await daemon.resume(second.uuid, { message: 'are you there?' })).toMatchObject({ process: { uuid: second.uuid, originUuid: first.uuid } })
    await daemon.ended(second.uuid)
    expect(messagesOf(requestAfter(next) ?? {}).slice(0, messagesOf(requests[9] ?? {}).length)).toEqual(messagesOf(requests[9] ?? {}))
    await expect(fork(origin.uuid)).rejects.toMatchObject({ code: 'COLLECTED' })
  })
})

test('one that runs is not touched: the fork begins where its last whole step ended', async () => {
  const gate = Promise.withResolvers<void>()
  answers[3] = { ...asked(4), hangAfterBytes: 1, goOn: gate.promise }
  const origin = await daemon.spawn({ model: 'served/m', intent: 'ten steps' })
  await server.received(4)
  const made = await daemon.resume(origin.uuid, { fork: true })
  expect(made).toMatchObject({ process: { originStep: 3 }, note: `step 4 of PID ${origin.pid} is not whole, so it is not in it` })
  await server.received(5)
  expect(server.requests[4]?.body).toEqual(server.requests[3]?.body)
  gate.resolve()
  expect(await daemon.ended(origin.uuid)).toMatchObject({ status: 'completed', step: STEPS, usage: { steps: STEPS } })
  expect(await daemon.ended(made.process.uuid)).toMatchObject({ status: 'completed', step: STEPS, usage: { steps: STEPS - 3 } })
})

test('a suspended one goes on in the open turn by what it is told', async () => {
  const gate = Promise.withResolvers<void>()
  answers[1] = { ...asked(2), hangAfterBytes: 1, goOn: gate.promise }
  const { uuid } = await daemon.spawn({ model: 'served/m', intent: 'ten steps' })
  await server.received(2)
  await daemon.pause(uuid)
  gate.resolve()
  await daemon.event(uuid, (event) => event['fact'] === 'process.drained')
  await daemon.resume(uuid, { message: 'be brief' })
  await server.received(3)
  expect(messagesOf(server.requests[2]?.body ?? {}).at(-1)).toMatchObject({ role: 'user', content: 'be brief' })
  expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed', turn: 1 })
})

describe('refused', () => {
  test.each([
    [{ fromStep: 1 }, 'INVALID', '--from-step needs --fork: a process goes on from its last step, and only a fork of it can begin at an earlier one'],
    [{ fork: true, fromStep: 1, fromCheckpoint: true }, 'INVALID', '--from-step and --from-checkpoint do not go together: each says where to begin'],
    [{ fork: true, fromStep: 11 }, 'INVALID', 'process 1 has no whole step 11: a fork can begin at any step from 0 to 10'],
    [{ fork: true, rerun: true }, 'INVALID', '--fork and --rerun do not go together: a fork is a new process'],
    [{ fork: true, withFiles: true }, 'INVALID', 'no files of process 1 are recorded: only those of `reeve run --worktree` are'],
    [{ withFiles: true }, 'INVALID', '--with-files needs --fork: a process goes on in its own directory'],
    [{ fork: true, cwd: '/nowhere/at/all' }, 'INVALID', '/nowhere/at/all is not a directory'],
  ] satisfies [ResumeBody, string, string][])('%j', async (body, code, message) => {
    const { uuid } = await ran()
    await expect(daemon.resume(uuid, body)).rejects.toMatchObject({ code, message })
  })

  test('a plain command has nothing to fork, and no checkpoint', async () => {
    const { uuid } = await daemon.sh('exit 0')
    await daemon.ended(uuid)
    await expect(fork(uuid)).rejects.toMatchObject({ code: 'NOT_RESUMABLE', message: 'a command has no session to fork; it can be run again with `reeve resume --rerun`' })
    await expect(daemon.resume(uuid, { fromCheckpoint: true })).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
    await expect(fork('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('one without a checkpoint, when it is insisted on', async () => {
    const { uuid } = await daemon.play([{ text: 'short' }])
    await daemon.ended(uuid)
    const message = /^process 1 has no checkpoint yet: without --from-checkpoint it goes on from its journal, which has steps 0 to 1$/
    await expect(daemon.resume(uuid, { fromCheckpoint: true })).rejects.toMatchObject({ code: 'NOT_RESUMABLE', message: expect.stringMatching(message) })
    await expect(fork(uuid, { fromCheckpoint: true })).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
  })
})

test('a process goes on from its checkpoint and the facts after it', async () => {
  const origin = await ran()
  const { process } = await daemon.resume(origin.uuid, { fromCheckpoint: true, message: 'more' })
  expect(process).toMatchObject({ uuid: origin.uuid, resumedFromStep: STEPS })
  expect(await daemon.ended(origin.uuid)).toMatchObject({ status: 'completed', lastText: 'and on' })
})

test('what a fork has written is its own', async () => {
  const origin = await ran()
  const made = await daemon.ended((await fork(origin.uuid, { fromStep: 9 })).uuid)
  const facts = (await daemon.history(made.uuid)).map((event) => event['fact'])
  expect(facts[0]).toBe('process.forked')
  expect(facts).not.toContain('process.spawned')
  expect(made.cwd).toBe(origin.cwd)
})
