// The change of a task on a terminal: titles, sizes, colours, truncation, and visible control characters.
import { expect, test } from 'vitest'
import type { CrewDiffView } from '../../../../src/api/views/crew-diff.ts'
import type { DiffFileView } from '../../../../src/api/views/diff.ts'
import { changeSummaryLines, diffTitle, gitCommand, truncationLine } from '../../../../src/cli/print/crew-diff.ts'
import { diffLines, statLines } from '../../../../src/cli/print/diff.ts'
import { escapeControls } from '../../../../src/cli/print/text.ts'

const STYLE = { paint: (_: string, text: string): string => text, ellipsis: '…' }
const makeFile = (
  path: string,
  insertions: number | null,
  deletions: number | null,
  changes: Partial<DiffFileView> = {},
): DiffFileView => ({ path, from: null, change: 'changed', insertions, deletions, ...changes })
const makeView = (changes: Partial<CrewDiffView> = {}): CrewDiffView => ({
  version: 1,
  crew: 'fix',
  task: { id: 'lexer', title: 'The lexer', state: 'in_review', implementer: 'worker-1', reviewer: 'worker-2' },
  of: 'review',
  note: 'what worker-1 made, which worker-2 reviews',
  from: 'a'.repeat(40),
  to: 'b'.repeat(40),
  repository: '/src/app/.git',
  files: [makeFile('lexer.ts', 12, 3), makeFile('logo.png', null, null)],
  insertions: 12,
  deletions: 3,
  diff: '',
  left: [],
  ...changes,
})

test('the title names the change and its size', () => {
  expect(diffTitle(makeView())).toBe('lexer (The lexer): what worker-1 made, which worker-2 reviews: 2 files, +12 -3')
  expect(diffTitle(makeView({ files: [], insertions: 0, deletions: 0 }))).toBe(
    'lexer (The lexer): what worker-1 made, which worker-2 reviews: no file differs',
  )
  expect(diffTitle(makeView({ of: null, note: 'lexer is queued' }))).toBe('lexer is queued')
})

test('the stat has a line for each file', () => {
  const files = [
    makeFile('src/lexer.ts', 120, 40),
    makeFile('a.ts', 1, 0, { change: 'added' }),
    makeFile('old.ts', 0, 9, { change: 'deleted' }),
    makeFile('b.ts', 2, 2, { change: 'renamed', from: 'c.ts' }),
    makeFile('logo.png', null, null),
    makeFile('run.sh', 0, 0),
  ]
  const lines = statLines({ files, insertions: 123, deletions: 51 }, STYLE, 80)
  expect(lines).toEqual([
    ' src/lexer.ts |    160 ++++++++++++++++++------',
    ' a.ts         |      1 + (new)',
    ' old.ts       |      9 - (deleted)',
    ' b.ts         |      4 +- (renamed from c.ts)',
    ' logo.png     | binary',
    ' run.sh       |      0 (mode)',
    ' 6 files, +123 -51',
  ])
  expect(statLines({ files: [], insertions: 0, deletions: 0 }, STYLE, 80)).toEqual([])
})

test('no line of a stat is wider than the terminal', () => {
  const files = [makeFile(`${'deep/'.repeat(40)}lexer.ts`, 1_200, 400), makeFile('a\x1b[31m.ts', 1, 0, { change: 'renamed', from: 'c.ts' })]
  for (const width of [50, 80, 120])
    for (const line of statLines({ files, insertions: 1, deletions: 1 }, STYLE, width)) expect(line.length, line).toBeLessThanOrEqual(width)
  expect(statLines({ files, insertions: 1, deletions: 1 }, STYLE, 80).join()).not.toContain('\x1b')
})

test('each kind of line has its colour, and content that looks like a header has the colour of content', () => {
  const diff =
    'diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn\n same\n-- gone\n+++ new\ndiff --git a/y b/y\nBinary files a/y and b/y differ\n'
  const painted = diffLines(diff, { paint: (style, text) => `<${style}>${text}` })
  expect(painted).toEqual([
    '<bold>diff --git a/x b/x',
    '<bold>index 1..2 100644',
    '<bold>--- a/x',
    '<bold>+++ b/x',
    '<cyan>@@ -1,2 +1,2 @@ fn',
    ' same',
    '<red>-- gone',
    '<green>+++ new',
    '<bold>diff --git a/y b/y',
    '<bold>Binary files a/y and b/y differ',
  ])
})

test('control characters become visible, and have no effect', () => {
  const hostileLine = '+\x1b[2J\x1b]0;title\x07 \x9b31m \u202Eabc\u2066 a\rb\tc \x7f \ud800'
  const [line = ''] = diffLines(`@@ -1 +1 @@\n${hostileLine}\n`, STYLE).slice(1)
  expect(line).toBe('+^[[2J^[]0;title^G <U+009B>31m <U+202E>abc<U+2066> a^Mb\tc ^? \ufffd')
  expect(escapeControls('plain')).toBe('plain')
  expect(escapeControls('a\nb')).toBe('a^Jb')
})

test('truncated files are named, with the command that shows them completely', () => {
  expect(truncationLine(makeView())).toBeNull()
  expect(truncationLine(makeView({ diff: null, left: ['a'] }))).toBeNull()
  expect(truncationLine(makeView({ left: ['a.ts', 'b.ts'] }))).toBe(
    'The diff of 2 files is not whole: a.ts, b.ts. `git -C /src/app diff aaaaaaaaaaaa bbbbbbbbbbbb` shows all of it.',
  )
  expect(truncationLine(makeView({ left: Array.from({ length: 10 }, (_, n) => `${n}.ts`) }))).toContain('7.ts and 2 more. ')
  expect(gitCommand(makeView({ repository: "/my app/it's/.git" }))).toBe("`git -C '/my app/it'\\''s' diff aaaaaaaaaaaa bbbbbbbbbbbb`")
  expect(gitCommand(makeView({ repository: '/src/bare.git' }))).toBe('`git -C /src/bare.git diff aaaaaaaaaaaa bbbbbbbbbbbb`')
})

test('a question is followed by the first files, and by the command that shows the change', () => {
  expect(changeSummaryLines(makeView(), 'fix', STYLE, 80)).toEqual([
    ' lexer.ts |     15 ++++++++++++---',
    ' logo.png | binary',
    ' 2 files, +12 -3 (`reeve crew diff fix lexer`)',
  ])
  const viewOfManyFiles = makeView({ files: Array.from({ length: 12 }, (_, n) => makeFile(`${n}.ts`, 1, 0)), insertions: 12, deletions: 0 })
  expect(changeSummaryLines(viewOfManyFiles, 'fix', STYLE, 80).slice(8)).toEqual([
    ' and 4 more',
    ' 12 files, +12 -0 (`reeve crew diff fix lexer`)',
  ])
  expect(changeSummaryLines(makeView({ of: null }), 'fix', STYLE, 80)).toEqual([])
})
