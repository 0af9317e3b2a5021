// The cache of parsed files: the same text is parsed once, and no reader can change the value of another.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { parseOnce } from '../../../src/config/parse-once.ts'

test('a file is parsed once until it changes, and each reader gets a copy', () => {
  let parseCount = 0
  const format = { schema: z.object({ a: z.array(z.number()) }).transform((value) => ((parseCount += 1), value)), knownKeys: () => ['a'] }
  const parseFile = (text: string, file = '/f'): unknown => parseOnce(text, format, file)
  const firstParse = parseFile('a: [1]') as { value: { a: number[] } }
  firstParse.value.a.push(2)
  expect(parseFile('a: [1]')).toEqual({ ok: true, value: { a: [1] } })
  expect(parseCount).toBe(1)
  expect(parseFile('a: [3]')).toEqual({ ok: true, value: { a: [3] } })
  expect(parseFile('a: [3]', '/g')).toEqual({ ok: true, value: { a: [3] } })
  expect(parseCount).toBe(3)
  expect(parseFile('a: x', '/g')).toEqual(parseFile('a: x', '/g'))
  expect(parseFile('a: x', '/g')).toMatchObject({ ok: false, problem: { file: '/g', line: 1 } })
})
