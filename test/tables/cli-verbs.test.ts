// The table of verbs: each row is whole, its flags are read by the verb, and the pages under docs/verbs say the same.
import { LIMIT_FLAGS } from '../../src/cli/limit-rows.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { pageName, verbPage } from '../../scripts/docs-verbs.ts'
import { COMMON, parse } from '../../src/cli/args.ts'
import { everyVerb, nameIn, noVerb, verbNamed } from '../../src/cli/verb-names.ts'

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const rows = everyVerb()
const fileOf = (name: string): string => `${name.replace(' ', '-')}.ts`
const LIMIT_SOURCE = readFileSync(at('src/cli/limit-flags.ts'), 'utf8')

describe.each(rows)('%s', (name, verb) => {
  const source = readFileSync(at(`src/cli/verbs/${fileOf(name)}`), 'utf8')

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
      const found = nameIn(words)
      // One example shows the verb inside another's command, and a family's are those of its parts.
      if (found?.at[0] !== 0 || (found.name !== name && !verb.parts)) continue
      const row = verbNamed(found.name)
      expect(row, command).toBeDefined()
      expect(() => parse(words.slice(found.at.length), { ...COMMON, ...row?.flags }, row?.takesCommand === true), command).not.toThrow()
    }
  })

  test('has a page that says what the table says', () => {
    expect(readFileSync(at(`docs/verbs/${pageName(name)}`), 'utf8')).toBe(verbPage(name, verb))
  })
})

test('no page is left of a verb that is gone', () => {
  expect(readdirSync(at('docs/verbs')).sort()).toEqual(rows.map(([name]) => pageName(name)).sort())
})

test('no file is left of a verb that is gone', () => {
  expect(readdirSync(at('src/cli/verbs')).sort()).toEqual(rows.map(([name]) => fileOf(name)).sort())
})

test.each<[string[], string | null, number[]]>([
  [['ps', '-a'], 'ps', [0]], [['--json', 'ps'], 'ps', [1]], [['-h'], null, []],
  [['crew', 'roles', 'x'], 'crew roles', [0, 1]], [['--json', 'crew', '-q', 'roles'], 'crew roles', [1, 3]], [['crew', '--json'], 'crew', [0]], [['crew', 'nosuch'], 'crew nosuch', [0, 1]],
])('%j names %j', (argv, name, places) => {
  expect(nameIn(argv) ?? { name: null, at: [] }).toEqual({ name, at: places })
})

test('of what is no verb the nearest is told, within its family', () => {
  expect(noVerb('crew rolse').hint).toBe('Did you mean `reeve crew roles`?')
  expect(noVerb('crew zzz').hint).toBe('`reeve help crew` lists what there is.')
  expect(noVerb('kil').hint).toBe('Did you mean `reeve kill`?')
  expect(noVerb('zzz').hint).toBe('`reeve help` lists all verbs.')
})
