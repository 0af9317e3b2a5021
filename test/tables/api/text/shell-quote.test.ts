// Quoted words: a shell passes exactly the original word to the program.
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { shellLine, shellWord } from '../../../../src/api/text/shell-quote.ts'

test.each<[string, string]>([
  ['npm', 'npm'],
  ['/a/b-c.d_e:f=g@h%i+j,k', '/a/b-c.d_e:f=g@h%i+j,k'],
  ['', "''"],
  ['two words', "'two words'"],
  ["it's", "'it'\\''s'"],
  ['$(id) `id` $HOME * ~ \\', "'$(id) `id` $HOME * ~ \\'"],
  ['a\nb', "'a\nb'"],
])('%j is written as %s', (word, written) => {
  expect(shellWord(word)).toBe(written)
  expect(execFileSync('sh', ['-c', `printf %s ${written}`], { encoding: 'utf8' })).toBe(word)
})

test('a list of words becomes a line, and a text stays unchanged', () => {
  expect(shellLine(['make', 'all of it'])).toBe("make 'all of it'")
  expect(shellLine('npm test && echo $?')).toBe('npm test && echo $?')
})
