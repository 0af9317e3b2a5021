// Tells a picture by its first bytes, and its size by its header: the four formats that models look at. Never goes by the
// file's name, and reads no pixel. Owns which of them may be shown. Test: test/tables/native-picture.test.ts.
import { ToolError } from './tool.ts'
import type { ToolOutput } from './tool.ts'

/** Bytes at the beginning of a file that are enough to know its format. */
export const MAGIC_BYTES = 16

/** As base64 it is 5 MiB then, which is the most that a provider takes: one that is refused would stay in the context. */
const MAX_PICTURE_BYTES = 3.75 * 1024 * 1024
/** of a side, in pixels */
const MAX_PICTURE_SIDE = 8_000

export interface Size {
  readonly width: number
  readonly height: number
}

export interface PictureFormat {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  is(head: Buffer): boolean
  /** in pixels; null if the header cannot be read */
  size(bytes: Buffer): Size | null
}

const PNG_MAGIC = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const FORMATS: readonly PictureFormat[] = [
  {
    mediaType: 'image/png',
    is: (head) => head.subarray(0, 8).equals(PNG_MAGIC),
    size: (bytes) => (bytes.length < 24 ? null : { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }),
  },
  {
    mediaType: 'image/jpeg',
    is: (head) => head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff,
    size: jpegSize,
  },
  {
    mediaType: 'image/gif',
    is: (head) => /^GIF8[79]a/.test(head.toString('latin1', 0, 6)),
    size: (bytes) => (bytes.length < 10 ? null : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }),
  },
  {
    mediaType: 'image/webp',
    is: (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP',
    size: webpSize,
  },
]

/** `head` are the first `MAGIC_BYTES` of a file; null if it is no picture. */
export function pictureFormat(head: Buffer): PictureFormat | null {
  return FORMATS.find((format) => format.is(head)) ?? null
}

/** Errors: `ToolError` for one that is too large. */
export function checkPictureBytes(bytes: number, { mediaType }: PictureFormat): void {
  if (bytes > MAX_PICTURE_BYTES) throw new ToolError(`this is a picture (${mediaType}) of ${kib(bytes)}; at most ${kib(MAX_PICTURE_BYTES)} can be shown: make a smaller one of it first`)
}

/** Errors: `ToolError` for one that no model would look at. */
export function showPicture(data: Buffer, format: PictureFormat): ToolOutput {
  const { mediaType, size } = format
  checkPictureBytes(data.length, format)
  const found = size(data)
  if (found === null || found.width === 0 || found.height === 0) throw new ToolError(`this begins as a picture (${mediaType}) does, but has no size: it is cut off or damaged`)
  const words = `${mediaType}, ${found.width} × ${found.height}, ${kib(data.length)}`
  if (Math.max(found.width, found.height) > MAX_PICTURE_SIDE) throw new ToolError(`${words}: at most ${MAX_PICTURE_SIDE} pixels a side can be shown: make a smaller one of it first`)
  return { text: words, images: [{ mediaType, data: data.toString('base64') }] }
}

function kib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`
}

/** Goes from marker to marker up to the first frame header: SOF0 to SOF15, but for DHT, JPG and DAC, which lie among them. */
function jpegSize(bytes: Buffer): Size | null {
  for (let at = 2; at + 9 <= bytes.length;) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) at += 1 // a fill byte
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2 // markers that stand alone
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    else at += 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}

/** The first chunk says it, in one of three ways: lossy, lossless, extended. */
function webpSize(bytes: Buffer): Size | null {
  if (bytes.length < 30) return null
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ': return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X': return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default: return null
  }
}
