// The line editor for messages: each key, several lines, and the drawing.
import { describe, expect, test } from 'vitest'
import { LineEditor, type Key } from '../../../../src/cli/screen/line-editor.ts'
import { displayWidth } from '../../../../src/cli/print/text.ts'

const makeKey = (name: string, changes: Partial<Key> = {}): Key => ({ name, sequence: '', ...changes })
const ctrlKey = (name: string): Key => makeKey(name, { ctrl: true })
const ENTER = makeKey('return', { sequence: '\r' })
const keysOf = (text: string): Key[] => Array.from(text, (character) => ({ name: character, sequence: character }))

function pressKeys(...keys: readonly (Key | Key[])[]): { editor: LineEditor; sentMessages: string[] } {
  const editor = new LineEditor()
  const sentMessages = keys.flat().flatMap((key) => editor.onKey(key) ?? [])
  return { editor, sentMessages }
}

describe('the editor', () => {
  // The text after the keys, with | at the cursor.
  test.each<[string, (Key | Key[])[], string]>([
    ['typed text', [keysOf('ab')], 'ab|'],
    ['the arrow keys', [keysOf('ab'), makeKey('left'), makeKey('left'), makeKey('right'), keysOf('x')], 'ax|b'],
    ['a step over a character with a combining accent', [keysOf('a'), [{ sequence: 'e\u0301' }], makeKey('left')], 'a|e\u0301'],
    ['a backspace over an emoji of several code points', [keysOf('a'), [{ sequence: '👩‍👧' }], makeKey('backspace')], 'a|'],
    ['Ctrl+A and Ctrl+E, which are home and end', [keysOf('ab'), ctrlKey('a'), keysOf('x'), ctrlKey('e'), keysOf('y')], 'xaby|'],
    ['a backspace at the beginning', [makeKey('backspace'), keysOf('a')], 'a|'],
    ['the delete key', [keysOf('abc'), makeKey('home'), makeKey('delete')], '|bc'],
    ['Ctrl+U, which deletes up to the beginning', [keysOf('one two'), makeKey('left'), ctrlKey('u')], '|o'],
    ['Ctrl+K, which deletes up to the end', [keysOf('one two'), makeKey('home'), ctrlKey('k')], '|'],
    ['Ctrl+W, which deletes a word', [keysOf('one two '), ctrlKey('w')], 'one |'],
    ['Alt+F, which moves a word forward', [keysOf('one two'), makeKey('home'), makeKey('f', { meta: true })], 'one| two'],
    [
      'Ctrl with the arrow keys, which moves by words',
      [keysOf('one two'), makeKey('left', { ctrl: true }), makeKey('left', { ctrl: true }), makeKey('right', { ctrl: true })],
      'one| two',
    ],
    [
      'keys without a text, which change nothing',
      [
        keysOf('a'),
        makeKey('escape', { sequence: '\x1b' }),
        makeKey('f5', { sequence: '\x1b[15~' }),
        makeKey('tab', { sequence: '\t' }),
        makeKey('x', { ctrl: true, sequence: '\x18' }),
      ],
      'a|',
    ],
    ['an unknown sequence, which changes nothing', [makeKey('undefined', { sequence: '\x1b[99~' })], '|'],
    ['Enter after a backslash, which begins a line', [keysOf('one\\'), ENTER, keysOf('two')], 'one\ntwo|'],
    ['Alt+Enter, which begins a line', [keysOf('one'), makeKey('return', { meta: true }), keysOf('two')], 'one\ntwo|'],
    ['Ctrl+A in the second line', [keysOf('one\\'), ENTER, keysOf('two'), ctrlKey('a')], 'one\n|two'],
    [
      'a paste, whose line breaks stay',
      [makeKey('paste-start'), keysOf('one\r'), makeKey('undefined', { sequence: '\x1b[31m' }), keysOf('two'), makeKey('paste-end')],
      'one\ntwo|',
    ],
  ])('obeys %s', (_, keys, expected) => {
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
  ])('breaks %j into lines of %d columns, and has the cursor at its end', (typing, columns, lines, line, column) => {
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
