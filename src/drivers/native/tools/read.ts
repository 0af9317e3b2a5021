// The tool `read`: reads some lines of a text file, or an image. An image is recognized by its bytes.
// Tests: test/tables/drivers/native/tools/file-tools.test.ts, test/tables/drivers/native/tools/image.test.ts.
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { MAX_RESULT_BYTES } from '../../common/truncate-middle.ts'
import type { FileContext, ReadInput } from './file-inputs.ts'
import { isBinary, openRegularFile } from './text-files.ts'
import { MAGIC_BYTES, checkImageBytes, findImageFormat, describeImage } from './image.ts'
import type { ImageFormat } from './image.ts'
import { ToolError } from './tool-error.ts'
import type { ToolOutput } from './tool.ts'

/** The bytes that are read at a time. */
const CHUNK_BYTES = 64 * 1024
const NEWLINE = 10
/** The part of the result that is reserved for the note about the truncation, in bytes. */
const NOTE_BYTES = 256

/** The requested lines. */
interface LineRange {
  /** the first line, counted from 1 */
  readonly from: number
  /** the number of lines */
  readonly lines: number
}

export async function readFile(input: ReadInput, { cwd, paths }: FileContext): Promise<string | ToolOutput> {
  const { handle } = await openRegularFile(path.resolve(cwd, input.path), paths)
  try {
    const format = await readFormat(handle)
    if (format !== null) return await readImage(handle, format)
    return await readLines(handle, { from: input.offset, lines: input.limit ?? Number.MAX_SAFE_INTEGER })
  } finally {
    await handle.close()
  }
}

async function readFormat(handle: FileHandle): Promise<ImageFormat | null> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0)
  return findImageFormat(buffer.subarray(0, bytesRead))
}

async function readImage(handle: FileHandle, format: ImageFormat): Promise<ToolOutput> {
  checkImageBytes((await handle.stat()).size, format)
  return describeImage(await handle.readFile(), format)
}

/** Reads the file chunk by chunk, so that memory does not grow with its size. */
async function readLines(handle: FileHandle, range: LineRange): Promise<string> {
  const buffer = Buffer.alloc(CHUNK_BYTES)
  const selected: Buffer[] = []
  let [line, bytes, position] = [1, 0, 0]
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position)
    if (position === 0 && isBinary(buffer.subarray(0, bytesRead))) throw new ToolError('this is a binary file')
    if (bytesRead === 0) break
    position += bytesRead
    const part = selectLines(buffer.subarray(0, bytesRead), line, range)
    line = part.line
    selected.push(Buffer.from(part.bytes))
    bytes += part.bytes.length
    if (line >= range.from + range.lines || bytes > MAX_RESULT_BYTES) break
  }
  return render(Buffer.concat(selected), line, range)
}

/** Returns the part of a chunk that belongs to the range. `line` is the number of the line in which the chunk ends. */
function selectLines(chunk: Buffer, firstLine: number, range: LineRange): { bytes: Buffer; line: number } {
  let [line, start, at] = [firstLine, firstLine >= range.from ? 0 : chunk.length, 0]
  while (at < chunk.length && line < range.from + range.lines) {
    const next = chunk.indexOf(NEWLINE, at)
    if (next === -1) return { bytes: chunk.subarray(start), line }
    at = next + 1
    line += 1
    if (line === range.from) start = at
  }
  return { bytes: chunk.subarray(start, Math.max(start, at)), line }
}

function render(all: Buffer, lastLine: number, range: LineRange): string {
  if (all.length === 0 && range.from > 1) throw new ToolError(`the file ends at line ${lastLine}, before line ${range.from}`)
  if (all.length <= MAX_RESULT_BYTES - NOTE_BYTES) return all.toString('utf8')
  const end = all.lastIndexOf(NEWLINE, MAX_RESULT_BYTES - NOTE_BYTES) + 1
  if (end === 0)
    return `${all.toString('utf8', 0, MAX_RESULT_BYTES - NOTE_BYTES)}\n[… truncated within line ${range.from}, which is too long …]`
  const lines = all.subarray(0, end).reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 0)
  return `${all.toString('utf8', 0, end)}[… truncated; continue with offset ${range.from + lines} …]`
}
