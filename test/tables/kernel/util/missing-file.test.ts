// A missing file has a value; any other error of the file system stays an error.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ifMissing } from '../../../../src/kernel/util/missing-file.ts'
import { tempDir } from '../../../support/tmp.ts'

test('`ifMissing` returns the value for a missing file, and for a path below a file', async () => {
  await using dir = await tempDir()
  expect(await readFile(join(dir.path, 'none'), 'utf8').catch(ifMissing('nothing'))).toBe('nothing')
  expect(await readFile('/proc/version/none', 'utf8').catch(ifMissing(null))).toBe(null)
})

test.each([
  ['a directory', '', 'EISDIR'],
  ['a name that is too long', 'x'.repeat(300), 'ENAMETOOLONG'],
])('`ifMissing` passes on the error for %s', async (_, name, code) => {
  await using dir = await tempDir()
  await expect(readFile(join(dir.path, name), 'utf8').catch(ifMissing(''))).rejects.toMatchObject({ code })
})
