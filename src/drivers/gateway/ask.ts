// What a request for a model is about, read from its bytes: which model, and how much it may take. And the one change that the
// gateway ever makes: fewer output tokens, where a budget does not buy more. Test: test/tables/gateway-ask.test.ts.
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { FORMATS } from './formats.ts'
import type { FormatName } from './formats.ts'
import { find, replaced, valueAt } from './scan.ts'

export interface ModelRequest {
  readonly model: string
  /** what it is thought to have of input tokens */
  readonly inputTokens: number
  /** null: it does not say */
  readonly maxOutputTokens: number | null
}

/** Bytes of text, and of pictures and files in base64, that make a token: nearer to too many tokens than to too few. */
const TEXT_BYTES = 4
const DATA_BYTES = 32
const THINKING = 'thinking.budget_tokens'
/** Anthropic refuses less, and as much as the whole answer may have. */
const LEAST_THINKING = 1_024
const OPEN_BRACE = 0x7b

const UNPACK = {
  gzip: promisify(gunzip), 'x-gzip': promisify(gunzip), deflate: promisify(inflate), br: promisify(brotliDecompress), zstd: promisify(zstdDecompress),
} as const

/** The body as it was before it was packed; null if it cannot be unpacked, or is larger than `maxBytes` then. */
export async function unpacked(body: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer | null> {
  const name = (encoding ?? 'identity').trim().toLowerCase()
  if (name === 'identity' || name === '') return body
  if (!Object.hasOwn(UNPACK, name)) return null
  try {
    return await UNPACK[name as keyof typeof UNPACK](body, { maxOutputLength: maxBytes })
  } catch {
    return null
  }
}

/** `pathModel`: where the path says it. What is no JSON is refused by the provider, in its own words. */
export function readRequest(body: Buffer, format: FormatName, pathModel: string | null): ModelRequest {
  const { maxOutput } = FORMATS[format]
  const found = find(body, ['model', ...maxOutput])
  if (!found) return { model: pathModel ?? 'unknown', inputTokens: Math.ceil(body.length / TEXT_BYTES), maxOutputTokens: null }
  const model = pathModel ?? valueAt(body, found, 'model')
  const most = valueAt(body, found, ...maxOutput)
  return {
    model: typeof model === 'string' ? model.slice(0, 200) : 'unknown',
    inputTokens: Math.ceil((body.length - found.dataBytes) / TEXT_BYTES + found.dataBytes / DATA_BYTES),
    maxOutputTokens: typeof most === 'number' && most > 0 ? Math.floor(most) : null,
  }
}

/** The same request with no more than so many output tokens; all else stays as it is. `absent`: the field to put in where there is none. */
export function lowered(body: Buffer, format: FormatName, most: number, absent = FORMATS[format].maxOutput[0] ?? ''): Buffer {
  const paths = FORMATS[format].maxOutput
  const found = find(body, [...paths, THINKING, 'generationConfig'])
  if (!found) return body
  const spans = paths.flatMap((path) => found.spans.get(path) ?? []).toSorted((a, b) => a.start - b.start)
  const text = spans.length > 0 ? replaced(body, spans, String(most)) : inserted(body, found.spans.get('generationConfig')?.[0]?.start, absent, most)
  const thinking = valueAt(body, found, THINKING)
  return format === 'anthropic' && typeof thinking === 'number' && thinking >= most ? thinkingLess(text, most) : text
}

/** As the first field of the object that it belongs in. */
function inserted(body: Buffer, inner: number | undefined, path: string, most: number): Buffer {
  const [first = '', second] = path.split('.')
  if (second !== undefined && inner !== undefined) return putFirst(body, inner, `"${second}":${most}`)
  return putFirst(body, outermost(body), second === undefined ? `"${first}":${most}` : `"${first}":{"${second}":${most}}`)
}

/** Where the object begins that all of it is; -1 where it is none. */
function outermost(body: Buffer): number {
  const open = body.indexOf('{')
  return open >= 0 && /^[\s\u00ef\u00bb\u00bf]*$/.test(body.toString('latin1', 0, open)) ? open : -1
}

/** What is no object is refused by the provider, as it is. */
function putFirst(body: Buffer, open: number, field: string): Buffer {
  if (body[open] !== OPEN_BRACE) return body
  const isEmpty = /^\s*\}/.test(body.toString('latin1', open + 1, open + 100))
  return replaced(body, [{ start: open + 1, end: open + 1 }], isEmpty ? field : `${field},`)
}

function thinkingLess(body: Buffer, most: number): Buffer {
  const spans = find(body, [THINKING])?.spans.get(THINKING) ?? []
  return replaced(body, spans, String(Math.max(LEAST_THINKING, Math.floor(most / 2))))
}
