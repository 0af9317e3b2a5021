// Directories with all above them: made where they can be, and refused, in finite time, where they cannot.
import { mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeDirs } from '../../src/drivers/make-dirs.ts'
import { tempDir } from '../support/tmp.ts'

test('makes all that are missing, and leaves what is there', async () => {
  await using dir = await tempDir()
  await mkdir(join(dir.path, 'a'))
  await makeDirs(join(dir.path, 'a', 'b', 'c'))
  await makeDirs(join(dir.path, 'a', 'b', 'c'))
  expect((await stat(join(dir.path, 'a', 'b', 'c'))).isDirectory()).toBe(true)
})

test('goes through a link to a directory', async () => {
  await using dir = await tempDir()
  await mkdir(join(dir.path, 'a'))
  await symlink('a', join(dir.path, 'link'))
  await makeDirs(join(dir.path, 'link', 'b'))
  expect((await stat(join(dir.path, 'a', 'b'))).isDirectory()).toBe(true)
})

test('a file in the way is an error', async () => {
  await using dir = await tempDir()
  await writeFile(join(dir.path, 'file'), '')
  await expect(makeDirs(join(dir.path, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeDirs(join(dir.path, 'file', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test.skipIf(process.platform !== 'linux')('a place that takes no entries is an error, and not a search without end', async () => {
  await expect(makeDirs('/proc/reeve-none/b')).rejects.toMatchObject({ code: 'ENOENT' })
})
