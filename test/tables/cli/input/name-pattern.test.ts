// Patterns for names of processes: each construct of the shell, and patterns that would be slow in a backtracking engine.
import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { isNamePattern, nameMatcher } from '../../../../src/cli/input/name-pattern.ts'

describe('a pattern', () => {
  test.each([
    ['a*', ['a', 'ab', 'a/b'], ['', 'ba']],
    ['*', ['', 'x', 'x\ny'], []],
    ['a?c', ['abc', 'a😀c'], ['ac', 'abbc']],
    ['w[0-9]', ['w1', 'w9'], ['w', 'wx', 'w10']],
    ['w[!0-9]', ['wx'], ['w1']],
    ['w[^a]', ['wb'], ['wa']],
    ['[]a]', [']', 'a'], ['b']],
    ['[a-]', ['a', '-'], ['b']],
    ['a\\*', ['a*'], ['ab']],
    ['a*b*c', ['abc', 'axxbyyc', 'abcbc'], ['abcb', 'ac']],
    ['[a', ['[a'], ['a']],
    ['a\\', ['a\\'], ['a']],
  ])('%s matches %j, and none of %j', (pattern, matching, others) => {
    const matches = nameMatcher(pattern)
    expect([matching.filter((name) => !matches(name)), others.filter(matches)]).toEqual([[], []])
  })

  test('without special characters matches only itself', () => {
    const plain = fc.string().map((text) => text.replaceAll(/[*?[\\]/g, ''))
    fc.assert(fc.property(plain, fc.string(), (text, other) => nameMatcher(text)(text) && nameMatcher(text)(other) === (text === other)))
  })

  test('with many stars is matched without backtracking', () => {
    expect(nameMatcher('*a'.repeat(100) + '*b')('a'.repeat(200))).toBe(false)
  })

  test('is recognized by its characters', () => {
    expect(['a*', '?', '[ab]', 'w[0-9]x'].filter((word) => !isNamePattern(word))).toEqual([])
    expect(['docs', '5', 'id:5854', '[]', 'a]'].filter(isNamePattern)).toEqual([])
  })
})
