// Measures a record of a worktree of 5,000 files against a plain `git status` of the same tree, with 0, 1 and 100 changed files.
// Also measures the first record, which reads all files. A record runs in parallel with a model call, and a fast call may have to wait for
// the record. Run: `npm run bench worktree-record`.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openContainmentManager } from '../src/drivers/contain/manager.ts'
import { Git } from '../src/drivers/git/git.ts'
import { Records } from '../src/drivers/git/records.ts'
import { addWorktree } from '../src/drivers/git/worktree.ts'
import { Repository } from '../test/support/git/repository.ts'
import { ROUNDS, inFolder, interleave, median, printTable, timed } from './support/measure.ts'
import type { Row } from './support/measure.ts'

const FILES = 5_000
const MEASUREMENTS = 4 * ROUNDS
/** A record runs several git programs, and the floor runs one. */
const BAR = 8

const pathOf = (index: number): string => `dir${index % 50}/sub${index % 7}/file${index}.txt`

await inFolder(async (dir) => {
  const manager = await openContainmentManager({ stateDir: dir, daemonId: 'bench', log: console.error })
  const repository = Repository.make(join(dir, 'repo'), dir)
  const base = repository.commit(
    Object.fromEntries(Array.from({ length: FILES }, (_, index) => [pathOf(index), `${'line of a file\n'.repeat(100)}${index}\n`])),
  )
  const worktree = join(dir, 'worktree')
  const git = new Git(() => manager.open(manager.plan('bench', 1, 'auto'), dir))
  const common = join(repository.dir, '.git')
  await addWorktree(git, { repository: common, dir: worktree, branch: 'reeve/bench', base, env: repository.env })
  const records = await Records.open(git, { dir: join(dir, 'records.git'), repository: common, worktree, env: repository.env, writer: 1 })
  const status = (): Buffer =>
    execFileSync('git', ['status', '--porcelain'], { cwd: worktree, env: { ...repository.env, GIT_OPTIONAL_LOCKS: '0' } })
  const first = await interleave(1, status, () => records.record(0))
  let step = 0
  const change = (count: number): number => {
    step += 1
    for (let index = 0; index < count; index++) writeFileSync(join(worktree, pathOf(index * 31 + step)), `step ${step}\n`)
    return step
  }
  const row = async (description: string, count: number): Promise<Row> => {
    const { floor, ours } = await interleave(
      MEASUREMENTS,
      status,
      (index: number) => records.record(index),
      () => change(count),
    )
    const ratio = median(ours) / median(floor)
    return {
      what: description,
      floor: `${median(floor).toFixed(1)} ms`,
      ours: `${median(ours).toFixed(1)} ms`,
      ratio,
      bar: `≤ ${BAR}`,
      ok: ratio <= BAR,
    }
  }
  const rows = [await row('nothing changed', 0), await row('one file changed', 1), await row('100 files changed', 100)]
  printTable(`a record of ${FILES.toLocaleString('en')} files, ${manager.kind}, p50 of ${MEASUREMENTS}`, rows)
  console.log(
    `the first record: ${(first.ours[0] ?? 0).toFixed(0)} ms; a program of git alone: ${(await timed(() => git.line(['--version'], { cwd: dir, env: repository.env, at: null }))).toFixed(1)} ms`,
  )
  await git[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  if (rows.some(({ ok }) => !ok)) process.exitCode = 1
})
