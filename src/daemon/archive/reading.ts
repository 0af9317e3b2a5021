// Reads a file of lines that somebody else wrote: each line with its place, in bounded memory. Lines end with LF; a last one
// without it is torn. Must never follow what is no regular file. Test: test/e2e/archive.test.ts.
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { KernelError } from '../../kernel/errors.ts'

/** The longest line: a fact with pictures and long texts. */
const LINE_BYTES = 256 * 1024 * 1024
const CHUNK_BYTES = 262_144
/** The longest of the files that are read as a whole. */
const WHOLE_BYTES = 64 * 1024 * 1024
const LF = 0x0a

export interface Line {
  readonly bytes: Buffer
  /** counts from 1 */
  readonly number: number
  /** where it begins, in bytes from 0 */
  readonly offset: number
  /** it ends with the file, and not with a newline */
  readonly isTorn: boolean
}

const NOTHING = 'Nothing was imported. Export it again where it comes from.'

/** Damage of what is imported, with its place. */
export function damage(file: string, message: string, at?: Pick<Line, 'number' | 'offset'>): KernelError {
  const place = at === undefined ? file : `${file}, line ${at.number} (byte ${at.offset})`
  const details = { file, ...(at === undefined ? {} : { line: at.number, byte: at.offset }) }
  return new KernelError('INVALID', `${place}: ${message}`, details, NOTHING)
}

/** No damage where nobody depends on what is in it. */
export class TooLong extends KernelError {}

export async function* linesOf(file: string): AsyncGenerator<Line> {
  const handle = await openRegular(file)
  try {
    let pending: Buffer[] = []
    let waiting = 0
    let [number, offset] = [1, 0]
    for await (const chunk of chunksOf(handle)) {
      let from = 0
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
        const bytes = Buffer.concat([...pending, chunk.subarray(from, end)])
        yield { bytes, number, offset, isTorn: false }
        number += 1
        offset += bytes.length + 1
        from = end + 1
        pending = []
        waiting = 0
      }
      pending.push(chunk.subarray(from))
      waiting += chunk.length - from
      if (waiting > LINE_BYTES) throw damage(file, `it is longer than ${LINE_BYTES} bytes`, { number, offset })
    }
    if (waiting > 0) yield { bytes: Buffer.concat(pending), number, offset, isTorn: true }
  } finally {
    await handle.close()
  }
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES)
    if (bytesRead === 0) return
    yield chunk.subarray(0, bytesRead)
  }
}

/** A small file with one JSON object; null if there is none. Errors: `INVALID` with the place. */
export async function jsonOf(file: string): Promise<Readonly<Record<string, unknown>> | null> {
  const text = await textOf(file)
  if (text === null) return null
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>
  } catch (error) {
    throw damage(file, `it is not valid JSON: ${(error as Error).message}`, placeIn(text, error as Error))
  }
  throw damage(file, 'it is no JSON object', { number: 1, offset: 0 })
}

async function textOf(file: string): Promise<string | null> {
  const handle = await openRegular(file).catch((error: unknown) => {
    if (error instanceof KernelError && error.details?.['missing'] === true) return null
    throw error
  })
  if (handle === null) return null
  try {
    const { size } = await handle.stat()
    if (size > WHOLE_BYTES) throw new TooLong('INVALID', `${file}: it is longer than ${WHOLE_BYTES} bytes`, { file }, NOTHING)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** Where the parser of JSON says that it stopped; else the end. */
function placeIn(text: string, { message }: Error): { number: number; offset: number } {
  const at = Number(/at position (\d+)/.exec(message)?.[1] ?? text.length)
  const before = text.slice(0, at)
  return { number: before.split('\n').length, offset: Buffer.byteLength(before) }
}

/** O_NONBLOCK: opening a FIFO must not wait for a writer. */
async function openRegular(file: string): Promise<FileHandle> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    const missing = error.code === 'ENOENT' || error.code === 'ENOTDIR'
    throw new KernelError('INVALID', `${file}: ${missing ? 'it is missing' : `it cannot be read (${error.code ?? error.message})`}`, { file, missing }, 'Nothing was imported. Name a directory that `reeve export` made.')
  })
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw damage(file, 'it is no regular file')
}
