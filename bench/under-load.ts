// Measures how a heavy load slows down other work. Loads: 3,000 spawns, 40 at a time (BENCH_SPAWNS); the start of 1,500 sleepers, and their
// kill (BENCH_SLEEPERS). During a load an agent works step by step, and a client calls the API in a loop. The result is their worst delay,
// minus the time that the daemon or the client waited for a CPU. A separate process makes the load.
// Run: `npm run bench under-load` (it needs the build). `node bench/under-load.ts --cpu-prof --cpu-prof-dir=DIR` passes these flags to the
// daemon's Node.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from '../src/api/client/client.ts'
import type { EventView } from '../src/api/views/daemon.ts'
import type { ProcessView } from '../src/api/views/process.ts'
import { startDaemon, waitedForCpuMs } from './support/daemon.ts'
import type { Running } from './support/daemon.ts'
import { inFolder, percentile, printTable } from './support/measure.ts'
import type { Row } from './support/measure.ts'

const SPAWNS = Number(process.env['BENCH_SPAWNS'] ?? 3_000)
const CLIENTS = 40
const SLEEPERS = Number(process.env['BENCH_SLEEPERS'] ?? 1_500)
const QUIET_MS = 4_000
/** The longest delay that a load may cause to the API or to another agent. */
const BAR_MS = 250
const REQUEST_INTERVAL_MS = 5
const CHECK_INTERVAL_MS = 5
const STEPS = 2_500
const ENV = { PATH: '/usr/bin:/bin' }

interface Measured {
  readonly tookMs: number
  /** the times of the API's responses */
  readonly answers: readonly number[]
  /** the times from one answer of the agent's model to the next */
  readonly gaps: readonly number[]
}

type Load = (client: Client, dir: string) => Promise<unknown>

const post = (client: Client, body: object): Promise<{ process: ProcessView }> =>
  client.post('/v1/processes', { cwd: '/', env: ENV, ...body }, { extraMs: 120_000 })

/** Makes `count` calls of `call`, `CLIENTS` at a time. */
async function callWithClients(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) await call(next++)
  }
  await Promise.all(Array.from({ length: CLIENTS }, work))
}

async function waitForProcesses(client: Client, isOver: (processes: readonly ProcessView[]) => boolean): Promise<void> {
  while (
    !isOver((await client.get<{ processes: ProcessView[] }>('/v1/processes', { fields: 'driver,status' }, { extraMs: 120_000 })).processes)
  )
    await delay(200)
}

const isCommand = ({ driver }: ProcessView): boolean => driver === 'command'

const LOADS: Readonly<Record<string, Load>> = {
  spawns: async (client) => {
    await callWithClients(SPAWNS, () => post(client, { argv: ['/bin/true'] }))
    await waitForProcesses(client, (processes) => !processes.some(isCommand))
  },
  sleepers: async (client, dir) => {
    const { process: parent } = await post(client, { intent: 'wait', model: `script:${join(dir, 'wait.yaml')}` })
    await callWithClients(SLEEPERS, () => post(client, { argv: ['/bin/sleep', '3600'], parent: parent.uuid }))
    await waitForProcesses(
      client,
      (processes) => processes.filter((each) => isCommand(each) && each.status === 'working').length === SLEEPERS,
    )
    writeFileSync(join(dir, 'parent'), parent.uuid)
  },
  kill: async (client, dir) => {
    await client.post(
      `/v1/processes/${readFileSync(join(dir, 'parent'), 'utf8')}/signal`,
      { signal: 'SIGKILL', subtree: true },
      { extraMs: 120_000 },
    )
    await waitForProcesses(client, (processes) => !processes.some(isCommand))
  },
}

/** Starts an agent that works while its steps are measured, and waits for its twentieth step. */
async function startAgent({ client }: Running, dir: string): Promise<string> {
  const script = join(dir, 'busy.yaml')
  writeFileSync(
    script,
    Array.from({ length: STEPS }, (_, index) => `- { delay_ms: 30, tools: [{ name: glob, input: { pattern: "${index}" } }] }\n`).join(''),
  )
  const { process: agent } = await post(client, { intent: 'work', cwd: dir, model: `script:${script}` })
  while ((await client.get<{ process: ProcessView }>(`/v1/processes/${agent.uuid}`)).process.step < 20) await delay(20)
  return agent.uuid
}

async function stepTimes({ client }: Running, uuid: string): Promise<number[]> {
  const times: number[] = []
  for await (const event of client.events(`/v1/processes/${uuid}/events`, { query: {} }) as AsyncIterable<EventView>) {
    if (event.fact === 'model.finished') times.push(Date.parse(event.at))
  }
  return times
}

/**
 * Measures the API and an agent while `work` runs. A response gets back the longer of the two waits for a CPU: the daemon's and its own.
 * The gap between two steps gets back the daemon's wait, which a timer has recorded.
 */
async function measureDuring(daemon: Running, dir: string, work: () => Promise<unknown>): Promise<Measured> {
  const uuid = await startAgent(daemon, dir)
  const answers: number[] = []
  const beganAt = Date.now()
  let isOver = false
  const requestUntilOver = async (): Promise<void> => {
    while (!isOver) {
      const [since, daemonWaitedMs, ownWaitedMs] = [performance.now(), waitedForCpuMs(daemon.pid), waitedForCpuMs(process.pid)]
      await daemon.client.get(`/v1/processes/${uuid}`, {}, { extraMs: 60_000 })
      answers.push(
        performance.now() - since - Math.max(waitedForCpuMs(daemon.pid) - daemonWaitedMs, waitedForCpuMs(process.pid) - ownWaitedMs),
      )
      await delay(REQUEST_INTERVAL_MS)
    }
  }
  const checks: { readonly at: number; readonly waited: number }[] = []
  const checkTimer = setInterval(() => checks.push({ at: Date.now(), waited: waitedForCpuMs(daemon.pid) }), CHECK_INTERVAL_MS)
  const requests = requestUntilOver()
  await work()
  const endedAt = Date.now()
  isOver = true
  await requests
  await delay(1_000)
  clearInterval(checkTimer)
  const waitedAt = (at: number): number => checks.findLast((check) => check.at <= at)?.waited ?? checks[0]?.waited ?? 0
  const times = (await stepTimes(daemon, uuid)).filter((at) => at >= beganAt - 100 && at <= endedAt + 1_000)
  await daemon.client.post(`/v1/processes/${uuid}/signal`, { signal: 'SIGKILL' })
  const delayMs = (since: number, at: number): number => Math.max(0, at - since - (waitedAt(at) - waitedAt(since)))
  return { tookMs: endedAt - beganAt, answers, gaps: times.slice(1).map((at, index) => delayMs(times[index] ?? at, at)) }
}

/** Runs the load in a separate process, so that it does not slow down the measurement. */
async function runInSubprocess(load: string, daemon: Running, dir: string): Promise<void> {
  const child = spawn(process.execPath, [import.meta.filename, '--load', load, dir], {
    env: daemon.env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const code = await new Promise((done) => child.once('exit', done))
  if (code !== 0) throw new Error(`the load ${load} ended with ${code}`)
}

function rowsOf(name: string, { tookMs, answers, gaps }: Measured): Row[] {
  const row = (label: string, values: readonly number[]): Row => {
    const worst = percentile(values, 1)
    const [p50, p99] = [percentile(values, 0.5), percentile(values, 0.99)].map((value) => value.toFixed(0))
    return {
      what: `${name}: ${label}`,
      floor: `${BAR_MS} ms`,
      ours: `p50 ${p50}, p99 ${p99}, worst ${worst.toFixed(0)} ms of ${values.length} in ${(tookMs / 1_000).toFixed(1)} s`,
      ratio: worst / BAR_MS,
      bar: '<= 1',
      ok: worst <= BAR_MS,
    }
  }
  return [row('a response of the API', answers), row('from step to step of an agent', gaps)]
}

async function measure(dir: string): Promise<void> {
  writeFileSync(join(dir, 'wait.yaml'), '- { delay_ms: 3600000, text: never }\n')
  const rows: Row[] = []
  await using daemon = await startDaemon(join(dir, 'home'), process.argv.slice(2))
  const measureWork = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    rows.push(...rowsOf(what, await measureDuring(daemon, dir, work)))
  }
  await measureWork('nothing else', () => delay(QUIET_MS))
  await measureWork(`${SPAWNS} spawns by ${CLIENTS} clients`, () => runInSubprocess('spawns', daemon, dir))
  await measureWork(`${SLEEPERS} sleepers start`, () => runInSubprocess('sleepers', daemon, dir))
  await measureWork(`${SLEEPERS} sleepers are killed at once`, () => runInSubprocess('kill', daemon, dir))
  printTable('delays under a load', rows)
}

const [flag, load = '', dir = ''] = process.argv.slice(2)
if (flag === '--load') await LOADS[load]?.(new Client({ socketPath: () => join(process.env['REEVE_HOME'] ?? '', 'reeve.sock') }), dir)
else await inFolder(measure)
