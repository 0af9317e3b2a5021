// Patterns of paths in rules: which absolute paths they match.
import { expect, test } from 'vitest'
import { matchesPathPattern } from '../../../../../src/drivers/native/permissions/path-pattern.ts'

test.each<[string, string, boolean]>([
  ['src/**', '/project/src/a.ts', true],
  ['src/**', '/project/src/deep/a.ts', true],
  ['src/**', '/project/src/.env', true],
  ['src/**', '/project/src', true],
  ['src/**', '/project/srcs/a.ts', false],
  ['src/**', '/src/a.ts', false],
  ['src/**/*.ts', '/project/src/a.ts', true],
  ['src/**/*.ts', '/project/src/x/y/a.ts', true],
  ['src/**/*.ts', '/project/src/x/y/a.js', false],
  ['*.md', '/project/README.md', true],
  ['*.md', '/project/docs/README.md', false],
  ['**/*.md', '/project/docs/README.md', true],
  ['.env*', '/project/.env.local', true],
  ['a?c', '/project/abc', true],
  ['a?c', '/project/a\nc', true],
  ['a?c', '/project/ac', false],
  ['a.c', '/project/abc', false],
  ['a+(b)', '/project/a+(b)', true],
  ['./src/../lib/*', '/project/lib/a', true],
  ['../other/**', '/other/a', true],
  ['/etc/**', '/etc/passwd', true],
  ['/etc/**', '/project/etc/passwd', false],
  ['**', '/project/.git/config', true],
  ['**', '/elsewhere', false],
])('the pattern %s matches the path %s: %s', (pattern, file, expected) => {
  expect(matchesPathPattern(pattern, file, '/project')).toBe(expected)
})
