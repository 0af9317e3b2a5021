// How long a crew, a run and their members have worked is the time of all their incarnations: a stop and a resume begin no new count.
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { HandClock } from '../support/clock.ts'
import { bash, gate, Runs } from '../support/compose.ts'
import { ROOT, testEnv } from '../support/env.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import type { CrewView } from '../../src/api/crew-views.ts'
import type { CrewUpBody, CrewUpView } from '../../src/api/crew-up-views.ts'

let daemon: LocalDaemon
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const HOUR_MS = 3_600_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`

/** Worked for an hour, stopped, resumed, and worked for another hour. */
async function twice(uuid: string, clock: HandClock, isUp: () => Promise<unknown>): Promise<void> {
  await isUp()
  clock.wind(HOUR_MS)
  await daemon.signal(uuid, 'SIGTERM')
  await daemon.ended(uuid)
  await daemon.resume(uuid)
  await isUp()
  clock.wind(HOUR_MS)
}

/** Nobody winds the clock for an orderly stop. */
async function kill(uuid: string): Promise<void> {
  await daemon.signal(uuid, 'SIGKILL', { subtree: true })
  await daemon.ended(uuid)
}

const hours = (ms = 0): number => Math.floor(ms / HOUR_MS)

test('a crew and its members', async () => {
  const clock = new HandClock()
  daemon = await LocalDaemon.start({ clock })
  const tasks = [{ id: 'which', title: 'Which?', text: 'Which?', kind: 'human' as const }]
  const body: CrewUpBody = { cwd: daemon.work, model: WORKER, workers: 1, worktrees: false, tasks, name: 'fix', env: testEnv(daemon.work) }
  const { process: { uuid } } = await daemon.client.post<CrewUpView>('/v1/crews', body)
  await daemon.event(uuid, (event) => event['fact'] === 'crew.joined')
  await twice(uuid, clock, () => daemon.untilSo('fix.worker-1', ({ status }) => status === 'ready'))
  const { crew } = await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')
  await kill(uuid)
  expect([crew, crew.members[0]].map((one) => hours(one?.elapsedMs))).toEqual([2, 2])
})

test('a run and its nodes', async () => {
  const clock = new HandClock()
  daemon = await LocalDaemon.start({ clock })
  const runs = new Runs(daemon)
  // What was cut off is not run again: it waits once more.
  const model = await daemon.script([bash(gate('go')), bash(gate('go'))])
  const { uuid } = await runs.up({ one: { model, intent: 'wait' } })
  await twice(uuid, clock, () => runs.until(uuid, ({ nodes }) => nodes[0]?.process?.status === 'working'))
  const run = await runs.get(uuid)
  await kill(uuid)
  expect([run, run.nodes[0]?.process].map((one) => hours(one?.elapsedMs))).toEqual([2, 2])
})
