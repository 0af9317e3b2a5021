// Which run is meant where nobody says it: the newest of this directory, else the newest there is. What stops something never guesses
// beyond this directory while there are several. Test: test/tables/cli-compose.test.ts.
import { dirname, sep } from 'node:path'
import type { RunView } from '../api/compose-views.ts'
import { Failure } from './errors.ts'

/** `runs` are the newest first. Errors: exit 3 where there is none. */
export function pickRun(runs: readonly RunView[], cwd: string): RunView {
  const found = runs.find((run) => isHere(run, cwd)) ?? runs[0]
  if (!found) throw new Failure(3, 'there is no run', '`reeve compose up` starts one.')
  return found
}

/** Of those that live. Errors: exit 3 where there is none, or several of other directories. */
export function pickLiving(runs: readonly RunView[], cwd: string): RunView {
  const living = runs.filter(({ status }) => !ENDED.has(status))
  const here = living.find((run) => isHere(run, cwd))
  const [only, ...others] = living
  if (here) return here
  if (only && others.length === 0) return only
  if (!only) throw new Failure(3, 'no run is there that could be stopped', '`reeve compose` lists them.')
  throw new Failure(3, `no run of this directory is there; of others ${living.map(({ name, pid }) => name ?? String(pid)).join(', ')}`, 'Name the one that you mean.')
}

export const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'stopped', 'interrupted', 'retired', 'zombie'])

function isHere({ file }: Pick<RunView, 'file'>, cwd: string): boolean {
  const dir = dirname(file)
  return cwd === dir || cwd.startsWith(dir.endsWith(sep) ? dir : dir + sep)
}
