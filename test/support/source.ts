// Reads the project's own sources for the ratchet: text without comments, code without strings, imports and exports. Also finds functions,
// word lists, circles of imports and names that are declared twice.
// A small scanner and regular expressions, no parser: good enough for code that keeps this project's layout.
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import { ROOT } from './env.ts'

export interface Import {
  /** a path below the root for a file of the project, otherwise the specifier */
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
  /** a path below the root, with slashes */
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
export function readSources(dir: string, ...endings: string[]): Source[] {
  const entries = readdirSync(join(ROOT, dir), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
  return files.map((file) => readSource(relative(ROOT, join(file.parentPath, file.name)))).toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

export function readSource(path: string): Source {
  const raw = readFileSync(join(ROOT, path), 'utf8')
  const text = blankOut(raw, ['comment'])
  return { path, raw, text, code: blankOut(raw, ['comment', 'string', 'regex']), imports: importsOf(path, text), exports: exportsOf(text) }
}

export interface WordList {
  readonly line: number
  /** in alphabetical order */
  readonly words: string
  /** the constant that exports the list */
  readonly constant: string | null
}

const WORD = String.raw`'[^'\n]*'`
const LISTS = new RegExp(
  String.raw`(?:export const ([A-Z_]+)\b[^=\n]*= )?\[\s*(${WORD}(?:,\s*${WORD}){2,}),?\s*\]|(${WORD}(?:\s*\|\s*${WORD}){2,})`,
  'g',
)

/** The arrays and the unions of three or more words, and of nothing else. */
export function wordListsOf(text: string): WordList[] {
  return [...text.matchAll(LISTS)].map(({ index, 1: constant, 2: array, 3: union }) => {
    const words = [...(array ?? union ?? '').matchAll(/'([^'\n]*)'/g)].map(([, word]) => word)
    return { line: text.slice(0, index).split('\n').length, words: [...new Set(words)].toSorted().join(' '), constant: constant ?? null }
  })
}

type Kind = 'comment' | 'string' | 'regex'

/** The text with blanks in place of these kinds; lines keep their numbers. `${…}` in templates is code. */
export function blankOut(raw: string, kinds: readonly Kind[]): string {
  let output = ''
  let position = 0
  const braces: number[] = []
  const copyUntil = (kind: Kind, end: number): void => {
    const piece = raw.slice(position, end)
    output += kinds.includes(kind) ? piece.replaceAll(/[^\n]/g, ' ') : piece
    position = end
  }
  while (position < raw.length) {
    const char = raw[position] ?? ''
    const depth = braces.at(-1)
    if (raw.startsWith('//', position)) copyUntil('comment', indexOr(raw, '\n', position))
    else if (raw.startsWith('/*', position)) copyUntil('comment', indexOr(raw, '*/', position + 2) + 2)
    else if (char === "'" || char === '"') copyUntil('string', stringEnd(raw, position + 1, char))
    else if (char === '`' || (char === '}' && depth === 0)) {
      if (char === '}') braces.pop()
      const templateEndIndex = templateEnd(raw, position + 1)
      copyUntil('string', templateEndIndex)
      if (raw[templateEndIndex - 1] === '{') braces.push(0)
    } else if (char === '/' && /(^|[(,=:[!&|?{};+>]|\b(return|case|typeof|in|of))\s*$/.test(output.slice(-40)))
      copyUntil('regex', regexEnd(raw, position + 1))
    else {
      if (depth !== undefined && (char === '{' || char === '}')) braces[braces.length - 1] = depth + (char === '{' ? 1 : -1)
      output += char
      position++
    }
  }
  return output
}

function indexOr(raw: string, text: string, from: number): number {
  const found = raw.indexOf(text, from)
  return found < 0 ? raw.length : found
}

function stringEnd(raw: string, from: number, quote: string): number {
  for (let at = from; at < raw.length; at++) {
    if (raw[at] === '\\') at++
    else if (raw[at] === quote || raw[at] === '\n') return at + 1
  }
  return raw.length
}

/** Returns the position after the closing backtick, or after the brace of `${`. */
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
  const makeImport = (specifier: string, clause: string | undefined, options: { typeOnly?: boolean; lazy?: boolean } = {}): Import => {
    const local = specifier.startsWith('.')
    return {
      from: local ? posix.join(posix.dirname(path), specifier) : specifier,
      local,
      typeOnly: options.typeOnly ?? false,
      lazy: options.lazy ?? false,
      names: namesIn(clause),
    }
  }
  const statics = [...text.matchAll(/^(?:import|export)\s+(type\s+)?([^'"`;=(]*?)\s*from\s*['"]([^'"]+)['"]/gm)].map((match) =>
    makeImport(match[3] ?? '', match[2], { typeOnly: match[1] !== undefined }),
  )
  const withoutClause = [...text.matchAll(/^import\s*['"]([^'"]+)['"]/gm)].map((match) => makeImport(match[1] ?? '', ''))
  const dynamic = [...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)].map((match) => makeImport(match[1] ?? '', '*', { lazy: true }))
  const urls = [...text.matchAll(/new URL\(\s*['"](\.[^'"]+)['"]\s*,\s*import\.meta\.url\s*\)/g)].map((match) =>
    makeImport(match[1] ?? '', ''),
  )
  return [...statics, ...withoutClause, ...dynamic, ...urls]
}

function namesIn(clause: string | undefined): string[] {
  if (clause === undefined) return []
  const braces = /\{([^}]*)\}/.exec(clause)?.[1] ?? ''
  const names = braces.split(',').map(
    (entry) =>
      entry
        .trim()
        .replace(/^type\s+/, '')
        .split(/\s+as\s+/)[0] ?? '',
  )
  return [...names.filter((name) => name !== ''), ...(clause.includes('*') ? ['*'] : [])]
}

function exportsOf(text: string): Export[] {
  const declared = [
    ...text.matchAll(
      /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(function\*?|const|let|class|interface|type)\s+([A-Za-z_$][\w$]*)/gm,
    ),
  ]
  const listed = [...text.matchAll(/^export\s+(type\s+)?\{([^}]*)\}/gm)].flatMap((match) =>
    (match[2] ?? '').split(',').map((entry) => ({ entry: entry.trim(), typeOnly: match[1] !== undefined })),
  )
  return [
    ...declared.map((match) => ({ name: match[2] ?? '', typeOnly: match[1] === 'interface' || match[1] === 'type' })),
    ...listed
      .filter(({ entry }) => entry !== '')
      .map(({ entry, typeOnly }) => ({
        name:
          entry
            .replace(/^type\s+/, '')
            .split(/\s+as\s+/)
            .at(-1) ?? '',
        typeOnly: typeOnly || entry.startsWith('type '),
      })),
  ]
}

export interface Block {
  readonly line: number
  readonly lines: number
  readonly head: string
}

/** Functions, methods and arrow functions with a body on its own lines: from the opening line to the closing one. */
export function functionsOf(source: Source): Block[] {
  const lines = source.code.split('\n')
  return lines.flatMap((line, index) => {
    if (!/(\)|\)\s*:[^=]+|=>)\s*\{\s*$/.test(line) || /^\s*(\}\s*)?(if|for|while|switch|else|catch|do|try|with)\b/.test(line)) return []
    const indent = /^\s*/.exec(line)?.[0] ?? ''
    const end = lines.findIndex((otherLine, at) => at > index && otherLine.startsWith(`${indent}}`))
    return end < 0 ? [] : [{ line: index + 1, lines: end - index + 1, head: line.trim() }]
  })
}

/** The files of each cycle of imports, by Tarjan's algorithm, sorted by name. */
export function importCycles(files: readonly Source[]): string[][] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const numbers = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []
  const visitFile = (path: string): void => {
    numbers.set(path, numbers.size)
    lowest.set(path, numbers.get(path) ?? 0)
    stack.push(path)
    for (const { from, local } of byPath.get(path)?.imports ?? []) {
      if (!local || !byPath.has(from)) continue
      if (!numbers.has(from)) visitFile(from)
      if (stack.includes(from)) lowest.set(path, Math.min(lowest.get(path) ?? 0, lowest.get(from) ?? 0))
    }
    if (lowest.get(path) !== numbers.get(path)) return
    const cycle = stack.splice(stack.indexOf(path))
    if (cycle.length > 1) found.push(cycle.toSorted())
  }
  for (const { path } of files) if (!numbers.has(path)) visitFile(path)
  return found
}

const LAYERS = ['util', 'model', 'supervise', 'compose', 'state', 'text', 'decide']

/** The layer of a kernel file: `kernel/crew/state` is in the layer of `kernel/state`. Every layer may import `kernel/*.ts`. */
function kernelLayer(path: string): number {
  const [, , ...folders] = path.split('/').slice(0, -1)
  return Math.max(...folders.map((folder) => LAYERS.indexOf(folder)), 0)
}

/** Imports inside the kernel that lead to a higher layer, as `FILE → FILE`. */
export function upwardKernelImports(files: readonly Source[]): string[] {
  return files
    .filter(({ path }) => path.startsWith('src/kernel/'))
    .flatMap(({ path, imports }) =>
      imports.filter(({ local, from }) => local && kernelLayer(from) > kernelLayer(path)).map(({ from }) => `${path} → ${from}`),
    )
}

/** Type names that several files declare and export, as `NAME: FILE, FILE`. */
export function duplicateTypeNames(files: readonly Source[]): string[] {
  const declared = files.flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:abstract )?(?:interface|type|class) ([A-Z][a-z]\w*)/gm)].map(([, name = '']) => ({ name, path })),
  )
  return [...Map.groupBy(declared, ({ name }) => name)]
    .filter(([, all]) => all.length > 1)
    .map(([name, all]) => `${name}: ${all.map(({ path }) => path).join(', ')}`)
}
