// Parses YAML with a schema: returns a valid value, or one problem with its line. Unknown keys are errors, and are reported before all
// others, with the most similar known key as a suggestion.
// Test: test/tables/config/config.test.ts.
import { isMap, isNode, LineCounter, parseDocument, type Document } from 'yaml'
import type { z } from 'zod'
import type { Problem } from './problem.ts'
import { issueText } from './zod-messages.ts'
import { closestWord } from '../kernel/util/did-you-mean.ts'
import { MAX_NESTING, findTooDeepLine } from '../kernel/util/nesting-depth.ts'

export interface YamlFormat<T> {
  readonly schema: z.ZodType<T>
  /** returns the known keys of the map at a path, for suggestions */
  readonly knownKeys: (path: readonly PropertyKey[]) => readonly string[]
  /** returns what to do about an unknown key at the top; undefined: the message names the most similar key, or all keys */
  readonly hintOf?: (key: string) => string | undefined
  /** the values are secrets, so that messages must not quote the text */
  readonly secret?: boolean
}

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem }

/** Parses a text. `firstLine` is the line of the file where the text starts. An empty text is an empty map. */
export function parseYaml<T>(text: string, format: YamlFormat<T>, file: string, firstLine = 1): Parsed<T> {
  const deep = findTooDeepLine(text)
  if (deep !== null)
    return { ok: false, problem: { file, line: firstLine - 1 + deep, message: `nested more than ${MAX_NESTING} levels deep` } }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const fail = (offset: number, message: string): Parsed<T> => {
    return { ok: false, problem: { file, line: firstLine - 1 + Math.max(1, lines.linePos(offset).line), message } }
  }
  const syntax = document.errors[0]
  if (syntax)
    return fail(syntax.pos[0], format.secret ? `not valid YAML (${syntax.code})` : `not valid YAML: ${firstLineOf(syntax.message)}`)
  const plain = toPlain(document)
  if (plain === undefined) return fail(0, 'not valid YAML: an alias is unknown, or there are too many')
  const result = format.schema.safeParse(plain ?? {})
  if (result.success) return { ok: true, value: result.data }
  // An unknown key is reported first: a missing key may only be the same key, misspelt.
  const issue = result.error.issues.find(({ code }) => code === 'unrecognized_keys') ?? result.error.issues[0]
  return issue ? fail(offsetOf(document, issue), issueMessage(issue, format)) : fail(0, 'not valid')
}

/** Returns the value of a document; undefined if an alias is unknown, or if there are too many aliases. */
function toPlain(document: Document): unknown {
  try {
    return document.toJS() ?? null
  } catch {
    // The caller reports this as a problem of the file.
    return undefined
  }
}

type Issue = z.core.$ZodIssue

/** Returns the offset of the key or value with the issue, or else of the nearest enclosing node. */
function offsetOf(document: Document, issue: Issue): number {
  if (issue.code === 'unrecognized_keys') {
    const key = keyAt(document, issue.path, issue.keys[0] ?? '')
    if (key !== null) return key
  } else if (issue.code === 'invalid_key') {
    const key = keyAt(document, issue.path.slice(0, -1), String(issue.path.at(-1)))
    if (key !== null) return key
  }
  for (let path = issue.path; path.length > 0; path = path.slice(0, -1)) {
    const node = document.getIn(path, true)
    if (isNode(node)) return node.range?.[0] ?? 0
  }
  return 0
}

function keyAt(document: Document, path: readonly PropertyKey[], name: string): number | null {
  const map = path.length === 0 ? document.contents : document.getIn(path, true)
  const pair = isMap(map) ? map.items.find((item) => isNode(item.key) && String(item.key) === name) : undefined
  return isNode(pair?.key) ? (pair.key.range?.[0] ?? 0) : null
}

/** Returns the message of an issue, with its path, and with a suggestion for an unknown key. */
export function issueMessage(issue: Issue, format: Pick<YamlFormat<unknown>, 'knownKeys' | 'hintOf'>): string {
  const path = issue.path.map(String).join('.')
  if (issue.code !== 'unrecognized_keys') return path ? `${path}: ${issueText(issue)}` : issueText(issue)
  const key = issue.keys[0] ?? ''
  const known = format.knownKeys(issue.path)
  const name = path ? `${path}.${key}` : key
  const hint = issue.path.length === 0 ? format.hintOf?.(key) : undefined
  const near = closestWord(key, known)
  return `unknown key \`${name}\`; ${hint ?? (near ? `did you mean \`${near}\`?` : `known keys are ${known.join(', ')}`)}`
}

function firstLineOf(message: string): string {
  return message.split('\n', 1)[0] ?? message
}
