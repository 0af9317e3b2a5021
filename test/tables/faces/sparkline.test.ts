// Numbers as small bars.
import { expect, test } from 'vitest'
import { sparkline } from '../../../src/faces/sparkline.ts'

test.each([
  [[], ''],
  [[0, 0], ''],
  [[0, 4, 8], '▁▅█'],
  [[0.001, 100], '▂█'],
])('%j: %s', (values, expected) => {
  expect(sparkline(values, false)).toBe(expected)
})

test('without Unicode', () => {
  expect(sparkline([0, 4, 8], true)).toBe('_+#')
})
