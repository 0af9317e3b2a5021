// Connections to the PostgreSQL server: one for all writes, and a few for reads. Must never write a URL into a message, because it may have
// a password. Test: test/processes/postgres/store-opening.test.ts.
import { Client, Pool, types } from 'pg'
import type { ClientConfig } from 'pg'
import { KernelError } from '../../kernel/model/errors.ts'
import { postgresError } from './errors.ts'

/** The time in ms after which an attempt to connect has failed. */
const CONNECT_MS = 5_000
/** The time in ms after which a write without an answer counts as lost. */
const ANSWER_MS = 30_000
/** The number of connections for reads. */
const MAX_READERS = 3
/** The idle time in ms before the system checks whether the server is still there. */
const KEEP_ALIVE_MS = 5_000
/** The function of the server that warns when a commit no longer waits for the standby. The text of the warning may be translated. */
const WAIT_FOR_STANDBY = 'SyncRepWaitForLSN'
/** The number of the type `bigint`, whose values the driver returns as texts. */
const BIGINT_OID = 20

export interface Statement {
  readonly text: string
  /** the name under which a connection prepares the statement once; only for fixed texts */
  readonly name?: string
  readonly values?: readonly unknown[]
}

/**
 * Runs reads; during a write they run on the writer's own connection. The caller knows the columns of its statement. Errors: those of the
 * server, as codes of the error table.
 */
export interface Reader {
  read<T>(operation: string, statement: Statement): Promise<readonly T[]>
}

/** Checks the URL of a store. Errors: `INVALID`, without the URL, because it may have a password. */
export function checkUrl(url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : ''
  if (protocol === 'postgres:' || protocol === 'postgresql:') return
  throw new KernelError(
    'INVALID',
    'the URL of the store is not one of PostgreSQL',
    {},
    'Write it as `postgres://USER@HOST:5432/DATABASE`. Characters of a password such as `/` or `@` must be encoded, as in `%2F`.',
  )
}

/** Returns the server and the database of a URL, without the user's password. */
export function describeUrl(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url)
  return `${hostname || searchParams.get('host') || 'localhost'}:${port || searchParams.get('port') || '5432'}${pathname}`
}

function configOf(url: string, name: string): ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: { getTypeParser: (oid: number, format?: 'text' | 'binary') => (oid === BIGINT_OID ? Number : types.getTypeParser(oid, format)) },
  }
}

/** A connection for writes. */
export class PostgresConnection {
  readonly #client: Client
  #isLost = false
  #lacksStandby = false

  private constructor(client: Client) {
    this.#client = client
    client.on('error', () => {
      this.#isLost = true
    })
    client.on('end', () => {
      this.#isLost = true
    })
    client.on('notice', ({ routine }) => {
      this.#lacksStandby ||= routine === WAIT_FOR_STANDBY
    })
  }

  /** Errors: `STORE_UNREACHABLE`. */
  static async open(url: string, name: string): Promise<PostgresConnection> {
    const client = new Client(configOf(url, name))
    const connection = new PostgresConnection(client)
    try {
      await client.connect()
      return connection
    } catch (error) {
      connection.destroy()
      throw postgresError(error, `The database ${describeUrl(url)} cannot be reached`)
    }
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Errors: those of the driver, so that the caller can see whether the end is known. */
  async query<T>({ text, name, values = [] }: Statement): Promise<readonly T[]> {
    const timer = setTimeout(() => this.destroy(), ANSWER_MS)
    try {
      const { rows } = await this.#client.query({ text, values: [...values], ...(name === undefined ? {} : { name }) })
      // An administrator can cancel this wait. The server then acknowledges what a failover may lose: the end counts as unknown.
      if (this.#lacksStandby) throw new Error('the server has acknowledged a commit that its standby may not have')
      return rows as T[]
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the connection at once. What the server still does is unknown. */
  destroy(): void {
    this.#isLost = true
    ;(this.#client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  }

  async close(): Promise<void> {
    if (this.#isLost) return
    this.#isLost = true
    await this.#client.end().catch(() => {
      // The server ends the session when the connection is gone.
    })
  }
}

/** Connections for reads, which are opened when they are needed. */
export class Readers implements Reader, AsyncDisposable {
  readonly #pool: Pool

  constructor(url: string, name: string) {
    this.#pool = new Pool({ ...configOf(url, name), max: MAX_READERS })
    // A connection that is lost while it is idle is replaced at the next read.
    this.#pool.on('error', () => {})
  }

  async read<T>(operation: string, statement: Statement): Promise<readonly T[]> {
    try {
      return await this.#query<T>(statement)
    } catch (cause) {
      const error = postgresError(cause, operation)
      // An idle connection may have been lost unnoticed. A read may be repeated.
      if (error.code !== 'STORE_UNREACHABLE') throw error
    }
    return this.#query<T>(statement).catch((cause: unknown) => {
      throw postgresError(cause, operation)
    })
  }

  async #query<T>({ text, name, values = [] }: Statement): Promise<readonly T[]> {
    if (this.#pool.ending) throw new KernelError('UNAVAILABLE', 'the store is closed')
    const { rows } = await this.#pool.query({ text, values: [...values], ...(name === undefined ? {} : { name }) })
    return rows as T[]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end().catch(() => {
      // The server ends the sessions when the connections are gone.
    })
  }
}
