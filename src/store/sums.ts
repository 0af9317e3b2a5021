// The sums of rows: a CRC-32 over the texts of a row, seeded with its numbers, so that a changed bit in any column shows.
// Written with each row and held against it at each read. On the hot path: no text is built to be summed.
// Test: test/tables/store-damage.test.ts.
import { crc32 } from 'node:zlib'
import type { FactRow, KeptRow, ProcessRow, TombstoneRow } from './statements.ts'

const WORD = 0x1_0000_0000

/** Stirs both halves of a whole number below 2^53 into `seed`. */
function stir(seed: number, number: number): number {
  const low = Math.imul(seed ^ (number % WORD), 0x9e37_79b1)
  return Math.imul(low ^ (low >>> 15) ^ Math.floor(number / WORD), 0x85eb_ca6b) >>> 0
}

export function factSum(row: Omit<FactRow, 'sum'>): number {
  const ids = stir(stir(stir(row.type, row.cursor), row.process), row.seq)
  const sum = crc32(row.body, stir(stir(ids, row.pid), row.at))
  return row.refs === null ? sum : crc32(row.refs, sum)
}

export function processSum(row: Omit<ProcessRow, 'sum'>): number {
  const ids = stir(stir(stir(row.live, row.key), row.pid), row.seq)
  const spec = stir(stir(ids, row.spec_seq), row.spec_cursor)
  const names = crc32(row.uuid, familySum(row, stir(spec, row.exited_at ?? 0)))
  return crc32(row.body, crc32(row.open, row.name === null ? names : crc32(row.name, names + 1)))
}

/** A row that is no fork and not pinned has the sum that it had before there were such: those rows are not written anew. */
function familySum({ forked_from: from, origin, base, pinned }: Omit<ProcessRow, 'sum'>, seed: number): number {
  if (from === null && origin === null && base === 0 && pinned === 0) return seed
  return crc32(from ?? '', stir(stir(stir(seed, origin ?? 0), base), pinned + 1))
}

export function keptSum(row: Omit<KeptRow, 'sum'>): number {
  return crc32(row.uuid, stir(stir(stir(row.key, row.origin ?? 0), row.base), row.upto))
}

export function tombstoneSum(row: Omit<TombstoneRow, 'sum'>): number {
  const ids = stir(row.pid, row.removed_at)
  const uuid = crc32(row.uuid, row.forked_from === null ? ids : crc32(row.forked_from, ids + 1))
  return row.name === null ? uuid : crc32(row.name, uuid + 1)
}

/** Of a row that is not on the hot path: over its values in order. */
export function rowSum(values: readonly (string | number)[]): number {
  return crc32(JSON.stringify(values))
}
