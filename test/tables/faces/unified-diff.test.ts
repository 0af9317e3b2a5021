// Unified diffs, as git writes them.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { columnsOf, diffByFile, parseDiffLines, splitRows } from '../../../src/faces/unified-diff.ts'
import { tempDir } from '../../support/tmp.ts'

test('each line has its kind and its numbers', () => {
  const diff = [
    'diff --git a/a.txt b/a.txt',
    '--- a/a.txt',
    '+++ b/a.txt',
    '@@ -1,3 +1,3 @@ heading',
    ' one',
    '--- two',
    '+++ three',
    ' four',
    '@@ -10 +10,2 @@',
    '-ten',
    '+ten',
    '+eleven',
    '\\ No newline at end of file',
    '',
  ].join('\n')
  expect(parseDiffLines(diff).map(({ kind, old, new: now, text }) => [kind, old, now, text])).toEqual([
    ['head', null, null, 'diff --git a/a.txt b/a.txt'],
    ['head', null, null, '--- a/a.txt'],
    ['head', null, null, '+++ b/a.txt'],
    ['hunk', null, null, '@@ -1,3 +1,3 @@ heading'],
    ['same', 1, 1, 'one'],
    ['removed', 2, null, '-- two'],
    ['added', null, 2, '++ three'],
    ['same', 3, 3, 'four'],
    ['hunk', null, null, '@@ -10 +10,2 @@'],
    ['removed', 10, null, 'ten'],
    ['added', null, 10, 'ten'],
    ['added', null, 11, 'eleven'],
    ['note', null, null, 'No newline at end of file'],
  ])
  expect(parseDiffLines('')).toEqual([])
})

test('side by side, removed lines stand beside those that replace them', () => {
  const diff = ['@@ -1,5 +1,5 @@', ' same', '-a', '-b', '\\ No newline', '+A', ' same', '+only new', '-only\told', '+last', ''].join('\n')
  const rows = splitRows(parseDiffLines(diff))
  expect(rows.map(({ left, right }) => [left?.text ?? null, right?.text ?? null])).toEqual([
    ['@@ -1,5 +1,5 @@', '@@ -1,5 +1,5 @@'],
    ['same', 'same'],
    ['a', 'A'],
    ['b', null],
    ['No newline', null],
    ['same', 'same'],
    [null, 'only new'],
    ['only\told', 'last'],
  ])
  expect(columnsOf(parseDiffLines(diff))).toBe(15)
  expect(columnsOf([])).toBe(0)
})

test('a diff of several files by real git is divided by their paths', async () => {
  await using dir = await tempDir()
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', dir.path, '-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', ...args], { encoding: 'utf8' })
  const write = (name: string, text: string | Buffer): void => writeFileSync(join(dir.path, name), text)
  git('init', '-q')
  mkdirSync(join(dir.path, 'a'))
  write('a/b b.txt', 'one\n')
  write('gone.txt', 'gone\n')
  write('old name.txt', 'the same\ntext\nin both\n')
  write('bytes', Buffer.from([0, 1, 2]))
  git('add', '-A')
  git('commit', '-qm', 'first')
  write('a/b b.txt', 'two\n')
  rmSync(join(dir.path, 'gone.txt'))
  rmSync(join(dir.path, 'old name.txt'))
  write('new name.txt', 'the same\ntext\nin both\n')
  write('bytes', Buffer.from([0, 2, 2]))
  write('empty', '')
  write('grün "q"\t.txt', 'new\n')
  git('add', '-A')
  const files = diffByFile(git('diff', '--cached', '-M'))
  expect([...files.keys()].toSorted()).toEqual(['a/b b.txt', 'bytes', 'empty', 'gone.txt', 'grün "q"\t.txt', 'new name.txt'].toSorted())
  expect(files.get('a/b b.txt')).toContain('+two')
})
