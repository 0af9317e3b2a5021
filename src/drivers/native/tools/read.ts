// The tool `read`: some lines of a text file, or a picture to look at, told by its bytes.
// Tests: test/tables/native-tools.test.ts, test/tables/native-picture.test.ts.
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { MAX_RESULT_BYTES } from './clip.ts'
import { isBinary, openText } from './files.ts'
import { MAGIC_BYTES, pictureFormat } from './picture.ts'
import type { PictureFormat } from './picture.ts'
import { ToolError, defineTool } from './tool.ts'
import type { ToolOutput } from './tool.ts'

const CHUNK_BYTES = 64 * 1024
const NEWLINE = 10
/** Room for the note about what is missing, in bytes. */
const NOTE_BYTES = 256

/** As base64 it is 5 MiB then, which is the most that a provider takes: one that is refused would stay in the context. */
const MAX_PICTURE_BYTES = 3.75 * 1024 * 1024
/** of a side, in pixels */
const MAX_PICTURE_SIDE = 8_000

interface Slice {
  readonly from: number
  readonly lines: number
}

export const read = defineTool({
  name: 'read',
  description: `Reads a text file, at most ${MAX_RESULT_BYTES} bytes of it; use offset and limit (in lines) for more. A picture (png, jpeg, gif, webp) is shown to you.`,
  effect: 'read',
  input: z.strictObject({
    path: z.string().min(1).describe('relative to the working directory, or absolute'),
    offset: z.int().positive().default(1).describe('the first line, from 1'),
    limit: z.int().positive().optional().describe('how many lines'),
  }),
  async run(input, at) {
    const file = path.resolve(at.cwd, input.path)
    const { handle } = await openText(file)
    try {
      const format = await formatOf(handle)
      if (format !== null) return await readPicture(handle, format)
      return await readLines(handle, { from: input.offset, lines: input.limit ?? Number.MAX_SAFE_INTEGER }, at.signal)
    } finally {
      await handle.close()
    }
  },
})

async function formatOf(handle: FileHandle): Promise<PictureFormat | null> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0)
  return pictureFormat(buffer.subarray(0, bytesRead))
}

async function readPicture(handle: FileHandle, { mediaType, size }: PictureFormat): Promise<ToolOutput> {
  const { size: bytes } = await handle.stat()
  if (bytes > MAX_PICTURE_BYTES) throw new ToolError(`this is a picture (${mediaType}) of ${kib(bytes)}; at most ${kib(MAX_PICTURE_BYTES)} can be shown: make a smaller one of it first`)
  const data = await handle.readFile()
  const found = size(data)
  if (found === null || found.width === 0 || found.height === 0) throw new ToolError(`this begins as a picture (${mediaType}) does, but has no size: it is cut off or damaged`)
  const words = `${mediaType}, ${found.width} × ${found.height}, ${kib(data.length)}`
  if (Math.max(found.width, found.height) > MAX_PICTURE_SIDE) throw new ToolError(`${words}: at most ${MAX_PICTURE_SIDE} pixels a side can be shown: make a smaller one of it first`)
  return { text: words, images: [{ mediaType, data: data.toString('base64') }] }
}

function kib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`
}

/** Goes through the file chunk by chunk, so that its size does not matter. */
async function readLines(handle: FileHandle, slice: Slice, signal: AbortSignal): Promise<string> {
  const buffer = Buffer.alloc(CHUNK_BYTES)
  const kept: Buffer[] = []
  let [line, bytes, position] = [1, 0, 0]
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position)
    if (position === 0 && isBinary(buffer.subarray(0, bytesRead))) throw new ToolError('this is a binary file')
    if (bytesRead === 0) break
    position += bytesRead
    const part = cutLines(buffer.subarray(0, bytesRead), line, slice)
    line = part.line
    kept.push(Buffer.from(part.bytes))
    bytes += part.bytes.length
    if (line >= slice.from + slice.lines || bytes > MAX_RESULT_BYTES) break
  }
  return render(Buffer.concat(kept), line, slice)
}

/** The part of a chunk that lies in the slice; `line` is the number of the line that its end is in. */
function cutLines(chunk: Buffer, firstLine: number, slice: Slice): { bytes: Buffer; line: number } {
  let [line, start, at] = [firstLine, firstLine >= slice.from ? 0 : chunk.length, 0]
  while (at < chunk.length && line < slice.from + slice.lines) {
    const next = chunk.indexOf(NEWLINE, at)
    if (next === -1) return { bytes: chunk.subarray(start), line }
    at = next + 1
    line += 1
    if (line === slice.from) start = at
  }
  return { bytes: chunk.subarray(start, Math.max(start, at)), line }
}

function render(all: Buffer, lastLine: number, slice: Slice): string {
  if (all.length === 0 && slice.from > 1) throw new ToolError(`the file ends at line ${lastLine}, before line ${slice.from}`)
  if (all.length <= MAX_RESULT_BYTES - NOTE_BYTES) return all.toString('utf8')
  const end = all.lastIndexOf(NEWLINE, MAX_RESULT_BYTES - NOTE_BYTES) + 1
  if (end === 0) return `${all.toString('utf8', 0, MAX_RESULT_BYTES - NOTE_BYTES)}\n[… cut inside line ${slice.from}, which is too long …]`
  const lines = all.subarray(0, end).reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 0)
  return `${all.toString('utf8', 0, end)}[… cut here; go on with offset ${slice.from + lines} …]`
}
