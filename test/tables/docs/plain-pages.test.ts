// Rules for pages and help: short cells, paragraphs and sentences, and the words of the glossary. The pages of verbs and of errors
// are generated from the help and the errors, so the rules hold for these texts too. Phrases to avoid: test/plain-words.test.ts.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TOPICS } from '../../../src/cli/table/topics.ts'
import { ROOT } from '../../support/env.ts'
import { pageBlocks, blocksOf, sentencesOf, wordCount, type Block } from '../../support/prose.ts'

const MAX_CELL_CHARACTERS = 200
const MAX_PARAGRAPH_WORDS = 90
const MAX_MEDIAN_WORDS = 16
/** a page with fewer sentences has no meaningful median */
const MIN_SENTENCES = 5

const GLOSSARY = 'docs/contributing/glossary.md'
/** Words of the glossary's third column that pages need for another meaning: a session of an external agent, a row of a log. */
const OTHER_MEANINGS: ReadonlySet<string> = new Set([
  ...['job', 'session', 'life', 'restart', 'script', 'round', 'event', 'log', 'replay', 'command', 'message', 'action', 'words', 'lock'],
  ...['block', 'adapter', 'container', 'sandbox', 'proxy', 'snapshot', 'save', 'quota', 'manager', 'pipeline', 'model'],
])

const PAGES = [
  ...pageBlocks('docs', 'README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'),
  ...Object.entries(TOPICS).flatMap(([name, topic]) => topicBlocks(name, topic.text)),
]

function topicBlocks(name: string, text: (typeof TOPICS)[string]['text']): Block[] {
  const place = `src/cli/table/topics.ts#${name}:1`
  return text.flatMap((part): Block[] =>
    typeof part === 'string'
      ? [{ kind: 'paragraph', place, text: part }]
      : part.flat().map((cell) => ({ kind: 'cell', place, text: cell })),
  )
}

function overlongBlocks(blocks: readonly Block[]): string[] {
  return blocks.flatMap(({ kind, place, text }) => {
    if (kind === 'cell' && text.length > MAX_CELL_CHARACTERS) return [`${place}: a cell of ${text.length} characters`]
    const words = wordCount(text)
    return kind === 'paragraph' && words > MAX_PARAGRAPH_WORDS ? [`${place}: a paragraph of ${words} words`] : []
  })
}

/** Pages whose median sentence is too long. Cells and headings do not count: they are short in any case. */
function longWindedPages(blocks: readonly Block[]): string[] {
  const counts = new Map<string, number[]>()
  for (const { kind, place, text } of blocks) {
    const page = place.replace(/:\d+$/, '')
    if (kind === 'paragraph') counts.set(page, [...(counts.get(page) ?? []), ...sentencesOf(text).map(wordCount)])
  }
  return [...counts].flatMap(([page, words]) => {
    const median = words.toSorted((a, b) => a - b)[Math.floor(words.length / 2)] ?? 0
    return words.length >= MIN_SENTENCES && median > MAX_MEDIAN_WORDS ? [`${page}: the median sentence has ${median} words`] : []
  })
}

/** The rows of tables that have more or fewer cells than the titles of their table. */
function unevenRows(place: string, page: string): string[] {
  const cellsIn = (row: string): number => row.replaceAll('\\|', '').split('|').length - 2
  let titles = 0
  let isCode = false
  return page.split('\n').flatMap((line, index) => {
    if (line.startsWith('```')) isCode = !isCode
    const isRow = !isCode && line.startsWith('|')
    titles = isRow ? titles || cellsIn(line) : 0
    return isRow && cellsIn(line) !== titles ? [`${place}:${index + 1}: ${cellsIn(line)} cells below ${titles} titles`] : []
  })
}

/** The words that the glossary replaces, without those that have another meaning elsewhere. */
function replacedWords(): string[] {
  const rows = readFileSync(join(ROOT, GLOSSARY), 'utf8').split('\n')
  const cells = rows.filter((row) => row.startsWith('| ')).map((row) => row.split(' | ').at(-1) ?? '')
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)).filter((word) => !OTHER_MEANINGS.has(word))
}

function usesOf(word: string, blocks: readonly Block[]): string[] {
  const pattern = new RegExp(`\\b${word}(?:s|es)?\\b`, 'i')
  const found = blocks
    .filter(({ place }) => !place.startsWith(GLOSSARY))
    .flatMap((block) => sentencesOf(block.text).map((text) => ({ ...block, text })))
  return found.filter(({ text }) => pattern.test(text)).map(({ place, text }) => `${place}: ${text}`)
}

test('no cell has more than 200 characters, and no paragraph more than 90 words', () => {
  expect(overlongBlocks(PAGES)).toEqual([])
})

test('each row of a table has a cell for each title', () => {
  const pages = globSync('{docs/**/*,*}.md', { cwd: ROOT })
  expect(pages.length).toBeGreaterThan(50)
  expect(pages.flatMap((page) => unevenRows(page, readFileSync(join(ROOT, page), 'utf8')))).toEqual([])
})

test('the median sentence of each page has at most 16 words', () => {
  expect(longWindedPages(PAGES)).toEqual([])
})

test.each(replacedWords())('no page or help text has "%s", which the glossary replaces', (word) => {
  expect(usesOf(word, PAGES)).toEqual([])
})

describe('the rules find', () => {
  const makeSentence = (wordTotal: number): string =>
    `${Array.from({ length: wordTotal }, (_, index) => (index === 0 ? 'One' : 'word')).join(' ')}.`

  test.each([
    ['a long cell', `| ${'x'.repeat(201)} | y |\n`, 1],
    ['a cell at the bound', `| ${'x'.repeat(200)} | y |\n`, 0],
    ['a long paragraph over two lines', `${makeSentence(46)}\n${makeSentence(45)}\n`, 1],
    ['two paragraphs', `${makeSentence(46)}\n\n${makeSentence(45)}\n`, 0],
    ['two items of a list', `- ${makeSentence(46)}\n- ${makeSentence(45)}\n`, 0],
    ['code', `\`\`\`\n| ${'x'.repeat(201)} |\n\`\`\`\n`, 0],
  ])('%s', (_, page, count) => {
    expect(overlongBlocks(blocksOf('docs/a.md', page))).toHaveLength(count)
  })

  test('a row with a missing cell', () => {
    const rows = ['| a | b |', '| --- | --- |', '| 1 | 2 |', '| 1 \\| 2 |', '', '| alone |', '```', '| code', '```']
    expect(unevenRows('docs/a.md', rows.join('\n'))).toEqual(['docs/a.md:4: 1 cells below 2 titles'])
  })

  test('a page with long sentences', () => {
    const pageOf = (wordTotal: number): Block[] =>
      blocksOf('docs/a.md', `${Array.from({ length: 5 }, () => makeSentence(wordTotal)).join(' ')}\n`)
    expect(longWindedPages(pageOf(17))).toEqual(['docs/a.md: the median sentence has 17 words'])
    expect(longWindedPages(pageOf(16))).toEqual([])
  })

  test('a replaced word of the glossary, also as a plural', () => {
    expect(replacedWords()).toEqual(expect.arrayContaining(['bot', 'seat', 'family', 'agent of others']))
    expect(usesOf('seat', blocksOf('docs/a.md', 'Two seats. `seat` is code.\n'))).toEqual(['docs/a.md:1: Two seats.'])
  })
})
