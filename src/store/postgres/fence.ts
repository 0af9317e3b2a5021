// The only way to write to the database. Each write is one statement that also counts up `head` in the row of `shard`. It writes nothing
// unless this row still names this writer and its last write. When the answer to a write is lost, the writer changes its nonce in that
// row. This shows whether the write has landed, and keeps a late copy of it from landing. Must never report an error of a write that has
// landed or may still land. Test: test/processes/postgres/store-ends.test.ts.
import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { KernelError } from '../../kernel/model/errors.ts'
import type { PostgresConnection, Statement } from './connection.ts'
import { isRefusal, postgresError } from './errors.ts'

/** The pauses in ms between attempts to learn the end of a write. */
const PAUSES_MS = [0, 50, 100, 200, 500, 1_000] as const
/** The time in ms after which the writer gives up and reports `FENCED`. The next start reads what has landed. */
const GIVE_UP_MS = 600_000

/** One write: what to set in the row of `shard`, and further statements that read the row `f`. Their parameters begin with `$4`. */
export interface Write {
  /** the name of a fixed text, which is prepared once */
  readonly name?: string
  /** more columns of `shard` to set, such as `pid = $4` */
  readonly set?: string
  /** statements that change other tables; each must read `f`, so that it does nothing without the fence */
  readonly statements?: readonly string[]
  readonly values: readonly unknown[]
}

interface FenceDeps {
  /** opens a connection to a server that may have the store; errors: `STORE_UNREACHABLE`, `STORE_UNSUITABLE` */
  readonly connect: () => Promise<PostgresConnection>
  readonly log: (message: string) => void
}

/** The writer as the row of `shard` names it. */
interface Holder {
  readonly inc: number
  readonly nonce: string
  readonly head: number
}

export class Fence {
  readonly #deps: FenceDeps
  readonly #inc: number
  #nonce: string
  /** the names that this writer had before; a server that has one of them went back */
  readonly #formerNonces = new Set<string>()
  /** the number of writes of all writers, as of the last one whose end is known */
  #head: number
  #connection: PostgresConnection
  #final: KernelError | null = null
  #isClosed = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor(deps: FenceDeps, connection: PostgresConnection, { inc, nonce, head }: Holder) {
    this.#deps = deps
    this.#connection = connection
    this.#inc = inc
    this.#nonce = nonce
    this.#head = head
  }

  /** Runs `work` after all earlier work, so that nothing else is written between its reads and its writes. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {
      // The caller gets the error; the next work begins all the same.
    })
    return result
  }

  /**
   * Writes one statement. The caller has the turn. Errors: `FENCED` and `STORE_REGRESSED`, which every later write gets, too;
   * `STORE_UNREACHABLE` and those of the server. After each of them nothing was written, and nothing will be.
   */
  async write(operation: string, write: Write): Promise<void> {
    const expected = this.#head + 1
    for (let isUnknown = false; ;) {
      if (this.#final) throw this.#final
      const end = await this.#attempt(operation, write)
      if (end === 'landed') break
      if (end === 'refused' && !isUnknown) return this.#explainMismatch()
      isUnknown ||= end === 'unknown'
      const head = await this.#resolve()
      if (head === expected) break
      if (head !== expected - 1) this.#endWith(headError(head, expected))
    }
    this.#head = expected
  }

  /** Runs a read on the connection of the writer, which sees all of its writes. */
  async read<T>(operation: string, statement: Statement): Promise<readonly T[]> {
    try {
      return await (await this.#connected()).query<T>(statement)
    } catch (error) {
      if (!isRefusal(error) && !(error instanceof KernelError)) this.#connection.destroy()
      throw postgresError(error, operation)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#turn
    await this.#connection.close()
  }

  /** Sends the statement once. `unknown`: it may have landed, or may still land. */
  async #attempt(operation: string, write: Write): Promise<'landed' | 'refused' | 'unknown'> {
    const connection = await this.#connected()
    try {
      const rows = await connection.query(this.#statementOf(write))
      return rows.length === 1 ? 'landed' : 'refused'
    } catch (error) {
      if (isRefusal(error) || error instanceof TypeError || error instanceof RangeError) throw postgresError(error, operation)
      connection.destroy()
      return 'unknown'
    }
  }

  #statementOf({ name, set = '', statements = [], values }: Write): Statement {
    const fence = `UPDATE reeve.shard SET head = head + 1${set === '' ? '' : `, ${set}`}
      WHERE id = 1 AND inc = $1 AND nonce = $2 AND head = $3 RETURNING head`
    const parts = statements.map((text, index) => `w${index} AS (${text})`)
    const text = `WITH ${[`f AS (${fence})`, ...parts].join(', ')} SELECT head FROM f`
    return { text, values: [this.#inc, this.#nonce, this.#head, ...values], ...(name === undefined ? {} : { name }) }
  }

  /** Returns the connection, or a new one if it was lost. Errors: `STORE_UNREACHABLE`, `STORE_UNSUITABLE`. */
  async #connected(): Promise<PostgresConnection> {
    if (this.#isClosed) throw new KernelError('UNAVAILABLE', 'the store is closed')
    if (this.#connection.isLost) this.#connection = await this.#deps.connect()
    return this.#connection
  }

  /**
   * Learns by a write where the head is. The write changes the nonce, so that no earlier statement can land any more. Errors: the final
   * one of a store that another writer has, or that lost writes.
   */
  async #resolve(): Promise<number> {
    const started = performance.now()
    const nonce = randomUUID()
    for (let attempt = 0; ; attempt++) {
      const pauseMs = PAUSES_MS[attempt] ?? PAUSES_MS.at(-1) ?? 0
      if (this.#isClosed || performance.now() - started > GIVE_UP_MS) this.#endWith(unknownEndError())
      await setTimeout(pauseMs)
      try {
        const [row] = await (
          await this.#connected()
        ).query<{ head: number }>({
          text: 'UPDATE reeve.shard SET nonce = $3 WHERE id = 1 AND inc = $1 AND nonce IN ($2, $3) RETURNING head',
          values: [this.#inc, this.#nonce, nonce],
        })
        if (row === undefined) return await this.#explainMismatch()
        this.#formerNonces.add(this.#nonce)
        this.#nonce = nonce
        return row.head
      } catch (error) {
        if (error === this.#final) throw error
        if (attempt === 1) this.#deps.log(`The end of a write is unknown, so the writer waits: ${postgresError(error, 'asking').message}`)
        if (!(error instanceof KernelError)) this.#connection.destroy()
      }
    }
  }

  /** Finds out why the fence did not match, and ends the writer. A read suffices, because both answers are final. */
  async #explainMismatch(): Promise<never> {
    const [row] = await this.read<Holder>('The fence', { text: 'SELECT inc, nonce, head FROM reeve.shard WHERE id = 1' })
    if (row === undefined || row.inc < this.#inc)
      return this.#endWith(regressedError(`it knows nothing of take-over ${this.#inc}`, { inc: row?.inc ?? 0 }))
    if (row.inc === this.#inc && this.#formerNonces.has(row.nonce))
      return this.#endWith(regressedError('it knows nothing of a lost answer that was resolved', { head: row.head }))
    if (row.inc === this.#inc && row.nonce === this.#nonce) return this.#endWith(headError(row.head, this.#head + 1))
    return this.#endWith(
      new KernelError('FENCED', `another daemon has taken over the database (take-over ${row.inc}, this daemon has ${this.#inc})`, {
        inc: row.inc,
      }),
    )
  }

  #endWith(error: KernelError): never {
    this.#final ??= error
    throw this.#final
  }
}

function headError(head: number, expected: number): KernelError {
  if (head < expected - 1) return regressedError(`its last write is ${head}, but ${expected - 1} was acknowledged`, { head })
  return new KernelError('FENCED', `the database has write ${head}, which is not of this daemon`, { head })
}

function regressedError(what: string, details: Readonly<Record<string, number>>): KernelError {
  return new KernelError('STORE_REGRESSED', `the database went back: ${what}`, details)
}

function unknownEndError(): KernelError {
  return new KernelError('FENCED', 'the database did not answer, and the end of the last write is unknown: the next start shows it')
}
