// An image that a tool read. The journal and the model get the image, also after a resume, and users see a description. Through a daemon.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StepView } from '../../../src/api/views/process.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import { makePng } from '../../support/png.ts'

const PICTURE = makePng(64, 48)
const PICTURE_BASE64 = PICTURE.toString('base64')
const DESCRIPTION = 'image/png, 64 × 48, 1 KiB'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  await writeFile(join(daemon.work, 'shot.png'), PICTURE)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

test('events, logs and steps describe an image, and no output has its bytes', async () => {
  const { uuid } = await daemon.spawnScripted([
    { tools: [{ name: 'read', input: { path: 'shot.png' } }] },
    { text: 'I see {{ lastResult }}' },
  ])
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: `I see ${DESCRIPTION}` })
  const finished = await daemon.waitForEvent(uuid, (event) => event['fact'] === 'tool.finished')
  expect(finished).toMatchObject({ content: DESCRIPTION, images: [{ mediaType: 'image/png', bytes: PICTURE.length }] })
  expect(JSON.stringify(await daemon.readHistory(uuid))).not.toContain(PICTURE_BASE64)
  const { steps } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`)
  expect(steps[0]?.tools).toMatchObject([{ outcome: 'ok', result: DESCRIPTION }])
  const { lines } = await daemon.client.get<{ lines: { text: string }[] }>(`/v1/processes/${uuid}/logs`)
  expect(lines.map(({ text }) => text)).toContain(`read ok: ${DESCRIPTION}`)
  expect(JSON.stringify([steps, lines])).not.toContain(PICTURE_BASE64)
})

test('the model gets the image, also after a restart of the daemon', async () => {
  await using server = await startModelServer([
    { tools: [{ id: 'id_1', name: 'read', input: { path: 'shot.png' } }] },
    { text: 'a picture' },
    { text: 'still there' },
  ])
  await writeFile(
    daemon.paths.configFile,
    `providers: [{ name: served, kind: anthropic, baseURL: "${server.url}", apiKeyEnv: SERVED_API_KEY }]\n`,
  )
  const env = testEnv(daemon.work, { SERVED_API_KEY: 'key-for-tests' })
  const { uuid } = await daemon.spawn({ model: 'served/eyes', interactive: true, intent: 'look', env })
  await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')
  await daemon.restart()
  await daemon.resume(uuid, { env })
  await daemon.send(uuid, 'again')
  await daemon.waitForView(uuid, (view) => view.turn === 2 && view.status === 'ready')
  const hasImage = server.requests.map(({ body }) => JSON.stringify(body).includes(PICTURE_BASE64))
  expect(hasImage).toEqual([false, true, true])
  expect(server.requests[1]?.body['messages']).toMatchObject([
    { role: 'user' },
    { role: 'assistant' },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'id_1',
          content: [
            { type: 'text', text: DESCRIPTION },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE_BASE64 } },
          ],
        },
      ],
    },
  ])
})
