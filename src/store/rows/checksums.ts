// Computes the checksums of rows: a CRC-32 over the texts of a row, seeded with its numbers. It detects a changed bit in any
// column. Each row is written with its checksum and checked at each read. This code is a hot path: no text is built only to
// compute a sum. Test: test/tables/store/rows/damage.test.ts.
import { crc32 } from 'node:zlib'
import type { FactRow, KeptRow, ProcessRow, TombstoneRow } from './row-types.ts'

const WORD = 0x1_0000_0000

/** Mixes both halves of a whole number below 2^53 into `seed`. */
function mix(seed: number, number: number): number {
  const low = Math.imul(seed ^ (number % WORD), 0x9e37_79b1)
  return Math.imul(low ^ (low >>> 15) ^ Math.floor(number / WORD), 0x85eb_ca6b) >>> 0
}

/** Adds a text to a checksum. Returns NaN, which is no row's checksum, if damage has changed the type of the value. */
function textSum(text: string, seed: number): number {
  return typeof text === 'string' && !Number.isNaN(seed) ? crc32(text, seed) : NaN
}

export function factSum(row: Omit<FactRow, 'sum'>): number {
  const ids = mix(mix(mix(row.type, row.cursor), row.process), row.seq)
  const sum = textSum(row.body, mix(mix(ids, row.pid), row.at))
  const whole = row.refs === null ? sum : textSum(row.refs, sum)
  // A row without a moment has the same checksum as in versions without that column, so that old rows stay valid.
  return row.moment === null ? whole : textSum(row.moment, whole + 1)
}

export function processSum(row: Omit<ProcessRow, 'sum'>): number {
  const ids = mix(mix(mix(row.live, row.key), row.pid), row.seq)
  const spec = mix(mix(ids, row.spec_seq), row.spec_cursor)
  const names = textSum(row.uuid, forkSum(row, mix(spec, row.exited_at ?? 0)))
  return textSum(row.body, textSum(row.open, row.name === null ? names : textSum(row.name, names + 1)))
}

/**
 * Adds the fork columns and the pin. A row with neither has the same checksum as in versions without these columns, so that old rows
 * stay valid.
 */
function forkSum({ forked_from: from, origin, base, pinned }: Omit<ProcessRow, 'sum'>, seed: number): number {
  if (from === null && origin === null && base === 0 && pinned === 0) return seed
  return textSum(from ?? '', mix(mix(mix(seed, origin ?? 0), base), pinned + 1))
}

export function keptSum(row: Omit<KeptRow, 'sum'>): number {
  return textSum(row.uuid, mix(mix(mix(row.key, row.origin ?? 0), row.base), row.upto))
}

export function tombstoneSum(row: Omit<TombstoneRow, 'sum'>): number {
  const ids = mix(row.pid, row.removed_at)
  const uuid = textSum(row.uuid, row.forked_from === null ? ids : textSum(row.forked_from, ids + 1))
  return row.name === null ? uuid : textSum(row.name, uuid + 1)
}

/**
 * Returns the checksum of a row that is not on the hot path, over its values in order. Texts are made well-formed, as SQLite stores
 * them.
 */
export function rowSum(values: readonly (string | number)[]): number {
  return crc32(JSON.stringify(values.map((value) => (typeof value === 'string' ? value.toWellFormed() : value))))
}
