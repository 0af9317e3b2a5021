// The integrity check of `reeve doctor --verify` on PostgreSQL. Reads each process, fact, long text and ledger row with the checks of a
// usual read. Counts what belongs to no process. The pages of the database are checked by its own tools, such as `pg_amcheck`.
// Test: test/processes/postgres/store-opening.test.ts.
import { hash } from 'node:crypto'
import { damageError } from '../errors.ts'
import type { FactSpan } from '../journal/lineage.ts'
import { createIntern } from '../rows/process-body.ts'
import { checkKept } from '../rows/row-lookup.ts'
import type { KeptRow, SpenderRow, TombstoneRow } from '../rows/row-types.ts'
import { checkTombstone } from '../rows/tombstones.ts'
import { checkSpender } from '../rows/usage-account.ts'
import { postgresError } from './errors.ts'
import { loadBlobs, readFacts } from './facts.ts'
import type { Reader } from './connection.ts'
import type { Journals } from './journals.ts'
import { countUnownedUsage, readUsageRows, spenderRowOf } from './ledger.ts'
import { SELECT_PROCESSES, processOf } from './processes.ts'
import { TOMBSTONE_COLUMNS, specRowOf, tombstoneRowOf } from './rows.ts'
import type { RowWithSpec } from './rows.ts'

/** The number of rows or facts per page. */
const PAGE = 200
/** The maximum number of lines of a report; further findings give one last line. */
const MAX_FINDINGS = 100

export class PostgresVerifier {
  readonly #reader: Reader
  readonly #journals: Journals
  readonly #lines: string[] = []

  constructor(reader: Reader, journals: Journals) {
    this.#reader = reader
    this.#journals = journals
  }

  /** Returns one line per finding. */
  async verify(): Promise<readonly string[]> {
    await this.#verifyProcesses()
    await this.#verifyKept()
    await this.#verifyBlobs()
    await this.#verifyTombstones()
    await this.#verifyUsage()
    await this.#attempt(() => this.#countStrays())
    const { length } = this.#lines
    return length <= MAX_FINDINGS ? this.#lines : [...this.#lines.slice(0, MAX_FINDINGS), 'more damage was found than is listed']
  }

  get #isFull(): boolean {
    return this.#lines.length > MAX_FINDINGS
  }

  /** Runs a check. Its error becomes a finding, and the result is then undefined. */
  async #attempt<T>(check: () => Promise<T> | T): Promise<T | undefined> {
    try {
      return await check()
    } catch (error) {
      const found = postgresError(error, 'database')
      // Without the server, every check would fail alike.
      if (found.code === 'STORE_UNREACHABLE') throw found
      this.#lines.push(found.message)
      return undefined
    }
  }

  /** Reads a table page by page, in the order of a column, and checks each row. */
  async #walk<T>(select: string, keyOf: (row: T) => unknown, start: unknown, check: (row: T) => Promise<unknown> | unknown): Promise<void> {
    for (let after = start; !this.#isFull;) {
      const rows = await this.#reader.read<T>('The check', { text: select, values: [after, PAGE] })
      for (const row of rows) await this.#attempt(() => check(row))
      const last = rows.at(-1)
      if (last === undefined) return
      after = keyOf(last)
    }
  }

  async #verifyProcesses(): Promise<void> {
    const select = `${SELECT_PROCESSES} WHERE p.key > $1 ORDER BY p.key LIMIT $2`
    await this.#walk<RowWithSpec>(
      select,
      ({ key }) => key,
      -1,
      async (row) => {
        processOf(row, await loadBlobs(this.#reader, [specRowOf(row)]), createIntern())
        const span = await this.#journals.find(this.#reader, row.uuid)
        if (span !== undefined) await this.#verifySpan(span, false)
      },
    )
  }

  /** Checks the facts of removed processes that are kept for forks. */
  async #verifyKept(): Promise<void> {
    const select = 'SELECT key, uuid, origin, base, upto, sum FROM reeve.kept WHERE key > $1 ORDER BY key LIMIT $2'
    await this.#walk<KeptRow>(
      select,
      ({ key }) => key,
      -1,
      async (row) => {
        const { key, uuid, base, upto } = checkKept(row)
        await this.#verifySpan({ link: { key, uuid, base, origin: null }, upto, open: null }, true)
      },
    )
  }

  /** Checks the own facts of a process. The facts of its origin are checked with the origin; here only the last of them is read. */
  async #verifySpan(span: FactSpan, isKept: boolean): Promise<void> {
    const { base, origin, uuid } = span.link
    const verifyPage = async (afterSeq: number, limit: number): Promise<void> => {
      try {
        await readFacts(this.#reader, span, { afterSeq, limit })
      } catch (error) {
        // Facts of a process that was removed meanwhile are missing, which is no damage.
        if (isKept || (await this.#journals.find(this.#reader, uuid)) !== undefined) throw error
      }
    }
    if (origin !== null) await this.#attempt(() => verifyPage(base - 1, 1))
    for (let after = base; after < span.upto && !this.#isFull; after += PAGE) await this.#attempt(() => verifyPage(after, PAGE))
  }

  async #verifyBlobs(): Promise<void> {
    const select = 'SELECT hash, bytes FROM reeve.blob WHERE hash > $1 ORDER BY hash LIMIT least($2, 8)'
    await this.#walk<{ hash: Buffer; bytes: Uint8Array }>(
      select,
      (row) => row.hash,
      Buffer.alloc(0),
      (row) => {
        const name = row.hash.toString('hex')
        if (hash('sha256', row.bytes) !== name) throw damageError({ table: 'blobs', hash: name }, 'it is damaged')
      },
    )
  }

  async #verifyTombstones(): Promise<void> {
    const select = `SELECT ${TOMBSTONE_COLUMNS} FROM reeve.tombstone WHERE uuid > $1 ORDER BY uuid LIMIT $2`
    await this.#walk<TombstoneRow>(
      select,
      ({ uuid }) => uuid,
      '',
      (row) => checkTombstone(tombstoneRowOf(row)),
    )
  }

  async #verifyUsage(): Promise<void> {
    const select = 'SELECT id, uuid, agent, root, seq, state, sum FROM reeve.spender WHERE id > $1 ORDER BY id LIMIT $2'
    await this.#walk<SpenderRow>(
      select,
      ({ id }) => id,
      -1,
      (row) => checkSpender(spenderRowOf(row)),
    )
    for (let after: Parameters<typeof readUsageRows>[1]['after']; !this.#isFull;) {
      const query = after === undefined ? { limit: PAGE } : { limit: PAGE, after }
      after = (await this.#attempt(() => readUsageRows(this.#reader, query)))?.at(-1)
      if (after === undefined) return
    }
  }

  async #countStrays(): Promise<void> {
    const [row] = await this.#reader.read<{ facts: number; texts: number }>('The check', {
      text: `SELECT (SELECT count(*) FROM reeve.fact f WHERE NOT EXISTS (SELECT 1 FROM reeve.process p WHERE p.key = f.process)
          AND NOT EXISTS (SELECT 1 FROM reeve.doomed d WHERE d.key = f.process)
          AND NOT EXISTS (SELECT 1 FROM reeve.kept k WHERE k.key = f.process)) AS facts,
        (SELECT count(*) FROM reeve.blob b FULL JOIN (
            SELECT r ->> 1 AS sha, count(*) AS n FROM reeve.fact f, json_array_elements(f.refs::json) r WHERE f.refs IS NOT NULL GROUP BY 1
          ) u ON u.sha = encode(b.hash, 'hex') WHERE b.refs IS DISTINCT FROM u.n) AS texts`,
    })
    if (row && row.facts > 0) this.#lines.push(`journal: ${row.facts} facts belong to no process`)
    if (row && row.texts > 0) this.#lines.push(`blobs: ${row.texts} long texts have a wrong count of references`)
    const unowned = await countUnownedUsage(this.#reader)
    if (unowned > 0) this.#lines.push(`spent: ${unowned} rows belong to no process`)
  }
}
