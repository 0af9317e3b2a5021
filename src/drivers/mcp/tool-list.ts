// Converts the tools of an MCP server to reeve's types. Tools get unique names that every provider accepts, and their descriptions and
// schemas are limited in size. Must never trust a server's statements about its tools. Pure.
// Test: test/tables/drivers/mcp/tool-list.test.ts.
import { createHash } from 'node:crypto'
import type { Tool as ListedTool } from '@modelcontextprotocol/client'
import { serverPrefix } from '../../kernel/state/tool-lists.ts'
import type { ToolEffect } from '../../kernel/model/words.ts'
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
 * Returns the name. If it is too long or taken, returns it, cut if needed, with a part of its hash at the end. Equal inputs always give
 * equal names.
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
