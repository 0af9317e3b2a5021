// The four tools of workers, each called by a public MCP client with a worker's token, turn by turn. Tests also cover the answers to a
// repeated report, and to one of the wrong worker.
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LocalCrew } from '../../support/crew/local-crew.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { connectClient, readToolServerFromLog, callTool } from '../../support/agents/reeve-tools-client.ts'

const PROGRAM = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')

let daemon: LocalDaemon
let crew: LocalCrew
let implementer: Client
let reviewer: Client

const workFile = (name: string): string => join(daemon.work, name)

/** Each turn of this agent ends when the test decides. */
async function writeAgentFile(name: string): Promise<void> {
  await mkdir(workFile(name))
  const command = [process.execPath, PROGRAM, `sessions=${workFile(name)}`, `log=${workFile(name)}/log`, 'http', 'always=turn']
  await writeFile(join(daemon.work, '.reeve/agents', `${name}.md`), `---\ndriver: acp\ncommand: ${JSON.stringify(command)}\n---\n`)
}

const endTurn = (name: string, turn: number): Promise<void> => writeFile(join(workFile(name), `turn-${turn}`), '')
const waitUntilWorking = (uuid: string): Promise<unknown> => daemon.waitForView(uuid, ({ activity }) => activity === 'working')

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeAgentFile('hand')
  await writeAgentFile('eye')
  const definition = {
    workers: { implementer: { count: 1, agent: 'hand' }, reviewer: { count: 1, agent: 'eye' } },
    tasks: [{ id: 'one', text: 'Do it.' }],
  }
  await writeFile(join(daemon.work, 'reeve.yaml'), JSON.stringify({ crews: { team: definition } }))
  crew = await LocalCrew.up(daemon, { crew: 'team' })
  implementer = await connectClient(await readToolServerFromLog(join(workFile('hand'), 'log')))
  reviewer = await connectClient(await readToolServerFromLog(join(workFile('eye'), 'log')))
})
afterEach(async () => {
  await Promise.all([implementer.close(), reviewer.close()])
  await daemon.signal(crew.uuid, 'SIGKILL', { subtree: true }).catch(() => undefined)
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

test('a worker asks, reports, judges and reports that it is ready; a repeated report changes nothing', async () => {
  const { tools } = await implementer.listTools()
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['post_message', 'report_implementation_complete', 'report_review_verdict', 'signal_ready']),
  )
  expect(tools.map(({ name }) => name)).not.toContain('assign_task')
  const { members } = await crew.waitUntil(({ tasks }) => tasks[0]?.state === 'implementing')
  const [implementerUuid, reviewerUuid] = ['implementer', 'reviewer'].map((role) => members.find((one) => one.role === role)?.uuid ?? '')
  await waitUntilWorking(implementerUuid ?? '')
  expect((await callTool(implementer, 'post_message', { to: 'one', text: 'it is simple' })).value).toMatchObject({ ok: true })
  expect((await callTool(implementer, 'report_review_verdict', { verdict: 'APPROVED', comments: 'mine' })).isError).toBe(true)
  const sendReport = (): ReturnType<Client['callTool']> =>
    implementer.callTool({ name: 'report_implementation_complete', arguments: { summary: 'done' }, _meta: { 'reeve/callId': 'my-report' } })
  expect((await sendReport()).content).toEqual((await sendReport()).content)
  await endTurn('hand', 1)
  await crew.waitUntil(({ tasks }) => tasks[0]?.state === 'in_review')
  await waitUntilWorking(reviewerUuid ?? '')
  expect((await callTool(reviewer, 'report_review_verdict', { verdict: 'MAYBE', comments: 'x' })).text).toMatch(
    /^INVALID: the input of report_review_verdict is not valid/,
  )
  expect((await callTool(reviewer, 'report_review_verdict', { verdict: 'APPROVED', comments: 'right' })).value).toMatchObject({ ok: true })
  expect((await callTool(reviewer, 'signal_ready')).value).toMatchObject({ ok: true, note: expect.any(String) })
  await endTurn('eye', 1)
  await crew.waitUntil(({ tasks }) => tasks[0]?.state === 'done')
  const facts = await daemon.readFactTypes(crew.uuid)
  for (const fact of ['task.message', 'task.reported', 'task.verdict'])
    expect([fact, facts.filter((one) => one === fact).length]).toEqual([fact, 1])
})
