// The elapsed time of a crew, of a run and of their members includes all their incarnations. A stop and a resume do not reset it.
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { ManualClock } from '../../support/clock.ts'
import { bashCall, waitForFileCommand, ComposeRuns } from '../../support/compose/compose-runs.ts'
import { ROOT, testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'
import type { CrewUpBody, CrewUpView } from '../../../src/api/views/crew-up.ts'

let daemon: LocalDaemon
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const HOUR_MS = 3_600_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`

/** Lets a process work for an hour, stops and resumes it, and lets it work for another hour. */
async function workTwice(uuid: string, clock: ManualClock, isUp: () => Promise<unknown>): Promise<void> {
  await isUp()
  clock.wind(HOUR_MS)
  await daemon.signal(uuid, 'SIGTERM')
  await daemon.waitForEnd(uuid)
  await daemon.resume(uuid)
  await isUp()
  clock.wind(HOUR_MS)
}

/** Kills a process with its subtree, because an orderly stop would wait for the manual clock. */
async function kill(uuid: string): Promise<void> {
  await daemon.signal(uuid, 'SIGKILL', { subtree: true })
  await daemon.waitForEnd(uuid)
}

const toHours = (ms = 0): number => Math.floor(ms / HOUR_MS)

test('a crew and its members count the time of all incarnations', async () => {
  const clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock })
  const tasks = [{ id: 'which', title: 'Which?', text: 'Which?', kind: 'human' as const }]
  const body: CrewUpBody = { cwd: daemon.work, model: WORKER, workers: 1, worktrees: false, tasks, name: 'fix', env: testEnv(daemon.work) }
  const {
    process: { uuid },
  } = await daemon.client.post<CrewUpView>('/v1/crews', body)
  await daemon.waitForEvent(uuid, (event) => event['fact'] === 'crew.joined')
  await workTwice(uuid, clock, () => daemon.waitForView('fix.worker-1', ({ status }) => status === 'ready'))
  const { crew } = await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')
  await kill(uuid)
  expect([crew, crew.members[0]].map((one) => toHours(one?.elapsedMs))).toEqual([2, 2])
})

test('a run and its nodes count the time of all incarnations', async () => {
  const clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock })
  const runs = new ComposeRuns(daemon)
  // The interrupted call is not run again. The second call waits as the first one did.
  const model = await daemon.writeScript([bashCall(waitForFileCommand('go')), bashCall(waitForFileCommand('go'))])
  const { uuid } = await runs.start({ one: { model, intent: 'wait' } })
  await workTwice(uuid, clock, () => runs.waitForRun(uuid, ({ nodes }) => nodes[0]?.process?.status === 'working'))
  const run = await runs.read(uuid)
  await kill(uuid)
  expect([run, run.nodes[0]?.process].map((one) => toHours(one?.elapsedMs))).toEqual([2, 2])
})
