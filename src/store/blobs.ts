// Long texts inside fact bodies: stored once under their SHA-256, and named beside the body by where they stand in it.
// The references stand in a column of their own (`refs`), never in the body: no text of an agent can look like one.
// Test: test/tables/store-blobs.test.ts.
import { hash } from 'node:crypto'
import { KernelError } from '../kernel/errors.ts'
import { damaged } from './errors.ts'
import type { Place } from './errors.ts'
import type { Statements } from './statements.ts'

/** A text above this many bytes of UTF-8 becomes a blob. */
export const INLINE_BYTES = 8_192

/** The longest text that the store takes, in bytes of UTF-8 (64 MiB). */
export const TEXT_BYTES = 67_108_864

type Path = readonly (string | number)[]

/** `[where in the body, SHA-256 as hex, bytes]` */
type Ref = readonly [path: Path, hash: string, bytes: number]

export interface Blob {
  readonly hash: Buffer
  readonly bytes: Buffer
}

export interface Encoded {
  readonly body: string
  readonly refs: string | null
  readonly blobs: readonly Blob[]
}

const NONE: readonly Blob[] = []

/** The body as JSON, its long texts taken out. A short JSON text holds no long one: the usual case costs one `stringify`. */
export function encode(values: unknown): Encoded {
  const body = JSON.stringify(values)
  if (body.length * 3 <= INLINE_BYTES) return { body, refs: null, blobs: NONE }
  const refs: Ref[] = []
  const blobs: Blob[] = []
  const rest = cut(values, [], (path, bytes) => {
    const sha = hash('sha256', bytes, 'buffer')
    refs.push([path, sha.toString('hex'), bytes.length])
    blobs.push({ hash: sha, bytes })
  })
  if (refs.length === 0) return { body, refs: null, blobs: NONE }
  return { body: JSON.stringify(rest), refs: JSON.stringify(refs), blobs }
}

/** A copy in which each long text is empty. One with a lone surrogate stays: UTF-8 would not give it back. */
function cut(value: unknown, path: Path, take: (path: Path, bytes: Buffer) => void): unknown {
  if (typeof value === 'string') {
    const size = Buffer.byteLength(value)
    if (size > TEXT_BYTES) throw new KernelError('INVALID', `A text of ${size} bytes cannot be stored; the limit is ${TEXT_BYTES}.`)
    if (size <= INLINE_BYTES || !value.isWellFormed()) return value
    take(path, Buffer.from(value))
    return ''
  }
  if (Array.isArray(value)) return value.map((item, index) => cut(item, [...path, index], take))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item, [...path, key], take)]))
}

/** Puts the texts back into a parsed body, in place. */
export function restore(sql: Statements, values: unknown, refs: string, place: Place): void {
  for (const [path, sha, size] of parseRefs(refs, place)) {
    const text = readBlob(sql, sha, size, place)
    if (!put(values, path, text)) throw damaged(place, `the body has no place ${JSON.stringify(path)} for the text ${sha}`)
  }
}

function parseRefs(refs: string, place: Place): readonly Ref[] {
  try {
    return JSON.parse(refs) as Ref[] // its row's sum was checked: the store wrote it
  } catch {
    throw damaged(place, 'the references to long texts are no JSON')
  }
}

function readBlob(sql: Statements, sha: string, size: number, place: Place): string {
  const bytes = sql.blob.get(Buffer.from(sha, 'hex'))?.['bytes']
  if (!(bytes instanceof Uint8Array)) throw damaged({ ...place, hash: sha }, 'a long text is missing from blobs')
  if (bytes.length !== size || hash('sha256', bytes) !== sha) throw damaged({ ...place, hash: sha }, 'a long text in blobs is not what was written')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
}

function put(values: unknown, path: Path, text: string): boolean {
  let node = values as Record<string | number, unknown>
  for (const key of path.slice(0, -1)) {
    if (!isHolder(node) || !Object.hasOwn(node, key)) return false
    node = node[key] as Record<string | number, unknown>
  }
  const last = path.at(-1)
  if (last === undefined || !isHolder(node) || !Object.hasOwn(node, last) || node[last] !== '') return false
  node[last] = text
  return true
}

function isHolder(node: unknown): boolean {
  return typeof node === 'object' && node !== null
}
