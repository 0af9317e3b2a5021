// Calls as files: what went over the wire, for nobody else's eyes, without a key, and not without end.
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Recorder } from '../../src/drivers/gateway/record.ts'
import { GatewayBench, KEY, ask, rawProvider } from '../support/gateway.ts'
import { eventually } from '../support/living.ts'
import { bodyOf } from '../support/model-server.ts'
import { tempDir, type TempDir } from '../support/tmp.ts'

const BODY = '{"model":"m","max_tokens":1000}'
const EVENTS = bodyOf({ text: 'hello', usage: { input: 100, output: 20 } }, '/v1/messages')

let dir: TempDir
beforeEach(async () => { dir = await tempDir() })
afterEach(() => dir[Symbol.asyncDispose]())

test('a call is two files, which only their owner can read', async () => {
  await using provider = await rawProvider((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(EVENTS)
  })
  const place = join(dir.path, 'calls')
  const recorder = new Recorder(place, () => undefined)
  await using bench = await GatewayBench.open({ urls: { anthropic: provider.url }, recorder })
  await ask(bench.url('anthropic', '/v1/messages?beta=true'), { headers: { 'x-api-key': bench.seat.token }, body: BODY })
  await eventually(() => readdirSync(place).includes('7-1.answer') && readFileSync(join(place, '7-1.answer')).length === EVENTS.length, 'the answer is recorded')
  expect(readdirSync(place).toSorted()).toEqual(['7-1.answer', '7-1.request'])
  const [line = '', body] = readFileSync(join(place, '7-1.request'), 'utf8').split('\n')
  expect([JSON.parse(line), body]).toEqual([{ method: 'POST', path: '/v1/messages?beta=true', provider: 'anthropic', at: bench.clock.now().wall }, BODY])
  expect(readFileSync(join(place, '7-1.answer')).equals(EVENTS)).toBe(true)
  expect([statSync(place).mode & 0o777, ...readdirSync(place).map((name) => statSync(join(place, name)).mode & 0o777)]).toEqual([0o700, 0o600, 0o600])
  for (const name of readdirSync(place)) {
    const text = readFileSync(join(place, name), 'utf8')
    expect([text.includes(KEY), text.includes(bench.seat.token)]).toEqual([false, false])
  }
})

test('no more is recorded than is allowed, what lies there counted, and the call goes on', async () => {
  const said: string[] = []
  const large = Buffer.alloc(130 * 1024 * 1024)
  const line = { method: 'POST', path: '/', provider: 'p', at: 0 }
  const first = new Recorder(dir.path, (message) => said.push(message))
  expect(await first.begin('1', line, large)).not.toBeNull()
  const second = new Recorder(dir.path, (message) => said.push(message))
  expect(await second.begin('2', line, large)).toBeNull()
  expect(await second.begin('3', line, large)).toBeNull()
  expect(said).toEqual([`${dir.path} has 256 MiB of recorded calls: no more are recorded`])
})

test('a place that cannot be written holds no call up', async () => {
  const said: string[] = []
  writeFileSync(join(dir.path, 'file'), '')
  const recorder = new Recorder(join(dir.path, 'file', 'calls'), (message) => said.push(message))
  await using provider = await rawProvider((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(EVENTS)
  })
  await using bench = await GatewayBench.open({ urls: { anthropic: provider.url }, recorder })
  expect((await ask(bench.url('anthropic', '/v1/messages'), { headers: { 'x-api-key': bench.seat.token }, body: BODY })).status).toBe(200)
  expect(said).toHaveLength(1)
})
