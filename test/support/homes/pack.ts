// Packs a store into one file of a few KB, and unpacks it.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'

/** The packed files of a state directory: those of the store, including its write-ahead log and its identity. */
const KEPT = /^store[.-]/

/** Packs the store of a state directory, which no daemon may use. */
export function packStore(state: string): Buffer {
  const names = readdirSync(state)
    .filter((name) => KEPT.test(name))
    .toSorted()
  return brotliCompressSync(serialize(new Map(names.map((name) => [name, readFileSync(join(state, name))]))))
}

/** Creates the state directory from a packed store. */
export function unpackStore(packed: Buffer, state: string): void {
  mkdirSync(state, { recursive: true, mode: 0o700 })
  for (const [name, bytes] of deserialize(brotliDecompressSync(packed)) as Map<string, Uint8Array>)
    writeFileSync(join(state, name), bytes, { mode: 0o600 })
}
