// Each tool of crews: those of the coordinator by a public MCP client with a coordinator's token, those of
// workers by played models. The crew's state shows the effect of each call.
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reeveToolCall, LocalCrew, writeModelScript, callThatWaitsFor } from '../../support/crew/local-crew.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { connectClient, readToolServerFromLog, callTool } from '../../support/agents/reeve-tools-client.ts'
import type { Rule } from '../../support/crew/local-crew.ts'

const PROGRAM = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')

/** Reports that it is ready, asks once, claims to do each task, and approves each review. */
const WORKER: readonly Rule[] = [
  { when: '/^Task slow/', steps: [callThatWaitsFor('go-on'), { text: 'steered' }] },
  {
    when: '/^Task (?<id>[\\w.-]+)/',
    steps: [
      reeveToolCall('post_message', { to: 'coordinator', text: 'I begin with {{ id }}.' }),
      reeveToolCall('post_message', { to: '{{ id }}', text: 'it is simple' }),
      reeveToolCall('report_implementation_complete', { summary: '{{ id }} is there' }),
      { text: 'reported' },
    ],
  },
  {
    when: '/^Review (?<id>[\\w.-]+)/',
    steps: [reeveToolCall('report_review_verdict', { verdict: 'APPROVED', comments: '{{ id }} is right' }), { text: 'reviewed' }],
  },
]
const READY = { steps: [reeveToolCall('signal_ready'), { text: 'ready' }] }

let daemon: LocalDaemon
let client: Client
let crew: LocalCrew

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  const log = join(daemon.work, 'agent.log')
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  const command = [process.execPath, PROGRAM, `sessions=${daemon.work}`, `log=${log}`, 'http', 'always=hang']
  await writeFile(join(daemon.work, '.reeve/agents/boss.md'), `---\ndriver: acp\nasks: true\ncommand: ${JSON.stringify(command)}\n---\n`)
  crew = await LocalCrew.up(daemon, {
    coordinator: { agent: 'boss' },
    workers: { generic: 2 },
    model: writeModelScript(daemon.work, WORKER, READY),
    maxWorkers: 3,
    tasks: [{ id: 'first', title: 'The first', text: 'Do it.', acceptance: 'It is done.' }],
  })
  client = await connectClient(await readToolServerFromLog(log))
  await crew.waitUntil(
    ({ members }) =>
      members.filter(({ id, state, status }) => id.startsWith('worker') && state === 'on' && status === 'ready').length === 2,
  )
})
afterEach(async () => {
  await client.close()
  await daemon.signal(crew.uuid, 'SIGKILL', { subtree: true }).catch(() => undefined)
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const waitForTaskState = (id: string, state: string): Promise<unknown> =>
  crew.waitUntil(({ tasks }) => tasks.find((one) => one.id === id)?.state === state)
const waitUntilReady = (id: string): Promise<unknown> =>
  crew.waitUntil(({ members }) => members.find((one) => one.id === id)?.status === 'ready')
/** Calls a tool of the coordinator; returns the answer. */
async function expectDone(name: string, input: object = {}): Promise<string> {
  const { isError, text, value } = await callTool(client, name, input)
  expect([name, isError, isError ? text : '']).toEqual([name, false, ''])
  return String(value['note'])
}

describe('a coordinator', () => {
  test('reads the state, assigns work, has it reviewed and ends the crew; its workers report by their four tools', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['assign_task', 'complete_crew', 'ps']))
    expect((await callTool(client, 'list_workers')).value).toMatchObject({
      workers: [{ id: 'worker-1', role: 'generic', phase: 'idle' }, { id: 'worker-2' }],
    })
    expect(await expectDone('add_task', { id: 'second', title: 'The second', text: 'And this.', needs: ['first'] })).toContain('second')
    expect((await callTool(client, 'list_tasks', { open: true })).value).toMatchObject({
      tasks: [
        { id: 'first', state: 'queued' },
        { id: 'second', needs: ['first'] },
      ],
    })
    await expectDone('assign_task', { task: 'first', member: 'worker-1' })
    await waitForTaskState('first', 'awaiting_review')
    expect((await callTool(client, 'assign_review', { task: 'first', member: 'worker-1' })).text).toMatch(
      /^(CONFLICT|INVALID|PERMISSION): /,
    )
    await expectDone('assign_review', { task: 'first', member: 'worker-2' })
    await waitForTaskState('first', 'done')
    const { value } = await callTool(client, 'get_task', { task: 'first' })
    expect(value).toMatchObject({
      id: 'first',
      text: 'Do it.',
      acceptance: 'It is done.',
      implementer: 'worker-1',
      reviewer: 'worker-2',
      verdict: 'APPROVED',
      report: 'first is there',
      comments: 'first is right',
    })
    expect(JSON.stringify(value['history'])).toContain('it is simple')
    expect((await callTool(client, 'get_task', { task: 'third' })).text).toMatch(
      /^NOT_FOUND: there is no task third\. There are: first, second/,
    )
    await expectDone('mark_task_done', { task: 'second', reason: 'the first did it' })
    await expectDone('notify_user', { text: 'Nearly there.' })
    await expectDone('complete_crew', { summary: 'all of it', outcome: 'completed' })
    expect((await daemon.waitForEnd(crew.uuid)).exit).toMatchObject({ code: 0 })
    const facts = await daemon.readFactTypes(crew.uuid)
    for (const fact of ['task.message', 'task.reported', 'task.verdict', 'task.done', 'crew.notified', 'crew.ending'])
      expect(facts).toContain(fact)
  })

  test('starts, messages, replaces, stops and retires workers, and takes tasks back', async () => {
    expect(await expectDone('spawn_worker', { role: 'generic' })).toContain('worker-3')
    expect((await callTool(client, 'spawn_worker', { role: 'generic' })).text).toMatch(
      /^RESOURCE_EXHAUSTED: the crew has 3 workers.*retire_worker/,
    )
    await waitUntilReady('worker-3')
    await expectDone('send_message', { to: 'all', text: 'Look at the readme.' })
    await expectDone('stop_worker', { member: 'worker-3', reason: 'not needed' })
    await expectDone('retire_worker', { member: 'worker-2', reason: 'nor this one' })
    const { members } = await crew.waitUntil((view) => view.members.filter(({ state }) => state === 'gone').length === 2)
    expect(members.filter(({ state }) => state === 'gone').map(({ id, leave }) => [id, leave?.how])).toEqual([
      ['worker-2', 'retired'],
      ['worker-3', 'stopped'],
    ])
    expect(await expectDone('replace_worker', { member: 'worker-1', summary: 'Nothing was begun.' })).toContain('worker-4')
    await waitUntilReady('worker-4')
    await expectDone('cancel_task', { task: 'first', reason: 'not now' })
    await waitForTaskState('first', 'cancelled')
    await expectDone('add_task', { id: 'other', title: 'Other', text: 'x' })
    await expectDone('mark_task_failed', { task: 'other', reason: 'it cannot be done' })
    await waitForTaskState('other', 'failed')
    expect((await callTool(client, 'approve_commit', { task: 'other' })).text).toMatch(/^(CONFLICT|INVALID): /)
    expect((await callTool(client, 'post_message', { to: 'coordinator', text: 'x' })).text).toMatch(
      /^PERMISSION: the tool "post_message" is for workers of a crew/,
    )
  })

  test('sends a worker an urgent message, which the worker reads before its next model call, in the same turn', async () => {
    await expectDone('add_task', { id: 'slow', title: 'Slow', text: 'Wait.' })
    await expectDone('assign_task', { task: 'slow', member: 'worker-2' })
    const worker = (await crew.view()).members.find(({ id }) => id === 'worker-2')?.uuid ?? ''
    await daemon.waitForEvent(worker, ({ fact, name }) => fact === 'tool.started' && name === 'bash')
    await expectDone('send_message', { to: 'worker-2', text: 'Leave the tests alone.', task: 'slow', now: true })
    await expectDone('send_message', { to: 'worker-2', text: 'Later.' })
    await writeFile(join(daemon.work, 'go-on'), '')
    await daemon.waitForEvent(worker, ({ fact, name }) => fact === 'tool.finished' && String(name).endsWith('signal_ready'))
    const facts = (await daemon.readHistory(worker)).map(({ fact, name }) =>
      name === undefined ? fact : `${String(fact)} ${String(name)}`,
    )
    const next = facts.slice(facts.indexOf('tool.finished bash')).filter((fact) => fact === 'process.incoming' || fact === 'model.started')
    expect(next.slice(0, 2)).toEqual(['process.incoming', 'model.started'])
  })

  test('names members by their ids in the process tools; a hint there names tools', async () => {
    const { members } = await crew.view()
    const uuid = members.find(({ id }) => id === 'worker-1')?.uuid
    expect((await callTool(client, 'inspect', { process: 'worker-1' })).value).toMatchObject({
      id: uuid,
      name: 'team.worker-1',
      status: 'ready',
    })
    expect((await callTool(client, 'inspect', { process: 'coordinator' })).value).toMatchObject({ name: 'team.coordinator' })
    expect((await callTool(client, 'wait', { processes: ['worker-1'], for: 'ready' })).value).toMatchObject({
      done: true,
      processes: [{ id: uuid }],
    })
    expect((await callTool(client, 'inspect', { process: 'worker-9' })).text).toBe(
      'NOT_FOUND: no process "worker-9". In your crew there are coordinator, worker-1, worker-2. The tool `ps` lists processes, with `ended` also those that have ended.',
    )
    expect((await callTool(client, 'inspect', { process: 'nobody' })).text).toBe(
      'NOT_FOUND: no process "nobody". The tool `ps` lists processes, with `ended` also those that have ended.',
    )
    expect((await callTool(client, 'inspect', { process: '98765' })).text).toBe(
      'NOT_FOUND: no process "98765". Digits alone are a PID. `id:98765` names a process by its ID. The tool `ps` lists processes, with `ended` also those that have ended.',
    )
  })

  test('may repeat a command with the same id, and it is done once', async () => {
    const add = (): ReturnType<Client['callTool']> =>
      client.callTool({ name: 'add_task', arguments: { title: 'Twice', text: 'x' }, _meta: { 'reeve/callId': 'one-name' } })
    const [one, secondTask] = [await add(), await add()]
    expect(secondTask.content).toEqual(one.content)
    expect((await crew.view()).tasks.filter(({ title }) => title === 'Twice')).toHaveLength(1)
  })
})
