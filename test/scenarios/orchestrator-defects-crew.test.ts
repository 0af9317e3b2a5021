// Defects of an orchestrator of coordinators and workers, as far as they concern crews: `orchestrator defect N` names a defect that must
// not happen here. orchestrator-defects.test.ts has the others. Crews run under a daemon, with played models.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CrewMemberView, CrewTaskView, CrewView } from '../../src/api/views/crew.ts'
import { CrewHome, makeTask } from '../support/crew/crew-home.ts'
import { waitUntil } from '../support/wait-until.ts'
import { connectClient, callTool } from '../support/agents/reeve-tools-client.ts'
import { bashCall, reeveToolCall, LocalCrew, memberOf, writeModelScript, taskOf, callThatWaitsFor } from '../support/crew/local-crew.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'
import { Repository } from '../support/git/repository.ts'
import { ROOT } from '../support/env.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const IDLE = [{ steps: [{ text: 'I do nothing.' }] }]
const DONE = [reeveToolCall('report_implementation_complete', { summary: 'it is done' }), { text: 'reported' }]
const goFile = (): string => join(daemon.work, 'go')
/** The coordinator does nothing, so that the user gives all commands. */
const startUserLed = (model: string, tasks: readonly { readonly id: string; readonly text: string }[], workers = 2): Promise<LocalCrew> =>
  LocalCrew.up(daemon, { model, coordinator: { model: writeModelScript(daemon.work, IDLE) }, workers, reviews: false, tasks: [...tasks] })

const turnEnds = async (crew: LocalCrew, id: string): Promise<unknown[]> =>
  (await crew.facts('crew.turn')).filter(({ member }) => member === id).map(({ end }) => end)

test(
  'orchestrator defect 2: the implementer repairs a denied change, and is idle again after its commit',
  { timeout: 240_000 },
  async () => {
    const repository = Repository.make(join(daemon.work, 'project'), daemon.work)
    repository.git('config', 'user.name', 'P')
    repository.git('config', 'user.email', 'p@example.org')
    repository.commit({ 'README.md': 'a project' })
    const tasks = [
      { id: 'one', text: 'Write one.txt with one, carelessly.' },
      { id: 'two', text: 'Write two.txt with two.', needs: ['one'] },
    ]
    const model = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`
    const crew = await LocalCrew.up(daemon, {
      cwd: repository.dir,
      worktrees: true,
      model,
      workers: { implementer: 1, reviewer: 1 },
      stay: true,
      tasks,
    })
    const view = await crew.waitUntil((one) => one.tasks.every(({ state }) => state === 'done'))
    expect(view.tasks.map(({ implementer, reviewer, denials, verdict }) => [implementer, reviewer, denials, verdict])).toEqual([
      ['worker-1', 'worker-2', 1, 'APPROVED'],
      ['worker-1', 'worker-2', 0, 'APPROVED'],
    ])
    expect(view.members.map(({ phase, task }) => [phase, task])).toEqual([
      ['idle', null],
      ['idle', null],
    ])
    expect(repository.git('log', '--format=%s', 'main..reeve/team').split('\n')).toEqual(['two: it is written', 'one: it is written'])
    await crew.steer({ type: 'complete_crew', summary: 'done', outcome: 'completed' })
    expect((await crew.waitForEnd()).status).toBe('completed')
  },
)

test('orchestrator defect 7: a turn after a reminder must also end with a report, but the first turn of a successor need not', async () => {
  const crew = await startUserLed(writeModelScript(daemon.work, IDLE), [{ id: 'one', text: 'Do one.' }], 1)
  await crew.waitForMember('worker-1', ({ state }) => state === 'on')
  await crew.steer({ type: 'assign_task', task: 'one', member: 'worker-1' })
  await crew.waitForFact('crew.turn', ({ member, end }) => member === 'worker-1' && end === 'through')
  expect(await turnEnds(crew, 'worker-1')).toEqual(['exempt', 'reminded', 'reminded', 'through'])
  await crew.steer({ type: 'send_message', to: 'worker-1', text: 'go on' })
  await crew.waitForFact('crew.turn', ({ member, turn }) => member === 'worker-1' && turn === 7)
  expect(await turnEnds(crew, 'worker-1'), 'a message of the user starts the count again').toEqual([
    'exempt',
    'reminded',
    'reminded',
    'through',
    'reminded',
    'reminded',
    'through',
  ])
  await crew.steer({ type: 'replace_worker', member: 'worker-1', summary: 'half of it is done' })
  await crew.waitForFact('crew.turn', ({ member }) => member === 'worker-2')
  expect((await turnEnds(crew, 'worker-2'))[0]).toBe('exempt')
  expect((await crew.messagesTo('worker-2'))[0]).toContain('half of it is done')
})

test('orchestrator defect 11: no departed, replaced or idle member has a task, and no task stays blocked', async () => {
  const model = writeModelScript(daemon.work, [{ when: 'Do ', steps: [callThatWaitsFor(goFile()), ...DONE] }, ...IDLE])
  const crew = await startUserLed(model, [
    { id: 'one', text: 'Do one.' },
    { id: 'two', text: 'Do two.' },
  ])
  await crew.waitUntil(({ members }) => members.filter(({ state }) => state === 'on').length === 3)
  const assignTask = async (task: string, member: string): Promise<void> => {
    await crew.steer({ type: 'assign_task', task, member })
    await crew.waitForFact('crew.turn.begun', (event) => event['member'] === member)
  }
  await assignTask('one', 'worker-1')
  await crew.steer({ type: 'stop_worker', member: 'worker-1', reason: 'in circles' })
  const viewAfterStop = await crew.waitForMember('worker-1', ({ state }) => state === 'gone')
  expect([taskOf(viewAfterStop, 'one'), memberOf(viewAfterStop, 'worker-1')]).toMatchObject([
    { state: 'queued', implementer: null, attempts: 0 },
    { phase: 'idle', task: null, leave: { how: 'stopped' } },
  ])
  await assignTask('one', 'worker-2')
  await crew.steer({ type: 'mark_task_failed', task: 'one', reason: 'there is no such page' })
  expect(await crew.view()).toMatchObject({ tasks: [{ state: 'failed', reason: 'there is no such page' }, { state: 'queued' }] })
  expect(memberOf(await crew.view(), 'worker-2')).toMatchObject({ phase: 'idle', task: null })
  await crew.steer({ type: 'assign_task', task: 'two', member: 'worker-2' })
  await crew.steer({ type: 'replace_worker', member: 'worker-2', summary: 'nothing yet' })
  const viewAfterReplacement = await crew.waitForMember('worker-2', ({ state }) => state === 'gone')
  expect([memberOf(viewAfterReplacement, 'worker-2'), memberOf(viewAfterReplacement, 'worker-3')]).toMatchObject([
    { phase: 'idle', task: null, leave: { how: 'replaced' } },
    { phase: 'implementing', task: 'two', state: 'on' },
  ])
  writeFileSync(goFile(), '')
  const viewAfterTask = await crew.waitForTask('two', ({ state }) => state === 'done')
  expect([taskOf(viewAfterTask, 'two'), memberOf(viewAfterTask, 'worker-3')]).toMatchObject([
    { implementer: 'worker-3', implementers: ['worker-2', 'worker-3'] },
    { phase: 'idle', task: null },
  ])
  await expect(crew.steer({ type: 'assign_task', task: 'one', member: 'worker-1' })).rejects.toMatchObject({ code: 'CONFLICT' })
})

test('orchestrator defect 1: the crew refuses forbidden commands with a reason, and they change nothing', async () => {
  const model = writeModelScript(daemon.work, [{ when: 'Do ', steps: [callThatWaitsFor(goFile()), ...DONE] }, ...IDLE])
  const crew = await startUserLed(model, [
    { id: 'one', text: 'Do one.' },
    { id: 'two', text: 'Do two.' },
  ])
  await crew.waitUntil(({ members }) => members.filter(({ state }) => state === 'on').length === 3)
  await crew.steer({ type: 'assign_task', task: 'one', member: 'worker-1' })
  await crew.waitForMember('worker-1', ({ status }) => status === 'working')
  const facts = await crew.facts(
    'task.assigned',
    'task.review',
    'task.approved',
    'task.done',
    'task.failed',
    'task.added',
    'crew.leaving',
    'crew.member',
  )
  const illegal = [
    [{ type: 'assign_task', task: 'two', member: 'worker-1' }, 'CONFLICT', /implementing/],
    [{ type: 'assign_task', task: 'one', member: 'worker-2' }, 'CONFLICT', /implementing/],
    [{ type: 'assign_task', task: 'three', member: 'worker-2' }, 'NOT_FOUND', /no task/],
    [{ type: 'assign_task', task: 'two', member: 'worker-9' }, 'NOT_FOUND', /no member/],
    [{ type: 'assign_task', task: 'two', member: 'coordinator' }, 'INVALID', /is a coordinator/],
    [{ type: 'assign_review', task: 'one', member: 'worker-2' }, 'CONFLICT', /implementing/],
    [{ type: 'approve_commit', task: 'one' }, 'CONFLICT', /implementing/],
    [{ type: 'add_task', id: 'one', text: 'Again.' }, 'CONFLICT', /already/],
    [{ type: 'add_task', text: 'Later.', needs: ['never'] }, 'NOT_FOUND', /does not exist/],
    [{ type: 'complete_crew', summary: 'done', outcome: 'completed' }, 'CONFLICT', /open/],
  ] as const
  for (const [command, code, words] of illegal)
    await expect(crew.steer(command as unknown as Parameters<LocalCrew['steer']>[0]), command.type).rejects.toMatchObject({
      code,
      message: expect.stringMatching(words),
      hint: expect.stringMatching(/./),
    })
  expect(
    await crew.facts(
      'task.assigned',
      'task.review',
      'task.approved',
      'task.done',
      'task.failed',
      'task.added',
      'crew.leaving',
      'crew.member',
    ),
  ).toEqual(facts)
  writeFileSync(goFile(), '')
  await crew.waitForTask('one', ({ state }) => state === 'done')
})

test('orchestrator defect 14: a member reports only what its role may, and no other process reports for it', async () => {
  const model = writeModelScript(daemon.work, [
    {
      when: '/^Task/',
      steps: [
        reeveToolCall('complete_crew', { summary: 'mine', outcome: 'completed' }),
        reeveToolCall('assign_task', { task: 'one', member: 'worker-2' }),
        reeveToolCall('report_review_verdict', { verdict: 'APPROVED', comments: 'mine' }),
        ...DONE,
      ],
    },
    ...IDLE,
  ])
  const crew = await startUserLed(model, [{ id: 'one', text: 'Do one.' }], 1)
  await crew.waitForMember('worker-1', ({ state }) => state === 'on')
  await crew.steer({ type: 'assign_task', task: 'one', member: 'worker-1' })
  await crew.waitForTask('one', ({ state }) => state === 'done')
  const calls = (await daemon.readHistory(await crew.uuidOf('worker-1')))
    .filter((event) => event['fact'] === 'tool.finished')
    .map(({ outcome }) => outcome)
  expect(calls).toEqual(['error', 'error', 'error', 'ok'])
  expect(await crew.facts('crew.ending')).toEqual([])
  // An agent outside a crew has no such tool.
  const processOutsideCrew = await daemon.spawn({
    model: writeModelScript(daemon.work, [
      { steps: [reeveToolCall('complete_crew', { summary: 'mine', outcome: 'completed' }), { text: '{{ lastResult }}' }] },
    ]),
  })
  expect((await daemon.waitForEnd(processOutsideCrew.uuid)).lastText).toMatch(/complete_crew/)
  expect(
    (await daemon.readHistory(processOutsideCrew.uuid)).filter((event) => event['fact'] === 'tool.finished').map(({ outcome }) => outcome),
  ).toEqual(['error'])
  expect((await crew.view()).status).toBe('ready')
})

test('orchestrator defect 18: a member that has used 80 % of its context gets a warning, and hands over before the context is full', async () => {
  const model = writeModelScript(
    daemon.work,
    [
      {
        when: 'context is used',
        steps: [reeveToolCall('post_message', { to: 'coordinator', text: 'half of it is done' }), { text: 'the other half is left' }],
      },
      { when: 'You take over from', steps: DONE },
      {
        when: 'Do one',
        steps: [
          { ...bashCall('true'), usage: { input: 8_500, output: 10 } },
          { ...bashCall('true'), usage: { input: 9_300, output: 10 } },
          { text: 'I go on', usage: { input: 9_400, output: 10 } },
        ],
      },
      ...IDLE,
    ],
    { context_window: 10_000 },
  )
  const crew = await LocalCrew.up(daemon, { model, workers: 1, reviews: false, tasks: [{ id: 'one', text: 'Do one.' }] })
  const view = await crew.waitForEnd()
  expect(view).toMatchObject({
    status: 'completed',
    tasks: [{ state: 'done', implementer: 'worker-2', implementers: ['worker-1', 'worker-2'] }],
  })
  expect(memberOf(view, 'worker-1')).toMatchObject({ leave: { how: 'replaced' } })
  const history = await daemon.readHistory(await crew.uuidOf('worker-1'))
  expect(history.findIndex((event) => event['fact'] === 'limit.warned' && event['limit'] === 'context')).toBeGreaterThan(0)
  expect((await crew.messagesTo('worker-2')).join()).toContain('half of it is done')
})

test('orchestrator defect 17: two agents of one agent file have different tokens, and each token finds its own process', async () => {
  const log = join(daemon.work, 'agents.log')
  const command = [process.execPath, join(ROOT, 'test/support/programs/acp-agent.ts'), `sessions=${daemon.work}`, `log=${log}`, 'http']
  mkdirSync(join(daemon.work, '.reeve/agents'), { recursive: true })
  writeFileSync(join(daemon.work, '.reeve/agents/coder.md'), `---\ndriver: acp\nreeve: true\ncommand: ${JSON.stringify(command)}\n---\n`)
  const startedProcesses = await Promise.all([1, 2].map(() => daemon.spawn({ agent: 'coder', intent: 'hang', interactive: true })))
  await waitUntil(() => existsSync(log) && serversIn(readFileSync(log, 'utf8')).length === 2, 'both have a session')
  const uuids = await Promise.all(
    serversIn(readFileSync(log, 'utf8')).map(async (server) => {
      const client = await connectClient(server)
      const { value } = await callTool(client, 'inspect', { process: 'self' })
      await client.close()
      return (value as { readonly id: string }).id
    }),
  )
  expect(uuids.toSorted()).toEqual(startedProcesses.map(({ uuid }) => uuid).toSorted())
  for (const { uuid } of startedProcesses) await daemon.signal(uuid, 'SIGKILL')
})

/** The MCP server of each session, from the agents' log. */
function serversIn(log: string): { readonly url: string; readonly token: string }[] {
  return log
    .split('\n')
    .filter((line) => line.includes('"mcpServers"'))
    .map((line) => {
      const {
        mcpServers: [server],
      } = JSON.parse(line.slice(line.indexOf('{'))) as { mcpServers: { url: string; headers: { name: string; value: string }[] }[] }
      const value = server?.headers.find(({ name }) => name === 'Authorization')?.value ?? ''
      return { url: server?.url ?? '', token: value.replace('Bearer ', '') }
    })
}

test(
  'orchestrator defect 12: tasks, phases and queues outlive a kill of the daemon, and the crew continues',
  { timeout: 240_000 },
  async () => {
    await using crew = await CrewHome.make()
    crew.hold('task', 'one')
    crew.hold('feedback', 'two')
    await crew.up({
      coordinator: 'engine',
      workers: { implementer: { count: 2, model: CrewHome.model('worker') }, reviewer: { count: 1, model: CrewHome.model('worker') } },
      tasks: [makeTask('one'), makeTask('two', [], true), makeTask('three', ['one'])],
    })
    await crew.waitForHold('task', 'one')
    await crew.waitForHold('feedback', 'two')
    for (const text of ['first', 'second']) await crew.cli('crew', 'send', 'team', text, '--to', 'worker-1')
    const stateBefore = await readState(crew)
    expect(stateBefore.tasks.map(({ state: at }) => at)).toEqual(['implementing', 'addressing_feedback', 'queued'])
    await crew.home.kill()
    await crew.home.start()
    const stateAfter = await readState(crew)
    expect({ ...stateAfter, members: stateAfter.members.map(({ id, phase, task }) => ({ id, phase, task })) }).toEqual({
      ...stateBefore,
      members: stateBefore.members.map(({ id, phase, task }) => ({ id, phase, task })),
    })
    expect((await crew.waitForEnd()).status).toBe('completed')
    const queued = (await crew.home.readEvents()).filter(
      (event) => event['fact'] === 'process.queue' && (event['text'] === 'first' || event['text'] === 'second'),
    )
    const received = (await crew.home.readEvents()).filter(
      (event) => event['fact'] === 'process.incoming' && queued.some(({ id }) => id === event['id']),
    )
    expect(received.map(({ id }) => id)).toEqual(queued.map(({ id }) => id))
  },
)

async function readState(
  crew: CrewHome,
): Promise<{ readonly tasks: readonly CrewTaskView[]; readonly members: readonly CrewMemberView[] }> {
  const {
    crew: { tasks, members },
  } = await crew.home.client.get<{ crew: CrewView }>(`/v1/crews/${crew.uuid}`)
  return { tasks, members }
}
