// Patterns of file names match as Node's own matcher does. The cost of a pattern never exceeds the product of its length and the length
// of the name.
import fc from 'fast-check'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { matchesPath, parseGlob } from '../../../../../src/drivers/native/tools/glob-pattern.ts'
import { deep } from '../../../../support/deep.ts'

const matchesPattern = (pattern: string, name: string): boolean => matchesPath(parseGlob(pattern), name)

describe('a pattern', () => {
  test.each([
    ['*.ts', ['a.ts', '*.ts'], ['.ts', 'a.tsx', 'x/a.ts', '.a.ts']],
    ['.*', ['.a'], ['a']],
    ['?.ts', ['a.ts', 'é.ts', '😀.ts'], ['.ts', 'ab.ts', '..ts']],
    ['**', ['a', 'a/b/c'], ['.a', 'a/.b', '.a/b']],
    ['**/*.ts', ['a.ts', 'x/y/a.ts'], ['x/.y/a.ts']],
    ['src/**', ['src/a', 'src/a/b'], ['src', 'other/a']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['a/xb', 'b']],
    ['**/**/c', ['c', 'a/c', 'a/b/c'], ['a/cc']],
    ['a**b', ['ab', 'axb'], ['a/b']],
    ['{a,b}.ts', ['a.ts', 'b.ts'], ['c.ts', '{a,b}.ts']],
    ['a/{b/c,d}.ts', ['a/b/c.ts', 'a/d.ts'], ['a/b.ts']],
    ['{src,test/unit}/**/*.ts', ['src/a.ts', 'test/unit/x/a.ts'], ['test/a.ts']],
    ['{a,{b,c}d}', ['a', 'bd', 'cd'], ['b', 'ad']],
    ['a{,b}', ['a', 'ab'], ['b']],
    ['{x}', ['{x}'], ['x']],
    ['{a', ['{a'], ['a']],
    ['{a},b}', ['{a},b}'], ['a']],
    ['${a,b}', ['${a,b}'], ['$a']],
    ['a{1..3}', ['a1', 'a3'], ['a4', 'a{1..3}']],
    ['a{3..1}', ['a1', 'a3'], ['a4']],
    ['a{08..10}', ['a08', 'a10'], ['a8']],
    ['a{-1..1}', ['a-1', 'a0'], ['a-2']],
    ['a{1..9..4}', ['a1', 'a5', 'a9'], ['a2']],
    ['{a..c}', ['a', 'c'], ['d']],
    ['[ab]c', ['ac', 'bc'], ['cc', '[ab]c']],
    ['[!a-c]x', ['dx'], ['ax', 'cx']],
    ['[^a]x', ['bx'], ['ax']],
    ['[[:digit:][:upper:]]', ['1', 'Z', 'É'], ['z']],
    ['[[:constructor:]]', ['c]'], ['x']],
    ['[]]', [']'], ['[']],
    ['[a-]', ['a', '-'], ['b']],
    ['a[', ['a['], ['a']],
    ['\\*', ['*'], ['a']],
    ['\\{a,b}', ['{a,b}'], ['a']],
    ['[\\]]', [']'], ['\\']],
    ['a//b', ['a/b'], ['a']],
    ['/tmp/*', ['/tmp/a'], ['tmp/a', '/tmp/a/b']],
    ['a/', [], ['a']],
    ['!a', ['!a'], ['b']],
  ])('%s matches the names %j, and none of %j', (pattern, matching, notMatching) => {
    expect({
      yes: matching.filter((name) => matchesPattern(pattern, name)),
      no: notMatching.filter((name) => matchesPattern(pattern, name)),
    }).toEqual({ yes: matching, no: [] })
  })
})

test("a pattern matches like Node's own matcher", () => {
  const char = fc.constantFrom('a', 'b', '.', '-')
  const name = fc.string({ unit: char, minLength: 1, maxLength: 5 }).filter((text) => text !== '.' && text !== '..')
  const partArbitrary = fc
    .oneof(
      name,
      fc.constant('**'),
      fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?', '[ab]', '[!a]', '{a,b}', '{b,.a*}'), minLength: 1, maxLength: 5 }),
    )
    .filter((text) => !/^\.*$/.test(text) && (text === '**' || !text.includes('**')) && !/^[{]b,\.a\*[}]/.test(text))
  fc.assert(
    fc.property(
      fc.array(partArbitrary, { minLength: 1, maxLength: 4 }),
      fc.array(name, { minLength: 1, maxLength: 4 }),
      (patternParts, names) => {
        const [pattern, file] = [patternParts.join('/'), names.join('/')]
        expect([pattern, file, matchesPattern(pattern, file)]).toEqual([pattern, file, path.matchesGlob(file, pattern)])
      },
    ),
    { numRuns: deep(2_000, 100_000) },
  )
})

describe('the cost of a pattern', () => {
  const a = 'a'.repeat(200)

  test.each([
    ['stars', `${'*a'.repeat(40)}b`, a],
    ['stars over stars', `${'*'.repeat(4_000)}b`, a],
    ['any number of directories', `${'**/a/'.repeat(60)}b`, `${'a/'.repeat(100)}c`],
    ['sets', `${'*[a-z]'.repeat(60)}!`, a],
    ['open brackets', '['.repeat(4_000), a],
    ['open braces', '{'.repeat(4_000), a],
    ['braces that close in the end', `${'{'.repeat(4_000)}${'}'.repeat(4_000)}`, a],
  ])('is limited for %s', (_, pattern, name) => {
    const cpuBefore = process.cpuUsage()
    expect(matchesPattern(pattern, name)).toBe(false)
    // Backtracking would take longer than the age of the universe.
    expect(process.cpuUsage(cpuBefore).user).toBeLessThan(5_000_000)
  })

  test.each([
    ['a range', '{0..99999999}', 'more than 1000 alternatives'],
    ['a range of 15 digits', '{-999999999999999..999999999999999}', 'more than 1000 alternatives'],
    ['braces in a row', '{a,b}'.repeat(24), 'more than 1000 alternatives'],
    ['braces in braces', `${'{a,'.repeat(2_000)}b${'}'.repeat(2_000)}`, 'more than 1000 alternatives'],
    ['ranges in braces', '{{0..99},{0..99}}{0..99}', 'more than 1000 alternatives'],
    ['one long name many times', `{0..999}${'x'.repeat(8_000)}`, 'too long'],
    ['a pattern over the limit', 'x'.repeat(10_000), 'more than 8192 characters'],
    ['a group', '+(a|b)', 'use braces'],
    ['a negated group', '!(a)', 'use braces'],
  ])('%s is refused', (_, pattern, message) => {
    expect(() => parseGlob(pattern)).toThrow(message)
  })

  test('allows a thousand alternatives', () => expect(matchesPattern('{0..999}', '999')).toBe(true))
})
