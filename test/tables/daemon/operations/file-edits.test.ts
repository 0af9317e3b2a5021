// The edits that the tool inputs of several agents describe, and the text of a hunk.
import { describe, expect, test } from 'vitest'
import { findEdits, hunkOf } from '../../../../src/daemon/operations/file-edits.ts'

describe('the edits', () => {
  test.for([
    ['native edit', { path: 'a', old_text: 'x', new_text: 'y', replace_all: false }, [['a', 'x', 'y']]],
    ['native write', { path: 'a', content: 'y' }, [['a', '', 'y']]],
    ['Claude Code', { file_path: '/w/a', old_string: 'x', new_string: 'y' }, [['/w/a', 'x', 'y']]],
    [
      'several edits of a file',
      {
        file_path: 'a',
        edits: [
          { old_string: '1', new_string: '2' },
          { old_string: '3', new_string: '' },
        ],
      },
      [
        ['a', '1', '2'],
        ['a', '3', ''],
      ],
    ],
    ['OpenCode', { filePath: 'a', oldString: 'x', newString: 'y' }, [['a', 'x', 'y']]],
    ['Codex: names only', { changes: [{ path: 'a', kind: 'update' }, { kind: 'add' }] }, [['a', '', '']]],
    ['a read', { path: 'a', offset: 3 }, []],
    ['a command', { command: 'rm a' }, []],
    ['no input', null, []],
    ['a string', 'path', []],
    ['no path', { content: 'y' }, []],
  ] as const)('in the input of a tool: %s', ([, input, expected]) => {
    expect(findEdits(input).map(({ path, before, after }) => [path, before, after])).toEqual(expected)
  })
})

test('a hunk shows equal lines at both ends as context', () => {
  expect(hunkOf({ path: 'a', before: 'one\ntwo\nthree\n', after: 'one\n2\n2b\nthree\n' }, 'step 3')).toBe(
    '@@ -1,3 +1,4 @@ step 3\n one\n-two\n+2\n+2b\n three\n',
  )
  expect(hunkOf({ path: 'a', before: '', after: 'x' }, 'step 1')).toBe('@@ -0,0 +1,1 @@ step 1\n+x\n')
  expect(hunkOf({ path: 'a', before: 'x', after: 'x' }, 'step 1')).toBe('@@ -1,1 +1,1 @@ step 1\n x\n')
})
