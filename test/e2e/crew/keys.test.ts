// Each member, also one that is added later, has the keys that the client sent with `crew up`. After a restart of the daemon they come from
// a resume, or from the daemon's environment.
import { expect, test } from 'vitest'
import { LocalCrew } from '../../support/crew/local-crew.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { testEnv } from '../../support/env.ts'
import { startModelServer } from '../../support/models/model-server.ts'

test("initial and later members have the keys of the crew's start", async () => {
  await using server = await startModelServer(() => ({ text: 'I look on.' }))
  await using daemon = await LocalDaemon.start({
    config: `providers: [{ name: anthropic, kind: anthropic, baseURL: "${server.url}/v1", apiKeyEnv: MODEL_API_KEY }]\n`,
  })
  const env = testEnv(daemon.work, { MODEL_API_KEY: 'key-for-tests' })
  const crew = await LocalCrew.up(daemon, { env, model: 'anthropic/claude-sonnet-4-5', workers: 1, maxWorkers: 2, stay: true })
  await crew.waitForMember('worker-1', ({ state }) => state === 'on')
  await crew.steer({ type: 'spawn_worker', role: 'generic' })
  await crew.waitForMember('worker-2', ({ state }) => state === 'on')
  for (const id of ['worker-1', 'worker-2']) {
    await crew.steer({ type: 'send_message', to: id, text: 'hello' })
    await daemon.waitForView(await crew.uuidOf(id), ({ turn, status }) => turn > 0 && status === 'ready')
  }
  expect(server.requests.map(({ headers }) => headers['x-api-key'])).toEqual(server.requests.map(() => 'key-for-tests'))
})

test("after a restart of the daemon, a member without its key pauses until a resume brings it; a key in the daemon's environment needs none", async () => {
  await using server = await startModelServer(() => ({ text: 'I look on.' }))
  await using daemon = await LocalDaemon.start({
    config: `providers: [{ name: anthropic, kind: anthropic, baseURL: "${server.url}/v1", apiKeyEnv: MODEL_API_KEY }]\n`,
  })
  const env = testEnv(daemon.work, { MODEL_API_KEY: 'key-for-tests' })
  const crew = await LocalCrew.up(daemon, { env, model: 'anthropic/claude-sonnet-4-5', workers: 1, stay: true })
  await crew.waitForMember('worker-1', ({ state }) => state === 'on')
  const worker = await crew.uuidOf('worker-1')
  const playTurn = async (turn: number): Promise<void> => {
    await crew.steer({ type: 'send_message', to: 'worker-1', text: 'hello' })
    await daemon.waitForView(worker, (view) => view.turn >= turn && view.status === 'ready')
  }
  await playTurn(1)
  await daemon.restart()
  await daemon.waitForView(worker, ({ note }) => note === 'paused: credentials (needs MODEL_API_KEY)')
  await daemon.resume(crew.uuid, { env })
  await daemon.waitForView(worker, ({ status }) => status === 'ready')
  await playTurn(2)
  process.env['MODEL_API_KEY'] = 'key-for-tests'
  try {
    await daemon.restart()
    await daemon.waitForView(worker, ({ status }) => status === 'ready')
    await playTurn(3)
  } finally {
    delete process.env['MODEL_API_KEY']
  }
  expect(server.requests.map(({ headers }) => headers['x-api-key'])).toEqual(server.requests.map(() => 'key-for-tests'))
})
