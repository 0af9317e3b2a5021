// Notices to a coordinator agent under a real daemon, about a worker that calls signal_ready while it holds a task, and a paused worker.
// A worker in a loop gets a warning first, and under the engine its task goes to another worker. The report names a task that the
// coordinator marked as done.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CrewReportView } from '../../../src/api/views/crew-report.ts'
import { crewReportText } from '../../../src/cli/print/crew-report.ts'
import { bashCall, reeveToolCall, LocalCrew, writeModelScript, taskOf } from '../../support/crew/local-crew.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const COORDINATOR_SCRIPT = [
  { when: 'You coordinate this crew', steps: [reeveToolCall('assign_task', { task: 'a', member: 'worker-1' }), { text: 'given' }] },
  { steps: [{ text: 'I wait for the report.' }] },
]

/** Waits for the message to the coordinator that contains this text. */
async function waitForMessage(crew: LocalCrew, part: string): Promise<string> {
  await crew.waitForMember('coordinator', ({ state }) => state === 'on')
  const uuid = await crew.uuidOf('coordinator')
  return String(
    (await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.queue' && String(event['text']).includes(part)))['text'],
  )
}

test('a worker that calls signal_ready in the middle of a task gets reminders, and then the coordinator gets a notice', async () => {
  const worker = writeModelScript(daemon.work, [{ steps: [reeveToolCall('signal_ready'), { text: 'ready' }] }])
  const crew = await LocalCrew.up(daemon, {
    coordinator: { model: writeModelScript(daemon.work, COORDINATOR_SCRIPT) },
    model: worker,
    workers: 1,
    tasks: [{ id: 'a', text: 'Do it.' }],
  })
  expect(await waitForMessage(crew, 'called signal_ready, but still holds')).toBe(
    'worker-1 called signal_ready, but still holds a "Do it." (implementing). It was reminded 2 times. Send it instructions with send_message, or take the task back with cancel_task and requeue.',
  )
  expect(await waitForMessage(crew, 'No task makes progress')).toContain(
    'worker-1 holds a "Do it." (implementing), and ended its turn without a report. send_message',
  )
  expect(
    (await crew.facts('crew.turn'))
      .filter(({ member }) => member === 'worker-1')
      .map(({ end }) => end)
      .slice(0, 4),
  ).toEqual(['exempt', 'reminded', 'reminded', 'through'])
  expect((await crew.view()).waitsFor).toEqual([
    'a "Do it." is implementing with worker-1, which ended its turn without a report: send it a message (reeve crew send)',
  ])
})

/** More repetitions than the loop limit allows. */
const REPEATED_CALLS = {
  when: '/^Task a|with the same results/',
  steps: [...Array.from({ length: 14 }, () => bashCall('echo the same')), { text: 'enough' }],
}

test('a worker in a loop gets a warning, and is then paused; the coordinator gets the reason and the way to end the pause', async () => {
  const crew = await LocalCrew.up(daemon, {
    coordinator: { model: writeModelScript(daemon.work, COORDINATOR_SCRIPT) },
    model: writeModelScript(daemon.work, [REPEATED_CALLS, { steps: [reeveToolCall('signal_ready'), { text: '.' }] }]),
    workers: 1,
    tasks: [{ id: 'a', text: 'Do it.' }],
  })
  expect(await waitForMessage(crew, 'worker-1 is paused')).toMatch(
    /^worker-1 is paused \(loop\): repeated 12 times with the same results: bash .*\. It holds a "Do it\." \(implementing\)\. It does not resume by itself\. replace_worker gives its task to a successor\. stop_worker/,
  )
  const loopEvents = (await daemon.readHistory(await crew.uuidOf('worker-1'))).filter((event) => event['fact'] === 'liveness.looping')
  expect(
    loopEvents.map(({ times, told }) => [times, told]),
    'the warning came before the hold',
  ).toEqual([
    [5, 12],
    [12, undefined],
  ])
  expect(await waitForMessage(crew, 'No task makes progress')).toContain('and is paused (loop)')
})

test('under the engine, the task of a worker in a loop goes to another worker as a failed attempt', async () => {
  const rules = [
    { when: 'earlier attempt failed', steps: [reeveToolCall('report_implementation_complete', { summary: 'done' }), { text: '.' }] },
    REPEATED_CALLS,
    { steps: [reeveToolCall('signal_ready'), { text: '.' }] },
  ]
  const crew = await LocalCrew.up(daemon, {
    model: writeModelScript(daemon.work, rules),
    workers: 1,
    reviews: false,
    tasks: [{ id: 'a', text: 'Do it.' }],
  })
  const view = await crew.waitForEnd()
  expect([view.exit, taskOf(view, 'a')]).toMatchObject([
    { code: 0 },
    { state: 'done', attempts: 1, implementers: ['worker-1', 'worker-2'] },
  ])
  expect(view.members.map(({ id, leave }) => [id, leave?.how])).toEqual([
    ['worker-1', 'stopped'],
    ['worker-2', undefined],
  ])
})

test('the report names each task that the coordinator marked as done, with its reason', async () => {
  const steps = [
    reeveToolCall('mark_task_done', { task: 'a', reason: 'nobody needs it' }),
    reeveToolCall('complete_crew', { summary: 'all done', outcome: 'completed' }),
    { text: '.' },
  ]
  const crew = await LocalCrew.up(daemon, {
    coordinator: { model: writeModelScript(daemon.work, [{ steps }]) },
    model: writeModelScript(daemon.work, [{ steps: [{ text: '.' }] }]),
    workers: 1,
    tasks: [{ id: 'a', text: 'Do it.' }],
  })
  expect(taskOf(await crew.waitForEnd(), 'a')).toMatchObject({ state: 'done', byWord: 'coordinator', implementer: null, attempts: 0 })
  const report = await daemon.client.get<CrewReportView>(`/v1/crews/${crew.uuid}/report`)
  expect(report.open).toEqual([
    {
      what: 'a (Do it.) was marked as done by the coordinator, without a review or commit: nobody needs it',
      how: 'reeve crew show team a',
    },
  ])
  expect(crewReportText(report)[2]).toContain('1 of 1 task done (1 unchecked)')
})
