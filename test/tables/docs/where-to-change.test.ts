// docs/contributing/where-to-change.md names existing code: each constant and camelCase name in code marks stands in a file that its row
// or paragraph names, or, if it names no file, in any source. Rows with NAME describe a new file and are exempt.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../support/env.ts'

const MARKED = /`([^`]+)`/g
const PATH = /^(?:src|web|test|scripts|bench)\/[\w./*-]+$/
const IDENTIFIER = /^(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|[a-z]+(?:[A-Z][a-z0-9]*)+)$/
const SAME_FILE = '| the same file |'

/** The code names in a text. Of a path such as `DEFAULTS.providers` only the first part; of a call, all of it up to its parenthesis. */
function identifiersOf(text: string): string[] {
  return [...text.matchAll(MARKED)].flatMap(([, marked = '']) => {
    const call = /^[\w.]+(?=\()/.exec(marked)?.[0]
    const name = call ?? marked.split('.')[0] ?? ''
    const isFile = /^[\w.-]+\.(?:ts|mjs|cjs|md|yaml)$/.test(marked)
    return !isFile && (call !== undefined || IDENTIFIER.test(name)) ? [name] : []
  })
}

function pathsOf(text: string): string[] {
  return [...text.matchAll(MARKED)].map(([, marked = '']) => marked).filter((marked) => PATH.test(marked))
}

function textOf(path: string): string {
  const files = globSync(path, { cwd: ROOT }).flatMap((found) =>
    statSync(join(ROOT, found)).isDirectory() ? globSync(`${found}/**/*.{ts,tsx}`, { cwd: ROOT }) : [found],
  )
  return files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')
}

function occursIn(name: string, text: string): boolean {
  return new RegExp(String.raw`(?<![\w])${name.replaceAll('.', String.raw`\.`)}(?![\w])`).test(text)
}

/** The rows and paragraphs of a page, with the files that each names. A row of `the same file` names the files of the row above it. */
function entriesOf(page: string): { readonly text: string; readonly paths: readonly string[] }[] {
  let rowPaths: string[] = []
  return page.split(/\n\n|\n(?=\|)/).map((text) => {
    const isSameFile = text.startsWith(SAME_FILE)
    const paths = isSameFile ? [...rowPaths, ...pathsOf(text)] : pathsOf(text)
    if (!isSameFile) rowPaths = paths
    return { text, paths }
  })
}

function missingNames(page: string): string[] {
  return entriesOf(page).flatMap(({ text, paths }) => {
    const names = text.includes('NAME.') || text.includes('NAME/') ? [] : identifiersOf(text)
    if (names.length === 0) return []
    const sources = (paths.length > 0 ? paths : ['src', 'scripts']).map((path) => textOf(path)).join('\n')
    return names.filter((name) => !occursIn(name, sources)).map((name) => `${name}: ${paths.join(', ') || 'no source'}`)
  })
}

const PAGE = readFileSync(join(ROOT, 'docs/contributing/where-to-change.md'), 'utf8')

test('each name of code stands in a file that its row or paragraph names', () => {
  expect(entriesOf(PAGE).flatMap(({ text }) => identifiersOf(text)).length).toBeGreaterThan(35)
  expect(missingNames(PAGE)).toEqual([])
})

test('each folder that the page names exists', () => {
  const folders = entriesOf(PAGE).flatMap(({ paths }) => paths.filter((path) => !path.includes('NAME') && !path.includes('*')))
  expect(folders.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('a missing name is found', () => {
  const page = [
    '| `src/kernel/model/words.ts` | `SIGNALS`, `NO_SIGNALS` | |',
    '| the same file | `HANDLERS`, `noHandlers` | |',
    '| `src/drivers/NAME/driver.ts` | `NOTHING` | |',
    '',
    '`draft.addEffect(…)` and `noDraft.addEffect(…)`',
  ].join('\n')
  expect(missingNames(page)).toEqual([
    'NO_SIGNALS: src/kernel/model/words.ts',
    'noHandlers: src/kernel/model/words.ts',
    'noDraft.addEffect: no source',
  ])
})
