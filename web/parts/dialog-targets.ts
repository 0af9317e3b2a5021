// The processes of the dialogs whose code is loaded when they open. Test: test/e2e/web/process/resume.test.ts.
import { signal } from '@preact/signals'
import type { RowView } from '../../src/api/views/rows.ts'
import { failure } from '../actions.ts'

/** the process of the dialog of a resume; null: it is closed */
export const resumeTarget = signal<RowView | null>(null)
/** the processes of the dialog that puts needs off; empty: it is closed */
export const snoozeTargets = signal<readonly RowView[]>([])

/** Opens the dialog for a held or ended process. */
export function openResume(row: RowView): void {
  failure.value = null
  resumeTarget.value = row
}

/** Opens the dialog for the needs of processes. */
export function openSnooze(targets: readonly RowView[]): void {
  snoozeTargets.value = targets
}
