// The verb table: each row is complete, the verb reads its flags, and the pages under docs/reference/verbs match the table.
import { LIMIT_FLAGS } from '../../../../src/cli/table/limits.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { pageName, verbPage } from '../../../../scripts/docs-verbs.ts'
import { COMMON_FLAGS, parseCommandLine } from '../../../../src/cli/input/args.ts'
import { findVerb, findVerbName, listVerbs, unknownVerb } from '../../../../src/cli/table/verb-names.ts'
import { VERBS } from '../../../../src/cli/table/verbs.ts'

const pathOf = (path: string): string => fileURLToPath(new URL(`../../../../${path}`, import.meta.url))
const verbRows = listVerbs(VERBS)
/** A family and its verbs have a folder. Verbs about reeve itself are in `system`, and those about changed files in `changes`. */
const FILES = readdirSync(pathOf('src/cli/verbs'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
const fileOf = (name: string): string => {
  const candidates = [`${name.replace(' ', '/')}.ts`, `${name}/${name}.ts`, `system/${name}.ts`, `changes/${name}.ts`]
  return candidates.find((candidate) => FILES.includes(candidate)) ?? `${name}: no file`
}
const LIMIT_SOURCE = readFileSync(pathOf('src/cli/input/limit-flags.ts'), 'utf8')
const SELECTION_SOURCE = readFileSync(pathOf('src/cli/actions/select-processes.ts'), 'utf8')
const SELECTION_FLAGS = ['label', 'all', 'yes']

describe.each(verbRows)('the verb %s', (name, verb) => {
  const source = readFileSync(pathOf(`src/cli/verbs/${fileOf(name)}`), 'utf8')

  test('has a file that runs it', async () => {
    expect(typeof (await verb.load()).run).toBe('function')
  })

  test('reads each of its flags', () => {
    // The limits of all verbs are read in one file.
    const limits = /(?:parseNewLimits|parseLimitChanges)\(args\)/.test(source) ? Object.keys(LIMIT_FLAGS) : []
    for (const flag of limits)
      expect(LIMIT_SOURCE, flag).toMatch(new RegExp(`'?${flag}'?: (?:whole|time|bytes|\\{)|parseChoice.*'${flag}'`))
    // So are the flags that select processes.
    const selecting = /forEachSelected\(|selectProcesses\(/.test(source) ? SELECTION_FLAGS : []
    for (const flag of Object.keys(verb.flags).filter((flag) => !limits.includes(flag)))
      expect(selecting.includes(flag) ? SELECTION_SOURCE : source, flag).toMatch(
        new RegExp(`args\\.(on|texts?|list|number|duration)\\('${flag}'\\)`),
      )
  })

  test('reads no flag that its row does not have', () => {
    const readFlags = [...source.matchAll(/args\.(?:on|text|list|number|duration)\('([\w-]+)'\)/g)].map(([, flag]) => flag ?? '')
    for (const flag of readFlags) expect(Object.hasOwn({ ...COMMON_FLAGS, ...verb.flags }, flag), flag).toBe(true)
  })

  test('has examples that its row can parse', () => {
    expect(verb.examples.length).toBeGreaterThan(0)
    for (const [command] of verb.examples) {
      const words: readonly string[] = (/^reeve (.*)$/.exec(command)?.[1] ?? '').match(/"[^"]*"|\$\([^)]*\)|\S+/g) ?? []
      const found = findVerbName(VERBS, words)
      // Skips an example that shows the verb inside another command, and a family's examples of its verbs.
      if (found?.indexes[0] !== 0 || (found.name !== name && !verb.parts)) continue
      const row = findVerb(VERBS, found.name)
      expect(row, command).toBeDefined()
      expect(
        () => parseCommandLine(words.slice(found.indexes.length), { ...COMMON_FLAGS, ...row?.flags }, row?.takesCommand === true),
        command,
      ).not.toThrow()
    }
  })

  test('has a page that matches the table', () => {
    expect(readFileSync(pathOf(`docs/reference/verbs/${pageName(name)}`), 'utf8')).toBe(verbPage(name, verb))
  })
})

test('no page belongs to a removed verb', () => {
  expect(readdirSync(pathOf('docs/reference/verbs')).sort()).toEqual(verbRows.map(([name]) => pageName(name)).sort())
})

test('no file belongs to a removed verb', () => {
  expect(FILES.toSorted()).toEqual(verbRows.map(([name]) => fileOf(name)).sort())
})

test.each<[string[], string | null, number[]]>([
  [['ps', '-a'], 'ps', [0]],
  [['--json', 'ps'], 'ps', [1]],
  [['-h'], null, []],
  [['crew', 'roles', 'x'], 'crew roles', [0, 1]],
  [['--json', 'crew', '-q', 'roles'], 'crew roles', [1, 3]],
  [['crew', '--json'], 'crew', [0]],
  [['crew', 'nosuch'], 'crew nosuch', [0, 1]],
])('%j names %j', (argv, name, places) => {
  expect(findVerbName(VERBS, argv) ?? { name: null, indexes: [] }).toEqual({ name, indexes: places })
})

test('an unknown verb gets the nearest one as a hint, within its family', () => {
  expect(unknownVerb(VERBS, 'crew rolse').hint).toBe('Did you mean `reeve crew roles`?')
  expect(unknownVerb(VERBS, 'crew zzz').hint).toBe('`reeve help crew` lists its verbs.')
  expect(unknownVerb(VERBS, 'kil').hint).toBe('Did you mean `reeve kill`?')
  expect(unknownVerb(VERBS, 'zzz').hint).toBe('`reeve help` lists all verbs.')
})
