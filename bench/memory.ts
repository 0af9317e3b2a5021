// Measures the daemon's memory: idle against a plain Node, per owned child, and per suspended process after a restart.
// The values are resident memory, which includes memory that the engine keeps for later. Two more values show what a suspended process
// needs: the live heap after a full collection, and the growth by 5,000 more processes. The growth leaves out the fixed cost.
// Run: `npm run bench memory`.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { spawnWaiting, startDaemon, statusKb } from './support/daemon.ts'
import { inFolder, printTable } from './support/measure.ts'

const CHILDREN = 500
const SUSPENDED = 5_000
/** After this time a started daemon has released the memory of its start. */
const STARTED_MS = 4_000
/** After this idle time a daemon has released the memory of its work. */
const IDLE_MS = 35_000
const DAEMON = resolve(import.meta.dirname, '../dist/daemon.js')

async function measureBareNodeKb(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6); process.stdout.write("x")'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await new Promise((ready) => child.stdout.once('data', ready))
  await delay(1_000)
  const kb = statusKb(child.pid ?? 0, 'VmRSS')
  child.kill('SIGKILL')
  return kb
}

async function measureIdleKb(home: string): Promise<number> {
  await using daemon = await startDaemon(home)
  await delay(STARTED_MS)
  return statusKb(daemon.pid, 'VmRSS')
}

/** The daemon's memory per owned program. */
async function measureKbPerChild(home: string): Promise<number> {
  await using daemon = await startDaemon(home)
  const body = { argv: ['sleep', '1000'], cwd: home, env: { PATH: '/usr/bin:/bin' } }
  await daemon.client.post('/v1/processes', body)
  await delay(STARTED_MS)
  const rssBefore = statusKb(daemon.pid, 'VmRSS')
  for (let done = 0; done < CHILDREN; done += 10)
    await Promise.all(Array.from({ length: 10 }, () => daemon.client.post('/v1/processes', body)))
  await delay(IDLE_MS)
  return (statusKb(daemon.pid, 'VmRSS') - rssBefore) / CHILDREN
}

let spawned = 0

/** Returns a different name, task and folder for each process. */
function ownWork(dir: string): object {
  spawned += 1
  const cwd = join(dir, 'work', String(spawned))
  mkdirSync(cwd, { recursive: true })
  return {
    name: `worker-${spawned}`,
    intent: `Take ticket ${spawned}: read it, find the code, change it, and check that the tests pass.`,
    cwd,
  }
}

/** Suspends processes and kills the daemon: the next one brings them back as placeholders. */
async function killWithSuspended(home: string, dir: string, count: number): Promise<void> {
  await using daemon = await startDaemon(home)
  for (let done = 0; done < count; done += 500) {
    await spawnWaiting(daemon, dir, Math.min(500, count - done), () => ownWork(dir))
    const { processes } = await daemon.client.get<{ processes: { uuid: string; status: string }[] }>('/v1/processes', {
      fields: 'uuid,status',
    })
    const runningProcesses = processes.filter(({ status }) => status !== 'suspended')
    await Promise.all(runningProcesses.map(({ uuid }) => daemon.client.post(`/v1/processes/${uuid}/pause`, {})))
  }
  process.kill(daemon.pid, 'SIGKILL')
  // startDaemon waits for this file, so the next daemon must write it anew.
  rmSync(join(home, 'daemon.json'))
}

async function measureRestartedKb(home: string): Promise<number> {
  await using daemon = await startDaemon(home)
  // The new daemon still removes the folders of the killed one: that is a part of the start.
  while (existsSync(join(home, 'trash'))) await delay(100)
  await delay(STARTED_MS)
  return statusKb(daemon.pid, 'VmRSS')
}

/** The daemon's heap after a full collection, in KB. */
function measureLiveHeapKb(home: string): number {
  const memoryScript = `gc(); console.log(process.memoryUsage().heapUsed); process.kill(process.pid, 'SIGTERM')`
  const code = `import(${JSON.stringify(DAEMON)}); const wait = setInterval(() => {
    if (!fs.existsSync(${JSON.stringify(join(home, 'daemon.json'))})) return
    clearInterval(wait); setTimeout(() => { ${memoryScript} }, ${STARTED_MS}) }, 50)`
  const output = execFileSync(process.execPath, ['--expose-gc', '-e', code], {
    env: { ...process.env, REEVE_HOME: home },
    encoding: 'utf8',
  })
  return Number(output) / 1_024
}

const mb = (kb: number): string => `${(kb / 1_024).toFixed(1)} MB`

await inFolder(async (dir) => {
  const bareKb = await measureBareNodeKb()
  const idle = await measureIdleKb(join(dir, 'idle'))
  const child = await measureKbPerChild(join(dir, 'children'))
  const homes = { few: join(dir, 'few'), many: join(dir, 'many'), twice: join(dir, 'twice') }
  await killWithSuspended(homes.few, dir, 10)
  await killWithSuspended(homes.many, dir, SUSPENDED + 10)
  await killWithSuspended(homes.twice, dir, 2 * SUSPENDED + 10)
  const [fewKb, manyKb, twiceKb] = [
    await measureRestartedKb(homes.few),
    await measureRestartedKb(homes.many),
    await measureRestartedKb(homes.twice),
  ]
  const liveKbEach = (measureLiveHeapKb(homes.many) - measureLiveHeapKb(homes.few)) / SUSPENDED
  const [resident, extraKb] = [(manyKb - fewKb) / SUSPENDED, (twiceKb - manyKb) / SUSPENDED]
  printTable('memory of the daemon', [
    { what: 'idle, against bare Node', floor: mb(bareKb), ours: mb(idle), ratio: idle / bareKb, bar: '<= 2.0', ok: idle / bareKb <= 2 },
    {
      what: `per owned child, of ${CHILDREN}`,
      floor: '100 KB',
      ours: `${child.toFixed(0)} KB`,
      ratio: child / 100,
      bar: '<= 1',
      ok: child <= 100,
    },
    {
      what: `per suspended process, of ${SUSPENDED}: live heap`,
      floor: '2.0 KB',
      ours: `${liveKbEach.toFixed(2)} KB`,
      ratio: liveKbEach / 2,
      bar: '<= 1',
      ok: liveKbEach <= 2,
    },
    {
      what: 'the same, resident',
      floor: '2.0 KB',
      ours: `${resident.toFixed(2)} KB`,
      ratio: resident / 2,
      bar: '<= 1',
      ok: resident <= 2,
    },
    {
      what: `the same, of ${SUSPENDED} more`,
      floor: '2.0 KB',
      ours: `${extraKb.toFixed(2)} KB`,
      ratio: extraKb / 2,
      bar: '<= 1',
      ok: extraKb <= 2,
    },
  ])
})
