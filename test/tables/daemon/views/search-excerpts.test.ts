// Excerpts of a search: which texts of a fact are searched, what matches, and how much of a line is shown.
import { describe, expect, test } from 'vitest'
import { excerptsOf, patternOf, textsOf } from '../../../../src/daemon/views/search-excerpts.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'

const search = (text: string, wanted: string, ignoreCase = false): string[] =>
  [...excerptsOf(text, patternOf({ text: wanted, ignoreCase }))].map(({ before, match, after }) => `${before}[${match}]${after}`)

describe('an excerpt', () => {
  test.each([
    ['shows the line with the match', 'one\ntwo words\nthree', 'wor', ['two [wor]ds']],
    ['marks the first match of a line, and no other of that line', 'aa a\nb\na', 'a', ['[a]a a', '[a]']],
    ['takes special characters of the text literally', 'x a.b* (c) \\d /e y\naxb', 'a.b* (c) \\d /', ['x [a.b* (c) \\d /]e y']],
    ['does not exist where the case differs', 'Needle', 'needle', []],
    ['ignores colours and other escape sequences', '\x1b[31mred nee\x1b[0mdle', 'needle', ['red [needle]']],
    ['may span lines', 'a\nb\nc', 'a\nb', ['[a\nb]']],
    ['keeps whole characters', '😀😀', '😀', ['[😀]😀']],
  ])('%s', (_, text, wanted, expected) => {
    expect(search(text, wanted)).toEqual(expected)
  })

  test('can ignore the case, also of letters such as Ä', () => {
    expect(search('NEEDLE\nÄRGER', 'needle', true)).toEqual(['[NEEDLE]'])
    expect(search('ÄRGER', 'ärger', true)).toEqual(['[ÄRGER]'])
  })

  test('shows only a part of a long line, and marks the cut ends', () => {
    const [excerpt = ''] = search(`${'b'.repeat(1_000)}needle${'a'.repeat(1_000)}`, 'needle')
    expect(excerpt).toBe(`…${'b'.repeat(60)}[needle]${'a'.repeat(200)}…`)
  })

  test('of a text with a match in each of 100,000 lines is made only when it is read', () => {
    const [first] = excerptsOf('match\n'.repeat(100_000), patternOf({ text: 'match', ignoreCase: false }))
    expect(first).toEqual({ before: '', match: 'match', after: '' })
  })
})

test('messages, texts, reasoning, calls with all texts of their input, results and output are searched; nothing else is', () => {
  const answer = {
    type: 'model.finished',
    message: [
      { type: 'reasoning', text: 'why' },
      { type: 'text', text: 'said' },
      { type: 'tool-call', callId: 'a', name: 'edit', input: { path: 'a.ts', edits: [{ old: 'x\ny', count: 2, all: null }] } },
    ],
  }
  expect(textsOf(answer as unknown as FactBody)).toEqual([
    { kind: 'reasoning', text: 'why' },
    { kind: 'text', text: 'said' },
    { kind: 'call', text: 'edit\na.ts\nx\ny\n2' },
  ])
  expect(textsOf({ type: 'process.queue', id: 'm', from: 'user', text: 'do it' })).toEqual([{ kind: 'message', text: 'do it' }])
  expect(textsOf({ type: 'process.output', stream: 'stderr', text: 'printed' })).toEqual([{ kind: 'output', text: 'printed' }])
  expect(textsOf({ type: 'process.note', text: 'a note' })).toEqual([])
})
