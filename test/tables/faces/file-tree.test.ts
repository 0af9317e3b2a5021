// Changed files as a tree of folders.
import { expect, test } from 'vitest'
import { fileTreeLines, folderIndexOf } from '../../../src/faces/file-tree.ts'

const file = (path: string, insertions: number | null = 1, deletions: number | null = 0) => ({ path, insertions, deletions })
const FILES = [
  file('README.md'),
  file('src/a/b/one.ts', 3, 2),
  file('src/a/b/two.ts', 4, 0),
  file('src/main.ts'),
  file('test/deep/er/x.png', null, null),
]
const draw = (files: readonly ReturnType<typeof file>[], folded: readonly string[] = []): string[] =>
  fileTreeLines(files, new Set(folded)).map((line) => {
    const name = '  '.repeat(line.depth) + line.name
    return line.kind === 'file' ? name : `${name}/ ${line.isFolded ? 'folded ' : ''}${line.files} +${line.insertions} -${line.deletions}`
  })

test('folders come before files, with sums, and a folder in a folder alone shares its line', () => {
  expect(draw(FILES)).toEqual([
    'src/ 3 +8 -2',
    '  a/b/ 2 +7 -2',
    '    one.ts',
    '    two.ts',
    '  main.ts',
    'test/deep/er/ 1 +0 -0',
    '  x.png',
    'README.md',
  ])
})

test('a folded folder hides what is below', () => {
  expect(draw(FILES, ['src', 'test/deep/er'])).toEqual(['src/ folded 3 +8 -2', 'test/deep/er/ folded 1 +0 -0', 'README.md'])
  expect(draw(FILES, ['src/a/b'])[1]).toBe('  a/b/ folded 2 +7 -2')
})

test('no files are no lines, and odd names stay apart', () => {
  expect(draw([])).toEqual([])
  expect(draw([file('constructor/a'), file('__proto__/b'), file('/abs')])).toEqual([
    'constructor/ 1 +1 -0',
    '  a',
    '__proto__/ 1 +1 -0',
    '  b',
    '/ 1 +1 -0',
    '  abs',
  ])
})

test.each([
  [0, null],
  [1, 0],
  [3, 1],
  [4, 0],
  [7, null],
])('line %i is in the folder of line %j', (index, folder) => {
  expect(folderIndexOf(fileTreeLines(FILES, new Set()), index)).toBe(folder)
})
