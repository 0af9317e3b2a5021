// Starts a real daemon from the build for benchmarks, in its own home, with waiting processes. Also reads the memory and the CPU waits of
// a program.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from '../../src/api/client/client.ts'

const ROOT = resolve(import.meta.dirname, '../..')

export interface Running extends AsyncDisposable {
  readonly pid: number
  readonly client: Client
  readonly env: NodeJS.ProcessEnv
}

/** Starts the daemon in `home`, and waits until it is ready. `flags` are flags of Node. */
export async function startDaemon(home: string, flags: readonly string[] = []): Promise<Running> {
  const env = { ...process.env, REEVE_HOME: home }
  const child = spawn(process.execPath, [...flags, join(ROOT, 'dist/daemon.js')], { env, stdio: 'ignore' })
  const exited = new Promise<void>((done) => child.once('exit', () => done()))
  const socket = join(home, 'reeve.sock')
  while (!existsSync(join(home, 'daemon.json'))) await delay(10)
  return {
    pid: child.pid ?? 0,
    client: new Client({ socketPath: () => socket }),
    env,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** A number of /proc/PID/status, in KB. */
export function statusKb(pid: number, field: string): number {
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN)
}

/** The time in ms that the main thread of a program was ready to run but had no CPU, because other programs used them. */
export function waitedForCpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6
}

/**
 * Starts native processes whose first model call takes an hour, so that each is one row and one waiting loop. `ownFields` gives the fields
 * that differ between them.
 */
export async function spawnWaiting({ client }: Running, dir: string, count: number, ownFields: () => object = () => ({})): Promise<void> {
  const script = join(dir, 'wait.yaml')
  writeFileSync(script, '- { delay_ms: 3600000, text: never }\n')
  const body = { intent: 'wait', cwd: dir, model: `script:${script}`, env: { PATH: '/usr/bin:/bin' } }
  for (let done = 0; done < count; done += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - done) }, () => client.post('/v1/processes', { ...body, ...ownFields() })))
  }
}
