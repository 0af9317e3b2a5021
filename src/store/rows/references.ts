// Resolves references to processes: a PID, a name, or the first or last digits of a UUID. Test: test/tables/store/store.test.ts.
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Statements } from '../statements.ts'

/** The maximum number of UUIDs to which a reference resolves. */
export const MAX_FOUND = 20

/** The minimum length of a part of a UUID that counts as a reference, in digits. */
const MIN_PART_DIGITS = 4

/** Resolves a reference: by PID, by a PID from before a resume, by name, then by a part of the UUID. The first kind with a match counts. */
export function findUuids(sql: Statements, ref: string): Uuid[] {
  if (ref.startsWith(UUID_PREFIX)) return findByPart(sql, ref)
  for (const find of [findByPid, findByRetiredPid, findByName, findByPart]) {
    const found = find(sql, ref)
    if (found.length > 0) return found
  }
  return []
}

type Rows = readonly Record<string, unknown>[]

const uuidsOf = (rows: Rows): Uuid[] => rows.map((row) => String(row['uuid']))

function findByPid(sql: Statements, ref: string): Uuid[] {
  return isPid(ref) ? uuidsOf(sql.byPid.all(Number(ref), MAX_FOUND)) : []
}

function findByRetiredPid(sql: Statements, ref: string): Uuid[] {
  return isPid(ref) ? uuidsOf(sql.byRetiredPid.all(Number(ref), MAX_FOUND)) : []
}

/** Whether a reference can be a PID. */
export function isPid(ref: string): boolean {
  return /^\d+$/.test(ref) && Number.isSafeInteger(Number(ref))
}

function findByName(sql: Statements, ref: string): Uuid[] {
  return uuidsOf(sql.byName.all(ref, MAX_FOUND))
}

function findByPart(sql: Statements, ref: string): Uuid[] {
  const part = uuidPartRanges(ref)
  if (part === null) return []
  const byPrefix = uuidsOf(sql.byPrefix.all(...part.prefix, MAX_FOUND))
  const bySuffix = uuidsOf(sql.bySuffix.all(...part.suffix, MAX_FOUND))
  return [...new Set([...byPrefix, ...bySuffix])].slice(0, MAX_FOUND)
}

type TextRange = readonly [from: string, before: string]

/** The prefix of a reference that is a part of a UUID. Without the prefix, a reference of digits alone is a PID. */
export const UUID_PREFIX = 'id:'

/** Returns the ranges of UUIDs, and of reversed UUIDs, that start with the part in a reference. Null if it cannot be part of a UUID. */
export function uuidPartRanges(ref: string): { readonly prefix: TextRange; readonly suffix: TextRange } | null {
  if (/^\d+$/.test(ref)) return null
  const digits = (ref.startsWith(UUID_PREFIX) ? ref.slice(UUID_PREFIX.length) : ref).replaceAll('-', '').toLowerCase()
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < MIN_PART_DIGITS || digits.length > 32) return null
  const [prefix, suffix] = [withDashes(digits), reverseDigits(digits)]
  // `g` sorts after every digit and the dash, so the range contains all UUIDs that start with the part.
  return { prefix: [prefix, `${prefix}g`], suffix: [suffix, `${suffix}g`] }
}

function withDashes(digits: string): string {
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)]
  return parts.filter((part) => part !== '').join('-')
}

/** Returns the digits of a UUID in reverse order, as in the column `processes.reversed`. */
export function reverseDigits(uuid: string): string {
  return [...uuid.replaceAll('-', '')].toReversed().join('')
}
