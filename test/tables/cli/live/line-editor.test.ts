// The line editor for messages: each key, several lines, and the drawing.
import { describe, expect, test } from 'vitest'
import { LineEditor, type Key } from '../../../../src/cli/live/line-editor.ts'
import { displayWidth } from '../../../../src/cli/print/text.ts'

const makeKey = (name: string, changes: Partial<Key> = {}): Key => ({ name, sequence: '', ...changes })
const ctrlKey = (name: string): Key => makeKey(name, { ctrl: true })
const ENTER = makeKey('return', { sequence: '\r' })
const keysOf = (pressKeys: string): Key[] => Array.from(pressKeys, (character) => ({ name: character, sequence: character }))

function pressKeys(...keys: readonly (Key | Key[])[]): { editor: LineEditor; sentMessages: string[] } {
  const editor = new LineEditor()
  const sentMessages = keys.flat().flatMap((key) => editor.onKey(key) ?? [])
  return { editor, sentMessages }
}

describe('the editor', () => {
  // The text after the keys, with | at the cursor.
  test.each<[string, (Key | Key[])[], string]>([
    ['typing', [keysOf('ab')], 'ab|'],
    ['left and right', [keysOf('ab'), makeKey('left'), makeKey('left'), makeKey('right'), keysOf('x')], 'ax|b'],
    ['over a whole character', [keysOf('a'), [{ sequence: 'e\u0301' }], makeKey('left')], 'a|e\u0301'],
    ['over an emoji', [keysOf('a'), [{ sequence: '👩‍👧' }], makeKey('backspace')], 'a|'],
    ['home and end', [keysOf('ab'), ctrlKey('a'), keysOf('x'), ctrlKey('e'), keysOf('y')], 'xaby|'],
    ['backspace at the beginning', [makeKey('backspace'), keysOf('a')], 'a|'],
    ['delete', [keysOf('abc'), makeKey('home'), makeKey('delete')], '|bc'],
    ['to the beginning', [keysOf('one two'), makeKey('left'), ctrlKey('u')], '|o'],
    ['to the end', [keysOf('one two'), makeKey('home'), ctrlKey('k')], '|'],
    ['a word back', [keysOf('one two '), ctrlKey('w')], 'one |'],
    ['a word on', [keysOf('one two'), makeKey('home'), makeKey('f', { meta: true })], 'one| two'],
    [
      'words',
      [keysOf('one two'), makeKey('left', { ctrl: true }), makeKey('left', { ctrl: true }), makeKey('right', { ctrl: true })],
      'one| two',
    ],
    [
      'keys that are no text',
      [
        keysOf('a'),
        makeKey('escape', { sequence: '\x1b' }),
        makeKey('f5', { sequence: '\x1b[15~' }),
        makeKey('tab', { sequence: '\t' }),
        makeKey('x', { ctrl: true, sequence: '\x18' }),
      ],
      'a|',
    ],
    ['an unknown sequence', [makeKey('undefined', { sequence: '\x1b[99~' })], '|'],
    ['a backslash at the end', [keysOf('one\\'), ENTER, keysOf('two')], 'one\ntwo|'],
    ['Alt+Enter', [keysOf('one'), makeKey('return', { meta: true }), keysOf('two')], 'one\ntwo|'],
    ['the beginning of the second line', [keysOf('one\\'), ENTER, keysOf('two'), ctrlKey('a')], 'one\n|two'],
    [
      'a paste',
      [makeKey('paste-start'), keysOf('one\r'), makeKey('undefined', { sequence: '\x1b[31m' }), keysOf('two'), makeKey('paste-end')],
      'one\ntwo|',
    ],
  ])('%s', (_, keys, expected) => {
    const { editor, sentMessages } = pressKeys(...keys)
    expect(sentMessages).toEqual([])
    expect(`${editor.text.slice(0, editor.cursor)}|${editor.text.slice(editor.cursor)}`).toBe(expected)
  })

  test('sends the message at Enter, without leading and trailing spaces', () => {
    expect(pressKeys(keysOf(' one '), ENTER, keysOf('two'), ENTER).sentMessages).toEqual(['one', 'two'])
    expect(pressKeys(ENTER).sentMessages).toEqual([''])
  })

  test('recalls a sent message', () => {
    const { editor } = pressKeys(keysOf('one'), ENTER, keysOf('two'), ENTER, makeKey('up'), makeKey('up'), makeKey('up'))
    expect(editor.text).toBe('one')
    editor.onKey(makeKey('down'))
    expect(editor.text).toBe('two')
    editor.onKey(makeKey('down'))
    editor.onKey(makeKey('down'))
    expect(editor.text).toBe('')
  })
})

describe('the drawing of the editor', () => {
  const drawLines = (typing: string, columns: number, maxLines = 8) => {
    const { editor } = pressKeys([{ sequence: typing }])
    return editor.draw(columns, maxLines)
  }

  test.each([
    ['', 20, ['> '], 0, 2],
    ['hello', 20, ['> hello'], 0, 7],
    ['one\ntwo', 20, ['> one', '  two'], 1, 5],
    ['abcdefgh', 8, ['> abcde', '  fgh'], 1, 5],
    ['abcde', 8, ['> abcde'], 0, 7],
    ['漢字漢', 8, ['> 漢字', '  漢'], 1, 4],
    ['a\tb', 20, ['> a b'], 0, 5],
  ])('has the right lines and cursor for %j in %d columns', (typing, columns, lines, line, column) => {
    expect(drawLines(typing, columns)).toEqual({ lines, cursor: { line, column } })
  })

  test('shows the rows around the cursor when there are too many', () => {
    expect(drawLines('1\n2\n3\n4', 20, 2)).toEqual({ lines: ['  3', '  4'], cursor: { line: 1, column: 3 } })
    const { editor } = pressKeys([{ sequence: '1\n2\n3\n4' }])
    editor.cursor = 0
    expect(editor.draw(20, 2)).toEqual({ lines: ['> 1', '  2'], cursor: { line: 0, column: 2 } })
  })

  test('has the cursor before a wrapped character', () => {
    const { editor } = pressKeys([{ sequence: 'abcdefgh' }])
    editor.cursor = 5
    expect(editor.draw(8, 8).cursor).toEqual({ line: 1, column: 2 })
  })

  test('leaves the last column free, because a terminal would wrap', () => {
    for (let columns = 6; columns < 20; columns++) {
      for (const line of drawLines('ab漢字🙂 long text\nwith two lines', columns, 99).lines)
        expect(displayWidth(line)).toBeLessThan(columns)
    }
  })
})
