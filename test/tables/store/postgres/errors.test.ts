// Which code each error of PostgreSQL gets, and which errors leave the end of a write unknown.
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { isRefusal, postgresError } from '../../../../src/store/postgres/errors.ts'

function serverError(code: string, fields: Partial<DatabaseError> = {}): DatabaseError {
  return Object.assign(new DatabaseError(`error ${code}`, 0, 'error'), { code, severity: 'ERROR', ...fields })
}

test.each([
  ['53100', 'DISK_FULL', true],
  ['58030', 'DISK_FAILED', true],
  ['42501', 'STORE_UNSUITABLE', true],
  ['42P01', 'STORE_REGRESSED', true],
  ['42703', 'STORE_NEWER', true],
  ['25006', 'STORE_UNREACHABLE', true],
  ['28P01', 'STORE_UNREACHABLE', true],
  ['3D000', 'STORE_UNREACHABLE', true],
  ['53300', 'STORE_UNREACHABLE', true],
  ['40001', 'UNAVAILABLE', true],
  ['57014', 'UNAVAILABLE', true],
  ['XX001', 'STORE_DAMAGED', true],
  ['22P05', 'INTERNAL', true],
  ['08006', 'STORE_UNREACHABLE', false],
  ['57P01', 'STORE_UNREACHABLE', false],
  ['57P02', 'STORE_UNREACHABLE', false],
  ['40003', 'INTERNAL', false],
])('SQLSTATE %s is %s; nothing was written: %s', (state, code, isKnown) => {
  expect(postgresError(serverError(state), 'The commit')).toMatchObject({
    code,
    message: `The commit: error ${state}`,
    details: { sqlstate: state },
  })
  expect(isRefusal(serverError(state))).toBe(isKnown)
})

test('a lost connection leaves the end unknown', () => {
  const lost = new Error('Connection terminated unexpectedly')
  expect(isRefusal(lost)).toBe(false)
  expect(postgresError(lost, 'The commit')).toMatchObject({ code: 'STORE_UNREACHABLE', cause: lost })
})

test('a second living process of a name is a conflict', () => {
  const error = serverError('23505', { constraint: 'process_living_name', detail: 'Key (name)=(ann) already exists.' })
  expect(postgresError(error, 'The commit')).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('ann') })
})

test('several failed addresses are named', () => {
  const error = new AggregateError([new Error('connect ECONNREFUSED ::1:5432'), new Error('connect ECONNREFUSED 127.0.0.1:5432')])
  expect(postgresError(error, 'The database').message).toContain('127.0.0.1:5432')
})
