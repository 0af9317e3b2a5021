// The rule of labels: valid and invalid keys and values, and their number.
import { describe, expect, test } from 'vitest'
import { labelChangeRule, labelsRule } from '../../../src/config/label-rules.ts'

const makeLabels = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, '']))

describe('the labels', () => {
  test.each([{ team: 'web' }, { 'app.io/part-of': 'Überblick 1' }, { a: '' }, { ['k'.repeat(63)]: 'v'.repeat(256) }, makeLabels(32)])(
    '%j are valid',
    (labels) => expect(labelsRule.safeParse(labels).success).toBe(true),
  )

  test.each([
    [{ '': 'x' }, 'a key of a label has 1 to 63 of [a-z0-9._/-]'],
    [{ Team: 'x' }, 'a key of a label'],
    [{ 'team-': 'x' }, 'begins and ends with a letter or digit'],
    [{ ['k'.repeat(64)]: 'x' }, 'a key of a label'],
    [{ a: 'v'.repeat(257) }, 'the value of a label has at most 256 characters'],
    [{ a: 'x\ny' }, 'the value of a label has no control characters'],
    [{ a: null }, 'expected string'],
    [makeLabels(33), 'a process has at most 32 labels'],
  ])('%j are refused', (labels, message) => {
    expect(JSON.stringify(labelsRule.safeParse(labels).error?.issues)).toContain(message)
  })

  test('null removes a label in a change only', () => expect(labelChangeRule.safeParse({ a: null }).success).toBe(true))
})
