// The sentences that people read in sources and pages: comments and texts of the code, Markdown without its code.
// Tests: test/plain-words.test.ts, test/tables/docs/plain-pages.test.ts.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from './env.ts'

export interface Prose {
  /** `src/kernel`, or `docs` */
  readonly room: string
  /** `FILE:LINE` */
  readonly place: string
  /** one sentence of a comment or page, or one text of the code */
  readonly text: string
}

const COMMENT = /^\s*(?:\/\/|\/\*\*?|\*(?!\/))\s?(.*?)\s*(?:\*\/)?\s*$/

const EXPRESSION = /\$\{[^{}]*\}/g

/** Comments and texts of the code by sentence; a text has a space in it. */
export function proseOf({ path, raw }: { readonly path: string; readonly raw: string }): Prose[] {
  const room = path.split('/').slice(0, 2).join('/')
  const found: Prose[] = []
  let block: { readonly line: number; text: string } | null = null
  const close = (): void => {
    if (block) found.push(...sentencesOf(block.text).map((text) => ({ room, place: `${path}:${block?.line}`, text })))
    block = null
  }
  for (const [index, line] of raw.split('\n').entries()) {
    const place = `${path}:${index + 1}`
    if (/^\s*(\/\/|\/\*|\*)/.test(line)) {
      if (/^\s*\/\*/.test(line)) close()
      block ??= { line: index + 1, text: '' }
      block.text += ` ${COMMENT.exec(line)?.[1] ?? ''}`
      if (line.trimEnd().endsWith('*/')) close()
      continue
    }
    close()
    const behind = /\s\/\/ (.*)$/.exec(line)?.[1]
    for (const text of [...(behind === undefined ? [] : [behind]), ...textsOf(line)]) found.push({ room, place, text })
  }
  close()
  return found
}

/** The sentences of the strings of a line. An expression in a template counts as one word, and its own strings count apart. SQL is no prose. */
function textsOf(line: string): string[] {
  const strings = [...line.matchAll(/'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)].map((match) => match[1] ?? match[2] ?? '')
  return strings
    .flatMap((text) => [text.replaceAll(EXPRESSION, 'X'), ...[...text.matchAll(EXPRESSION)].flatMap(([code]) => textsOf(code))])
    .filter((text) => /\w \w/.test(text) && !/^(SELECT|INSERT|UPDATE|DELETE|CREATE) /.test(text))
    .flatMap((text) => sentencesOf(text.replaceAll('\\`', '`')))
}

/** One table cell, heading, list item or paragraph of a page. */
export interface Block {
  readonly kind: 'cell' | 'heading' | 'paragraph'
  /** `FILE:LINE` of its beginning */
  readonly place: string
  readonly text: string
}

/** The sentences of Markdown files, below these folders or at these paths. */
export function pages(...paths: string[]): Prose[] {
  return blocks(...paths).flatMap(({ place, text }) => {
    const room = place.includes('/') ? 'docs' : place.replace(/:\d+$/, '')
    return sentencesOf(text).map((each) => ({ room, place, text: each }))
  })
}

/** The blocks of Markdown files, without code blocks. The lines of a paragraph are joined. */
export function blocks(...paths: string[]): Block[] {
  const files = paths.flatMap((path) => (statSync(join(ROOT, path)).isDirectory() ? below(path) : [path]))
  return files.flatMap((path) => blocksOf(path, readFileSync(join(ROOT, path), 'utf8')))
}

export function blocksOf(path: string, page: string): Block[] {
  const found: Block[] = []
  let open: { readonly line: number; text: string } | null = null
  const close = (): void => {
    if (open) found.push({ kind: 'paragraph', place: `${path}:${open.line}`, text: open.text })
    open = null
  }
  const text = page.replaceAll(/^```[\s\S]*?^```/gm, (code) => code.replaceAll(/[^\n]/g, ' '))
  for (const [index, line] of text.split('\n').entries()) {
    const place = `${path}:${index + 1}`
    const isOwn = /^\s*$|^[|#]/.test(line)
    if (isOwn || /^\s*(?:[-*]|\d+\.) /.test(line)) close()
    if (line.startsWith('#')) found.push({ kind: 'heading', place, text: line })
    else if (line.startsWith('|')) found.push(...cellsOf(line).map((cell) => ({ kind: 'cell' as const, place, text: cell })))
    else if (!isOwn) {
      open ??= { line: index + 1, text: '' }
      open.text = `${open.text} ${line.trim()}`.trim()
    }
  }
  close()
  return found
}

function cellsOf(row: string): string[] {
  const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim())
  return cells.filter((cell) => !/^:?-*:?$/.test(cell))
}

export function wordCount(text: string): number {
  return plain(text)
    .split(' ')
    .filter((word) => word !== '').length
}

function below(folder: string): string[] {
  const all = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
  return all
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .toSorted()
}

/** Splits a text into sentences. Quoted code counts as one word. An entry of a list between ` · ` is a sentence of its own. */
export function sentencesOf(text: string): string[] {
  return plain(text)
    .split(/(?<=[.!?:;][)*]*)\s+(?=[A-Z`([*\d]|reeve )|\s·\s/)
    .filter((each) => each !== '')
}

function plain(text: string): string {
  return text
    .replaceAll(/`[^`]*`/g, '`x`')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
