// The keys of a crew's members: what the client sent with `crew up` is there for each of them, also for one that is made later.
import { expect, test } from 'vitest'
import { LocalCrew } from '../support/local-crew.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { testEnv } from '../support/env.ts'
import { modelServer } from '../support/model-server.ts'

test('members have the keys that the crew was started with, the first and the later ones', async () => {
  await using server = await modelServer(() => ({ text: 'I look on.' }))
  await using daemon = await LocalDaemon.start({ config: `providers: [{ name: anthropic, kind: anthropic, baseURL: "${server.url}/v1", apiKeyEnv: MODEL_API_KEY }]\n` })
  const env = testEnv(daemon.work, { MODEL_API_KEY: 'key-for-tests' })
  const crew = await LocalCrew.up(daemon, { env, model: 'anthropic/claude-sonnet-4-5', workers: 1, maxWorkers: 2, stay: true })
  await crew.member('worker-1', ({ state }) => state === 'on')
  await crew.say({ type: 'spawn_worker', role: 'generic' })
  await crew.member('worker-2', ({ state }) => state === 'on')
  for (const id of ['worker-1', 'worker-2']) {
    await crew.say({ type: 'send_message', to: id, text: 'hello' })
    await daemon.untilSo(await crew.uuidOf(id), ({ turn, status }) => turn > 0 && status === 'ready')
  }
  expect(server.requests.map(({ headers }) => headers['x-api-key'])).toEqual(server.requests.map(() => 'key-for-tests'))
})
