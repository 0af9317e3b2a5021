// Plain English in comments, in texts of the code, and in the documentation. RULES lists the words to avoid, each with its
// replacement. The remaining findings are counted by folder, and a count may only fall.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './support/env.ts'
import { pageSentences, proseOf, type Prose } from './support/prose.ts'
import { readSources } from './support/source.ts'

interface Rule {
  readonly words: RegExp
  readonly instead: string
}

const RULES: readonly Rule[] = [
  { words: /\b(a|the|another) persons?\b|\bof a person\b/i, instead: 'the user' },
  { words: /\bof others\b|\bothers wrote\b/i, instead: 'external agent' },
  { words: /\b(told|tells?|telling)\b/i, instead: 'report, notify, show, send' },
  { words: /\b(said|says?|saying)\b/i, instead: 'report, state, print, mean' },
  { words: /\b(heed|heeds|seats?|desk|kin)\b/i, instead: 'obey; token or caller; tool service; ended children' },
  { words: /\b(nobody|somebody|anybody)\b/i, instead: 'the client, the caller, no process' },
  { words: /\b(is|are|was|were|be) to (be|have|do|go|come|stay)\b/i, instead: 'must, should, will' },
]
/** the largest number of words in a sentence */
const MAX_SENTENCE_WORDS = 24

/** The remaining findings, by folder. */
const ALLOWED_FINDINGS: Readonly<Record<string, number>> = {
  'src/drivers': 1,
}

const remainingFindings = new Map<string, string[]>()
for (const { folder, place, text } of [...readSources('src', '.ts').flatMap(proseOf), ...pageSentences('docs', 'README.md', 'AGENTS.md')]) {
  const problems = RULES.filter(({ words }) => words.test(text)).map(({ instead }) => `write: ${instead}`)
  if (isLong(text)) problems.push(`more than ${MAX_SENTENCE_WORDS} words`)
  if (problems.length > 0)
    remainingFindings.set(folder, [...(remainingFindings.get(folder) ?? []), `${place}: ${problems.join('; ')}: ${text}`])
}

function isLong(text: string): boolean {
  return text.split(/\s+/).length > MAX_SENTENCE_WORDS
}

test.each([...new Set([...remainingFindings.keys(), ...Object.keys(ALLOWED_FINDINGS)])].toSorted())(
  '%s has no more findings than allowed',
  (folder) => {
    const found = remainingFindings.get(folder) ?? []
    const allowed = ALLOWED_FINDINGS[folder] ?? 0
    expect(found.length, `${found.slice(0, 20).join('\n')}\n${allowed > found.length ? 'fewer now: lower its number' : ''}`).toBe(allowed)
  },
)

test('each rule finds the words that it replaces', () => {
  const readProse = (raw: string): Prose[] => proseOf({ path: 'src/a/b.ts', raw })
  expect(readProse('/** Told to a person. */\nx() // of others\n').map(({ text }) => text)).toEqual(['Told to a person.', 'of others'])
  expect(readProse("x(`One text. ${y ? 'of others' : z} is a \\`b c\\`.`)").map(({ text }) => text)).toEqual([
    'One text.',
    'X is a `x`.',
    'of others',
  ])
  expect(
    RULES.filter(({ words }) =>
      ['a person', 'of others', 'it tells', 'it says', 'a seat', 'nobody', 'is to be'].some((text) => words.test(text)),
    ),
  ).toEqual(RULES)
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8').length).toBeGreaterThan(1_000)
})
