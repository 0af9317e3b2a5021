// A provider that refuses the key or the account. The process is held, no attempt counts as failed, and another key lets it continue.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli, startCli } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { LocalCrew } from '../../support/crew/local-crew.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ServedAnswer } from '../../support/models/model-server.ts'

const MODEL = 'anthropic/claude-sonnet-4-5'
const RIGHT_KEY = 'right-key'

/** Answers the right key with a text, and other keys with this status. */
function answerByKey(status: number): (request: { readonly headers: Readonly<Record<string, unknown>> }) => ServedAnswer {
  return ({ headers }) =>
    headers['x-api-key'] === RIGHT_KEY ? { text: 'Done.' } : { status, error: { type: 'authentication_error', message: 'no such account' } }
}

const config = (url: string): string =>
  `providers: [{ name: anthropic, kind: anthropic, baseURL: "${url}/v1", apiKeyEnv: MODEL_API_KEY }]\n`

test.each([401, 402, 403])('a process whose provider answers %d is held, names the key, and continues with another key', async (status) => {
  await using server = await startModelServer(answerByKey(status))
  await using daemon = await LocalDaemon.start({ config: config(server.url) })
  const env = (key: string): Record<string, string> => testEnv(daemon.work, { MODEL_API_KEY: key })
  const { uuid } = await daemon.spawn({ model: MODEL, intent: 'work', env: env('wrong-key') })
  const heldView = await daemon.waitForStatus(uuid, 'suspended')
  expect(heldView).toMatchObject({ holds: [{ reason: 'credentials', by: 'system' }] })
  expect(heldView.note).toMatch(new RegExp(`^paused: credentials \\(MODEL_API_KEY was refused: .*${status} no such account`))
  expect(heldView.note).not.toContain('wrong-key')
  await daemon.resume(uuid, { env: env('wrong-key') })
  await daemon.waitForView(uuid, () => server.requests.length === 2)
  expect(await daemon.waitForStatus(uuid, 'suspended')).toMatchObject({ status: 'suspended' })
  await daemon.resume(uuid, { env: env(RIGHT_KEY) })
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'Done.' })
})

test('run and logs report a refused key once, with the command that continues', async () => {
  await using server = await startModelServer(answerByKey(401))
  await using daemon = await LocalDaemon.start({ config: config(server.url) })
  const env = { MODEL_API_KEY: 'wrong-key' }
  const follower = startCli(daemon.home, ['run', '--name', 'refused', '--model', MODEL, 'work'], { env })
  await follower.waitForText('spawned')
  const { pid, note } = await daemon.waitForStatus('refused', 'suspended')
  const why = String(note).slice('paused: '.length)
  const notice = `⏸ PID ${pid} (refused) is suspended: ${why}\n  \`reeve resume ${pid}\` continues it when the account is in order, or in a shell with another key\n`
  await follower.waitForText(notice)
  const text = 'MODEL_API_KEY was refused: anthropic: 401 no such account'
  expect(why).toBe(`credentials (${text})`)
  expect((await runCli(daemon.home, ['logs', 'refused'])).stdout).toBe(`> work\n${text}\n`)
  const logs = startCli(daemon.home, ['logs', '-f', 'refused'])
  await logs.waitForText(notice)
  await daemon.resume('refused', { env: testEnv(daemon.work, env) })
  await daemon.waitForView('refused', () => server.requests.length === 2)
  await daemon.waitForStatus('refused', 'suspended')
  await runCli(daemon.home, ['kill', 'refused'])
  for (const { stdout, stderr } of [await follower.result, await logs.result]) {
    expect((stdout + stderr).split('no such account')).toHaveLength((stdout + stderr).split('⏸').length)
    expect(stdout + stderr).not.toContain('model call failed')
  }
})

test('a crew with a bad key is held, none of its tasks has failed, and crew resume with the right key completes it', async () => {
  await using server = await startModelServer(answerByKey(401))
  await using daemon = await LocalDaemon.start({ config: config(server.url) })
  const env = (key: string): Record<string, string> => testEnv(daemon.work, { MODEL_API_KEY: key })
  const crew = await LocalCrew.up(daemon, { env: env('wrong-key'), model: MODEL, workers: 2, reviews: false, stay: true })
  for (const id of ['one', 'two', 'three']) await crew.steer({ type: 'add_task', id, text: `Do ${id}.` })
  const heldView = await daemon.waitForStatus(crew.uuid, 'suspended')
  expect(heldView.note).toMatch(/^paused: credentials \(worker-\d: MODEL_API_KEY was refused: .*401/)
  const crewBefore = await crew.view()
  expect(crewBefore.tasks.map(({ attempts, state }) => [attempts, state === 'failed'])).toEqual([
    [0, false],
    [0, false],
    [0, false],
  ])
  await daemon.resume(crew.uuid, { subtree: true, env: env(RIGHT_KEY) })
  await crew.waitUntil(({ tasks }) => tasks.some(({ state }) => state !== 'queued' && state !== 'implementing'))
  expect((await crew.view()).members.filter(({ status }) => status === 'suspended')).toEqual([])
})

test('a worker whose old key is refused after crew resume asks again with the new key, and suspends neither itself nor the crew', async () => {
  const [bothAsked, resumedGate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let refusedCount = 0
  const refuse = answerByKey(401)
  await using server = await startModelServer((request) => {
    const answer = refuse(request)
    if (answer.status === undefined) return answer
    refusedCount += 1
    if (refusedCount === 2) bothAsked.resolve()
    return { ...answer, answerAfter: refusedCount === 1 ? bothAsked.promise : resumedGate.promise }
  })
  await using daemon = await LocalDaemon.start({ config: config(server.url) })
  const env = (key: string): Record<string, string> => testEnv(daemon.work, { MODEL_API_KEY: key })
  const crew = await LocalCrew.up(daemon, { env: env('wrong-key'), model: MODEL, workers: 2, reviews: false, stay: true })
  for (const id of ['one', 'two']) await crew.steer({ type: 'add_task', id, text: `Do ${id}.` })
  await daemon.waitForStatus(crew.uuid, 'suspended')
  const workingUuid = (await crew.view()).members.find(({ id, status }) => id.startsWith('worker-') && status !== 'suspended')?.uuid ?? ''
  await daemon.resume(crew.uuid, { subtree: true, env: env(RIGHT_KEY) })
  resumedGate.resolve()
  await daemon.waitForEvent(workingUuid, ({ fact }) => fact === 'model.failed')
  expect([(await daemon.view(workingUuid)).status, (await daemon.view(crew.uuid)).status]).not.toContain('suspended')
  await crew.waitUntil(({ tasks }) => tasks.every(({ state }) => state !== 'queued' && state !== 'implementing'))
  expect(server.requests.filter(({ headers }) => headers['x-api-key'] !== RIGHT_KEY)).toHaveLength(2)
})

test('a refused compaction holds for the key, not as a full context', async () => {
  await using daemon = await LocalDaemon.start()
  const file = join(daemon.work, 'full.json')
  const listCalls = Array.from({ length: 12 }, () => ({
    text: 'x'.repeat(4_000),
    tools: [{ name: 'ls', input: {} }],
    summary_error: { message: 'bad key', status: 401, kind: 'auth' },
  }))
  writeFileSync(file, JSON.stringify({ context_window: 8_000, steps: [...listCalls, { text: 'done' }] }))
  const { uuid } = await daemon.spawn({ model: `script:${file}`, intent: 'work' })
  const heldView = await daemon.waitForStatus(uuid, 'suspended')
  expect(heldView).toMatchObject({ holds: [{ reason: 'credentials' }], note: expect.stringMatching(/the account was refused: bad key/) })
  await daemon.resume(uuid)
  await daemon.waitForEvent(uuid, ({ fact, attempt, seq }) => fact === 'compaction.started' && attempt === 1 && seq > 0)
  expect((await daemon.waitForStatus(uuid, 'suspended')).holds).toMatchObject([{ reason: 'credentials' }])
})
