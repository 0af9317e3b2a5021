// The sentences that people read in sources and pages: comments and texts of the code, Markdown without its code.
// Tests: test/plain-words.test.ts, test/tables/docs/plain-pages.test.ts.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from './env.ts'

export interface Prose {
  /** `src/kernel`, or `docs` */
  readonly folder: string
  /** `FILE:LINE` */
  readonly place: string
  /** one sentence of a comment or page, or one text of the code */
  readonly text: string
}

/** A line of a comment, without its marks. */
const COMMENT = /^\s*(?:\/\/|\/\*\*?|\*(?!\/))\s?(.*?)\s*(?:\*\/)?\s*$/

/** An expression in a template string. */
const EXPRESSION = /\$\{[^{}]*\}/g

/** The sentences of the comments and strings of a source. Strings of one word, and strings in double quotes, are left out. */
export function proseOf({ path, raw }: { readonly path: string; readonly raw: string }): Prose[] {
  const folder = path.split('/').slice(0, 2).join('/')
  const findings: Prose[] = []
  let block: { readonly line: number; text: string } | null = null
  const endBlock = (): void => {
    if (block) findings.push(...sentencesOf(block.text).map((text) => ({ folder, place: `${path}:${block?.line}`, text })))
    block = null
  }
  for (const [index, line] of raw.split('\n').entries()) {
    const place = `${path}:${index + 1}`
    if (/^\s*(\/\/|\/\*|\*)/.test(line)) {
      if (/^\s*\/\*/.test(line)) endBlock()
      block ??= { line: index + 1, text: '' }
      block.text += ` ${COMMENT.exec(line)?.[1] ?? ''}`
      if (line.trimEnd().endsWith('*/')) endBlock()
      continue
    }
    endBlock()
    const trailingComment = /\s\/\/ (.*)$/.exec(line)?.[1]
    for (const text of [...(trailingComment === undefined ? [] : [trailingComment]), ...textsOf(line)])
      findings.push({ folder, place, text })
  }
  endBlock()
  return findings
}

/**
 * The sentences of the strings of a line. An expression in a template counts as one word, and its own strings count separately. SQL is left
 * out.
 */
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
export function pageSentences(...paths: string[]): Prose[] {
  return pageBlocks(...paths).flatMap(({ place, text }) => {
    const folder = place.includes('/') ? 'docs' : place.replace(/:\d+$/, '')
    return sentencesOf(text).map((sentence) => ({ folder, place, text: sentence }))
  })
}

/** The blocks of Markdown files, without code blocks. The lines of a paragraph are joined. */
export function pageBlocks(...paths: string[]): Block[] {
  const files = paths.flatMap((path) => (statSync(join(ROOT, path)).isDirectory() ? markdownFilesBelow(path) : [path]))
  return files.flatMap((path) => blocksOf(path, readFileSync(join(ROOT, path), 'utf8')))
}

/** The blocks of one Markdown page. */
export function blocksOf(path: string, page: string): Block[] {
  const findings: Block[] = []
  let openParagraph: { readonly line: number; text: string } | null = null
  const endBlock = (): void => {
    if (openParagraph) findings.push({ kind: 'paragraph', place: `${path}:${openParagraph.line}`, text: openParagraph.text })
    openParagraph = null
  }
  const text = page.replaceAll(/^```[\s\S]*?^```/gm, (code) => code.replaceAll(/[^\n]/g, ' '))
  for (const [index, line] of text.split('\n').entries()) {
    const place = `${path}:${index + 1}`
    const isSeparateLine = /^\s*$|^[|#]/.test(line)
    if (isSeparateLine || /^\s*(?:[-*]|\d+\.) /.test(line)) endBlock()
    if (line.startsWith('#')) findings.push({ kind: 'heading', place, text: line })
    else if (line.startsWith('|')) findings.push(...cellsOf(line).map((cell) => ({ kind: 'cell' as const, place, text: cell })))
    else if (!isSeparateLine) {
      openParagraph ??= { line: index + 1, text: '' }
      openParagraph.text = `${openParagraph.text} ${line.trim()}`.trim()
    }
  }
  endBlock()
  return findings
}

function cellsOf(row: string): string[] {
  const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim())
  return cells.filter((cell) => !/^:?-*:?$/.test(cell))
}

export function wordCount(text: string): number {
  return plainText(text)
    .split(' ')
    .filter((word) => word !== '').length
}

function markdownFilesBelow(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .toSorted()
}

/** Splits a text into sentences. Quoted code counts as one word. An entry of a list between ` · ` is a sentence of its own. */
export function sentencesOf(text: string): string[] {
  return plainText(text)
    .split(/(?<=[.!?:;][)*]*)\s+(?=[A-Z`([*\d]|reeve )|\s·\s/)
    .filter((sentence) => sentence !== '')
}

function plainText(text: string): string {
  return text
    .replaceAll(/`[^`]*`/g, '`x`')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
