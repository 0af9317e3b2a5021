// Reads the project's own sources for the ratchet: text without comments, code without strings, imports and exports.
// A small scanner and regular expressions, no parser: good enough for code that keeps this project's layout.
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import { ROOT } from './env.ts'


export interface Import {
  /** a path below the root for a file of the project, else the specifier */
  readonly from: string
  readonly local: boolean
  readonly typeOnly: boolean
  /** by `import()`: loaded on demand */
  readonly lazy: boolean
  /** the imported names; `*` is all of them */
  readonly names: readonly string[]
}

export interface Export {
  readonly name: string
  readonly typeOnly: boolean
}

export interface Source {
  /** below the root, with slashes */
  readonly path: string
  readonly raw: string
  /** comments are blanks */
  readonly text: string
  /** comments, strings and regular expressions are blanks */
  readonly code: string
  readonly imports: readonly Import[]
  readonly exports: readonly Export[]
}

/** All files below `dir` with one of the endings. */
export function sources(dir: string, ...endings: string[]): Source[] {
  const all = readdirSync(join(ROOT, dir), { recursive: true, withFileTypes: true })
  const files = all.filter((one) => one.isFile() && endings.some((ending) => one.name.endsWith(ending)))
  return files.map((one) => read(relative(ROOT, join(one.parentPath, one.name)))).toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

export function read(path: string): Source {
  const raw = readFileSync(join(ROOT, path), 'utf8')
  const text = blank(raw, ['comment'])
  return { path, raw, text, code: blank(raw, ['comment', 'string', 'regex']), imports: importsOf(path, text), exports: exportsOf(text) }
}

type Kind = 'comment' | 'string' | 'regex'

/** The text with blanks in place of all that is of these kinds; lines stay where they are. `${…}` in templates is code. */
export function blank(raw: string, kinds: readonly Kind[]): string {
  let out = ''
  let at = 0
  const braces: number[] = []
  const take = (kind: Kind, end: number): void => {
    const piece = raw.slice(at, end)
    out += kinds.includes(kind) ? piece.replaceAll(/[^\n]/g, ' ') : piece
    at = end
  }
  while (at < raw.length) {
    const char = raw[at] ?? ''
    const depth = braces.at(-1)
    if (raw.startsWith('//', at)) take('comment', indexOr(raw, '\n', at))
    else if (raw.startsWith('/*', at)) take('comment', indexOr(raw, '*/', at + 2) + 2)
    else if (char === "'" || char === '"') take('string', stringEnd(raw, at + 1, char))
    else if (char === '`' || (char === '}' && depth === 0)) {
      if (char === '}') braces.pop()
      const end = templateEnd(raw, at + 1)
      take('string', end)
      if (raw[end - 1] === '{') braces.push(0)
    } else if (char === '/' && /(^|[(,=:[!&|?{};+>]|\b(return|case|typeof|in|of))\s*$/.test(out.slice(-40))) take('regex', regexEnd(raw, at + 1))
    else {
      if (depth !== undefined && (char === '{' || char === '}')) braces[braces.length - 1] = depth + (char === '{' ? 1 : -1)
      out += char
      at++
    }
  }
  return out
}

function indexOr(raw: string, what: string, from: number): number {
  const found = raw.indexOf(what, from)
  return found < 0 ? raw.length : found
}

function stringEnd(raw: string, from: number, quote: string): number {
  for (let at = from; at < raw.length; at++) {
    if (raw[at] === '\\') at++
    else if (raw[at] === quote || raw[at] === '\n') return at + 1
  }
  return raw.length
}

/** After the closing backtick, or after the brace of `${`. */
function templateEnd(raw: string, from: number): number {
  for (let at = from; at < raw.length; at++) {
    if (raw[at] === '\\') at++
    else if (raw[at] === '`') return at + 1
    else if (raw.startsWith('${', at)) return at + 2
  }
  return raw.length
}

function regexEnd(raw: string, from: number): number {
  let inClass = false
  for (let at = from; at < raw.length; at++) {
    if (raw[at] === '\\') at++
    else if (raw[at] === '[') inClass = true
    else if (raw[at] === ']') inClass = false
    else if (raw[at] === '\n' || (raw[at] === '/' && !inClass)) return at + 1
  }
  return raw.length
}

function importsOf(path: string, text: string): Import[] {
  const make = (specifier: string, clause: string | undefined, how: { typeOnly?: boolean; lazy?: boolean } = {}): Import => {
    const local = specifier.startsWith('.')
    return { from: local ? posix.join(posix.dirname(path), specifier) : specifier, local, typeOnly: how.typeOnly ?? false, lazy: how.lazy ?? false, names: namesIn(clause) }
  }
  const statics = [...text.matchAll(/^(?:import|export)\s+(type\s+)?([^'"`;=(]*?)\s*from\s*['"]([^'"]+)['"]/gm)].map((match) => make(match[3] ?? '', match[2], { typeOnly: match[1] !== undefined }))
  const bare = [...text.matchAll(/^import\s*['"]([^'"]+)['"]/gm)].map((match) => make(match[1] ?? '', ''))
  const dynamic = [...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)].map((match) => make(match[1] ?? '', '*', { lazy: true }))
  const urls = [...text.matchAll(/new URL\(\s*['"](\.[^'"]+)['"]\s*,\s*import\.meta\.url\s*\)/g)].map((match) => make(match[1] ?? '', ''))
  return [...statics, ...bare, ...dynamic, ...urls]
}

function namesIn(clause: string | undefined): string[] {
  if (clause === undefined) return []
  const braces = /\{([^}]*)\}/.exec(clause)?.[1] ?? ''
  const names = braces.split(',').map((one) => one.trim().replace(/^type\s+/, '').split(/\s+as\s+/)[0] ?? '')
  return [...names.filter((one) => one !== ''), ...(clause.includes('*') ? ['*'] : [])]
}

function exportsOf(text: string): Export[] {
  const declared = [...text.matchAll(/^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(function\*?|const|let|class|interface|type)\s+([A-Za-z_$][\w$]*)/gm)]
  const listed = [...text.matchAll(/^export\s+(type\s+)?\{([^}]*)\}/gm)].flatMap((match) => (match[2] ?? '').split(',').map((one) => ({ one: one.trim(), typeOnly: match[1] !== undefined })))
  return [
    ...declared.map((match) => ({ name: match[2] ?? '', typeOnly: match[1] === 'interface' || match[1] === 'type' })),
    ...listed.filter(({ one }) => one !== '').map(({ one, typeOnly }) => ({ name: one.replace(/^type\s+/, '').split(/\s+as\s+/).at(-1) ?? '', typeOnly: typeOnly || one.startsWith('type ') })),
  ]
}

export interface Block {
  readonly line: number
  readonly lines: number
  readonly head: string
}

/** Functions, methods and arrow functions with a body of their own lines: from the line that opens to the one that closes. */
export function functions(source: Source): Block[] {
  const lines = source.code.split('\n')
  return lines.flatMap((line, index) => {
    if (!/(\)|\)\s*:[^=]+|=>)\s*\{\s*$/.test(line) || /^\s*(\}\s*)?(if|for|while|switch|else|catch|do|try|with)\b/.test(line)) return []
    const indent = /^\s*/.exec(line)?.[0] ?? ''
    const end = lines.findIndex((other, at) => at > index && other.startsWith(`${indent}}`))
    return end < 0 ? [] : [{ line: index + 1, lines: end - index + 1, head: line.trim() }]
  })
}
