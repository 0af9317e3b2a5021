// Recognizes an image by its first bytes, and reads its size from its header, for the four formats that models accept. Must never rely on
// the file's name, or decode pixels. Has the limits of images that a model may get. Test: test/tables/drivers/native/tools/image.test.ts.
import { ToolError } from './tool-error.ts'
import type { ToolOutput } from './tool.ts'

/** The number of first bytes of a file that identify its format. */
export const MAGIC_BYTES = 16

/**
 * The largest image in bytes. This is 5 MiB as base64, the most that providers accept. A refused image would stay in the context and block
 * all later calls.
 */
const MAX_IMAGE_BYTES = 3.75 * 1024 * 1024
/** The longest side, in pixels. */
const MAX_IMAGE_SIDE = 8_000

export interface ImageSize {
  readonly width: number
  readonly height: number
}

export interface ImageFormat {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  /** True if a file with these first bytes has this format. */
  matches(head: Buffer): boolean
  /** The size in pixels; null if the header cannot be parsed. */
  readSize(bytes: Buffer): ImageSize | null
}

const PNG_MAGIC = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const FORMATS: readonly ImageFormat[] = [
  {
    mediaType: 'image/png',
    matches: (head) => head.subarray(0, 8).equals(PNG_MAGIC),
    readSize: (bytes) => (bytes.length < 24 ? null : { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }),
  },
  {
    mediaType: 'image/jpeg',
    matches: (head) => head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff,
    readSize: jpegSize,
  },
  {
    mediaType: 'image/gif',
    matches: (head) => /^GIF8[79]a/.test(head.toString('latin1', 0, 6)),
    readSize: (bytes) => (bytes.length < 10 ? null : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }),
  },
  {
    mediaType: 'image/webp',
    matches: (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP',
    readSize: webpSize,
  },
]

/** `head` has the first `MAGIC_BYTES` of a file. Null if the file is not an image in a known format. */
export function findImageFormat(head: Buffer): ImageFormat | null {
  return FORMATS.find((format) => format.matches(head)) ?? null
}

/** Errors: `ToolError` for an image that is too large. */
export function checkImageBytes(bytes: number, { mediaType }: ImageFormat): void {
  if (bytes > MAX_IMAGE_BYTES)
    throw new ToolError(
      `this image (${mediaType}) has ${formatKib(bytes)}; at most ${formatKib(MAX_IMAGE_BYTES)} can be shown: make a smaller copy first`,
    )
}

/** Returns the image with a description as text. Errors: `ToolError` for an image that no model would accept. */
export function describeImage(data: Buffer, format: ImageFormat): ToolOutput {
  const { mediaType, readSize } = format
  checkImageBytes(data.length, format)
  const size = readSize(data)
  if (size === null || size.width === 0 || size.height === 0)
    throw new ToolError(`this file begins like an image (${mediaType}), but has no size: it is truncated or damaged`)
  const description = `${mediaType}, ${size.width} × ${size.height}, ${formatKib(data.length)}`
  if (Math.max(size.width, size.height) > MAX_IMAGE_SIDE)
    throw new ToolError(`${description}: at most ${MAX_IMAGE_SIDE} pixels per side can be shown: make a smaller copy first`)
  return { text: description, images: [{ mediaType, data: data.toString('base64') }] }
}

function formatKib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`
}

/** Finds the first frame header: SOF0 to SOF15, except DHT, JPG and DAC, whose markers are in the same range. */
function jpegSize(bytes: Buffer): ImageSize | null {
  for (let at = 2; at + 9 <= bytes.length;) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) at += 1 // a fill byte
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2 // markers without a length
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    else at += 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}

/** Reads the size from the first chunk, which has one of three formats: lossy, lossless or extended. */
function webpSize(bytes: Buffer): ImageSize | null {
  if (bytes.length < 30) return null
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}
