// The table of verbs: each row is whole, its flags are read by the verb, and the pages under docs/verbs say the same.
import { LIMIT_FLAGS } from '../../src/cli/limit-rows.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { verbPage } from '../../scripts/docs-verbs.ts'
import { COMMON, parse } from '../../src/cli/args.ts'
import { VERBS } from '../../src/cli/verbs.ts'

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const rows = Object.entries(VERBS)
const LIMIT_SOURCE = readFileSync(at('src/cli/limit-flags.ts'), 'utf8')

describe.each(rows)('%s', (name, verb) => {
  const source = readFileSync(at(`src/cli/verbs/${name}.ts`), 'utf8')

  test('has a file that runs it', async () => {
    expect(typeof (await verb.load()).run).toBe('function')
  })

  test('reads each of its flags', () => {
    // Limits are read in one place for all verbs that have them.
    const limits = /(?:limitsOf|changesOf)\(args\)/.test(source) ? Object.keys(LIMIT_FLAGS) : []
    for (const flag of limits) expect(LIMIT_SOURCE, flag).toMatch(new RegExp(`'?${flag}'?: (?:whole|time|bytes|\\{)|choice.*'${flag}'`))
    for (const flag of Object.keys(verb.flags).filter((each) => !limits.includes(each))) expect(source, flag).toMatch(new RegExp(`args\\.(on|text|list|number|duration)\\('${flag}'\\)`))
  })

  test('reads no flag that it does not have', () => {
    const read = [...source.matchAll(/args\.(?:on|text|list|number|duration)\('([\w-]+)'\)/g)].map(([, flag]) => flag ?? '')
    for (const flag of read) expect(Object.hasOwn({ ...COMMON, ...verb.flags }, flag), flag).toBe(true)
  })

  test('has examples that its own table can read', () => {
    expect(verb.examples.length).toBeGreaterThan(0)
    for (const [command] of verb.examples) {
      const words: readonly string[] = (/^reeve (.*)$/.exec(command)?.[1] ?? '').match(/"[^"]*"|\$\([^)]*\)|\S+/g) ?? []
      const verbAt = words.indexOf(name)
      // One example shows the verb inside another's command.
      if (verbAt !== 0) continue
      expect(() => parse(words.slice(1), { ...COMMON, ...verb.flags }, verb.takesCommand === true), command).not.toThrow()
    }
  })

  test('has a page that says what the table says', () => {
    expect(readFileSync(at(`docs/verbs/${name}.md`), 'utf8')).toBe(verbPage(name, verb))
  })
})

test('no page is left of a verb that is gone', () => {
  expect(readdirSync(at('docs/verbs')).sort()).toEqual(rows.map(([name]) => `${name}.md`).sort())
})

test('no file is left of a verb that is gone', () => {
  expect(readdirSync(at('src/cli/verbs')).sort()).toEqual(rows.map(([name]) => `${name}.ts`).sort())
})
