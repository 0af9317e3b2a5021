// Errors of SQLite and the file system, and their error codes; each row is a cause that occurs in practice.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../src/kernel/model/errors.ts'
import { damageError, explainWrite, storeError } from '../../../src/store/errors.ts'

describe('codes of SQLite', () => {
  test.each([
    ['SQLITE_BUSY', 5, 'STORE_LOCKED'],
    ['SQLITE_LOCKED', 6, 'STORE_LOCKED'],
    ['SQLITE_READONLY', 8, 'READ_ONLY'],
    ['SQLITE_READONLY_DBMOVED', 1032, 'READ_ONLY'],
    ['SQLITE_IOERR_READ', 266, 'STORE_DAMAGED'],
    ['SQLITE_IOERR_SHORT_READ', 522, 'STORE_DAMAGED'],
    ['SQLITE_IOERR_WRITE', 778, 'DISK_FAILED'],
    ['SQLITE_IOERR_FSYNC', 1034, 'DISK_FAILED'],
    ['SQLITE_IOERR_LOCK', 3850, 'READ_ONLY'],
    ['SQLITE_CORRUPT', 11, 'STORE_DAMAGED'],
    ['SQLITE_FULL', 13, 'DISK_FULL'],
    ['SQLITE_CANTOPEN', 14, 'READ_ONLY'],
    ['SQLITE_CONSTRAINT_PRIMARYKEY', 1555, 'INTERNAL'],
    ['SQLITE_NOTADB', 26, 'STORE_DAMAGED'],
  ])('%s (%i) is %s', (name, errcode, code) => {
    const error = storeError(Object.assign(new Error(name), { code: 'ERR_SQLITE_ERROR', errcode }), 'The commit')
    expect(error).toMatchObject({ code, message: `The commit: ${name}`, details: { sqlite: errcode } })
  })
})

describe('codes of the file system and of Node', () => {
  test.each([
    ['ENOSPC', 'DISK_FULL'],
    ['EDQUOT', 'DISK_FULL'],
    ['EFBIG', 'DISK_FULL'],
    ['EIO', 'DISK_FAILED'],
    ['EACCES', 'READ_ONLY'],
    ['EROFS', 'READ_ONLY'],
    ['ENOTDIR', 'READ_ONLY'],
    ['ERR_INVALID_STATE', 'UNAVAILABLE'],
    ['ERR_OUT_OF_RANGE', 'STORE_DAMAGED'],
    ['EOTHER', 'INTERNAL'],
  ])('%s is %s', (name, code) => {
    expect(storeError(Object.assign(new Error('x'), { code: name }), 'The lock')).toMatchObject({ code })
  })
})

describe('a failed write gets the error of a test write', () => {
  const failedWrite = (): KernelError =>
    storeError(Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 778 }), 'The commit')
  test.each([
    ['EIO', 'DISK_FAILED', /dmesg/],
    ['EDQUOT', 'DISK_FULL', /quota/],
    ['EFBIG', 'DISK_FULL', /ulimit -f/],
    ['ENOSPC', 'DISK_FULL', /Free some space/],
    ['EROFS', 'READ_ONLY', /permissions/],
  ] as const)('%s is %s', (code, expected, hint) => {
    const explained = explainWrite(failedWrite(), () => {
      throw Object.assign(new Error(`${code}: words of the system`), { code })
    })
    expect(explained).toMatchObject({
      code: expected,
      hint: expect.stringMatching(hint),
      message: `The commit: disk I/O error: ${code}: words of the system`,
    })
  })

  test('a test write that succeeds leaves the error unchanged', () => {
    const error = failedWrite()
    expect(explainWrite(error, () => {})).toBe(error)
    const otherError = new KernelError('DISK_FULL', 'full')
    expect(
      explainWrite(otherError, () => {
        throw new Error('the test write must not run')
      }),
    ).toBe(otherError)
  })
})

test('a KernelError is returned unchanged', () => {
  const error = new KernelError('STORE_NEWER', 'x')
  expect(storeError(error, 'The commit')).toBe(error)
})

test('damage names its location', () => {
  expect(damageError({ table: 'journal', uuid: 'u', seq: 5 }, 'it is gone')).toMatchObject({
    code: 'STORE_DAMAGED',
    message: 'journal process u seq 5: it is gone',
    details: { table: 'journal', uuid: 'u', seq: 5 },
  })
})
