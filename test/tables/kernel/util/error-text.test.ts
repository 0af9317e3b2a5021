// The text of a caught value: an error, a subclass of it, and values that are not errors.
import { expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { errorText } from '../../../../src/kernel/util/error-text.ts'

test.each([
  [new Error('broken'), 'broken'],
  [new KernelError('INVALID', 'the name is taken'), 'the name is taken'],
  ['a string', 'a string'],
  [undefined, 'undefined'],
  [null, 'null'],
  [7, '7'],
])('%j has the text %j', (error, text) => {
  expect(errorText(error)).toBe(text)
})
