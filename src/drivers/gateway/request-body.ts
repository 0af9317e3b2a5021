// Reads the model and the output limit from the body of a model request, and estimates its input tokens. Makes the gateway's only change to
// a body: lowers the output limit if the budget allows no more. A larger thinking budget is lowered with it.
// Test: test/tables/drivers/gateway/request-body.test.ts.
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { FORMATS } from './formats.ts'
import type { FormatName } from './formats.ts'
import { findValuesInSlices, replaceSpans, valueAt } from './json-scan.ts'

export interface GatewayModelRequest {
  readonly model: string
  /** the estimated input tokens */
  readonly inputTokens: number
  /** the output limit of the request; null if it has none */
  readonly maxOutputTokens: number | null
}

/** The assumed bytes per token of text. The estimate tends to be too high rather than too low. */
const TEXT_BYTES_PER_TOKEN = 4
/** The assumed bytes per token of images and files in base64. */
const DATA_BYTES_PER_TOKEN = 32
const THINKING_PATH = 'thinking.budget_tokens'
/** The smallest thinking budget that Anthropic accepts, in tokens. The budget must also be smaller than the output limit. */
const MIN_THINKING_TOKENS = 1_024
const OPEN_BRACE = 0x7b

const DECODERS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const

/** Decodes a compressed body. Null if that fails, or if the decoded body is larger than `maxBytes`. */
export async function decodeBody(body: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer | null> {
  const name = (encoding ?? 'identity').trim().toLowerCase()
  if (name === 'identity' || name === '') return body
  if (!Object.hasOwn(DECODERS, name)) return null
  try {
    return await DECODERS[name as keyof typeof DECODERS](body, { maxOutputLength: maxBytes })
  } catch {
    // The caller handles a body that cannot be decoded.
    return null
  }
}

/**
 * Reads a request. `pathModel` is the model in the path; null if the body has it. A body that is not JSON is accepted here, because the
 * provider refuses it.
 */
export async function readRequest(body: Buffer, format: FormatName, pathModel: string | null): Promise<GatewayModelRequest> {
  const { maxOutput } = FORMATS[format]
  const scan = await findValuesInSlices(body, ['model', ...maxOutput])
  if (!scan) return { model: pathModel ?? 'unknown', inputTokens: Math.ceil(body.length / TEXT_BYTES_PER_TOKEN), maxOutputTokens: null }
  const model = pathModel ?? valueAt(body, scan, 'model')
  const limit = valueAt(body, scan, ...maxOutput)
  return {
    model: typeof model === 'string' ? model.slice(0, 200) : 'unknown',
    inputTokens: Math.ceil((body.length - scan.dataBytes) / TEXT_BYTES_PER_TOKEN + scan.dataBytes / DATA_BYTES_PER_TOKEN),
    maxOutputTokens: typeof limit === 'number' && limit > 0 ? Math.floor(limit) : null,
  }
}

/**
 * Sets the output limit of a request to `maxTokens`. Changes nothing else, except a thinking budget that is too large for this limit.
 * `missingField` is inserted if the request has no limit.
 */
export async function lowerMaxTokens(
  body: Buffer,
  format: FormatName,
  maxTokens: number,
  missingField = FORMATS[format].maxOutput[0] ?? '',
): Promise<Buffer> {
  const paths = FORMATS[format].maxOutput
  const scan = await findValuesInSlices(body, [...paths, THINKING_PATH, 'generationConfig'])
  if (!scan) return body
  const spans = paths.flatMap((path) => scan.spans.get(path) ?? []).toSorted((a, b) => a.start - b.start)
  const text =
    spans.length > 0
      ? replaceSpans(body, spans, String(maxTokens))
      : insertLimit(body, scan.spans.get('generationConfig')?.[0]?.start, missingField, maxTokens)
  const thinking = valueAt(body, scan, THINKING_PATH)
  return format === 'anthropic' && typeof thinking === 'number' && thinking >= maxTokens ? lowerThinking(text, maxTokens) : text
}

/**
 * Inserts the limit at `path`, as the first field of its object. For a path of two keys, `innerStart` is the start of the inner object;
 * undefined if the body has none.
 */
function insertLimit(body: Buffer, innerStart: number | undefined, path: string, maxTokens: number): Buffer {
  const [first = '', second] = path.split('.')
  if (second !== undefined && innerStart !== undefined) return insertFirstField(body, innerStart, `"${second}":${maxTokens}`)
  return insertFirstField(
    body,
    startOfObject(body),
    second === undefined ? `"${first}":${maxTokens}` : `"${first}":{"${second}":${maxTokens}}`,
  )
}

/** The start of the body's object; -1 if the body is not an object. */
function startOfObject(body: Buffer): number {
  const open = body.indexOf('{')
  return open >= 0 && /^[\s\u00ef\u00bb\u00bf]*$/.test(body.toString('latin1', 0, open)) ? open : -1
}

/** Inserts a field at the start of an object. A body that is not an object stays unchanged, because the provider refuses it. */
function insertFirstField(body: Buffer, open: number, field: string): Buffer {
  if (body[open] !== OPEN_BRACE) return body
  const isEmpty = /^\s*\}/.test(body.toString('latin1', open + 1, open + 100))
  return replaceSpans(body, [{ start: open + 1, end: open + 1 }], isEmpty ? field : `${field},`)
}

/** Sets the thinking budget to half of the output limit. */
async function lowerThinking(body: Buffer, maxTokens: number): Promise<Buffer> {
  const spans = (await findValuesInSlices(body, [THINKING_PATH]))?.spans.get(THINKING_PATH) ?? []
  return replaceSpans(body, spans, String(Math.max(MIN_THINKING_TOKENS, Math.floor(maxTokens / 2))))
}
