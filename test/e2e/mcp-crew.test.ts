// The tools of crews, each called: those of the coordinator by a public client of MCP with the token of an agent that coordinates, those of
// workers by models that are played. What each does to the crew is told by the crew itself.
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { call, LocalCrew, played } from '../support/local-crew.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { connect, handedBy, say } from '../support/own-tools.ts'
import type { Rule } from '../support/local-crew.ts'

const PROGRAM = resolve(import.meta.dirname, '../support/programs/acp-agent.ts')

/** Says that it is ready, asks once, does what it is told without doing it, and approves of all. */
const WORKER: readonly Rule[] = [
  {
    when: '/^Task (?<id>[\\w.-]+)/',
    steps: [
      call('post_message', { to: 'coordinator', text: 'I begin with {{ id }}.' }), call('post_message', { to: '{{ id }}', text: 'it is simple' }),
      call('report_implementation_complete', { summary: '{{ id }} is there' }), { text: 'reported' },
    ],
  },
  { when: '/^Review (?<id>[\\w.-]+)/', steps: [call('report_review_verdict', { verdict: 'APPROVED', comments: '{{ id }} is right' }), { text: 'reviewed' }] },
]
const READY = { steps: [call('signal_ready'), { text: 'ready' }] }

let daemon: LocalDaemon
let client: Client
let crew: LocalCrew

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  const log = join(daemon.work, 'agent.log')
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  const command = [process.execPath, PROGRAM, `sessions=${daemon.work}`, `log=${log}`, 'http', 'always=hang']
  await writeFile(join(daemon.work, '.reeve/agents/boss.md'), `---\ndriver: acp\ncommand: ${JSON.stringify(command)}\n---\n`)
  crew = await LocalCrew.up(daemon, {
    coordinator: { agent: 'boss' }, workers: { generic: 2 }, model: played(daemon.work, WORKER, READY), maxWorkers: 3,
    tasks: [{ id: 'first', title: 'The first', text: 'Do it.', acceptance: 'It is done.' }],
  })
  client = await connect(await handedBy(log))
  await crew.until(({ members }) => members.filter(({ id, state, status }) => id.startsWith('worker') && state === 'on' && status === 'ready').length === 2)
})
afterEach(async () => {
  await client.close()
  await daemon.signal(crew.uuid, 'SIGKILL', { subtree: true }).catch(() => undefined)
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const taskIs = (id: string, state: string): Promise<unknown> => crew.until(({ tasks }) => tasks.find((one) => one.id === id)?.state === state)
const readyIs = (id: string): Promise<unknown> => crew.until(({ members }) => members.find((one) => one.id === id)?.status === 'ready')
/** What the coordinator is told it did. */
async function done(name: string, input: object = {}): Promise<string> {
  const { isError, text, value } = await say(client, name, input)
  expect([name, isError, isError ? text : '']).toEqual([name, false, ''])
  return String(value['note'])
}

describe('a coordinator', () => {
  test('looks, gives work, has it reviewed and ends the crew; its workers report by their four tools', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['assign_task', 'complete_crew', 'ps']))
    expect((await say(client, 'list_workers')).value).toMatchObject({ workers: [{ id: 'worker-1', role: 'generic', phase: 'idle' }, { id: 'worker-2' }] })
    expect(await done('add_task', { id: 'second', title: 'The second', text: 'And this.', needs: ['first'] })).toContain('second')
    expect((await say(client, 'list_tasks', { open: true })).value).toMatchObject({ tasks: [{ id: 'first', state: 'queued' }, { id: 'second', needs: ['first'] }] })
    await done('assign_task', { task: 'first', member: 'worker-1' })
    await taskIs('first', 'awaiting_review')
    expect((await say(client, 'assign_review', { task: 'first', member: 'worker-1' })).text).toMatch(/^(CONFLICT|INVALID|PERMISSION): /)
    await done('assign_review', { task: 'first', member: 'worker-2' })
    await taskIs('first', 'done')
    const { value } = await say(client, 'get_task', { task: 'first' })
    expect(value).toMatchObject({ id: 'first', text: 'Do it.', acceptance: 'It is done.', implementer: 'worker-1', reviewer: 'worker-2', verdict: 'APPROVED', report: 'first is there', comments: 'first is right' })
    expect(JSON.stringify(value['history'])).toContain('it is simple')
    expect((await say(client, 'get_task', { task: 'third' })).text).toMatch(/^NOT_FOUND: there is no task third\. There are: first, second/)
    await done('mark_task_done', { task: 'second', reason: 'the first did it' })
    await done('notify_user', { text: 'Nearly there.' })
    await done('complete_crew', { summary: 'all of it', outcome: 'completed' })
    expect((await daemon.ended(crew.uuid)).exit).toMatchObject({ code: 0 })
    const facts = await daemon.facts(crew.uuid)
    for (const fact of ['task.message', 'task.reported', 'task.verdict', 'task.done', 'crew.notified', 'crew.ending']) expect(facts).toContain(fact)
  })

  test('starts, tells, replaces, stops and retires workers, and takes tasks back', async () => {
    expect(await done('spawn_worker', { role: 'generic' })).toContain('worker-3')
    expect((await say(client, 'spawn_worker', { role: 'generic' })).text).toMatch(/^RESOURCE_EXHAUSTED: 3 workers live.*retire_worker/)
    await readyIs('worker-3')
    await done('send_message', { to: 'all', text: 'Look at the readme.' })
    await done('stop_worker', { member: 'worker-3', reason: 'not needed' })
    await done('retire_worker', { member: 'worker-2', reason: 'nor this one' })
    const { members } = await crew.until((view) => view.members.filter(({ state }) => state === 'gone').length === 2)
    expect(members.filter(({ state }) => state === 'gone').map(({ id, leave }) => [id, leave?.how])).toEqual([['worker-2', 'retired'], ['worker-3', 'stopped']])
    expect(await done('replace_worker', { member: 'worker-1', summary: 'Nothing was begun.' })).toContain('worker-4')
    await readyIs('worker-4')
    await done('cancel_task', { task: 'first', reason: 'not now' })
    await taskIs('first', 'cancelled')
    await done('add_task', { id: 'other', title: 'Other', text: 'x' })
    await done('mark_task_failed', { task: 'other', reason: 'it cannot be done' })
    await taskIs('other', 'failed')
    expect((await say(client, 'approve_commit', { task: 'other' })).text).toMatch(/^(CONFLICT|INVALID): /)
    expect((await say(client, 'post_message', { to: 'coordinator', text: 'x' })).text).toMatch(/^PERMISSION: the tool "post_message" is of workers of a crew/)
  })

  test('says a thing twice with one name, and it is done once', async () => {
    const add = (): ReturnType<Client['callTool']> => client.callTool({ name: 'add_task', arguments: { title: 'Twice', text: 'x' }, _meta: { 'reeve/callId': 'one-name' } })
    const [one, two] = [await add(), await add()]
    expect(two.content).toEqual(one.content)
    expect((await crew.view()).tasks.filter(({ title }) => title === 'Twice')).toHaveLength(1)
  })
})
