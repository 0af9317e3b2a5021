// Finds the run that a verb is about if the user named none: the newest run of this directory, else the newest of all. A verb that
// stops a run chooses a run of another directory only if no other run is alive. Test: test/tables/cli/input/which-run.test.ts.
import { dirname, sep } from 'node:path'
import type { RunView } from '../../api/views/compose.ts'
import { Failure } from '../errors.ts'

/** Returns the run to show. `runs`: newest first. Errors: exit 3 if there is no run. */
export function pickRun(runs: readonly RunView[], cwd: string): RunView {
  const found = runs.find((run) => belongsTo(run, cwd)) ?? runs[0]
  if (!found) throw new Failure(3, 'there is no run', '`reeve compose up` starts one.')
  return found
}

/** Returns the living run to stop. Errors: exit 3 if no run is alive, or several are alive in other directories. */
export function pickLivingRun(runs: readonly RunView[], cwd: string): RunView {
  const living = runs.filter(({ status }) => !ENDED_STATUSES.has(status))
  const ofDirectory = living.find((run) => belongsTo(run, cwd))
  const [only, ...others] = living
  if (ofDirectory) return ofDirectory
  if (only && others.length === 0) return only
  if (!only) throw new Failure(3, 'no run is alive', '`reeve compose` lists the runs.')
  throw new Failure(
    3,
    `no run of this directory is alive; others: ${living.map(({ name, pid }) => name ?? String(pid)).join(', ')}`,
    'Name one of them.',
  )
}

/** the statuses of a run that has ended */
const ENDED_STATUSES: ReadonlySet<string> = new Set(['completed', 'failed', 'stopped', 'interrupted', 'retired', 'zombie'])

function belongsTo({ file }: Pick<RunView, 'file'>, cwd: string): boolean {
  const dir = dirname(file)
  return cwd === dir || cwd.startsWith(dir.endsWith(sep) ? dir : dir + sep)
}
