// A real PostgreSQL server of a test, and its standby: started, stopped, killed, paused and promoted. Their files are in a temporary
// folder. No process and no file is left when the server is disposed of, or when the process of the test is killed.
// Its test is test/processes/postgres/server.test.ts.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { findProcessesIn, killIfAlive, readProcess, signalFound, type LivingProcess } from '../living-processes.ts'
import { waitUntil } from '../wait-until.ts'
import { copyAsStandby, createCluster, guardFolder, SERVER_USER, serverFolder, SUPERUSER } from './cluster-folder.ts'
import type { PostgresProgram } from './programs.ts'
import { SqlError, SqlSession, type SqlRow } from './sql-session.ts'

/** Below the ports that the system gives to outgoing connections: so a server gets its port again after a restart. */
const [FIRST_PORT, LAST_PORT] = [20_000, 32_000]
const STANDBY = 'standby'
/** SQLSTATE of a server that starts or stops */
const CANNOT_CONNECT_NOW = '57P03'
/** the last lines of the server's log that an error quotes */
const LOG_LINES = 20

/**
 * For tests, with the usual durability. Shared memory is a file: after `kill -9` it goes with the folder. The standby may be stopped for
 * 256 MB of log.
 */
const SETTINGS = {
  listen_addresses: "'127.0.0.1'",
  unix_socket_permissions: '0700',
  shared_buffers: '32MB',
  dynamic_shared_memory_type: 'mmap',
  wal_keep_size: '256MB',
}

export interface PostgresOptions {
  /** `synchronous`: the primary acknowledges no commit before the standby has flushed it */
  readonly standby?: 'synchronous' | 'asynchronous'
  /** lines of postgresql.conf for both servers */
  readonly settings?: Readonly<Record<string, string>>
}

/** Starts a server with a new cluster, and its standby if one is wanted. Takes about two seconds: the tests of a file share one. */
export async function startPostgres(program: PostgresProgram, options: PostgresOptions = {}): Promise<PostgresServer> {
  await using resources = new AsyncDisposableStack()
  const folder = await serverFolder()
  const guard = guardFolder(folder.path)
  resources.defer(() => guard.close())
  resources.use(folder)
  const place = { program, folder: folder.path, password: randomBytes(8).toString('hex') }
  const standby = options.standby === undefined ? null : new PostgresServer({ ...place, name: STANDBY, port: await freePort() }, null)
  const primary = new PostgresServer({ ...place, name: 'primary', port: await freePort() }, standby)
  const settings = { ...SETTINGS, unix_socket_directories: `'${folder.path}'`, ...options.settings }
  await createCluster(program, primary.data, place.password, linesOf(settings))
  if (standby !== null) {
    const source = `host=${folder.path} port=${primary.port} user=${SUPERUSER} application_name=${STANDBY}`
    copyAsStandby(primary.data, standby.data, linesOf({ primary_conninfo: `'${source}'` }))
    if (options.standby === 'synchronous') primary.append({ synchronous_standby_names: STANDBY })
  }
  for (const server of [primary, standby]) {
    if (server === null) continue
    resources.defer(() => server.end())
    await server.start()
  }
  if (standby !== null) await primary.waitForStandby()
  primary.own(resources.move())
  return primary
}

interface ServerPlace {
  readonly program: PostgresProgram
  readonly name: string
  /** the folder of the sockets, the data and the logs of both servers */
  readonly folder: string
  readonly password: string
  readonly port: number
}

export class PostgresServer implements AsyncDisposable {
  readonly standby: PostgresServer | null
  readonly port: number
  /** the folder of the cluster, in which all processes of the server work */
  readonly data: string
  readonly #place: ServerPlace
  #process: ChildProcess | null = null
  #createdDatabases = 0
  #owned: AsyncDisposableStack | null = null

  constructor(place: ServerPlace, standby: PostgresServer | null) {
    this.#place = place
    this.standby = standby
    this.port = place.port
    this.data = join(place.folder, place.name)
  }

  /** Creates an empty database, and returns its URL. */
  async createDatabase(): Promise<string> {
    this.#createdDatabases += 1
    const name = `test_${this.#createdDatabases}`
    await this.query(`create database ${name} template template0`)
    return this.urlOf(name)
  }

  urlOf(database: string): string {
    return `postgres://${SUPERUSER}:${this.#place.password}@127.0.0.1:${this.port}/${database}`
  }

  /** Returns the URL of the same database at this server: for the standby of the server that the URL is of. */
  redirect(url: string): string {
    return Object.assign(new URL(url), { port: String(this.port) }).href
  }

  /** Runs SQL on a connection of its own, by the Unix socket; `database` is a name or a URL. */
  async query(sql: string, database = 'postgres'): Promise<SqlRow[]> {
    const url = new URL(database.includes(':') ? database : this.urlOf(database))
    await using session = await SqlSession.connect(url, { path: join(this.#place.folder, `.s.PGSQL.${this.port}`) })
    return await session.query(sql)
  }

  /** Starts the server, and waits until it answers queries: after a crash, until it has recovered. */
  async start(): Promise<void> {
    if (this.#process !== null) throw new Error('the server runs already')
    const log = openSync(this.#log, 'a')
    const child = spawn(join(this.#place.program.bin, 'postgres'), ['-D', this.data, '-p', String(this.port)], {
      ...SERVER_USER,
      cwd: '/',
      env: { LANG: 'C.UTF-8' },
      detached: true,
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    child.unref()
    await once(child, 'spawn')
    this.#process = child
    await waitUntil(() => this.#isReady(child), 'the server is ready')
  }

  /** `fast` ends all sessions, and writes everything to the disk; `immediate` is a crash that the server knows of. */
  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    const child = this.#running()
    const exited = exitOf(child)
    child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await exited
    this.#process = null
  }

  /** Kills all processes of the server with `kill -9`. */
  async crash(): Promise<void> {
    const child = this.#running()
    const exited = exitOf(child)
    child.kill('SIGKILL')
    await exited
    this.#process = null
    await waitUntil(() => {
      const left = findProcessesIn(this.data)
      for (const { pid } of left) killIfAlive(pid)
      return left.length === 0
    }, 'all processes of the server are killed')
  }

  /** Stops all processes of the server with SIGSTOP: its connections stay open, and nothing answers. */
  async pause(): Promise<void> {
    this.#running().kill('SIGSTOP')
    await waitUntil(() => {
      const moving = findProcessesIn(this.data).filter(({ state }) => state !== 'T')
      for (const one of moving) this.#signal(one, 'SIGSTOP')
      return moving.length === 0
    }, 'all processes of the server are stopped')
  }

  unpause(): void {
    for (const one of findProcessesIn(this.data)) this.#signal(one, 'SIGCONT')
  }

  /** Makes the standby a primary. End the primary before: the two would not know of each other. */
  async promoteStandby(): Promise<PostgresServer> {
    if (this.standby === null) throw new Error('the server has no standby')
    await this.standby.query('select pg_promote()')
    await waitUntil(async () => (await this.standby?.query('select pg_is_in_recovery() as it'))?.[0]?.['it'] === 'f', 'the promotion')
    return this.standby
  }

  /** Waits until the standby receives what the primary writes. */
  async waitForStandby(): Promise<void> {
    const sql = `select 1 from pg_stat_replication where state = 'streaming' and (sync_state = 'sync' or current_setting('synchronous_standby_names') = '')`
    await waitUntil(async () => (await this.query(sql)).length === 1, 'the standby follows')
  }

  /** Appends settings, which hold from the next start on. */
  append(settings: Readonly<Record<string, string>>): void {
    appendFileSync(join(this.data, 'postgresql.conf'), `${linesOf(settings).join('\n')}\n`)
  }

  /** Takes the resources that the disposal of this server frees. */
  own(resources: AsyncDisposableStack): void {
    this.#owned = resources
  }

  /** Ends the server in any state: running, paused or crashed. */
  async end(): Promise<void> {
    this.unpause()
    if (this.#process !== null && this.#process.exitCode === null && this.#process.signalCode === null) await this.stop('immediate')
    this.#removeSharedMemory()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned?.disposeAsync()
  }

  get #log(): string {
    return `${this.data}.log`
  }

  #running(): ChildProcess {
    if (this.#process === null) throw new Error('the server does not run')
    return this.#process
  }

  /** Fails if the server has exited. */
  async #isReady(child: ChildProcess): Promise<boolean> {
    if (child.exitCode !== null || child.signalCode !== null) {
      this.#process = null
      const lines = readFileSync(this.#log, 'utf8').trimEnd().split('\n').slice(-LOG_LINES)
      throw new Error(`the server did not start:\n${lines.join('\n')}`)
    }
    try {
      await this.query('select 1')
      return true
    } catch (error) {
      if (error instanceof SqlError ? error.state === CANNOT_CONNECT_NOW : ['ENOENT', 'ECONNREFUSED'].includes(codeOf(error))) return false
      throw error
    }
  }

  /** A process of the server may end at any time. */
  #signal(one: LivingProcess, signal: NodeJS.Signals): void {
    if (readProcess(one.pid)?.startTicks === one.startTicks) signalFound(one, signal)
  }

  /** After `kill -9`, the small block by which a server finds out whether another one runs is left. */
  #removeSharedMemory(): void {
    const file = join(this.data, 'postmaster.pid')
    const id = existsSync(file) ? readFileSync(file, 'utf8').split('\n')[6]?.trim().split(/\s+/)[1] : undefined
    if (id !== undefined) spawnSync('ipcrm', ['-m', id])
  }
}

/** Waits for the exit of a server. Until then, it keeps this process alive; else it does not. */
function exitOf(child: ChildProcess): Promise<unknown> {
  child.ref()
  return once(child, 'exit')
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}

function linesOf(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT)
    const holder = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      holder.once('listening', () => resolve(true)).once('error', () => resolve(false))
      holder.listen(port, '127.0.0.1')
    })
    if (!isFree) continue
    holder.close()
    await once(holder, 'close')
    return port
  }
}
