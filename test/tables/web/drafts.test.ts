// What the page keeps of what the user typed.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  draftOf,
  fieldsOf,
  forgetDrafts,
  hideDrafts,
  keepDraft,
  openDrafts,
  parseDrafts,
  restoreDrafts,
  withDraft,
} from '../../../web/drafts.ts'

test.each([
  ['nothing was stored', null, []],
  [
    'drafts',
    '{"session":"7f3a","drafts":[["a","text"],["b c","more"]]}',
    [
      ['a', 'text'],
      ['b c', 'more'],
    ],
  ],
  ['drafts of another session', '{"session":"1b2c","drafts":[["a","text"]]}', []],
  ['no JSON', '{"session":"7f3a', []],
  ['JSON of another kind', '[["a","text"]]', []],
  ['no object', 'null', []],
  ['some entries of another kind', '{"session":"7f3a","drafts":[["a",1],["b"],["c","text"],null]}', [['c', 'text']]],
])('reads what is stored: %s', (_, stored, expected) => {
  expect([...parseDrafts(stored, '7f3a')]).toEqual(expected)
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

const EMPTY = { intent: '', hasWorktree: false }

test.each([
  ['nothing was typed', '', EMPTY],
  ['a part of the fields', '{"intent":"fix"}', { intent: 'fix', hasWorktree: false }],
  ['no JSON', '{"intent":', EMPTY],
  ['no object', 'null', EMPTY],
  ['fields of another type, and unknown ones', '{"intent":["fix"],"hasWorktree":true,"more":1}', { intent: '', hasWorktree: true }],
])('reads the fields of a form: %s', (_, draft, expected) => {
  expect(fieldsOf(draft, EMPTY)).toEqual(expected)
})

describe('the storage of the tab', () => {
  const stored = new Map<string, string>()
  const texts = (): string => [...stored.values()].join()

  beforeEach(() => {
    stored.clear()
    vi.stubGlobal('sessionStorage', {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, text: string) => void stored.set(key, text),
      removeItem: (key: string) => void stored.delete(key),
    })
    openDrafts('7f3a')
    keepDraft('a', 'a secret')
  })
  afterEach(() => {
    forgetDrafts()
    vi.unstubAllGlobals()
  })

  test('has the drafts after a reload', () => {
    openDrafts('7f3a')
    expect(draftOf('a')).toBe('a secret')
  })

  test('has no drafts while the daemon is away, and all of them afterwards', () => {
    hideDrafts()
    expect([texts(), draftOf('a')]).toEqual(['', 'a secret'])
    keepDraft('b', 'typed meanwhile')
    expect(texts()).toBe('')
    restoreDrafts('7f3a')
    openDrafts('7f3a')
    expect([draftOf('a'), draftOf('b')]).toEqual(['a secret', 'typed meanwhile'])
  })

  test('loses the drafts with their session', () => {
    forgetDrafts()
    expect([texts(), draftOf('a')]).toEqual(['', ''])
  })

  test('loses the drafts of another session', () => {
    openDrafts('1b2c')
    expect([texts(), draftOf('a')]).toEqual(['', ''])
  })
})
