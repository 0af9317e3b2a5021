// The two sides of a diff. A side is the beginning of a worktree or of a fork, a step, or the present files. It may belong to another
// process. Parses a side, and finds its files. For a removed worktree, these are the files that are left.
// Tests: test/e2e/worktree/files.test.ts, test/e2e/worktree/diff.test.ts.
import { join } from 'node:path'
import { isPlainCommand } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { pathExists } from '../../drivers/common/path-exists.ts'
import type { Git } from '../../drivers/git/git.ts'
import { readCurrentFiles, findLeftWork } from '../../drivers/git/current-files.ts'
import { findNewestRecord, nothingLeftError, workPlaceOf } from './work-place.ts'
import type { OmittedPath } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { RecordFact, Worktrees } from './worktrees.ts'

/** What is compared. `from` and `to`: see `parseSide`. */
export interface SidesRequest {
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** only this file, or the files below this directory */
  readonly path?: string | undefined
}

/** A side as it was requested; `ref`: the process, null for the one that the request names. */
export interface SideRequest {
  readonly ref: string | null
  readonly at: 'base' | 'origin' | 'now' | number
}

export interface DiffSide {
  readonly process: Process
  readonly of: 'base' | 'origin' | 'step' | 'worktree' | 'salvage' | 'branch' | 'crew'
  /** the step of the record; null if the files come from no record */
  readonly step: number | null
  /** the commit or the tree */
  readonly commit: string
  /** paths that the record omits, up to a limit */
  readonly left: readonly OmittedPath[]
  /** the number of omitted paths beyond the limit */
  readonly more: number
  /** directories of git objects that the side needs besides those of the repository */
  readonly objects: readonly string[]
}

type SideWorktrees = Pick<Worktrees, 'findRecord' | 'recordsOf'>

/** Parses `base`, `origin`, `now`, `12` or `REF@12`. Errors: `INVALID`. */
export function parseSide(text: string): SideRequest {
  const [, ref = null, at] = /^(?:(.+)@)?(base|origin|now|\d{1,9})$/.exec(text) ?? []
  if (at === 'base' || at === 'origin' || at === 'now') return { ref, at }
  if (at !== undefined) return { ref, at: Number(at) }
  throw new KernelError(
    'INVALID',
    `"${text}" is not a state of files: \`base\`, \`origin\`, \`now\`, a step such as \`12\`, or \`NAME@12\``,
  )
}

/** Finds the files of a side. Errors: `INVALID` without a worktree, for a missing step or record, `NOT_FOUND` if nothing is left. */
export async function findSide(worktrees: SideWorktrees, git: Git, process: Process, at: SideRequest['at']): Promise<DiffSide> {
  if (process.spec.crew) return crewSide(git, process, at)
  const { worktree } = process.spec
  if (at === 'origin' && worktree?.files) {
    const objects = [join(worktrees.recordsOf(process.uuid), 'objects')]
    return { process, of: 'origin', step: worktree.files.step, commit: worktree.files.commit, left: [], more: 0, objects }
  }
  if (at === 'base' || at === 'origin') return plainSide(process, 'base', process.files?.base ?? worktree?.base ?? '')
  if (at !== 'now') return recordSide(worktrees, process, await recordOfStep(worktrees, process, at))
  const place = workPlaceOf(process)
  if (!worktree || !process.files || !(await pathExists(worktree.dir))) return leftSide(worktrees, git, process)
  const { tree, objects } = await readCurrentFiles(git, { ...place, dir: worktree.dir })
  return { ...plainSide(process, 'worktree', tree), objects: [objects] }
}

/** Finds the branch of a crew, or the commit from which it began. */
async function crewSide(git: Git, process: Process, at: SideRequest['at']): Promise<DiffSide> {
  if (typeof at === 'number') throw new KernelError('INVALID', `process ${process.pid} is a crew, which has no steps`)
  const place = workPlaceOf(process)
  if (at !== 'now') return plainSide(process, 'base', process.spec.crew?.git?.base ?? '')
  const { branch } = await findLeftWork(git, place)
  if (branch === null) throw nothingLeftError(process)
  return plainSide(process, 'crew', branch)
}

/** Finds what is left of a removed worktree. */
async function leftSide(worktrees: SideWorktrees, git: Git, process: Process): Promise<DiffSide> {
  const left = await findLeftWork(git, workPlaceOf(process))
  const record = left.salvage === null ? await findNewestRecord(worktrees, process) : null
  if (record) return recordSide(worktrees, process, record)
  const commit = left.salvage ?? left.branch
  if (commit === null) throw nothingLeftError(process)
  return plainSide(process, left.salvage === null ? 'branch' : 'salvage', commit)
}

function plainSide(process: Process, of: DiffSide['of'], commit: string): DiffSide {
  return { process, of, step: null, commit, left: [], more: 0, objects: [] }
}

function recordSide(worktrees: SideWorktrees, process: Process, { uuid, body }: RecordFact): DiffSide {
  const { step, commit, left, more = 0 } = body
  return { process, of: 'step', step, commit, left, more, objects: [join(worktrees.recordsOf(uuid), 'objects')] }
}

/** Finds the record of a step. Errors: `INVALID` for a step that the process has not reached, or without a record. */
async function recordOfStep(worktrees: SideWorktrees, process: Process, step: number): Promise<RecordFact> {
  const { pid, progress, files, spec } = process
  if (isPlainCommand(spec)) throw new KernelError('INVALID', `process ${pid} is a plain command, which has no steps`)
  const last = Math.max(progress.wholeStep, files?.recordedStep ?? 0)
  if (step > last)
    throw new KernelError('INVALID', `process ${pid} has no whole step ${step}: its last one is ${last}`, { from: 0, to: last })
  workPlaceOf(process)
  return worktrees.findRecord(process, step)
}
