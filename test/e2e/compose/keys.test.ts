// Keys from the environment of `compose up`. Later nodes have the keys, and no file has them. A node without its key waits for it after
// a restart of the daemon.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitForFileCommand, ComposeRuns, shellNode, stateList } from '../../support/compose/compose-runs.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer } from '../../support/models/model-server.ts'

let daemon: LocalDaemon
let server: ModelServer
let runs: ComposeRuns
let secret: string

beforeEach(async () => {
  secret = `value-${randomBytes(12).toString('hex')}`
  server = await startModelServer([{ text: 'with a key' }])
  daemon = await LocalDaemon.start({
    config: `providers: [{ name: served, kind: openai-compatible, baseURL: "${server.url}/v1", apiKeyEnv: SERVED_API_KEY }]\n`,
  })
  runs = new ComposeRuns(daemon)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const NODES = { early: shellNode(waitForFileCommand('go')), late: { model: 'served/m', intent: 'x', depends_on: ['early'] } }
const envWithKey = (): Record<string, string> => testEnv(daemon.work, { SERVED_API_KEY: secret })
const createFile = (file: string): void => writeFileSync(join(daemon.work, file), '')

function findFilesWith(text: string): string[] {
  return readdirSync(daemon.home, { recursive: true, encoding: 'utf8' })
    .map((name) => join(daemon.home, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() && readFileSync(file, 'latin1').includes(text))
}

test('a later node has the key, and no file contains it', async () => {
  const { uuid } = await runs.start(NODES, { env: envWithKey() })
  createFile('go')
  expect(stateList(await runs.waitForEnd(uuid))).toBe('early completed, late completed')
  expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${secret}`)
  expect(findFilesWith(secret)).toEqual([])
})

test('after a restart of the daemon the node waits for its key; a resume of the node with the key continues the run', async () => {
  const { uuid } = await runs.start({ ...NODES, early: shellNode(waitForFileCommand('go'), { retries: 1 }) }, { env: envWithKey() })
  await runs.waitForRun(uuid, ({ nodes }) => nodes[0]?.process?.status === 'working')
  await daemon.restart()
  createFile('go')
  const waitingView = await runs.waitForRun(uuid, ({ nodes }) => nodes[1]?.process?.status === 'suspended')
  expect(stateList(waitingView)).toBe('early completed, late running')
  expect(await daemon.view(await runs.processOf(uuid, 'late'))).toMatchObject({ holds: [{ reason: 'credentials' }] })
  await runs.resume(uuid, { node: 'late', env: envWithKey() })
  expect(stateList(await runs.waitForEnd(uuid))).toBe('early completed, late completed')
  expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${secret}`)
})
