// An external agent receives reeve's own tools. If it does not list them, reeve opens a second session. If it never lists them, reeve
// notes that, and a turn of a crew member fails.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OwnTools } from '../../../src/drivers/port.ts'
import { openAcpHarness } from '../../support/agents/acp-harness.ts'
import type { AcpHarness, AcpRun } from '../../support/agents/acp-harness.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { MemberSpec } from '../../../src/kernel/model/process-spec.ts'

const ONCE_MORE = "it did not ask for reeve's own tools (MCP): opening a second session"
const NEVER_LISTED = "it did not ask for reeve's own tools (MCP) in two sessions"
const MEMBER: MemberSpec = { crew: 'crew', id: 'worker-1', role: 'generic' }

let harness: AcpHarness
let ownTools: OwnTools
let stack: AsyncDisposableStack

beforeEach(async () => {
  stack = new AsyncDisposableStack()
  const toolsListed = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      toolsListed.resolve()
      response.end()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  stack.defer(() => {
    server.close()
  })
  harness = stack.use(await openAcpHarness())
  ownTools = {
    list: [],
    listed: toolsListed.promise,
    call: () => Promise.reject(new Error('no caller')),
    endpoint: () =>
      Promise.resolve({
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
        token: 'a-token-of-a-test',
        stdio: { argv: ['none'], env: {} },
      }),
  }
})
afterEach(() => stack.disposeAsync())

const sessionOpenings = (run: AcpRun): readonly string[] =>
  run.readLogLines().flatMap((line) => /^(new|load|resume|close)\b/.exec(line)?.[1] ?? [])
const notesOf = (run: AcpRun): readonly string[] => run.kernel.factsOf('process.note').map(({ text }) => text)

describe("reeve's own tools", () => {
  test('an agent that lists them gets no second session', async () => {
    const run = await harness.start({ agentOptions: ['http', 'close'], ownTools })
    expect(await run.runTurn('say one')).toMatchObject({ outcome: 'ok', result: 'one' })
    expect([sessionOpenings(run), notesOf(run)]).toEqual([['new'], []])
  })

  test('an agent that does not list them gets a second session, and works there', async () => {
    const run = await harness.start({ agentOptions: ['http', 'close', 'toolless=1'], ownTools, toolsMs: 200, spec: { member: MEMBER } })
    expect(await run.runTurn('say one')).toMatchObject({ outcome: 'ok', result: 'one' })
    expect([sessionOpenings(run), notesOf(run)]).toEqual([['new', 'close', 'new'], [ONCE_MORE]])
    expect(run.readSessionId()).toMatch(/2$/)
  })

  test.each(['resume', 'load'])('a resumed session is also opened a second time, by session/%s', async (method) => {
    const first = await harness.start({ agentOptions: [method] })
    await first.runTurn('say one')
    await first.agent[Symbol.asyncDispose]()
    const run = await harness.start({
      agentOptions: [method, 'http', 'close', 'toolless=1'],
      ownTools,
      toolsMs: 200,
      sessionId: first.readSessionId(),
      earlierFacts: first.kernel.facts,
    })
    expect(await run.runTurn('say two')).toMatchObject({ outcome: 'ok', result: 'two' })
    expect([sessionOpenings(run), run.readSessionId()]).toEqual([[method, 'close', method], first.readSessionId()])
    expect(run.kernel.reportsOf('output')).toEqual([])
  })

  test('the turn of a crew member that never lists them fails with the reason', async () => {
    const run = await harness.start({ agentOptions: ['http', 'toolless=9'], ownTools, toolsMs: 200, spec: { member: MEMBER } })
    expect(await run.runTurn('say one')).toMatchObject({
      outcome: 'error',
      error: `${NEVER_LISTED}: a member of a crew can report nothing without them`,
    })
    expect([sessionOpenings(run), notesOf(run)]).toEqual([
      ['new', 'new'],
      [ONCE_MORE, NEVER_LISTED],
    ])
  })

  test('an agent that never lists them and is not in a crew continues without them', async () => {
    const run = await harness.start({ agentOptions: ['http', 'toolless=9'], ownTools, toolsMs: 200 })
    expect(await run.runTurn('say one')).toMatchObject({ outcome: 'ok', result: 'one' })
    expect(notesOf(run)).toEqual([ONCE_MORE, NEVER_LISTED])
  })

  test('the agent can be stopped during the wait', async () => {
    const run = await harness.start({ agentOptions: ['http', 'toolless=9'], ownTools })
    await waitUntil(() => sessionOpenings(run).length === 1, 'its session is open')
    await run.agent.stop({ signal: 'SIGTERM', graceMs: 300 })
    expect(await run.waitForExit()).not.toHaveProperty('error')
  })
})
