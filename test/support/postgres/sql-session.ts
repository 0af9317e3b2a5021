// A small client of PostgreSQL for tests: one connection, and queries as plain text. With it a test looks at the server without the
// driver under test. It speaks version 3.0 of the protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { clientMessage, MessageReader, startupMessage, type WireMessage } from './wire.ts'

export type SqlRow = Readonly<Record<string, string | null>>

/** An error that the server reported, with its SQLSTATE. */
export class SqlError extends Error {
  readonly state: string

  constructor(fields: ReadonlyMap<string, string>) {
    super(fields.get('M') ?? 'an error without a message')
    this.state = fields.get('C') ?? ''
  }
}

interface Answer {
  names: string[]
  rows: SqlRow[]
  error: Error | null
}

export class SqlSession implements AsyncDisposable {
  readonly #socket: Socket
  readonly #reader = new MessageReader('server')
  readonly #password: string
  #answer: Answer = { names: [], rows: [], error: null }
  /** the query that has no answer yet, or the start of the session; null: a query may be sent */
  #waiting: PromiseWithResolvers<SqlRow[]> | null

  private constructor(socket: Socket, password: string, ready: PromiseWithResolvers<SqlRow[]>) {
    this.#socket = socket
    this.#password = password
    this.#waiting = ready
    socket.on('data', (bytes) => {
      for (const message of this.#reader.read(bytes)) this.#receive(message)
    })
    socket.on('error', (error) => {
      this.#answer.error ??= error
    })
    socket.on('close', () => {
      this.#answer.error ??= new Error('the server closed the connection')
      this.#finish()
    })
  }

  /** Connects as the user of the URL. `place`: where the server listens, if not at the host and port of the URL. */
  static async connect(url: URL, place: NetConnectOpts = { host: url.hostname, port: Number(url.port) }): Promise<SqlSession> {
    const socket = connect(place)
    const ready = Promise.withResolvers<SqlRow[]>()
    const session = new SqlSession(socket, decodeURIComponent(url.password), ready)
    socket.write(startupMessage({ user: url.username, database: url.pathname.slice(1), application_name: 'reeve-tests' }))
    await ready.promise
    return session
  }

  /** Runs a query, or several with `;` between them, and returns all rows. */
  async query(sql: string): Promise<SqlRow[]> {
    if (this.#waiting !== null) throw new Error('the query before has no answer yet')
    if (this.#socket.destroyed) throw new Error('the connection is closed')
    this.#waiting = Promise.withResolvers<SqlRow[]>()
    const { promise } = this.#waiting
    this.#socket.write(clientMessage('Q', `${sql}\0`))
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket.destroyed) return
    const closed = new Promise((resolve) => this.#socket.once('close', resolve))
    this.#socket.end(clientMessage('X', ''))
    await closed
  }

  /**
   * `R`: a request for a password (3: as plain text), or its success (0). `E`: an error. `T`: the columns of a result. `D`: a row. `Z`: the
   * server is ready for a query.
   */
  #receive({ type, body }: WireMessage): void {
    if (type === 'R' && body.readInt32BE(0) === 3) this.#socket.write(clientMessage('p', `${this.#password}\0`))
    else if (type === 'R' && body.readInt32BE(0) !== 0) this.#socket.destroy(new Error('the server asks for an unknown kind of password'))
    else if (type === 'E') this.#answer.error ??= new SqlError(errorFields(body))
    else if (type === 'T') this.#answer.names = columnNames(body)
    else if (type === 'D') this.#answer.rows.push(rowOf(this.#answer.names, body))
    else if (type === 'Z') this.#finish()
  }

  #finish(): void {
    const { rows, error } = this.#answer
    const waiting = this.#waiting
    this.#waiting = null
    this.#answer = { names: [], rows: [], error: null }
    if (error === null) waiting?.resolve(rows)
    else waiting?.reject(error)
  }
}

function errorFields(body: Buffer): Map<string, string> {
  return new Map(
    body
      .toString('utf8')
      .split('\0')
      .map((field) => [field.slice(0, 1), field.slice(1)]),
  )
}

function columnNames(body: Buffer): string[] {
  let at = 2
  return Array.from({ length: body.readInt16BE(0) }, () => {
    const end = body.indexOf(0, at)
    const name = body.toString('utf8', at, end)
    // After its name, a column has 18 bytes about its type.
    at = end + 19
    return name
  })
}

function rowOf(names: readonly string[], body: Buffer): SqlRow {
  let at = 2
  return Object.fromEntries(
    names.map((name) => {
      const length = body.readInt32BE(at)
      const start = at + 4
      at = start + Math.max(length, 0)
      return [name, length < 0 ? null : body.toString('utf8', start, at)]
    }),
  )
}
