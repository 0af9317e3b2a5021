// What the user reads when requests that were sent together fail.
import { expect, test } from 'vitest'
import { failureOfAll, type Failure } from '../../../web/request-error.ts'

const NAME: Failure = { message: 'the name is taken', hint: 'Choose another.' }
const GONE: Failure = { message: 'no process 7', hint: '' }

test.each<[string, (Failure | null)[], Failure | null]>([
  ['nothing, if all were accepted', [null, null], null],
  ['nothing of no requests', [], null],
  ['the error of one request', [NAME], NAME],
  ['an error before a success', [NAME, null], { ...NAME, message: '1 of 2 failed: the name is taken' }],
  ['an error after a success', [null, NAME], { ...NAME, message: '1 of 2 failed: the name is taken' }],
  ['the first of several errors', [null, GONE, NAME], { ...GONE, message: '2 of 3 failed: no process 7' }],
])('the user reads %s', (_, failures, expected) => {
  expect(failureOfAll(failures)).toEqual(expected)
})
