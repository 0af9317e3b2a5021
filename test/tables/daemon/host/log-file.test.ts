// The daemon's log file and its limit. A rotation never removes the newest lines.
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LogFile } from '../../../../src/daemon/host/log-file.ts'
import { tempDir } from '../../../support/tmp.ts'

const makeLine = (number: number): string => `${String(number).padStart(99, '.')}\n`
const numbersIn = (file: string): number[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => Number(text.replaceAll('.', '')))

test('a new file begins at the limit, and one old file is kept, so that the newest lines are there in order', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'daemon.log')
  const log = new LogFile(file, 1_000)
  for (let number = 1; number <= 35; number++) log.write(makeLine(number))
  expect(readdirSync(dir.path).toSorted()).toEqual(['daemon.log', 'daemon.log.1'])
  expect([...numbersIn(`${file}.1`), ...numbersIn(file)]).toEqual(Array.from({ length: 15 }, (_, index) => 21 + index))
  for (const one of [file, `${file}.1`]) expect([statSync(one).size <= 1_000, statSync(one).mode & 0o777]).toEqual([true, 0o600])
})

test('the file of an earlier daemon is continued, and its size counts towards the limit', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'daemon.log')
  for (let number = 1; number <= 12; number++) new LogFile(file, 1_000).write(makeLine(number))
  expect([numbersIn(`${file}.1`), numbersIn(file)]).toEqual([Array.from({ length: 10 }, (_, index) => 1 + index), [11, 12]])
})

test('a line that is longer than the limit is written completely', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'daemon.log')
  const log = new LogFile(file, 10)
  log.write(makeLine(1))
  log.write(makeLine(2))
  expect([numbersIn(`${file}.1`), numbersIn(file)]).toEqual([[1], [2]])
})

test('an unwritable log causes no error, and later lines are written when that is possible', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'no', 'daemon.log')
  const log = new LogFile(file, 1_000)
  log.write(makeLine(1))
  mkdirSync(join(dir.path, 'no'))
  log.write(makeLine(2))
  expect(numbersIn(file)).toEqual([2])
  // A directory has the name of the old file, so the new file grows beyond its limit.
  mkdirSync(join(`${file}.1`, 'x'), { recursive: true })
  writeFileSync(join(`${file}.1`, 'x', 'y'), '')
  for (let number = 3; number <= 20; number++) log.write(makeLine(number))
  expect(numbersIn(file)[0]).toBe(2)
  rmSync(`${file}.1`, { recursive: true })
  log.write(makeLine(21))
  expect(numbersIn(file)).toEqual([21])
})
