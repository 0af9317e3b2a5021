// The snapshot of a worktree before a verify command. An unreadable snapshot is an error: without it, the changes of
// the command would be committed.
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { restoreAfterCrash } from '../../../../../src/drivers/git/crew/snapshot.ts'
import { tempDir } from '../../../../support/tmp.ts'

type RestoreArguments = Parameters<typeof restoreAfterCrash>

test('a missing snapshot needs no restore; an unreadable snapshot is an error', async () => {
  await using dir = await tempDir()
  const [git, tree] = [{} as RestoreArguments[0], { gitDir: dir.path } as RestoreArguments[1]]
  await restoreAfterCrash(git, tree)
  symlinkSync('reeve-verify', join(dir.path, 'reeve-verify'))
  await expect(restoreAfterCrash(git, tree)).rejects.toMatchObject({ code: 'ELOOP' })
})
