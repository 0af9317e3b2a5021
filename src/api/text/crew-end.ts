// Describes why a crew ended before its work was done, and how to continue it, for lists, reports and followers. Pure.
// Tests: test/tables/cli/print/crew.test.ts, test/tables/daemon/crew/open-items.test.ts.
import { reasonText } from './exit-reason.ts'
import type { CrewView } from '../views/crew.ts'

/** the greatest number of tasks that the text names */
const MAX_NAMED_TASKS = 10
/** the exit reason of a crew that its time limit has ended */
const TIMED_OUT = 'timed out'

/** Returns why the crew ended before its work was done, with its unfinished tasks. Null if it is alive, or if its work is done. */
export function earlyEndText({ resumable, exit, tasks }: Pick<CrewView, 'resumable' | 'exit' | 'tasks'>): string | null {
  if (!resumable || exit === null) return null
  const unfinished = tasks
    .filter(({ state }) => state !== 'done' && state !== 'failed' && state !== 'cancelled')
    .map(({ id, state }) => `${id} (${state.replaceAll('_', ' ')})`)
  if (unfinished.length === 0) return earlyEndReason(exit.reason)
  const more = unfinished.length > MAX_NAMED_TASKS ? ` and ${unfinished.length - MAX_NAMED_TASKS} more` : ''
  return `${earlyEndReason(exit.reason)}; not finished: ${unfinished.slice(0, MAX_NAMED_TASKS).join(', ')}${more}`
}

function earlyEndReason(reason: string): string {
  if (reason === TIMED_OUT) return 'its time limit ended it'
  return /^SIG[A-Z]+ from /.test(reason)
    ? `it was stopped (${reasonText(reason)})`
    : `it ended before its work was done (${reasonText(reason)})`
}

/** Returns the sentence about the command that resumes the crew. A crew that its time limit has ended gets the same time again. */
export function resumeCommandText({ name, pid, exit }: Pick<CrewView, 'name' | 'pid' | 'exit'>): string {
  const command = `\`reeve crew resume ${name ?? pid}\``
  return exit?.reason === TIMED_OUT ? `${command} continues it, with the same time limit again` : `${command} continues it`
}

/** Returns the advice to resume the crew, for a text whose command is printed elsewhere. */
export function resumeAdvice({ exit }: Pick<CrewView, 'exit'>): string {
  return exit?.reason === TIMED_OUT ? 'Continue it, with the same time limit again' : 'Continue it'
}
