// The views of the files that a process changed, and of the plan of its merge.
// Tests: test/e2e/worktree/diff.test.ts, test/e2e/worktree/files.test.ts, test/e2e/worktree/merge.test.ts.
import type { DiffSideView, MergePlanView, ProcessDiffView, ProcessFilesView } from '../../api/views/diff.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { isoTime } from './format-times.ts'
import type { DiffFile } from '../../drivers/git/diff.ts'
import type { WorkPlan } from '../../drivers/git/merge-work.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { DiffSide } from '../operations/diff-sides.ts'
import type { ProcessDiff, ProcessFiles } from '../operations/process-diffs.ts'

/** Returns the view of a diff. `hasText`: the diff was requested, not only the list of files. */
export function processDiffView(process: Process, { sides, text, left, files: compared }: ProcessDiff, hasText: boolean): ProcessDiffView {
  const { spec, files } = process
  const records = sides === null ? [] : [sides.from, sides.to]
  return {
    ...identityOf(process),
    ...sidesView(sides),
    step: sides?.to.step ?? null,
    omitted: records.reduce((sum, { left: omitted, more }) => sum + omitted.filter(({ why }) => why !== 'ignored').length + more, 0),
    base: files?.base ?? spec.worktree?.base ?? spec.crew?.git?.base ?? '',
    branch: files?.branch ?? spec.worktree?.branch ?? spec.crew?.git?.branch ?? '',
    repository: spec.worktree?.repository ?? spec.crew?.git?.repository ?? '',
    ...filesView(compared.map(({ path, from, change, insertions, deletions }) => ({ path, from, change, insertions, deletions }))),
    diff: hasText ? text : null,
    left: hasText ? [...left] : [],
    truncated: hasText && left.length > 0,
  }
}

/** Returns the view of the changed files, with the steps that changed them. */
export function processFilesView(process: Process, { sides, files, more, left, leftMore }: ProcessFiles): ProcessFilesView {
  return {
    ...identityOf(process),
    ...sidesView(sides),
    ...filesView(files),
    files: files.map((file) => ({ ...file, steps: [...file.steps] })),
    more,
    left: left.flatMap(({ path, why }) => (why === 'ignored' ? [] : [{ path, why }])),
    leftMore,
  }
}

function identityOf({ uuid, pid, spec }: Process): Pick<ProcessDiffView, 'version' | 'uuid' | 'pid' | 'name'> {
  return { version: 1, uuid, pid, name: spec.name }
}

function sidesView(sides: ProcessDiff['sides']): Pick<ProcessDiffView, 'of' | 'from' | 'to'> {
  return sides === null ? { of: 'reported', from: null, to: null } : { of: sides.to.of, from: sideView(sides.from), to: sideView(sides.to) }
}

function sideView({ process: { uuid, pid, spec }, of, step, commit }: DiffSide): DiffSideView {
  return { uuid, pid, name: spec.name, of, step, commit }
}

/** Returns the view of a plan of a merge. */
export function mergePlanView(process: Process, { files, commits, conflicts, ...plan }: WorkPlan): MergePlanView {
  const { spec, clock } = process
  return {
    ...identityOf(process),
    createdAt: isoTime(clock.createdAt),
    ended: !isLiving(process),
    dir: spec.worktree?.dir ?? null,
    branch: process.files?.branch ?? spec.worktree?.branch ?? spec.crew?.git?.branch ?? '',
    ...plan,
    commits: commits.map((commit) => ({ ...commit })),
    ...filesView(files),
    conflicts: [...conflicts],
  }
}

function filesView(files: readonly DiffFile[]): Pick<ProcessDiffView, 'files' | 'insertions' | 'deletions'> {
  const sum = (key: 'insertions' | 'deletions'): number => files.reduce((total, file) => total + (file[key] ?? 0), 0)
  return { files: files.map((file) => ({ ...file })), insertions: sum('insertions'), deletions: sum('deletions') }
}
