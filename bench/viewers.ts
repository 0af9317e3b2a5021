// Measures how much ten viewers of the rows slow down a step of a working agent, a durable request, and the whole command `reeve ps`. Each
// is measured in turns without viewers and with them, and the result is the ratio. The viewers follow `/v1/rows` in another process. The
// time that the daemon or this process waited for a CPU is left out, except for `ps`. Run: `npm run bench viewers` (it needs the build); it
// takes less than a minute.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join, resolve } from 'node:path'
import type { ProcessView } from '../src/api/views/process.ts'
import { spawnWaiting, startDaemon, waitedForCpuMs, type Running } from './support/daemon.ts'
import { inFolder, median, printTable, timed, type Row } from './support/measure.ts'

const REEVE = resolve(import.meta.dirname, '../bin/reeve')
const VIEWERS = 10
const PROCESSES = 100
const ROUNDS = 7
const STEPS = 100
const REQUESTS = 30
const COMMANDS = 2
/** The durable step has this bar against its floor, so viewers may not cost more than that either. */
const BAR = 1.3
const ENV = { PATH: '/usr/bin:/bin' }

/** Follows the rows with all viewers, until this process is killed. Prints `x` when each of them has its first rows. */
async function followRows(socketPath: string): Promise<void> {
  await Promise.all(
    Array.from({ length: VIEWERS }, async () => {
      const request = get({ socketPath, path: '/v1/rows?follow=1', agent: false })
      const [response] = await once(request, 'response')
      await once(response.resume(), 'data')
    }),
  )
  process.stdout.write('x')
}

async function startViewers({ env }: Running): Promise<AsyncDisposable> {
  const child = spawn(process.execPath, [import.meta.filename, '--follow', join(env['REEVE_HOME'] ?? '', 'reeve.sock')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** The time of `work` in ms, without the longer wait for a CPU of the two programs. */
async function timedWithoutWaits({ pid }: Running, work: () => Promise<unknown>): Promise<number> {
  const before = [waitedForCpuMs(pid), waitedForCpuMs(process.pid)] as const
  const ms = await timed(work)
  return ms - Math.max(waitedForCpuMs(pid) - before[0], waitedForCpuMs(process.pid) - before[1])
}

interface Measured {
  readonly step: number[]
  readonly request: number[]
  readonly ps: number[]
}

/** Measures one round, and adds it to `measured`. */
async function measureRound(daemon: Running, dir: string, { step, request, ps }: Measured): Promise<void> {
  const { client, env } = daemon
  const agentMs = await timedWithoutWaits(daemon, async () => {
    const body = { intent: 'work', cwd: dir, model: `script:${join(dir, 'busy.yaml')}`, env: ENV }
    const { process: agent } = await client.post<{ process: ProcessView }>('/v1/processes', body)
    await client.get(`/v1/processes/${agent.uuid}/wait`, { for: 'exited', timeoutMs: 60_000 }, { extraMs: 60_000 })
  })
  step.push(agentMs / STEPS)
  for (let index = 0; index < REQUESTS; index++)
    request.push(await timedWithoutWaits(daemon, () => client.post('/v1/processes/2/labels', { labels: { index: String(index) } })))
  for (let index = 0; index < COMMANDS; index++)
    ps.push(
      await timed(() => {
        const { status } = spawnSync(REEVE, ['ps'], { env, stdio: 'ignore' })
        if (status !== 0) throw new Error(`reeve ps ended with ${status}`)
      }),
    )
}

async function bench(dir: string): Promise<void> {
  const call = (index: number): string => `- { tools: [{ name: glob, input: { pattern: "${index}" } }] }\n`
  writeFileSync(join(dir, 'busy.yaml'), `${Array.from({ length: STEPS - 1 }, (_, index) => call(index)).join('')}- { text: done }\n`)
  await using daemon = await startDaemon(join(dir, 'home'))
  await spawnWaiting(daemon, dir, PROCESSES)
  const [warm, without, withViewers] = [0, 1, 2].map((): Measured => ({ step: [], request: [], ps: [] })) as [Measured, Measured, Measured]
  await measureRound(daemon, dir, warm)
  for (let round = 0; round < ROUNDS; round++) {
    await measureRound(daemon, dir, without)
    await using _viewers = await startViewers(daemon)
    await measureRound(daemon, dir, withViewers)
  }
  const row = (what: string, name: keyof Measured): Row => {
    const [floor, ours] = [median(without[name]), median(withViewers[name])]
    const ratio = ours / floor
    return { what, floor: `${floor.toFixed(2)} ms`, ours: `${ours.toFixed(2)} ms`, ratio, bar: `<= ${BAR}`, ok: ratio <= BAR }
  }
  printTable(`${VIEWERS} viewers of ${PROCESSES} rows, against none`, [
    row(`a step of an agent with one tool, of ${STEPS}`, 'step'),
    row('a durable request', 'request'),
    row(`reeve ps with ${PROCESSES} rows, the whole command`, 'ps'),
  ])
}

const [flag, socketPath = ''] = process.argv.slice(2)
if (flag === '--follow') await followRows(socketPath)
else await inFolder(bench)
