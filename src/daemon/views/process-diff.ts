// The views of what a process changed in its worktree, and of the plan of its merge.
// Tests: test/e2e/worktree/diff.test.ts, test/e2e/worktree/merge.test.ts.
import type { MergePlanView, ProcessDiffView } from '../../api/views/diff.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { isoTime } from './format-times.ts'
import type { DiffFile } from '../../drivers/files/diff.ts'
import type { WorkPlan } from '../../drivers/files/merge-work.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { ProcessDiff } from '../operations/process-work.ts'

/** Returns the view of a diff. `hasText`: the diff was requested, not only the list of files. */
export function processDiffView({ uuid, pid, spec, files }: Process, diff: ProcessDiff, hasText: boolean): ProcessDiffView {
  const { source, base, left, text } = diff
  return {
    version: 1,
    uuid,
    pid,
    name: spec.name,
    of: source.type,
    step: source.type === 'step' ? source.step : null,
    omitted: source.type === 'step' ? source.omitted : 0,
    base,
    branch: files?.branch ?? spec.worktree?.branch ?? spec.crew?.git?.branch ?? '',
    repository: spec.worktree?.repository ?? spec.crew?.git?.repository ?? '',
    ...filesView(diff.files),
    diff: hasText ? text : null,
    left: hasText ? [...left] : [],
  }
}

/** Returns the view of a plan. */
export function mergePlanView(process: Process, { files, commits, conflicts, ...plan }: WorkPlan): MergePlanView {
  const { uuid, pid, spec, clock } = process
  return {
    version: 1,
    uuid,
    pid,
    name: spec.name,
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
