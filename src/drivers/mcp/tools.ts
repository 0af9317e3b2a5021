// What a server lists and answers, as our tools have it: names that every provider takes and that are unique, bounded
// descriptions and schemas, results as text and pictures. Believes nothing that a server says about itself.
// Pure but for its imports. Test: test/tables/mcp-tools.test.ts.
import { createHash } from 'node:crypto'
import type { CallToolResult, Tool as Listed } from '@modelcontextprotocol/client'
import type { ImagePart } from '../../kernel/facts.ts'
import { serverPrefix } from '../../kernel/tool-names.ts'
import type { ToolEffect } from '../../kernel/types.ts'
import { MAGIC_BYTES, pictureFormat, showPicture } from '../native/tools/picture.ts'
import { ToolError } from '../native/tools/tool.ts'
import type { ToolOutput } from '../native/tools/tool.ts'

/** What providers take as the name of a tool. */
const MAX_NAME_CHARS = 64
/** Room for the tool's own name. */
const MAX_SERVER_CHARS = 32
const HASH_CHARS = 6
const MAX_DESCRIPTION_CHARS = 4_096
const MAX_SCHEMA_BYTES = 64 * 1024
/** Of all tools of a server, in characters of JSON: it is recorded whenever the list changes, and sent at every step. */
const MAX_LIST_CHARS = 1024 * 1024
const MAX_PICTURES = 10

/** One tool of a server, under the name that the model knows. */
export interface NamedTool {
  readonly name: string
  readonly description: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly listed: Listed
}

/** `mcp__SERVER`, unique among those that are taken. */
export function prefixOf(server: string, taken: ReadonlySet<string>): string {
  return unique(serverPrefix(server), MAX_SERVER_CHARS, (name) => taken.has(name))
}

/** What may become of a call that was cut off: as the configuration says, under the server's own name of the tool. */
export function effectOf(name: string, effects: Readonly<Record<string, ToolEffect>>): ToolEffect {
  return Object.hasOwn(effects, name) ? effects[name] ?? 'once' : 'once'
}

/**
 * The tools that can be offered, and how many cannot. They are in the order of their names: many servers list theirs in another one
 * each time, and then neither a name that had to be changed would mean the same tool, nor would a prompt be the same for a cache.
 */
export function namedTools(listed: readonly Listed[], prefix: string): { readonly tools: readonly NamedTool[]; readonly leftOut: number } {
  const tools = new Map<string, NamedTool>()
  let left = MAX_LIST_CHARS
  for (const tool of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const schema = schemaOf(tool.inputSchema)
    const description = (tool.description ?? '').slice(0, MAX_DESCRIPTION_CHARS)
    left -= schema === null ? 0 : JSON.stringify(schema).length + tool.name.length + description.length
    if (schema === null || left < 0) continue
    const name = unique(`${prefix}__${tool.name.replaceAll(/[^A-Za-z0-9_-]+/g, '_')}`, MAX_NAME_CHARS, (one) => tools.has(one))
    tools.set(name, { name, description, schema, listed: tool })
  }
  return { tools: [...tools.values()], leftOut: listed.length - tools.size }
}

/** Cut or taken names get the beginning of a hash, so that they are the same each time. */
function unique(name: string, most: number, isTaken: (name: string) => boolean): string {
  if (name.length <= most && !isTaken(name)) return name
  for (let salt = 0; ; salt += 1) {
    const hash = createHash('sha256').update(`${salt}:${name}`).digest('hex').slice(0, HASH_CHARS)
    const cut = `${name.slice(0, most - HASH_CHARS - 1)}_${hash}`
    if (!isTaken(cut)) return cut
  }
}

/** Providers want an object with properties, and know no `$schema`. */
function schemaOf(given: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null
  const { $schema: _, ...schema }: Record<string, unknown> = { type: 'object', properties: {}, ...given }
  if (schema['type'] !== 'object' || typeof schema['properties'] !== 'object') return null
  return Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES ? null : schema
}

/** Errors: `ToolError` for a result that says that it is one. */
export function outputOf(result: CallToolResult, hide: (text: string) => string): ToolOutput {
  const texts: string[] = []
  const images: ImagePart[] = []
  for (const part of result.content ?? []) {
    const { text, images: shown } = partOf(part, images.length < MAX_PICTURES)
    texts.push(text)
    images.push(...shown)
  }
  if (texts.length === 0 && result.structuredContent !== undefined) texts.push(JSON.stringify(result.structuredContent))
  const text = hide(texts.join('\n'))
  if (result.isError === true) throw new ToolError(text || 'the tool says that it failed, and not why')
  return { text, images }
}

type Part = CallToolResult['content'][number]

function partOf(part: Part, mayShow: boolean): ToolOutput {
  switch (part.type) {
    case 'text': return words(part.text)
    case 'image': return mayShow ? picture(part.data) : words('[one more picture, which is not shown]')
    case 'audio': return words(`[sound (${part.mimeType}), which cannot be played]`)
    case 'resource_link': return words(`[${part.name}: ${part.uri}]${part.description ? ` ${part.description}` : ''}`)
    case 'resource': return words('text' in part.resource ? `[${part.resource.uri}]\n${part.resource.text}` : `[${part.resource.uri}: not text (${part.resource.mimeType ?? 'of an unknown kind'})]`)
  }
}

function words(text: string): ToolOutput {
  return { text, images: [] }
}

/** By its bytes, whatever the server calls it: a picture that the model cannot take would stay in the context. */
function picture(base64: string): ToolOutput {
  const data = Buffer.from(base64, 'base64')
  const format = pictureFormat(data.subarray(0, MAGIC_BYTES))
  if (format === null) return words('[a picture of a kind that cannot be shown]')
  try {
    return showPicture(data, format)
  } catch (error) {
    return words(`[${error instanceof Error ? error.message : String(error)}]`)
  }
}
