// The texts about waits that `why` and the NOTE column share, each made from the facts of one process.
// Test: test/tables/daemon/rows/why.test.ts, test/tables/daemon/views/process-view.test.ts.
import { senderWord } from '../../api/text/sender-word.ts'
import { openAsks } from '../../kernel/decide/asks/asks.ts'
import { isoTime, localTime } from '../views/format-times.ts'
import type { Task } from '../../kernel/model/crew/crew.ts'
import type { Hold, Process } from '../../kernel/model/process.ts'

/** Describes a hold, such as `by user` or `rate limit until 14:05`. */
export function holdText({ reason, by, at, until }: Hold): string {
  if (reason === 'user') return `by ${senderWord(by)}`
  if (reason === 'breaker') return 'failing tools'
  if (reason === 'context-full') return 'context is full'
  return until === undefined ? reason : `${reason.replace('-', ' ')} until ${localTime(until, at)}`
}

/** Describes a liveness problem, such as `silent since 14:02, in the model call of step 4`; null without one. */
export function livenessText({ liveness, clock }: Process): string | null {
  if (!liveness) return null
  const { word, since, evidence } = liveness
  return `${word} since ${localTime(since, clock.lastActivityAt)}${evidence === '' ? '' : `, ${evidence}`}`
}

/** Describes the first open question, such as `asks: run npm test? (and 1 more)`; null if there is none. */
export function asksText(process: Process): string | null {
  const [first, ...others] = openAsks(process)
  if (!first) return null
  return `asks: ${first.text.trim().split('\n', 1)[0]}${others.length > 0 ? ` (and ${others.length} more)` : ''}`
}

/** Describes the next answer that the agent gets, such as `gets your answer at 14:02:09`; null if there is none. `at`: wall ms. */
export function storedAnswerText({ asks = [] }: Process): { readonly text: string; readonly at: number } | null {
  const times = asks.flatMap(({ answer }) => answer?.delivery?.at ?? [])
  if (times.length === 0) return null
  const at = Math.min(...times)
  return { text: `gets your answer at ${isoTime(at).slice(11, 19)}`, at }
}

/** What the author of a reported task waits for, such as `waits for the review of lexer by worker-2`. */
export function reportedTaskText({ id, state, reviewer, ask }: Pick<Task, 'id' | 'state' | 'reviewer' | 'ask'>): string {
  switch (state) {
    case 'awaiting_review':
      return `waits for a reviewer of ${id}`
    case 'in_review':
      return `waits for the review of ${id}${reviewer === null ? '' : ` by ${reviewer}`}`
    case 'waiting':
      return `waits until the user ${ask?.for === 'review' ? 'reviews' : 'approves'} ${id}`
    case 'approved':
    case 'committing':
    case 'merging':
      return `waits for the merge of ${id}`
    default:
      return `has reported ${id}, and waits for the crew`
  }
}
