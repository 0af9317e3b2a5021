// Halts a crew until the user repairs an external cause: no worktree can be set up, or the disk is full. The crew's process is paused once,
// with the reason, before anything else starts. A job that fails because the disk is full does not count as a failed attempt. It stays
// open, and is requested again when the crew resumes. Test: test/tables/kernel/crew/decide/halt.test.ts.
import { isDiskFullError } from '../../util/disk-full-error.ts'
import { hasPassed } from './verify-results.ts'
import type { CrewDraft } from './draft.ts'
import type { JobResult } from '../../model/crew/facts.ts'
import { truncate } from '../../util/truncate.ts'

/** maximum length of a reason, in characters */
const MAX_REASON_CHARS = 500

/** Pauses the crew. Nothing more starts, in this decision or later, until the user resumes the crew. */
export function haltCrew(draft: CrewDraft, reason: string): void {
  if (draft.context.paused || draft.isHalted || draft.crew.ending?.ended) return
  const text = truncate(reason, MAX_REASON_CHARS)
  draft.emit({ type: 'crew.halted', reason: text })
  draft.addAct({ type: 'hold' })
}

/** Ends a halt. The counter of lost workers starts at 0 again. */
export function endHalt(draft: CrewDraft): void {
  if (draft.crew.halted !== undefined) draft.emit({ type: 'crew.halted', reason: null })
}

/** The reason to halt if the job failed because the disk is full; else null. */
export function diskFullReason(result: JobResult): string | null {
  const output = outputOf(result)
  return output !== null && isDiskFullError(output)
    ? `the disk is full: ${output.trim().split('\n').find(isDiskFullError) ?? output}`
    : null
}

function outputOf(result: JobResult): string | null {
  switch (result.type) {
    case 'error':
      return result.error
    case 'committed':
      return result.commit === null ? (result.output ?? null) : null
    case 'left':
      return result.reason
    case 'setUp':
      return result.ran !== null && !hasPassed(result.ran) ? result.ran.output : null
    default:
      return null
  }
}
