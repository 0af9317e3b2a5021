// Known ways in which crews of coding agents stall, from users' reports: finished work without a report, lost reports, tasks of
// departed members. Each test has the number of its report. Crews run under a daemon, with played models.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CrewHome, makeTask } from '../support/crew/crew-home.ts'
import { violationsOfCrew } from '../support/crew/crew-journal-check.ts'
import { bashCall, reeveToolCall, LocalCrew, memberOf, writeModelScript, taskOf, callThatWaitsFor } from '../support/crew/local-crew.ts'
import { waitUntil } from '../support/wait-until.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const DONE = [reeveToolCall('report_implementation_complete', { summary: 'it is done' }), { text: 'reported' }]
const TASK = '/^Task /'

test('I1: reeve asks for the report of finished work; without one the task fails with the reason, and no member waits for ever', async () => {
  const model = writeModelScript(daemon.work, [
    { when: TASK, steps: [bashCall('echo done >> work.txt'), { text: 'It is all done.' }] },
    { steps: [{ text: 'As I said, it is done.' }] },
  ])
  const crew = await LocalCrew.up(daemon, {
    model,
    workers: 1,
    reviews: false,
    maxAttempts: 2,
    tasks: [
      { id: 'one', text: 'Do one.' },
      { id: 'two', text: 'Do two.', needs: ['one'] },
    ],
  })
  const view = await crew.waitForEnd()
  expect(view.ending).toMatchObject({ outcome: 'failed' })
  expect(view.tasks.map(({ state, attempts, reason }) => [state, attempts, reason])).toEqual([
    ['failed', 2, expect.stringContaining('without a report')],
    ['failed', 0, expect.stringMatching(/needs one, which failed/)],
  ])
  const messages = await crew.messagesTo('worker-1')
  expect(messages.filter((text) => text.startsWith('Task ')).length).toBe(2)
  expect(messages.filter((text) => text.includes('Your turn ended without')).length).toBeGreaterThanOrEqual(4)
})

test('I3: a report wakes the coordinator at once, and only once', async () => {
  const coordinator = writeModelScript(daemon.work, [
    { when: 'You coordinate', steps: [{ text: 'I see.' }] },
    { when: 'it is done', steps: [reeveToolCall('complete_crew', { summary: 'all is done', outcome: 'completed' }), { text: 'over' }] },
    { steps: [{ text: 'I wait.' }] },
  ])
  const goFile = join(daemon.work, 'go')
  const crew = await LocalCrew.up(daemon, {
    model: writeModelScript(daemon.work, [
      { when: TASK, steps: [callThatWaitsFor(goFile), ...DONE] },
      { steps: [reeveToolCall('signal_ready')] },
    ]),
    coordinator: { model: coordinator },
    workers: 1,
    reviews: false,
    tasks: [{ id: 'one', text: 'Do one.' }],
  })
  await crew.waitUntil(({ members }) => members.length === 2 && members.every(({ state }) => state === 'on'))
  await crew.steer({ type: 'assign_task', task: 'one', member: 'worker-1' })
  await daemon.waitForStatus(await crew.uuidOf('coordinator'), 'ready')
  await daemon.spawnShell(`touch ${goFile}`)
  const view = await crew.waitForEnd()
  expect(view).toMatchObject({ status: 'completed', ending: { summary: 'all is done' } })
  expect((await crew.messagesTo('coordinator')).filter((text) => text.includes('it is done')).length).toBe(1)
})

test('I5: the task of a killed member goes back to the queue, and another member completes it', async () => {
  const goFile = join(daemon.work, 'go')
  const crew = await LocalCrew.up(daemon, {
    model: writeModelScript(daemon.work, [
      { when: TASK, steps: [bashCall(`mkdir '${goFile}' 2> /dev/null && exec sleep 600`), ...DONE] },
      { steps: [reeveToolCall('signal_ready')] },
    ]),
    workers: 1,
    reviews: false,
    tasks: [{ id: 'one', text: 'Do one.' }],
  })
  await crew.waitForMember('worker-1', ({ phase, status }) => phase === 'implementing' && status === 'working')
  await waitUntil(() => existsSync(goFile), 'worker-1 is in the middle of its task')
  await daemon.signal(await crew.uuidOf('worker-1'), 'SIGKILL')
  const view = await crew.waitForEnd()
  expect(taskOf(view, 'one')).toMatchObject({ state: 'done', attempts: 0, implementers: ['worker-1', 'worker-2'] })
  expect(await crew.facts('task.requeued')).toMatchObject([
    { task: 'one', counts: false, reason: 'worker-1 was stopped by the user: SIGKILL from user' },
  ])
  expect(memberOf(view, 'worker-1')).toMatchObject({ phase: 'idle', task: null, leave: { how: 'stopped' } })
  expect((await crew.messagesTo('worker-2'))[0]).toMatch(
    /A worker began this task before, and it went back to the queue: worker-1 was stopped by the user: SIGKILL from user/,
  )
})

test('I6: a member that retires before its report loses no file, and gets no more tasks', { timeout: 240_000 }, async () => {
  await using crew = await CrewHome.make()
  crew.hold('feedback', 'one')
  await crew.up({
    coordinator: 'engine',
    workers: { implementer: { count: 1, model: CrewHome.model('worker') }, reviewer: { count: 1, model: CrewHome.model('worker') } },
    tasks: [makeTask('one', [], true)],
  })
  await crew.waitForHold('feedback', 'one')
  const { uuid } = await crew.memberOf('one')
  await crew.home.client.post(`/v1/crews/${crew.uuid}/commands`, { type: 'retire_worker', member: 'worker-1', reason: 'too slow' })
  expect((await crew.waitForEnd()).status).toBe('completed')
  const salvaged = crew.repository
    .git('for-each-ref', '--format=%(refname)', 'refs/reeve/salvage')
    .split('\n')
    .filter((ref) => ref !== '')
  expect(salvaged.map((ref) => crew.repository.git('show', `${ref}:one.txt`))).toEqual(['one'])
  await crew.home.stop()
  const { crew: crewJournal, members, violations } = await crew.journals()
  expect([...violations, ...violationsOfCrew(crewJournal, members, true)]).toEqual([])
  const assigned = crewJournal.facts.flatMap(({ body }) => (body.type === 'task.assigned' ? [body.member] : []))
  expect(assigned[0]).toBe('worker-1')
  expect(assigned.slice(1)).not.toContain('worker-1')
  expect(members.find(({ process }) => process.uuid === uuid)?.process.retiredAt).not.toBeNull()
})

test(
  'I3: a report from before a crash of the daemon reaches the coordinator exactly once after the restart',
  { timeout: 240_000 },
  async () => {
    await using crew = await CrewHome.make()
    await crew.up({
      coordinator: { model: CrewHome.model('coordinator') },
      workers: { generic: { count: 2, model: CrewHome.model('worker') } },
      tasks: [makeTask('one')],
    })
    await crew.waitForFact('task.reported')
    await crew.restartDaemon()
    expect((await crew.waitForEnd()).status).toBe('completed')
    await crew.home.stop()
    const { crew: crewJournal, members, violations } = await crew.journals()
    expect([...violations, ...violationsOfCrew(crewJournal, members, true)]).toEqual([])
    const coordinator = members.find(({ process }) => process.spec.member?.id === 'coordinator')
    const queuedIds = (coordinator?.facts ?? []).flatMap(({ body }) =>
      body.type === 'process.queue' && body.text.includes('wrote one.txt') ? [body.id] : [],
    )
    const receivedIds = (coordinator?.facts ?? []).flatMap(({ body }) =>
      body.type === 'process.incoming' && queuedIds.includes(body.id) ? [body.id] : [],
    )
    expect([queuedIds.length, receivedIds.length]).toEqual([1, 1])
  },
)
