// The processes of the dialogs whose code is loaded when they open. Test: test/e2e/web/process/resume.test.ts.
import { signal } from '@preact/signals'
import type { RowView } from '../../src/api/views/rows.ts'
import { lastWholeStep } from '../../src/faces/row-verbs.ts'
import { failure } from '../actions.ts'

/** What is forked. `step` null: the present state, for agents that cannot be forked after an earlier step. */
export interface ForkTarget {
  readonly row: RowView
  readonly step: number | null
}

/** what the dialog of a fork is about; null: it is closed */
export const forkTarget = signal<ForkTarget | null>(null)
/** the process of the dialog of a resume; null: it is closed */
export const resumeTarget = signal<RowView | null>(null)
/** the processes of the dialog that puts needs off; empty: it is closed */
export const snoozeTargets = signal<readonly RowView[]>([])

/** Opens the dialog for a fork after `at`, or as it is now if the agent has no other way. */
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
