// The table of keys: no key has two meanings at one place, and answers have the same keys wherever a question is shown.
import { expect, test } from 'vitest'
import { actionOfKey, actionsAt, beginsSequence, KEY_OF_OPTION, KEYS, keyTexts, type KeyPlace } from '../../../src/faces/keys.ts'

const PLACES = ['list', 'need', 'process', 'dialog'] as const satisfies readonly KeyPlace[]
const keysAt = (...places: readonly KeyPlace[]): string[] => actionsAt(new Set(places)).flatMap((action) => [...KEYS[action].keys])

test.each(PLACES)('at the place "%s" each key has one meaning', (place) => {
  const keys = place === 'dialog' ? keysAt('dialog') : keysAt('anywhere', 'need', place)
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([])
})

test('no key is also the first of a sequence of two keys', () => {
  const firsts = PLACES.flatMap((place) => keysAt('anywhere', place)).filter((key) => beginsSequence(key) && !key.includes(' '))
  expect(firsts).toEqual([])
})

test('a key that opens a dialog never confirms it', () => {
  const confirming = keysAt('dialog')
  for (const action of ['stop', 'kill'] as const) expect(KEYS[action].keys.some((key) => confirming.includes(key))).toBe(false)
})

test('options of a question have keys by their kind', () => {
  expect(KEY_OF_OPTION).toEqual({ allow_once: 'a', allow_always: 'A', reject_once: 'd', reject_always: 'D' })
  expect(actionOfKey('a', new Set(['list']))).toBe('allow')
  expect(actionOfKey('a', new Set(['process']))).toBe('allow')
  expect(actionOfKey('a', new Set(['dialog']))).toBeUndefined()
})

test('keys are written as on a keyboard', () => {
  expect(keyTexts('peek')).toEqual(['Space'])
  expect(keyTexts('goToNeed')).toEqual(['1…9'])
  expect(keyTexts('selectFirst')).toEqual(['g g', 'Home'])
  expect(keyTexts('openPalette')).toEqual(['Ctrl+K', ':'])
})
