// Converts the tools of an MCP server, and their results, to reeve's types. Tools get unique names that every provider accepts,
// and their descriptions and schemas are limited in size. Results become texts and images. Must never trust a server's
// statements about its tools. Pure.
// Test: test/tables/drivers/mcp/tool-list.test.ts.
import { createHash } from 'node:crypto'
import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/client'
import type { ImagePart } from '../../kernel/model/facts.ts'
import { serverPrefix } from '../../kernel/state/tool-lists.ts'
import { MAGIC_BYTES, findImageFormat, describeImage } from '../native/tools/image.ts'
import { ToolError } from '../native/tools/tool-error.ts'
import type { ToolOutput } from '../native/tools/tool.ts'
import type { ToolEffect } from '../../kernel/model/words.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { truncate } from '../../kernel/util/truncate.ts'

/** The longest tool name that all providers accept, in characters. */
const MAX_NAME_CHARS = 64
/** The longest prefix in characters, so that there is room for the tool's own name. */
const MAX_PREFIX_CHARS = 32
const HASH_CHARS = 6
const MAX_DESCRIPTION_CHARS = 4_096
const MAX_SCHEMA_BYTES = 64 * 1024
/**
 * The limit of all tools of a server together, in characters of JSON. The list is recorded at each change, and sent with every model
 * call.
 */
const MAX_LIST_CHARS = 1024 * 1024
const MAX_IMAGES = 10

/** A tool of a server, under the name that the model knows. */
export interface NamedTool {
  readonly name: string
  readonly description: string
  readonly schema: Readonly<Record<string, unknown>>
  /** the tool as the server listed it */
  readonly listed: ListedTool
}

/** The prefix `mcp__SERVER` of a server's tools, different from all prefixes in `taken`. */
export function toolPrefix(server: string, taken: ReadonlySet<string>): string {
  return uniqueName(serverPrefix(server), MAX_PREFIX_CHARS, (name) => taken.has(name))
}

/**
 * The effect of a tool, which decides whether an interrupted call may run again. `effects` is the user's configuration, by the server's
 * own names of its tools.
 */
export function toolEffect(name: string, effects: Readonly<Record<string, ToolEffect>>): ToolEffect {
  return Object.hasOwn(effects, name) ? (effects[name] ?? 'once') : 'once'
}

/**
 * Returns the tools that can be offered, and the number of omitted tools. The tools are sorted by name, because many servers change the
 * order of their list. With a fixed order, a tool always gets the same name, and the provider's prompt cache stays valid.
 */
export function nameTools(
  listed: readonly ListedTool[],
  prefix: string,
): { readonly tools: readonly NamedTool[]; readonly omittedCount: number } {
  const tools = new Map<string, NamedTool>()
  let charsLeft = MAX_LIST_CHARS
  for (const tool of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const schema = toObjectSchema(tool.inputSchema)
    const description = truncate(tool.description ?? '', MAX_DESCRIPTION_CHARS)
    charsLeft -= schema === null ? 0 : JSON.stringify(schema).length + tool.name.length + description.length
    if (schema === null || charsLeft < 0) continue
    const name = uniqueName(`${prefix}__${tool.name.replaceAll(/[^A-Za-z0-9_-]+/g, '_')}`, MAX_NAME_CHARS, (name) => tools.has(name))
    tools.set(name, { name, description, schema, listed: tool })
  }
  return { tools: [...tools.values()], omittedCount: listed.length - tools.size }
}

/**
 * Returns the name. If it is too long or taken, returns a shorter one that ends with a part of its hash. Equal inputs always give equal
 * names.
 */
function uniqueName(name: string, maxChars: number, isTaken: (name: string) => boolean): string {
  if (name.length <= maxChars && !isTaken(name)) return name
  for (let salt = 0; ; salt += 1) {
    const hash = createHash('sha256').update(`${salt}:${name}`).digest('hex').slice(0, HASH_CHARS)
    const shortened = `${name.slice(0, maxChars - HASH_CHARS - 1)}_${hash}`
    if (!isTaken(shortened)) return shortened
  }
}

/** Converts a schema to the form that providers require: an object with properties, and without `$schema`. Null if that is not possible. */
function toObjectSchema(listedSchema: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof listedSchema !== 'object' || listedSchema === null || Array.isArray(listedSchema)) return null
  const { $schema: _, ...schema }: Record<string, unknown> = { type: 'object', properties: {}, ...listedSchema }
  if (schema['type'] !== 'object' || typeof schema['properties'] !== 'object') return null
  return Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES ? null : schema
}

/** Converts the result of a call. `hide` removes secrets from a text. Errors: `ToolError` for a result that is marked as an error. */
export function toToolOutput(result: CallToolResult, hide: (text: string) => string): ToolOutput {
  const texts: string[] = []
  const images: ImagePart[] = []
  for (const part of result.content ?? []) {
    const { text, images: partImages } = convertPart(part, images.length < MAX_IMAGES)
    texts.push(text)
    images.push(...partImages)
  }
  if (texts.length === 0 && result.structuredContent !== undefined) texts.push(JSON.stringify(result.structuredContent))
  const text = hide(texts.join('\n'))
  if (result.isError === true) throw new ToolError(text || 'the tool failed without giving a reason')
  return { text, images }
}

type ContentPart = CallToolResult['content'][number]

function convertPart(part: ContentPart, canShowImage: boolean): ToolOutput {
  switch (part.type) {
    case 'text':
      return textOutput(part.text)
    case 'image':
      return canShowImage ? imageOutput(part.data) : textOutput('[one more image, not shown]')
    case 'audio':
      return textOutput(`[audio (${part.mimeType}), which cannot be played]`)
    case 'resource_link':
      return textOutput(`[${part.name}: ${part.uri}]${part.description ? ` ${part.description}` : ''}`)
    case 'resource':
      return textOutput(
        'text' in part.resource
          ? `[${part.resource.uri}]\n${part.resource.text}`
          : `[${part.resource.uri}: not text (${part.resource.mimeType ?? 'unknown type'})]`,
      )
  }
}

function textOutput(text: string): ToolOutput {
  return { text, images: [] }
}

/** Recognizes the image by its bytes, not by the type that the server states. An image that no model can read would stay in the context. */
function imageOutput(base64: string): ToolOutput {
  const data = Buffer.from(base64, 'base64')
  const format = findImageFormat(data.subarray(0, MAGIC_BYTES))
  if (format === null) return textOutput('[an image in a format that cannot be shown]')
  try {
    return describeImage(data, format)
  } catch (error) {
    return textOutput(`[${errorText(error)}]`)
  }
}
