// What the page keeps of what the user typed.
import { expect, test } from 'vitest'
import { parseDrafts, withDraft } from '../../../../web/drafts.ts'

test.each([
  ['nothing was stored', null, []],
  [
    'drafts',
    '[["a","text"],["b c","more"]]',
    [
      ['a', 'text'],
      ['b c', 'more'],
    ],
  ],
  ['no JSON', '[["a', []],
  ['JSON of another kind', '{"a":"text"}', []],
  ['some entries of another kind', '[["a",1],["b"],["c","text"],null]', [['c', 'text']]],
])('reads what is stored: %s', (_, stored, expected) => {
  expect([...parseDrafts(stored)]).toEqual(expected)
})

test('a draft that changes is the newest, and an empty one goes', () => {
  const two = withDraft(withDraft(new Map(), 'a', 'one'), 'b', 'two')
  expect([...withDraft(two, 'a', 'ONE')]).toEqual([
    ['b', 'two'],
    ['a', 'ONE'],
  ])
  expect([...withDraft(two, 'a', '')]).toEqual([['b', 'two']])
  expect([...withDraft(two, 'c', '')]).toEqual([...two])
})

test('of very many drafts the oldest go', () => {
  let drafts: ReturnType<typeof parseDrafts> = new Map()
  for (let index = 0; index < 60; index += 1) drafts = withDraft(drafts, `${index}`, 'text')
  expect([...drafts.keys()]).toEqual(Array.from({ length: 50 }, (_, index) => `${index + 10}`))
})
