// How crews of coding agents stall, by people's own reports: work that is done and not reported, reports that reach nobody, tasks of
// who is gone. Each test bears the number of its row. Crews run under a daemon, with models that are played.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CrewHome, taskOf as fileTask } from '../support/crew-home.ts'
import { wrongsOfCrew } from '../support/crew-journal.ts'
import { bash, call, LocalCrew, memberOf, played, taskOf, waitsFor } from '../support/local-crew.ts'
import { eventually } from '../support/living.ts'
import { LocalDaemon } from '../support/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => { daemon = await LocalDaemon.start() })
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const DONE = [call('report_implementation_complete', { summary: 'it is done' }), { text: 'reported' }]
const TASK = '/^Task /'

test('I1: work that is done and never reported is asked for, and in the end its task fails with the reason; nobody waits for ever', async () => {
  const model = played(daemon.work, [{ when: TASK, steps: [bash('echo done >> work.txt'), { text: 'It is all done.' }] }, { steps: [{ text: 'As I said, it is done.' }] }])
  const crew = await LocalCrew.up(daemon, { model, workers: 1, reviews: false, maxAttempts: 2, tasks: [{ id: 'one', text: 'Do one.' }, { id: 'two', text: 'Do two.', needs: ['one'] }] })
  const view = await crew.ended()
  expect(view.ending).toMatchObject({ outcome: 'failed' })
  expect(view.tasks.map(({ state, attempts, reason }) => [state, attempts, reason])).toEqual([['failed', 2, expect.stringContaining('without a word')], ['failed', 0, expect.stringMatching(/needs one, which failed/)]])
  const told = await crew.heard('worker-1')
  expect(told.filter((text) => text.startsWith('Task ')).length).toBe(2)
  expect(told.filter((text) => text.includes('Your turn ended without')).length).toBeGreaterThanOrEqual(4)
})

test('I3: a report wakes the coordinator at once, and once', async () => {
  const coordinator = played(daemon.work, [
    { when: 'You coordinate', steps: [{ text: 'I see.' }] },
    { when: 'it is done', steps: [call('complete_crew', { summary: 'all is done', outcome: 'completed' }), { text: 'over' }] },
    { steps: [{ text: 'I wait.' }] },
  ])
  const go = join(daemon.work, 'go')
  const crew = await LocalCrew.up(daemon, { model: played(daemon.work, [{ when: TASK, steps: [waitsFor(go), ...DONE] }, { steps: [call('signal_ready')] }]), coordinator: { model: coordinator }, workers: 1, reviews: false, tasks: [{ id: 'one', text: 'Do one.' }] })
  await crew.until(({ members }) => members.length === 2 && members.every(({ state }) => state === 'on'))
  await crew.say({ type: 'assign_task', task: 'one', member: 'worker-1' })
  await daemon.until(await crew.uuidOf('coordinator'), 'ready')
  await daemon.sh(`touch ${go}`)
  const view = await crew.ended()
  expect(view).toMatchObject({ status: 'completed', ending: { summary: 'all is done' } })
  expect((await crew.heard('coordinator')).filter((text) => text.includes('it is done')).length).toBe(1)
})

test('I5: whoever dies gives its task back, and another does it', async () => {
  const go = join(daemon.work, 'go')
  const crew = await LocalCrew.up(daemon, { model: played(daemon.work, [{ when: TASK, steps: [bash(`mkdir '${go}' 2> /dev/null && exec sleep 600`), ...DONE] }, { steps: [call('signal_ready')] }]), workers: 1, reviews: false, tasks: [{ id: 'one', text: 'Do one.' }] })
  await crew.member('worker-1', ({ phase, status }) => phase === 'implementing' && status === 'working')
  await eventually(() => existsSync(go), 'it is in the middle of it')
  await daemon.signal(await crew.uuidOf('worker-1'), 'SIGKILL')
  const view = await crew.ended()
  expect(taskOf(view, 'one')).toMatchObject({ state: 'done', attempts: 0, implementers: ['worker-1', 'worker-2'] })
  expect(await crew.facts('task.requeued')).toMatchObject([{ task: 'one', counts: false, reason: 'worker-1 was lost: SIGKILL from user' }])
  expect(memberOf(view, 'worker-1')).toMatchObject({ phase: 'idle', task: null, leave: { how: 'lost' } })
  expect((await crew.heard('worker-2'))[0]).toMatch(/It was begun before, and went back: worker-1 was lost: SIGKILL from user/)
})

test('I6: whoever is let go before it reported loses nothing, and gets no more tasks', { timeout: 240_000 }, async () => {
  await using crew = await CrewHome.make()
  crew.hold('feedback', 'one')
  await crew.up({ coordinator: 'engine', workers: { implementer: { count: 1, model: CrewHome.model('worker') }, reviewer: { count: 1, model: CrewHome.model('worker') } }, tasks: [fileTask('one', [], true)] })
  await crew.held('feedback', 'one')
  const { uuid } = await crew.memberOf('one')
  await crew.home.client.post(`/v1/crews/${crew.uuid}/commands`, { type: 'retire_worker', member: 'worker-1', reason: 'too slow' })
  expect((await crew.ended()).status).toBe('completed')
  const salvaged = crew.repository.git('for-each-ref', '--format=%(refname)', 'refs/reeve/salvage').split('\n').filter((ref) => ref !== '')
  expect(salvaged.map((ref) => crew.repository.git('show', `${ref}:one.txt`))).toEqual(['one'])
  await crew.home.stop()
  const { crew: own, members, wrong } = await crew.journals()
  expect([...wrong, ...wrongsOfCrew(own, members, true)]).toEqual([])
  const assigned = own.facts.flatMap(({ body }) => (body.type === 'task.assigned' ? [body.member] : []))
  expect(assigned[0]).toBe('worker-1')
  expect(assigned.slice(1)).not.toContain('worker-1')
  expect(members.find(({ process }) => process.uuid === uuid)?.process.retiredAt).not.toBeNull()
})

test('I3: a report that was made as the daemon died reaches the coordinator when it is back, once', { timeout: 240_000 }, async () => {
  await using crew = await CrewHome.make()
  await crew.up({ coordinator: { model: CrewHome.model('coordinator') }, workers: { generic: { count: 2, model: CrewHome.model('worker') } }, tasks: [fileTask('one')] })
  await crew.fact('task.reported')
  await crew.again()
  expect((await crew.ended()).status).toBe('completed')
  await crew.home.stop()
  const { crew: own, members, wrong } = await crew.journals()
  expect([...wrong, ...wrongsOfCrew(own, members, true)]).toEqual([])
  const leader = members.find(({ process }) => process.spec.member?.id === 'coordinator')
  const told = (leader?.facts ?? []).flatMap(({ body }) => (body.type === 'process.queue' && body.text.includes('wrote one.txt') ? [body.id] : []))
  const came = (leader?.facts ?? []).flatMap(({ body }) => (body.type === 'process.incoming' && told.includes(body.id) ? [body.id] : []))
  expect([told.length, came.length]).toEqual([1, 1])
})
