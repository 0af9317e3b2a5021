// Recorded calls: the bodies as sent, readable only by their owner, without a key, and limited in size.
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CallRecorder } from '../../../src/drivers/gateway/call-recorder.ts'
import { GatewayHarness, PROVIDER_KEY, sendRequest, startRawProvider } from '../../support/agents/gateway-harness.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { bodyOf } from '../../support/models/model-server.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

const BODY = '{"model":"m","max_tokens":1000}'
const EVENTS = bodyOf({ text: 'hello', usage: { input: 100, output: 20 } }, '/v1/messages')

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
})
afterEach(() => dir[Symbol.asyncDispose]())

test('a call becomes two files, which only their owner can read', async () => {
  await using provider = await startRawProvider((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(EVENTS)
  })
  const recordDir = join(dir.path, 'calls')
  const recorder = new CallRecorder(recordDir, () => undefined)
  await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url }, recorder })
  await sendRequest(harness.url('anthropic', '/v1/messages?beta=true'), { headers: { 'x-api-key': harness.access.token }, body: BODY })
  await waitUntil(
    () => readdirSync(recordDir).includes('7-1.answer') && readFileSync(join(recordDir, '7-1.answer')).length === EVENTS.length,
    'the answer is recorded',
  )
  expect(readdirSync(recordDir).toSorted()).toEqual(['7-1.answer', '7-1.request'])
  const [line = '', body] = readFileSync(join(recordDir, '7-1.request'), 'utf8').split('\n')
  expect([JSON.parse(line), body]).toEqual([
    { method: 'POST', path: '/v1/messages?beta=true', provider: 'anthropic', at: harness.clock.now().wall },
    BODY,
  ])
  expect(readFileSync(join(recordDir, '7-1.answer')).equals(EVENTS)).toBe(true)
  expect([statSync(recordDir).mode & 0o777, ...readdirSync(recordDir).map((name) => statSync(join(recordDir, name)).mode & 0o777)]).toEqual(
    [0o700, 0o600, 0o600],
  )
  for (const name of readdirSync(recordDir)) {
    const text = readFileSync(join(recordDir, name), 'utf8')
    expect([text.includes(PROVIDER_KEY), text.includes(harness.access.token)]).toEqual([false, false])
  }
})

test('recording stops at its limit, with earlier files counted, and the call continues', async () => {
  const logLines: string[] = []
  const largeBody = Buffer.alloc(130 * 1024 * 1024)
  const line = { method: 'POST', path: '/', provider: 'p', at: 0 }
  const first = new CallRecorder(dir.path, (message) => logLines.push(message))
  expect(await first.recordRequest('1', line, largeBody)).not.toBeNull()
  const second = new CallRecorder(dir.path, (message) => logLines.push(message))
  expect(await second.recordRequest('2', line, largeBody)).toBeNull()
  expect(await second.recordRequest('3', line, largeBody)).toBeNull()
  expect(logLines).toEqual([`${dir.path} has 256 MiB of recorded calls: no more are recorded`])
})

test('a call is answered even if the directory of the records cannot be written', async () => {
  const logLines: string[] = []
  writeFileSync(join(dir.path, 'file'), '')
  const recorder = new CallRecorder(join(dir.path, 'file', 'calls'), (message) => logLines.push(message))
  await using provider = await startRawProvider((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(EVENTS)
  })
  await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url }, recorder })
  expect(
    (await sendRequest(harness.url('anthropic', '/v1/messages'), { headers: { 'x-api-key': harness.access.token }, body: BODY })).status,
  ).toBe(200)
  expect(logLines).toHaveLength(1)
})
