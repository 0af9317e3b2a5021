// Takes long texts out of fact bodies as blobs, and puts them back. The store has each blob only once, under its SHA-256. A reference to a
// long text names the path of that text within the body. References are in a separate column (`refs`), so that no text of an agent can look
// like one.
// Test: test/tables/store/journal/blobs.test.ts.
import { hash } from 'node:crypto'
import { KernelError } from '../../kernel/model/errors.ts'
import { damageError } from '../errors.ts'
import type { DamageLocation } from '../errors.ts'

/** A text with more bytes of UTF-8 than this becomes a blob. */
export const MAX_INLINE_BYTES = 8_192

/** The maximum length of a text, in bytes of UTF-8 (64 MiB). */
export const MAX_TEXT_BYTES = 67_108_864

type Path = readonly (string | number)[]

/** A reference to a long text: its path in the body, its SHA-256 as hex, and its size in bytes. */
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

const NO_BLOBS: readonly Blob[] = []

/**
 * Returns the body as JSON without its long texts. A short JSON text cannot contain a long text, so the usual case needs only one
 * `stringify`.
 */
export function encodeBody(values: unknown): Encoded {
  const body = JSON.stringify(values)
  if (body.length * 3 <= MAX_INLINE_BYTES) return { body, refs: null, blobs: NO_BLOBS }
  const refs: Ref[] = []
  const blobs: Blob[] = []
  const shortened = extractTexts(values, [], (path, bytes) => {
    const sha = hash('sha256', bytes, 'buffer')
    refs.push([path, sha.toString('hex'), bytes.length])
    blobs.push({ hash: sha, bytes })
  })
  if (refs.length === 0) return { body, refs: null, blobs: NO_BLOBS }
  return { body: JSON.stringify(shortened), refs: JSON.stringify(refs), blobs }
}

/**
 * Returns a copy in which each long text is empty, and calls `take` for each. A text with a lone surrogate stays in the body,
 * because UTF-8 cannot represent it.
 */
function extractTexts(value: unknown, path: Path, take: (path: Path, bytes: Buffer) => void): unknown {
  if (typeof value === 'string') {
    const size = Buffer.byteLength(value)
    if (size > MAX_TEXT_BYTES) throw new KernelError('INVALID', `A text of ${size} bytes cannot be stored; the limit is ${MAX_TEXT_BYTES}.`)
    if (size <= MAX_INLINE_BYTES || !value.isWellFormed()) return value
    take(path, Buffer.from(value))
    return ''
  }
  if (Array.isArray(value)) return value.map((item, index) => extractTexts(item, [...path, index], take))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, extractTexts(item, [...path, key], take)]))
}

/** Returns the bytes of the long text with a SHA-256 as hex; undefined if the store does not have it. */
export type ReadBlob = (sha: string) => Uint8Array | undefined

/** Puts the long texts back into a parsed body. Changes the body in place. */
export function restoreTexts(readBlob: ReadBlob, values: unknown, refs: string, location: DamageLocation): void {
  for (const [path, sha, size] of parseRefs(refs, location)) {
    const text = checkText(readBlob(sha), [sha, size], location)
    if (!putText(values, path, text)) throw damageError(location, `the body has no path ${JSON.stringify(path)} for the text ${sha}`)
  }
}

/** The SHA-256 of the long texts to which a fact refers, as hex. */
export function hashesOf(refs: string, location: DamageLocation): readonly string[] {
  return parseRefs(refs, location).map(([, sha]) => sha)
}

function parseRefs(refs: string, location: DamageLocation): readonly Ref[] {
  try {
    return JSON.parse(refs) as Ref[] // the row's checksum is right, so the store wrote this text
  } catch {
    throw damageError(location, 'the references to long texts are not JSON')
  }
}

function checkText(bytes: Uint8Array | undefined, [sha, size]: readonly [sha: string, size: number], location: DamageLocation): string {
  if (bytes === undefined) throw damageError({ ...location, hash: sha }, 'a long text is missing from blobs')
  if (bytes.length !== size || hash('sha256', bytes) !== sha)
    throw damageError({ ...location, hash: sha }, 'a long text in blobs is damaged')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
}

function putText(values: unknown, path: Path, text: string): boolean {
  let node = values as Record<string | number, unknown>
  for (const key of path.slice(0, -1)) {
    if (!isContainer(node) || !Object.hasOwn(node, key)) return false
    node = node[key] as Record<string | number, unknown>
  }
  const last = path.at(-1)
  if (last === undefined || !isContainer(node) || !Object.hasOwn(node, last) || node[last] !== '') return false
  node[last] = text
  return true
}

function isContainer(node: unknown): boolean {
  return typeof node === 'object' && node !== null
}
