// The sweep of worktrees at a start: a folder that cannot be read is logged, and does not keep the daemon from starting.
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Worktrees } from '../../../../src/daemon/operations/worktrees.ts'
import { tempDir } from '../../../support/tmp.ts'

type WorktreesDeps = ConstructorParameters<typeof Worktrees>[0]

test('an unreadable folder is logged; a missing folder counts as empty', async () => {
  await using dir = await tempDir()
  symlinkSync('worktrees', join(dir.path, 'worktrees'))
  const logged: string[] = []
  const log: WorktreesDeps['log'] = (message) => logged.push(message)
  await (
    await new Worktrees({ state: dir.path, log } as unknown as WorktreesDeps).sweep()
  ).done
  expect(logged).toEqual([`${join(dir.path, 'worktrees')} cannot be read: what an earlier daemon left in it stays`])
})
