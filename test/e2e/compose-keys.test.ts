// Keys that came with the environment of `compose up`: they are there for nodes that start later, stand in no file, and a node that
// misses one after a restart of the daemon waits for it.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gate, Runs, sh, states } from '../support/compose.ts'
import { testEnv } from '../support/env.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { modelServer, type ModelServer } from '../support/model-server.ts'

let daemon: LocalDaemon
let server: ModelServer
let runs: Runs
let secret: string

beforeEach(async () => {
  secret = `value-${randomBytes(12).toString('hex')}`
  server = await modelServer([{ text: 'with a key' }])
  daemon = await LocalDaemon.start({ config: `providers: [{ name: served, kind: openai-compatible, baseURL: "${server.url}/v1", apiKeyEnv: SERVED_API_KEY }]\n` })
  runs = new Runs(daemon)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const NODES = { early: sh(gate('go')), late: { model: 'served/m', intent: 'x', depends_on: ['early'] } }
const keyed = (): Record<string, string> => testEnv(daemon.work, { SERVED_API_KEY: secret })
const open = (file: string): void => writeFileSync(join(daemon.work, file), '')

function filesWith(text: string): string[] {
  return readdirSync(daemon.home, { recursive: true, encoding: 'utf8' }).map((name) => join(daemon.home, name)).filter((file) => statSync(file).isFile() && readFileSync(file, 'latin1').includes(text))
}

test('a node that starts later has it, and no file does', async () => {
  const { uuid } = await runs.up(NODES, { env: keyed() })
  open('go')
  expect(states(await runs.ended(uuid))).toBe('early completed, late completed')
  expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${secret}`)
  expect(filesWith(secret)).toEqual([])
})

test('after a restart of the daemon it waits for it; a resume of the node that brings it lets the run go on', async () => {
  const { uuid } = await runs.up({ ...NODES, early: sh(gate('go'), { retries: 1 }) }, { env: keyed() })
  await runs.until(uuid, ({ nodes }) => nodes[0]?.process?.status === 'working')
  await daemon.restart()
  open('go')
  const waits = await runs.until(uuid, ({ nodes }) => nodes[1]?.process?.status === 'suspended')
  expect(states(waits)).toBe('early completed, late running')
  expect(await daemon.view(await runs.process(uuid, 'late'))).toMatchObject({ holds: [{ reason: 'credentials' }] })
  await runs.resume(uuid, { node: 'late', env: keyed() })
  expect(states(await runs.ended(uuid))).toBe('early completed, late completed')
  expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${secret}`)
})
