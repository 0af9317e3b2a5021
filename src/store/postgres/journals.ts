// Finds processes and the journals from which they were forked, on PostgreSQL. A link of a lineage never changes, so some are cached.
// Test: test/tables/store/journal/lineage.test.ts, test/properties/store.test.ts.
import type { Uuid } from '../../kernel/model/ids.ts'
import { damageError } from '../errors.ts'
import type { FactSpan, LineageLink } from '../journal/lineage.ts'
import { checkKept, checkRow } from '../rows/row-lookup.ts'
import type { KeptRow, ProcessRow } from '../rows/row-types.ts'
import type { HeadCache, ProcessHead } from '../write/head-cache.ts'
import type { Reader } from './connection.ts'
import { PROCESS_COLUMNS, processRowOf } from './rows.ts'
import type { RawProcessRow } from './rows.ts'

/** The number of links that are cached. */
const MAX_CACHED_LINKS = 1_024

type Position = Pick<ProcessHead, 'key' | 'uuid' | 'origin' | 'base' | 'seq'>

export class Journals {
  readonly #heads: HeadCache
  readonly #links = new Map<number, LineageLink>()

  constructor(heads: HeadCache) {
    this.#heads = heads
  }

  /** Returns the span of a process's own facts as of the last commit; undefined if there is no such process. */
  async find(reader: Reader, uuid: Uuid): Promise<FactSpan | undefined> {
    const position: Position | undefined = this.#heads.get(uuid) ?? (await readRow(reader, uuid))
    return position === undefined ? undefined : this.spanOf(reader, position)
  }

  async spanOf(reader: Reader, { key, uuid, origin, base, seq }: Position): Promise<FactSpan> {
    const link = { key, uuid, base, origin: origin === null ? null : await this.linkOf(reader, origin, { uuid, base }) }
    return { link, upto: seq, open: null }
  }

  /** Returns the link of an origin by its key, even if the process was removed. `fork` was forked from it. */
  async linkOf(reader: Reader, key: number, fork: { readonly uuid: Uuid; readonly base: number }): Promise<LineageLink> {
    const known = this.#links.get(key)
    if (known !== undefined) return known
    const row = (await readProcessRow(reader, key)) ?? (await readKept(reader, key))
    const problem = row === undefined ? 'is missing' : 'starts after it'
    // The base of an origin is below that of the fork, so that the walk upwards ends.
    if (row === undefined || row.base >= fork.base)
      throw damageError({ table: 'processes', uuid: fork.uuid }, `its origin ${key} ${problem}`)
    const { uuid, base, origin } = row
    const link: LineageLink = { key, uuid, base, origin: origin === null ? null : await this.linkOf(reader, origin, row) }
    this.#links.set(key, link)
    const oldest = this.#links.size > MAX_CACHED_LINKS ? this.#links.keys().next().value : undefined
    if (oldest !== undefined) this.#links.delete(oldest)
    return link
  }
}

/** Returns the checked row of a process; undefined if there is none. */
export async function readRow(reader: Reader, uuid: Uuid): Promise<ProcessRow | undefined> {
  return (await readRows(reader, [uuid]))[0]
}

/** Returns the checked rows of some processes. */
export async function readRows(reader: Reader, uuids: readonly Uuid[]): Promise<readonly ProcessRow[]> {
  const rows = await reader.read<RawProcessRow>('The processes', {
    name: 'rows',
    text: `SELECT ${PROCESS_COLUMNS} FROM reeve.process p WHERE p.uuid = ANY($1)`,
    values: [uuids],
  })
  return rows.map((row) => checkRow(processRowOf(row)))
}

async function readProcessRow(reader: Reader, key: number): Promise<ProcessRow | undefined> {
  const [row] = await reader.read<RawProcessRow>('An origin', {
    text: `SELECT ${PROCESS_COLUMNS} FROM reeve.process p WHERE p.key = $1`,
    values: [key],
  })
  return row && checkRow(processRowOf(row))
}

/** Returns the checked row of a removed process whose facts are kept; undefined if there is none. */
export async function readKept(reader: Reader, key: number): Promise<KeptRow | undefined> {
  const [row] = await reader.read<KeptRow>('A kept origin', {
    text: 'SELECT key, uuid, origin, base, upto, sum FROM reeve.kept WHERE key = $1',
    values: [key],
  })
  return row && checkKept(row)
}
