// Records and describes the result of a verify command. A command has passed if it exited by itself with code 0. Must never decide the
// consequences. Test: test/tables/kernel/crew/decide/verify.test.ts.
import { taskName } from '../text/task-text.ts'
import type { CrewDraft } from './draft.ts'
import type { VerifyResult, ShellCommandRun } from '../../model/crew/shell-command-results.ts'
import type { MemberId, TaskId, VerifyStage } from '../../model/crew/words.ts'

/** Exit codes of a shell that cannot run a command. The user is notified of these. */
const UNRUNNABLE_CODES: ReadonlySet<number | null> = new Set([126, 127])

/** Records the result of a verify command; returns whether it passed. */
export function recordVerifyResult(
  draft: CrewDraft,
  target: { readonly task: TaskId; readonly member: MemberId; readonly stage: VerifyStage },
  { type: _, ...result }: VerifyResult,
): boolean {
  const ok = hasPassed(result.ran)
  draft.emit({ type: 'task.verify', ...target, ok, ...result })
  if (UNRUNNABLE_CODES.has(result.ran.code))
    draft.notifyUser(`${taskName(draft.requireTask(target.task))} cannot be verified: ${commandResultText(result)}`)
  return ok
}

export function hasPassed({ end, code }: ShellCommandRun): boolean {
  return end === 'exited' && code === 0
}

/** The result as text, such as: `npm test` ended with exit code 1 after 12.0 s. */
export function commandResultText({ command, ran: { end, code, signal, ms, left } }: Pick<VerifyResult, 'command' | 'ran'>): string {
  const time = ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`
  const leftText = left === 0 ? '' : `; it left ${left} ${left === 1 ? 'process' : 'processes'} behind, which reeve killed`
  if (end === 'unable') return `\`${command}\` could not be started (${code ?? 'no code'})`
  if (end === 'late') return `\`${command}\` took more than ${time} and was killed${leftText}`
  const outcome = code === null ? `was killed by ${signal ?? 'a signal'}` : code === 0 ? 'passed' : `ended with exit code ${code}`
  return `\`${command}\` ${outcome} after ${time}${leftText}`
}
