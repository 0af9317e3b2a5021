// Sizes as users write them.
import { expect, test } from 'vitest'
import { parseBytes } from '../../../src/config/bytes.ts'

test.each<[string, number | null]>([
  ['0', 0],
  ['17', 17],
  ['5GiB', 5 * 2 ** 30],
  ['5 gib', 5 * 2 ** 30],
  ['1.5MiB', 1_572_864],
  ['2GB', 2_000_000_000],
  ['10kB', 10_000],
  ['1b', 1],
  ['', null],
  ['-1', null],
  ['5 G', null],
  ['GiB', null],
  ['5GiBs', null],
  ['1e9', null],
  ['99999999999TiB', null],
])('the size %j is %j bytes', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes)
})
