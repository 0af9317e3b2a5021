// The line editor for messages: each key, several lines, and the drawing.
import { describe, expect, test } from 'vitest'
import { LineEditor, type Key } from '../../../../src/cli/live/line-editor.ts'
import { displayWidth } from '../../../../src/cli/print/text.ts'

const key = (name: string, more: Partial<Key> = {}): Key => ({ name, sequence: '', ...more })
const ctrl = (name: string): Key => key(name, { ctrl: true })
const ENTER = key('return', { sequence: '\r' })
const text = (typed: string): Key[] => Array.from(typed, (character) => ({ name: character, sequence: character }))

function typed(...keys: readonly (Key | Key[])[]): { editor: LineEditor; sent: string[] } {
  const editor = new LineEditor()
  const sent = keys.flat().flatMap((each) => editor.onKey(each) ?? [])
  return { editor, sent }
}

describe('keys', () => {
  // The text after the keys, with | at the cursor.
  test.each<[string, (Key | Key[])[], string]>([
    ['typing', [text('ab')], 'ab|'],
    ['left and right', [text('ab'), key('left'), key('left'), key('right'), text('x')], 'ax|b'],
    ['over a whole character', [text('a'), [{ sequence: 'e\u0301' }], key('left')], 'a|e\u0301'],
    ['over an emoji', [text('a'), [{ sequence: '👩‍👧' }], key('backspace')], 'a|'],
    ['home and end', [text('ab'), ctrl('a'), text('x'), ctrl('e'), text('y')], 'xaby|'],
    ['backspace at the beginning', [key('backspace'), text('a')], 'a|'],
    ['delete', [text('abc'), key('home'), key('delete')], '|bc'],
    ['to the beginning', [text('one two'), key('left'), ctrl('u')], '|o'],
    ['to the end', [text('one two'), key('home'), ctrl('k')], '|'],
    ['a word back', [text('one two '), ctrl('w')], 'one |'],
    ['a word on', [text('one two'), key('home'), key('f', { meta: true })], 'one| two'],
    ['words', [text('one two'), key('left', { ctrl: true }), key('left', { ctrl: true }), key('right', { ctrl: true })], 'one| two'],
    [
      'keys that are no text',
      [
        text('a'),
        key('escape', { sequence: '\x1b' }),
        key('f5', { sequence: '\x1b[15~' }),
        key('tab', { sequence: '\t' }),
        key('x', { ctrl: true, sequence: '\x18' }),
      ],
      'a|',
    ],
    ['an unknown sequence', [key('undefined', { sequence: '\x1b[99~' })], '|'],
    ['a backslash at the end', [text('one\\'), ENTER, text('two')], 'one\ntwo|'],
    ['Alt+Enter', [text('one'), key('return', { meta: true }), text('two')], 'one\ntwo|'],
    ['the beginning of the second line', [text('one\\'), ENTER, text('two'), ctrl('a')], 'one\n|two'],
    [
      'a paste',
      [key('paste-start'), text('one\r'), key('undefined', { sequence: '\x1b[31m' }), text('two'), key('paste-end')],
      'one\ntwo|',
    ],
  ])('%s', (_, keys, shown) => {
    const { editor, sent } = typed(...keys)
    expect(sent).toEqual([])
    expect(`${editor.text.slice(0, editor.cursor)}|${editor.text.slice(editor.cursor)}`).toBe(shown)
  })

  test('Enter sends the message without leading and trailing spaces', () => {
    expect(typed(text(' one '), ENTER, text('two'), ENTER).sent).toEqual(['one', 'two'])
    expect(typed(ENTER).sent).toEqual([''])
  })

  test('a sent message can be recalled', () => {
    const { editor } = typed(text('one'), ENTER, text('two'), ENTER, key('up'), key('up'), key('up'))
    expect(editor.text).toBe('one')
    editor.onKey(key('down'))
    expect(editor.text).toBe('two')
    editor.onKey(key('down'))
    editor.onKey(key('down'))
    expect(editor.text).toBe('')
  })
})

describe('the drawing', () => {
  const drawn = (typing: string, columns: number, maxLines = 8) => {
    const { editor } = typed([{ sequence: typing }])
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
  ])('of %j in %d columns', (typing, columns, lines, line, column) => {
    expect(drawn(typing, columns)).toEqual({ lines, cursor: { line, column } })
  })

  test('shows the rows around the cursor when there are too many', () => {
    expect(drawn('1\n2\n3\n4', 20, 2)).toEqual({ lines: ['  3', '  4'], cursor: { line: 1, column: 3 } })
    const { editor } = typed([{ sequence: '1\n2\n3\n4' }])
    editor.cursor = 0
    expect(editor.draw(20, 2)).toEqual({ lines: ['> 1', '  2'], cursor: { line: 0, column: 2 } })
  })

  test('has the cursor before a wrapped character', () => {
    const { editor } = typed([{ sequence: 'abcdefgh' }])
    editor.cursor = 5
    expect(editor.draw(8, 8).cursor).toEqual({ line: 1, column: 2 })
  })

  test('leaves the last column free, because a terminal would wrap', () => {
    for (let columns = 6; columns < 20; columns++) {
      for (const line of drawn('ab漢字🙂 long text\nwith two lines', columns, 99).lines) expect(displayWidth(line)).toBeLessThan(columns)
    }
  })
})
