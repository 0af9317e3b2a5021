// YAML with a schema: gives a value that may be trusted, or the first thing that is wrong with its line.
// Unknown keys are errors, with the known key that they come closest to.
// Test: test/tables/config.test.ts.
import { isMap, isNode, LineCounter, parseDocument, type Document } from 'yaml'
import type { z } from 'zod'
import type { Problem } from './files.ts'
import { issueWords } from './issues.ts'
import { nearest } from './nearest.ts'

export interface Format<T> {
  readonly schema: z.ZodType<T>
  /** the keys that are known in the map at a path, for suggestions */
  readonly known: (path: readonly PropertyKey[]) => readonly string[]
  /** values are secret: messages quote nothing of the text */
  readonly secret?: boolean
}

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem }

/** `firstLine` is the file's line on which `text` begins. An empty text is an empty map. */
export function parseYaml<T>(text: string, format: Format<T>, file: string, firstLine = 1): Parsed<T> {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const wrong = (offset: number, message: string): Parsed<T> => {
    return { ok: false, problem: { file, line: firstLine - 1 + Math.max(1, lines.linePos(offset).line), message } }
  }
  const syntax = document.errors[0]
  if (syntax) return wrong(syntax.pos[0], format.secret ? `not valid YAML (${syntax.code})` : `not valid YAML: ${firstLineOf(syntax.message)}`)
  const plain = toPlain(document)
  if (plain === undefined) return wrong(0, 'not valid YAML: an alias is unknown, or there are too many')
  const result = format.schema.safeParse(plain ?? {})
  if (result.success) return { ok: true, value: result.data }
  // A key that is written wrongly is told before the right one is missed.
  const issue = result.error.issues.find((one) => one.code === 'unrecognized_keys') ?? result.error.issues[0]
  return issue ? wrong(offsetOf(document, issue), wording(issue, format)) : wrong(0, 'not valid')
}

/** The library throws at aliases that multiply (its `maxAliasCount`) or that nothing stands for: then undefined. */
function toPlain(document: Document): unknown {
  try {
    return document.toJS() ?? null
  } catch {
    return undefined
  }
}

type Issue = z.core.$ZodIssue

/** Where an issue is: at the key that is unknown or wrong, else at the value, else at the nearest thing around it. */
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

function wording<T>(issue: Issue, format: Format<T>): string {
  const place = issue.path.map(String).join('.')
  if (issue.code !== 'unrecognized_keys') return place ? `${place}: ${issueWords(issue)}` : issueWords(issue)
  const key = issue.keys[0] ?? ''
  const known = format.known(issue.path)
  const near = nearest(key, known)
  const name = place ? `${place}.${key}` : key
  return `unknown key \`${name}\`${near ? `; did you mean \`${near}\`?` : `; known are ${known.join(', ')}`}`
}

function firstLineOf(message: string): string {
  return message.split('\n', 1)[0] ?? message
}
