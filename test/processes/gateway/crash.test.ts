// A daemon that is killed during a gateway call. The call is charged once for its input, however often the daemon and the process
// come back. No server and no program stays.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { testEnv } from '../../support/env.ts'
import { startModelServer, type ServedAnswer } from '../../support/models/model-server.ts'

const PROGRAM = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')
const ANSWER: ServedAnswer = { text: 'hello', usage: { input: 100, output: 20 } }

test('an open call is charged once across kills and resumes', async () => {
  await using server = await startModelServer(({ body }) => (body['model'] === 'hangs' ? { ...ANSWER, hangAfterBytes: 0 } : ANSWER))
  await using home = await DaemonHome.create()
  const dir = join(home.work, '.reeve/agents')
  mkdirSync(dir, { recursive: true })
  writeFileSync(
    join(dir, 'coder.md'),
    `---\ndriver: acp\ncommand: ${JSON.stringify([process.execPath, PROGRAM, `sessions=${home.work}`, 'resume'])}\ngateway: on\n---\n`,
  )
  await home.start()
  const env = testEnv(home.work, { ANTHROPIC_API_KEY: 'sk-key', ANTHROPIC_BASE_URL: server.url })
  const { uuid } = await home.spawn({ agent: 'coder', intent: 'model one\nmodel hangs', env })
  await server.waitForRequests(2)
  await home.kill()
  // The gateway ended with its daemon, and so did the connection to the provider.
  await server.requests[1]?.closed
  await home.start()
  const viewAfter = await home.view(uuid)
  expect(viewAfter).toMatchObject({ status: 'interrupted', gateway: { on: true }, usage: { outputTokens: 20, estimated: true } })
  expect(viewAfter.usage.inputTokens).toBeGreaterThan(100)
  await home.kill()
  await home.start()
  await home.resume(uuid, { message: 'model three', env })
  expect(await home.waitForEnd(uuid)).toMatchObject({
    status: 'completed',
    usage: { inputTokens: viewAfter.usage.inputTokens + 100, outputTokens: 40, estimated: true },
  })
  await home.stop()
  await home.waitUntilNothingIsLeft()
}, 300_000)
