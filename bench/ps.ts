// `reeve ps` with 100 rows, the whole command from exec to exit, next to `node -e 0` in turns; and the daemon's memory:
// idle next to a bare Node, and per suspended native process. Run: `npm run bench ps` (it needs the build).
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from '../src/api/client.ts'
import { inFolder, interleave, median, percentile, printTable } from './support.ts'

const ROOT = resolve(import.meta.dirname, '..')
const REEVE = join(ROOT, 'bin/reeve')
const ROWS = 100
const RUNS = 60
const SUSPENDED = 1_000

interface Running extends AsyncDisposable {
  readonly pid: number
  readonly client: Client
  readonly env: NodeJS.ProcessEnv
}

async function startDaemon(home: string): Promise<Running> {
  const env = { ...process.env, REEVE_HOME: home }
  const child = spawn(process.execPath, [join(ROOT, 'dist/daemon.js')], { env, stdio: 'ignore' })
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  const socket = join(home, 'reeve.sock')
  while (!existsSync(join(home, 'daemon.json'))) await delay(10)
  return {
    pid: child.pid ?? 0,
    client: new Client({ socketPath: () => socket }),
    env,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function statusKb(pid: number, field: string): number {
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN)
}

/** A native process that waits in its first model call until it is paused: then it is a row and its parked loop. */
async function spawnWaiting({ client }: Running, dir: string, count: number): Promise<void> {
  const script = join(dir, 'wait.yaml')
  writeFileSync(script, '- { delay_ms: 3600000, text: never }\n')
  const body = { intent: 'wait', cwd: dir, model: `script:${script}`, env: { PATH: '/usr/bin:/bin' } }
  for (let done = 0; done < count; done += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - done) }, () => client.post('/v1/processes', body)))
  }
}

async function bareNodeKb(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6); process.stdout.write("x")'], { stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise((ready) => child.stdout.once('data', ready))
  await delay(1_000)
  const kb = statusKb(child.pid ?? 0, 'VmRSS')
  child.kill('SIGKILL')
  return kb
}

async function benchPs(): Promise<void> {
  await inFolder(async (dir) => {
    await using daemon = await startDaemon(join(dir, 'home'))
    await spawnWaiting(daemon, dir, ROWS)
    const run = (command: string, ...argv: readonly string[]): void => {
      const { status } = spawnSync(command, argv, { env: daemon.env, stdio: 'ignore' })
      if (status !== 0) throw new Error(`${command} ${argv.join(' ')} ended with ${status}`)
    }
    const { floor, ours } = await interleave(RUNS, () => run(process.execPath, '-e', '0'), () => run(REEVE, 'ps'))
    const cell = (times: readonly number[]): string => `${median(times).toFixed(1)} ms (p90 ${percentile(times, 0.9).toFixed(1)})`
    const ratio = median(ours) / median(floor)
    printTable(`reeve ps with ${ROWS} rows, the whole command, ${RUNS} runs each`, [
      { what: 'against node -e 0', floor: cell(floor), ours: cell(ours), ratio, reach: '<= 1.4', ok: ratio <= 1.4 },
    ])
  })
}

async function benchMemory(): Promise<void> {
  await inFolder(async (dir) => {
    const bare = await bareNodeKb()
    let idle: number
    {
      await using daemon = await startDaemon(join(dir, 'idle'))
      await delay(1_000)
      idle = statusKb(daemon.pid, 'VmRSS')
    }
    const before = await suspendedKb(join(dir, 'few'), dir, 10)
    const after = await suspendedKb(join(dir, 'many'), dir, SUSPENDED + 10)
    const each = (after - before) / SUSPENDED
    const mb = (kb: number): string => `${(kb / 1_024).toFixed(1)} MB`
    printTable('memory of the daemon (resident)', [
      { what: 'idle, against bare Node', floor: mb(bare), ours: mb(idle), ratio: idle / bare, reach: '<= 2.0', ok: idle / bare <= 2 },
      { what: `per suspended native process, after a restart, of ${SUSPENDED}`, floor: '2.0 KB', ours: `${each.toFixed(1)} KB`, ratio: each / 2, reach: '<= 1', ok: each <= 2 },
    ])
  })
}

/** Suspends processes, restarts the daemon, and reads its memory when they are back as placeholders. */
async function suspendedKb(home: string, dir: string, count: number): Promise<number> {
  {
    await using daemon = await startDaemon(home)
    await spawnWaiting(daemon, dir, count)
    const { processes } = await daemon.client.get<{ processes: { uuid: string }[] }>('/v1/processes')
    for (const { uuid } of processes) await daemon.client.post(`/v1/processes/${uuid}/pause`, {})
    process.kill(daemon.pid, 'SIGKILL')
  }
  await using daemon = await startDaemon(home)
  await delay(2_000)
  return statusKb(daemon.pid, 'VmRSS')
}

await benchPs()
await benchMemory()
