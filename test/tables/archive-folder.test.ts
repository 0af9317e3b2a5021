// A directory that is there as a whole or not at all: what a second writer of the same place meets.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../src/daemon/archive/folder.ts'
import { tempDir } from '../support/tmp.ts'

test.each(['real', 'link'])('a place that is being written is not written by another, named by %s', async (name) => {
  await using temp = await tempDir()
  const dir = temp.path
  mkdirSync(join(dir, 'real'))
  symlinkSync('real', join(dir, 'link'))
  const [begun, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = makeFolder(join(dir, 'real', 'one'), async (file) => {
    const out = await file('a.txt')
    begun.resolve()
    await written.promise
    await out.text('whole')
    await out.close()
  })
  await begun.promise
  await expect(makeFolder(join(dir, name, 'one'), async () => {})).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is being written already') as string })
  written.resolve()
  expect(await first).toBe(5)
  expect([readFileSync(join(dir, 'real', 'one', 'a.txt'), 'utf8'), existsSync(join(dir, 'real', '.one.tmp'))]).toEqual(['whole', false])
})
