// A program for tests: creates a worktree on a full small file system (its first argument) and prints the error.
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { Git } from '../../../src/drivers/git/git.ts'
import { addWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness } from '../agents/containment-harness.ts'
import { Repository } from '../git/repository.ts'

await using contained = await openContainmentHarness()
const repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
const base = repository.commit({ 'big.bin': randomBytes(2_097_152).toString('hex') })
await using git = new Git(() => contained.open('group'))
const worktree = addWorktree(git, {
  repository: join(repository.dir, '.git'),
  dir: join(process.argv[2] ?? '', 'w'),
  branch: 'reeve/fix.worker-1',
  base,
  env: repository.env,
  programs: true,
})
process.stdout.write(
  await worktree.then(
    () => 'it was made',
    (error: unknown) => String(error),
  ),
)
