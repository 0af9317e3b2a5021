// Starts a PostgreSQL server for the benchmark: a new cluster with the defaults of `initdb` (fsync on). The cluster has a temporary folder
// and a free loopback port. Under root it runs as the user `postgres`, since PostgreSQL refuses root. Used by bench/peers.ts.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { installedPeer, postgresPrograms } from '../../scripts/install-peers.ts'
import type { AddressInfo } from 'node:net'

interface Client {
  connect(): Promise<void>
  query(sql: string): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>
  end(): Promise<void>
}
type NewClient = new (options: { connectionString: string }) => Client

export interface Postgres extends AsyncDisposable {
  readonly version: string
  url(database: string): string
  /** bytes of DBOS's tables with their indexes; 0 without tables */
  bytes(database: string): Promise<number>
}

/** Null if PostgreSQL, or DBOS with its client, is not installed. */
export async function startPostgres(dir: string): Promise<Postgres | null> {
  const [programs, dbos] = [postgresPrograms(), installedPeer('dbos')]
  if (programs === null || dbos === null) return null
  const { Client: New } = createRequire(join(dbos, 'package.json'))('pg') as { Client: NewClient }
  const home = join(dir, 'postgres')
  mkdirSync(home)
  const user = otherUser()
  if (user !== null) {
    chmodSync(dir, 0o711)
    chownSync(home, user.uid, user.gid)
  }
  const options = { cwd: '/', ...user }
  writeFileSync(join(dir, 'password'), 'bench', { mode: 0o644 })
  const data = join(home, 'data')
  execFileSync(join(programs, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${join(dir, 'password')}`], {
    ...options,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const port = await freePort()
  const server = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', ''], {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await waitUntilReady(server.stderr)
  const url = (database: string): string => `postgresql://postgres:bench@127.0.0.1:${port}/${database}`
  const runQuery = async (database: string, sql: string): Promise<unknown> => {
    const client = new New({ connectionString: url(database) })
    await client.connect()
    try {
      return Object.values((await client.query(sql)).rows[0] ?? {})[0]
    } finally {
      await client.end()
    }
  }
  return {
    version: String(await runQuery('postgres', 'SHOW server_version')).split(' ')[0] ?? '',
    url,
    bytes: async (database) =>
      Number(
        await runQuery(
          database,
          "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'dbos' AND c.relkind = 'r'",
        ),
      ),
    async [Symbol.asyncDispose]() {
      server.kill('SIGINT')
      await once(server, 'exit')
    },
  }
}

/** The user that runs the server under root; null: the current user. */
function otherUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const idOf = (flag: string): number => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: idOf('-u'), gid: idOf('-g') }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Waits for the server's ready message, and keeps reading, so that its pipe never fills. */
function waitUntilReady(stderr: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    stderr.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-2_000)
      if (output.includes('ready to accept connections')) resolve()
    })
    stderr.on('end', () => reject(new Error(output)))
  })
}
