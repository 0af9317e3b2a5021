// Labels as they are typed: new ones, changes and filters.
import { expect, test } from 'vitest'
import { labelFilter, parseLabelChanges, parseLabels } from '../../../../src/cli/input/labels.ts'

test('a label of a new process has a key, and may have a value', () => {
  expect(parseLabels([])).toBeUndefined()
  expect(parseLabels(['team=web', 'draft', 'query=a=b,c'])).toEqual({ team: 'web', draft: '', query: 'a=b,c' })
  expect(() => parseLabels(['=web'])).toThrow('"=web" is not a label')
})

test.each(['team=db,env=prod', 'team=,env=prod', 'a=b,c,d.e=f'])('%s looks like several labels, and is refused', (text) => {
  for (const parse of [parseLabels, parseLabelChanges, labelFilter])
    expect(() => parse([text])).toThrow(`"${text}" looks like several labels in one`)
})

test('a change sets a label; a key with a dash at its end removes one', () => {
  expect(parseLabelChanges(['team=web-', 'draft-', 'a-b'])).toEqual({ team: 'web-', draft: null, 'a-b': '' })
})

test.each([
  [['team=web'], true],
  [['team'], true],
  [['team=docs'], false],
  [['team', 'other'], false],
  [['draft='], true],
  [[], true],
])('the filters %j match the labels of the process: %s', (texts, expected) => {
  expect(labelFilter(texts)({ team: 'web', draft: '' })).toBe(expected)
})
