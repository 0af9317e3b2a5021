// Dropping undefined fields: null, false, 0 and empty values stay, and the result is a copy.
import { expect, test } from 'vitest'
import { withoutUndefined } from '../../../../src/kernel/util/without-undefined.ts'

test('only undefined fields are dropped', () => {
  const fields = { a: undefined, b: null, c: false, d: 0, e: '', f: [] }
  const result = withoutUndefined(fields)
  expect(Object.keys(result)).toEqual(['b', 'c', 'd', 'e', 'f'])
  expect(result).toEqual({ b: null, c: false, d: 0, e: '', f: [] })
  expect(Object.keys(fields)).toContain('a')
})
