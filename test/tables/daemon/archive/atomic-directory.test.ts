// createDirectory: while one writer creates a directory, a second writer of the same path is refused, also through a symbolic link.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDirectory } from '../../../../src/daemon/archive/atomic-directory.ts'
import { tempDir } from '../../../support/tmp.ts'

test.each(['real', 'link'])(
  'while a path is being written, a second request for it is refused (through the %s directory)',
  async (name) => {
    await using temp = await tempDir()
    const dir = temp.path
    mkdirSync(join(dir, 'real'))
    symlinkSync('real', join(dir, 'link'))
    const [begun, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const firstWrite = createDirectory(join(dir, 'real', 'one'), async (file) => {
      const output = await file('a.txt')
      begun.resolve()
      await written.promise
      await output.write('whole')
      await output.close()
    })
    await begun.promise
    await expect(createDirectory(join(dir, name, 'one'), async () => {})).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('is already being written') as string,
    })
    written.resolve()
    expect(await firstWrite).toBe(5)
    expect([readFileSync(join(dir, 'real', 'one', 'a.txt'), 'utf8'), existsSync(join(dir, 'real', '.one.tmp'))]).toEqual(['whole', false])
  },
)
