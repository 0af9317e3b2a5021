// Runs pm2 in the benchmark of containment, with its own manager and folder, if `node scripts/install-peers.ts` has installed it. The
// measurements observe the running programs and not pm2's messages.
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { createRequire } from 'node:module'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { installedPeer } from '../../scripts/install-peers.ts'
import { statusKb } from './daemon.ts'

type Done<T> = (error: Error | null, value?: T) => void
interface Row {
  readonly pid?: number
}
interface Api {
  connect(done: Done<void>): void
  disconnect(): void
  start(options: object, done: Done<unknown>): void
  delete(name: string, done: Done<unknown>): void
  list(done: Done<Row[]>): void
  killDaemon(done: Done<void>): void
}

export interface Pm2 extends AsyncDisposable {
  /** Resolves when the program has announced itself. The first word of `argv` is a program, not a script for Node. */
  start(argv: readonly string[]): Promise<string>
  /** Resolves when no program of that name is left. `all` stands for every name. */
  remove(name: string): Promise<void>
  /** resident memory of the manager */
  residentKb(): number
}

function callPm2<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, value) => {
      if (error) reject(error)
      else resolve(value as T)
    })
  })
}

/** Null if pm2 is not installed. */
export async function startPm2(home: string): Promise<Pm2 | null> {
  const folder = installedPeer('pm2')
  if (folder === null) return null
  Object.assign(process.env, { PM2_HOME: home, PM2_DISABLE_VERSION_CHECK: 'true' })
  const pm2 = createRequire(join(folder, 'package.json'))('pm2') as Api
  await callPm2<void>((done) => pm2.connect(done))
  const fifo = join(home, 'up')
  execFileSync('mkfifo', [fifo])
  // Opened for reading and writing, so that the reader never gets an end of file.
  const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  const ups = new Socket({ fd, readable: true, writable: false })
  let count = 0
  return {
    async start([program = '', ...args]) {
      const name = `p${count++}`
      const up = once(ups, 'data')
      await callPm2((done) =>
        pm2.start(
          {
            name,
            script: '/bin/sh',
            args: ['-c', 'echo > "$0"; exec "$@"', fifo, program, ...args],
            interpreter: 'none',
            autorestart: false,
            cwd: home,
          },
          done,
        ),
      )
      await up
      return name
    },
    async remove(name) {
      const pids = (await callPm2<Row[]>((done) => pm2.list(done))).map(({ pid }) => pid ?? 0)
      await callPm2((done) => pm2.delete(name, done))
      // `delete` of pm2 waits for one program by its name, but not for all of them.
      if (name === 'all') while (pids.some(isAlive)) await delay(1)
    },
    residentKb: () => statusKb(Number(readFileSync(join(home, 'pm2.pid'), 'utf8')), 'VmRSS'),
    async [Symbol.asyncDispose]() {
      await callPm2<void>((done) => pm2.killDaemon(done))
      pm2.disconnect()
      ups.destroy()
    },
  }
}

function isAlive(pid: number): boolean {
  try {
    closeSync(openSync(`/proc/${pid}/stat`, 'r'))
    return pid > 0
  } catch {
    return false
  }
}
