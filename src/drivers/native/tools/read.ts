// The tool `read`: some lines of a text file, or a picture to look at, told by its bytes.
// Tests: test/tables/native-tools.test.ts, test/tables/native-picture.test.ts.
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { MAX_RESULT_BYTES } from './clip.ts'
import { isBinary, openText } from './files.ts'
import { MAGIC_BYTES, checkPictureBytes, pictureFormat, showPicture } from './picture.ts'
import type { PictureFormat } from './picture.ts'
import { ToolError, defineTool } from './tool.ts'
import type { ToolOutput } from './tool.ts'

const CHUNK_BYTES = 64 * 1024
const NEWLINE = 10
/** Room for the note about what is missing, in bytes. */
const NOTE_BYTES = 256

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
    const { handle } = await openText(file, at.places)
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

async function readPicture(handle: FileHandle, format: PictureFormat): Promise<ToolOutput> {
  checkPictureBytes((await handle.stat()).size, format)
  return showPicture(await handle.readFile(), format)
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
