// The exit code of each error of the command line.
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/api/client/api-error.ts'
import { exitCode, Failure, UsageError } from '../../../src/cli/errors.ts'
import { ERRORS, KernelError, type ErrorCode } from '../../../src/kernel/model/errors.ts'

describe('the exit code of an error', () => {
  test.each(Object.keys(ERRORS) as ErrorCode[])('%s is the one in the table', (code) => {
    for (const error of [new ApiError(code, ''), new KernelError(code, '')]) {
      expect(exitCode(error, false)).toBe(ERRORS[code].exit)
      const errorExit = ERRORS[code].exit
      expect(exitCode(error, true)).toBe(errorExit >= 124 && errorExit <= 127 ? errorExit : 125)
    }
  })

  test('is 64 for a usage error, its own for a Failure, and 125 for a defect; verbs like run exit with 125 for a usage error', () => {
    expect([exitCode(new UsageError(''), false), exitCode(new UsageError(''), true)]).toEqual([64, 125])
    expect([exitCode(new Failure(4, ''), false), exitCode(new TypeError(''), false)]).toEqual([4, 125])
  })
})
