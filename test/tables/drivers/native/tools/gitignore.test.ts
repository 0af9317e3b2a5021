// Searches skip the files that `.gitignore` excludes. Each case is compared with `git ls-files`.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { globFiles } from '../../../../../src/drivers/native/tools/glob.ts'
import { grepFiles } from '../../../../../src/drivers/native/tools/grep.ts'
import { tempDir } from '../../../../support/tmp.ts'

type Files = Readonly<Record<string, string>>

function writeFiles(dir: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), text)
  }
}

async function searchFiles(cwd: string, path = '.', pattern = '**'): Promise<readonly string[]> {
  const grepped = await grepFiles({ pattern: 'x', path, ignore_case: false }, { cwd, paths: undefined })
  const names = grepped === 'no lines match' ? [] : [...new Set(grepped.split('\n').map((line) => line.split(':')[0] ?? ''))].toSorted()
  const globbed = await globFiles({ pattern, path }, { cwd, paths: undefined })
  const files = globbed.split('\n').filter((name) => names.includes(name))
  expect(files.toSorted(), 'glob and grep see the same').toEqual(names)
  return names
}

const CASES: readonly (readonly [string, Files])[] = [
  ['a directory', { '.gitignore': 'dist/\n', 'dist/a': 'x', 'src/a': 'x', 'src/dist/b': 'x' }],
  ['a name at any depth', { '.gitignore': '*.log\n', 'a.log': 'x', 'b/c.log': 'x', 'b/c.txt': 'x' }],
  ['a name only at the top', { '.gitignore': '/build\n', build: 'x', 'src/build': 'x' }],
  ['an exception', { '.gitignore': '*.log\n!keep.log\n', 'a.log': 'x', 'keep.log': 'x' }],
  ['an exception further down', { '.gitignore': '*.log\n', 'b/.gitignore': '!here.log\n', 'b/here.log': 'x', 'b/not.log': 'x' }],
  ['nothing below an excluded directory', { '.gitignore': 'out/\n', 'out/.gitignore': '!a\n', 'out/a': 'x', b: 'x' }],
  ['patterns with a path', { '.gitignore': 'docs/**/*.tmp\n', 'docs/a/b.tmp': 'x', 'docs/b.tmp': 'x', 'c.tmp': 'x' }],
  ['comments, blanks and CRLF', { '.gitignore': '# no\r\n\r\nz\r\n', z: 'x', y: 'x' }],
]

describe('a search skips the same files as git', () => {
  test.each(CASES)('%s', async (_, files) => {
    await using dir = await tempDir()
    execFileSync('git', ['init', '--quiet', dir.path])
    writeFiles(dir.path, files)
    const listed = execFileSync('git', ['ls-files', '--others', '--exclude-standard'], { cwd: dir.path }).toString().split('\n')
    const expectedNames = listed.filter((name) => name !== '' && files[name]?.includes('x')).toSorted()
    expect(expectedNames.length).toBeGreaterThan(0)
    expect(await searchFiles(dir.path)).toEqual(expectedNames)
  })

  test('files that a directory above the search root excludes', async () => {
    await using dir = await tempDir()
    execFileSync('git', ['init', '--quiet', dir.path])
    writeFiles(dir.path, { '.gitignore': '*.log\n', 'a/b.log': 'x', 'a/c': 'x' })
    expect(await searchFiles(join(dir.path, 'a'))).toEqual(['c'])
  })
})

describe('a search finds', () => {
  test('an explicitly named path, even if it is excluded', async () => {
    await using dir = await tempDir()
    execFileSync('git', ['init', '--quiet', dir.path])
    writeFiles(dir.path, { '.gitignore': 'dist/\n', 'dist/a': 'x' })
    expect(await searchFiles(dir.path, 'dist')).toEqual(['a'])
    expect(await globFiles({ pattern: 'dist/*', path: '.' }, { cwd: dir.path, paths: undefined })).toBe('dist/a')
    expect(await searchFiles(dir.path)).toEqual([])
  })

  test('all files outside of a repository', async () => {
    await using dir = await tempDir()
    writeFiles(dir.path, { '.gitignore': '*.log\n', 'a.log': 'x', '.git/config': '' })
    expect(await searchFiles(dir.path)).toEqual(['a.log'])
  })

  test('files of each nested repository by its own rules', async () => {
    await using dir = await tempDir()
    for (const name of ['one', 'two']) execFileSync('git', ['init', '--quiet', join(dir.path, name)])
    writeFiles(dir.path, { 'one/.gitignore': 'a\n', 'one/a': 'x', 'one/b': 'x', 'two/a': 'x' })
    expect(await searchFiles(dir.path)).toEqual(['one/b', 'two/a'])
  })

  test('all files if the rules are too large', async () => {
    await using dir = await tempDir()
    execFileSync('git', ['init', '--quiet', dir.path])
    writeFiles(dir.path, { '.gitignore': `a\n#${'-'.repeat(300_000)}\n`, a: 'x' })
    expect(await searchFiles(dir.path)).toContain('a')
  })
})
