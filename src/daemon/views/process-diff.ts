// The view of what a process changed in its worktree. Test: test/e2e/worktree/diff.test.ts.
import type { ProcessDiffView } from '../../api/views/diff.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { ProcessDiff } from '../operations/worktrees.ts'

/** Returns the view of a diff. `hasText`: the diff was requested, not only the list of files. */
export function processDiffView({ uuid, pid, spec, files }: Process, diff: ProcessDiff, hasText: boolean): ProcessDiffView {
  const { source, base, left, text } = diff
  const sum = (key: 'insertions' | 'deletions'): number => diff.files.reduce((total, file) => total + (file[key] ?? 0), 0)
  return {
    version: 1,
    uuid,
    pid,
    name: spec.name,
    of: source.type,
    step: source.type === 'step' ? source.step : null,
    omitted: source.type === 'step' ? source.omitted : 0,
    base,
    branch: files?.branch ?? spec.worktree?.branch ?? '',
    repository: spec.worktree?.repository ?? '',
    files: diff.files.map((file) => ({ ...file })),
    insertions: sum('insertions'),
    deletions: sum('deletions'),
    diff: hasText ? text : null,
    left: hasText ? [...left] : [],
  }
}
