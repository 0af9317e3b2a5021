// A fork before it is made: what it keeps of its origin, and its command line. Pure.
// Test: test/tables/faces/fork-plan.test.ts.
import { shellLine } from '../api/text/shell-quote.ts'
import type { ResumeBody } from '../api/views/process.ts'
import type { RowView } from '../api/views/rows.ts'
import { formatCount } from './format.ts'
import { commandName } from './process-names.ts'

/** How a fork differs from its origin. */
export interface ForkChanges {
  readonly message?: string
  readonly model?: string
  readonly effort?: NonNullable<ResumeBody['effort']>
  readonly name?: string
  readonly limits?: { readonly budgetUsd: number }
  /** true: it works in a new worktree with the files of its step */
  readonly withFiles?: boolean
}

/** Whether the fork can have the files of its step, in a new worktree. `step` null: it continues as the process is now. */
export function canTakeFiles({ branch }: Pick<RowView, 'branch'>, step: number | null): boolean {
  return branch !== null && step !== null
}

/** What the fork keeps, and what it does not. */
export function carryOverText({ queue, sub }: Pick<RowView, 'queue' | 'sub'>, step: number | null): string {
  const steps = step === null ? 'The fork keeps all steps.' : (STEP_TEXTS[step] ?? `The fork keeps steps 1 to ${step}.`)
  const left = [
    sub.live > 1 ? 'the living processes below it' : 'its children',
    queue === 0 ? 'its waiting messages' : formatCount(queue, 'waiting message'),
  ]
  return `${steps} It does not keep ${left.join(' or ')}. Its cost is counted from 0.`
}

const STEP_TEXTS: readonly string[] = ['The fork keeps no step.', 'The fork keeps step 1.']

/** The command line that makes the fork. */
export function forkCommand(row: Pick<RowView, 'name' | 'pid'>, step: number | null, changes: ForkChanges): string {
  const { message, model, effort, name, limits, withFiles } = changes
  const parts = ['reeve', 'resume', commandName(row), '--fork']
  if (step !== null) parts.push('--from-step', String(step))
  if (model !== undefined) parts.push('--model', model)
  if (effort !== undefined) parts.push('--effort', effort)
  if (name !== undefined) parts.push('--name', name)
  if (limits) parts.push('--budget-usd', String(limits.budgetUsd))
  if (withFiles) parts.push('--with-files')
  if (message !== undefined) parts.push('--message', message)
  return shellLine(parts)
}
