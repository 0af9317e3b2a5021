// Numbers as small bars.
import { expect, test } from 'vitest'
import { sparkline } from '../../../src/faces/sparkline.ts'

test.each([
  [[], ''],
  [[0, 0], ''],
  [[0, 4, 8], '▁▅█'],
  [[0.001, 100], '▂█'],
])('the bars of %j are "%s"', (values, expected) => {
  expect(sparkline(values, false)).toBe(expected)
})

test('without Unicode the bars are ASCII characters', () => {
  expect(sparkline([0, 4, 8], true)).toBe('_+#')
})
