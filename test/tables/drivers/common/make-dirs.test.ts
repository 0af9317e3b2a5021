// `makeDirs` creates directories with their missing parents, or fails in finite time.
import { mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeDirs } from '../../../../src/drivers/common/make-dirs.ts'
import { pathExists } from '../../../../src/drivers/common/path-exists.ts'
import { tempDir } from '../../../support/tmp.ts'

test('creates the missing directories, and leaves existing ones alone', async () => {
  await using dir = await tempDir()
  await mkdir(join(dir.path, 'a'))
  await makeDirs(join(dir.path, 'a', 'b', 'c'))
  await makeDirs(join(dir.path, 'a', 'b', 'c'))
  expect((await stat(join(dir.path, 'a', 'b', 'c'))).isDirectory()).toBe(true)
})

test('follows a link to a directory', async () => {
  await using dir = await tempDir()
  await mkdir(join(dir.path, 'a'))
  await symlink('a', join(dir.path, 'link'))
  await makeDirs(join(dir.path, 'link', 'b'))
  expect((await stat(join(dir.path, 'a', 'b'))).isDirectory()).toBe(true)
})

test('a file in the path is an error', async () => {
  await using dir = await tempDir()
  await writeFile(join(dir.path, 'file'), '')
  await expect(makeDirs(join(dir.path, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeDirs(join(dir.path, 'file', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test.skipIf(process.platform !== 'linux')('a directory that accepts no entries is an error, and the search for it ends', async () => {
  await expect(makeDirs('/proc/reeve-none/b')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('`pathExists` reports whether a path exists, even if its bytes are not text', async () => {
  await using dir = await tempDir()
  const bytes = Buffer.concat([Buffer.from(`${dir.path}/`), Buffer.from([0xff])])
  await writeFile(bytes, '')
  await symlink('nowhere', join(dir.path, 'link'))
  expect(await Promise.all([dir.path, bytes, join(dir.path, 'a'), join(dir.path, 'link')].map(pathExists))).toEqual([
    true,
    true,
    false,
    false,
  ])
})
