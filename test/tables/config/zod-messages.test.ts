// Messages for invalid values, which never quote the value.
import { expect, test } from 'vitest'
import * as z from 'zod'
import { issueText } from '../../../src/config/zod-messages.ts'

test.each([
  [z.number(), 'x', 'must be a number'],
  [z.number(), Number.NaN, 'must be a number'],
  [z.string(), undefined, 'is missing'],
  [z.string(), 7, 'must be a text'],
  [z.array(z.string()), 'x', 'must be a list'],
  [z.record(z.string(), z.string()), [], 'must be an object with keys and values'],
  [z.object({}), 'x', 'must be an object with keys and values'],
  [z.boolean(), 1, 'must be true or false'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.number().min(1), 0, 'must be at least 1'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.number().max(60), 61, 'must be at most 60'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().max(3), 'secret', 'must have at most 3 characters'],
  [z.array(z.string()).min(2), ['a'], 'must have at least 2 entries'],
  [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entry'],
  [z.enum(['low', 'high']), 'secret', 'must be one of low, high'],
  [z.literal('a'), 'secret', 'must be a'],
  [z.string('expected a name'), 7, 'expected a name'],
  [z.string().regex(/^a/, 'must begin with a'), 'secret', 'must begin with a'],
  [z.record(z.string().regex(/^a/, 'expected a name with an a'), z.string()), { b: 'x' }, 'is not a valid name: expected a name with an a'],
  [z.record(z.string().min(1), z.string()), { '': 'x' }, 'is not a valid name: must not be empty'],
  [z.record(z.string().regex(/^a/), z.string()), { b: 'x' }, 'is not a valid name'],
  [z.string().regex(/^a/), 'secret', 'has the wrong format'],
  [z.union([z.string(), z.array(z.string())]), 7, 'has none of the allowed forms'],
  [z.strictObject({ a: z.string() }), { a: 'x', b: 'y' }, 'has an unknown key `b`'],
  [z.number().multipleOf(2), 3, 'must be a multiple of 2'],
] as const)('an invalid value is described by its rule and is not quoted: $2', (schema, value, message) => {
  const result = schema.safeParse(value)
  expect(result.error?.issues.map(issueText)).toEqual([message])
})
