// Reads the untrusted files of an import in bounded memory: line by line with the position of each, or as one JSON object. Lines end with
// LF; a last line without LF is incomplete. Must only read regular files. Test: test/e2e/daemon/archive.test.ts.
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { KernelError } from '../../kernel/model/errors.ts'
import { isMissing } from '../../kernel/util/missing-file.ts'

/** The longest accepted line: room for a fact with images and long texts. */
const LINE_BYTES = 256 * 1024 * 1024
const CHUNK_BYTES = 262_144
/** The largest accepted file of JSON, which is read as a whole. */
const MAX_JSON_BYTES = 64 * 1024 * 1024
const LF = 0x0a

export interface Line {
  readonly bytes: Buffer
  /** the number of the line, from 1 */
  readonly number: number
  /** the position of its first byte */
  readonly offset: number
  /** true if the file ends within the line */
  readonly isTorn: boolean
}

const DAMAGE_HINT = 'This process was not imported. Export it again where it came from.'

/** Returns the error for a damaged file of an import, with the location of the damage. */
export function importDamage(file: string, message: string, at?: Pick<Line, 'number' | 'offset'>): KernelError {
  const location = at === undefined ? file : `${file}, line ${at.number} (byte ${at.offset})`
  const details = { file, ...(at === undefined ? {} : { line: at.number, byte: at.offset }) }
  return new KernelError('INVALID', `${location}: ${message}`, details, DAMAGE_HINT)
}

/** Thrown for a JSON file that is too large to be read. */
export class JsonFileTooLarge extends KernelError {}

/** Yields the lines of a file. Errors: INVALID. */
export async function* linesOf(file: string): AsyncGenerator<Line> {
  const handle = await openRegular(file)
  try {
    let pending: Buffer[] = []
    let pendingBytes = 0
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
        pendingBytes = 0
      }
      pending.push(chunk.subarray(from))
      pendingBytes += chunk.length - from
      if (pendingBytes > LINE_BYTES) throw importDamage(file, `the line is longer than ${LINE_BYTES} bytes`, { number, offset })
    }
    if (pendingBytes > 0) yield { bytes: Buffer.concat(pending), number, offset, isTorn: true }
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

/** Reads a file with one JSON object; null if it does not exist. Errors: `INVALID` with the location, JsonFileTooLarge. */
export async function readJsonObject(file: string): Promise<Readonly<Record<string, unknown>> | null> {
  const text = await readText(file)
  if (text === null) return null
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>
  } catch (error) {
    throw importDamage(file, `it is not valid JSON: ${(error as Error).message}`, positionIn(text, error as Error))
  }
  throw importDamage(file, 'it is not a JSON object', { number: 1, offset: 0 })
}

async function readText(file: string): Promise<string | null> {
  const handle = await openRegular(file).catch((error: unknown) => {
    if (error instanceof KernelError && error.details?.['missing'] === true) return null
    throw error
  })
  if (handle === null) return null
  try {
    const { size } = await handle.stat()
    if (size > MAX_JSON_BYTES)
      throw new JsonFileTooLarge('INVALID', `${file}: it is longer than ${MAX_JSON_BYTES} bytes`, { file }, DAMAGE_HINT)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** The position in the text where the JSON parser stopped; if its error has none, the end of the text. */
function positionIn(text: string, { message }: Error): { number: number; offset: number } {
  const at = Number(/at position (\d+)/.exec(message)?.[1] ?? text.length)
  const before = text.slice(0, at)
  return { number: before.split('\n').length, offset: Buffer.byteLength(before) }
}

/** Opens a regular file. Uses O_NONBLOCK, because opening a FIFO would otherwise wait for a writer. Errors: INVALID. */
async function openRegular(file: string): Promise<FileHandle> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    const missing = isMissing(error)
    throw new KernelError(
      'INVALID',
      `${file}: ${missing ? 'it is missing' : `it cannot be read (${error.code ?? error.message})`}`,
      { file, missing },
      'This process was not imported. Name a directory that `reeve export` made.',
    )
  })
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw importDamage(file, 'it is not a regular file')
}
