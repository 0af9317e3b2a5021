// The processes for which a dialog is open, for the dialogs whose code is loaded when they open. Test: test/e2e/web/process/resume.test.ts.
import { signal } from '@preact/signals'
import type { RowView } from '../../src/api/views/rows.ts'
import { lastWholeStep } from '../../src/faces/row-verbs.ts'
import { failure } from '../actions.ts'

/** What is forked. `step` null: the present state, for agents that cannot be forked after an earlier step. */
export interface ForkTarget {
  readonly row: RowView
  readonly step: number | null
}

/** the process and step of the dialog for a fork; null: the dialog is closed */
export const forkTarget = signal<ForkTarget | null>(null)
/** the process of the dialog for a resume; null: the dialog is closed */
export const resumeTarget = signal<RowView | null>(null)
/** the processes of the dialog that puts off needs; empty: the dialog is closed */
export const snoozeTargets = signal<readonly RowView[]>([])

/** Opens the dialog for a fork after step `at`. An agent that cannot be forked after an earlier step is forked as it is now. */
export function openFork(row: RowView, at = lastWholeStep(row)): void {
  failure.value = null
  forkTarget.value = { row, step: row.forks === 'any step' ? at : null }
}

/** Opens the dialog for a held or ended process. */
export function openResume(row: RowView): void {
  failure.value = null
  resumeTarget.value = row
}

/** Opens the dialog for the needs of processes. */
export function openSnooze(targets: readonly RowView[]): void {
  snoozeTargets.value = targets
}
