// Imports a journal into PostgreSQL in batches, as staging.ts does on SQLite. The last write makes all of it visible. Until then its keys
// are marked as removed, so that no reader sees the facts, and a sweep removes them after a crash.
// Tests: test/tables/store/journal/staging.test.ts, test/properties/store.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Fact, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import { addToPart, checkStagedEnd, continuesPart, newPart } from '../journal/staged-part.ts'
import type { StagedPart } from '../journal/staged-part.ts'
import type { FactRow } from '../rows/row-types.ts'
import type { Counters, Staging } from '../store.ts'
import { countUse } from '../write/commit-plan.ts'
import type { UsedBlob } from '../write/commit-plan.ts'
import type { ProcessHead } from '../write/head-cache.ts'
import { readRow } from './journals.ts'
import type { StagedUsage } from './ledger.ts'
import { Parameters } from './parameters.ts'
import { addDoomed, addKept, addTombstone } from './removal.ts'
import type { PostgresRemover } from './removal.ts'
import { newProcessRow } from './rows.ts'
import { headAfter } from './writer.ts'
import type { PostgresWriter } from './writer.ts'

interface StageDeps {
  readonly writer: PostgresWriter
  readonly remover: PostgresRemover
  readonly usage: StagedUsage
}

export class PostgresStage implements Staging {
  readonly #deps: StageDeps
  readonly #parts: StagedPart[] = []

  constructor(deps: StageDeps) {
    this.#deps = deps
  }

  add(facts: readonly Fact[]): Promise<Counters> {
    const { writer, usage } = this.#deps
    return writer.fence.inTurn(async () => {
      const { pid, cursor } = writer.counters
      const storedFacts = facts.map((fact, index): StoredFact => ({ ...fact, cursor: cursor + index + 1 }))
      const [rows, blobs, newParts]: [Omit<FactRow, 'sum'>[], Map<string, UsedBlob>, StagedPart[]] = [[], new Map(), []]
      for (const fact of storedFacts) {
        const added = addToPart(this.#partOf(fact, newParts), fact)
        rows.push(added.row)
        for (const blob of added.blobs) countUse(blobs, blob)
      }
      const counters = { pid, cursor: cursor + facts.length }
      await writer.writeContent('A batch of an import', {
        plan: { facts: rows, storedFacts, blobs, counters, newKeys: 0 },
        more: (first) => {
          const parameters = new Parameters(first)
          return { statements: newParts.map(({ key }) => addDoomed(parameters, key, null)), values: parameters.values }
        },
      })
      await usage.count(storedFacts)
      return counters
    })
  }

  publish(process: Process): Promise<Counters> {
    return this.#deps.writer.fence.inTurn(async () => {
      const { writer, remover, usage } = this.#deps
      const imported = checkStagedEnd(this.#parts.at(-1), process)
      if ((await readRow(writer.reader, process.uuid)) !== undefined)
        throw new KernelError('CONFLICT', `the process ${process.uuid} already exists`, { uuid: process.uuid })
      const { pid, cursor } = writer.counters
      const counters = { pid: Math.max(pid, ...this.#parts.map((part) => part.pid)), cursor }
      const origins = await this.#originsToRecord()
      const head = headOfPart(imported)
      const row = newProcessRow(process, head)
      const pending = writer.pendingRows()
      const usageRows = await usage.rowsOf(process.uuid, process.seq)
      await writer.writeContent(`The import of ${process.uuid}`, {
        plan: { facts: [], storedFacts: [], blobs: new Map(), counters, newKeys: 0 },
        rows: [row, ...pending.rows],
        isSettled: true,
        more: (first) => {
          const ledger = usageRows(first)
          const parameters = new Parameters(first + ledger.values.length)
          const keys = parameters.add(this.#parts.map(({ key }) => key))
          const statements = [
            ...ledger.statements,
            `DELETE FROM reeve.doomed WHERE key = ANY(${keys}::bigint[]) AND EXISTS (SELECT FROM f)`,
            `DELETE FROM reeve.tombstone WHERE uuid = ${parameters.add(process.uuid)}::text AND EXISTS (SELECT FROM f)`,
            ...this.#parts.slice(0, -1).map((part) => addKept(parameters, { ...part, upto: part.seq })),
            ...origins.map((part) => addTombstone(parameters, part)),
          ]
          return { statements, values: [...ledger.values, ...parameters.values] }
        },
      })
      writer.heads.put([headAfter(head, row, null), ...pending.heads])
      remover.release(this.#parts.map(({ key }) => key))
      this.#parts.length = 0
      return counters
    })
  }

  /** Releases the keys of a journal that was not published, so that the next sweep removes its facts. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#deps.remover.release(this.#parts.map(({ key }) => key))
  }

  /** Returns the part to which a fact belongs: the last part, or a new one that was forked from it. */
  #partOf(fact: StoredFact, newParts: StagedPart[]): StagedPart {
    const last = this.#parts.at(-1)
    if (continuesPart(last, fact)) return last
    const part = newPart(this.#deps.writer.assignKey(), fact, last)
    this.#parts.push(part)
    newParts.push(part)
    this.#deps.remover.protect(part.key)
    return part
  }

  /** Returns the origins that get a tombstone: those that neither exist here nor have one. */
  async #originsToRecord(): Promise<readonly StagedPart[]> {
    const origins = this.#parts.slice(0, -1)
    if (origins.length === 0) return []
    const known = await this.#deps.writer.reader.read<{ uuid: string }>('The origins', {
      text: 'SELECT uuid FROM reeve.process WHERE uuid = ANY($1) UNION SELECT uuid FROM reeve.tombstone WHERE uuid = ANY($1)',
      values: [origins.map(({ uuid }) => uuid)],
    })
    return origins.filter(({ uuid }) => !known.some((row) => row.uuid === uuid))
  }
}

function headOfPart({ key, uuid, forkedFrom, origin, base, seq, lastCursor, specSeq, specCursor }: StagedPart): ProcessHead {
  return { key, uuid, forkedFrom, origin, base, seq, open: '', lastCursor, specSeq, specCursor, storedRow: null, pendingProcess: null }
}
