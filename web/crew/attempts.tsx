// The attempts at a task with their events, the newest open. Also verdicts and runs of the verify command, as evidence for a question.
// Test: test/e2e/web/crew.test.ts.
import type { JSX } from 'preact'
import type { TaskEventView } from '../../src/api/views/crew.ts'
import type { ReportCheckView, ReportTaskView } from '../../src/api/views/crew-report.ts'
import { eventsByAttempt, type Attempt } from '../../src/faces/crew-board.ts'
import { formatClock, formatDuration } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { daemonNow } from '../parts/clock.tsx'

interface AttemptsProps {
  /** null: the report has not been read yet, or does not have the task */
  readonly report: ReportTaskView | null
  readonly history: readonly TaskEventView[]
}

export function Attempts({ report, history }: AttemptsProps): JSX.Element {
  const { before, attempts } = eventsByAttempt(report ?? { tries: [], verdicts: [], checks: [] }, history, daemonNow())
  return (
    <>
      {attempts.map((attempt, index) => (
        <details key={attempt.number} class="attempt" open={index === 0} data-attempt={attempt.number}>
          <summary>
            Attempt {attempt.number} · {attempt.member} {visibleText(attempt.outcome)} <span class="quiet">{findingWords(attempt)}</span>
          </summary>
          <Thread events={attempt.events} />
        </details>
      ))}
      {before.length === 0 ? null : attempts.length === 0 ? (
        <Thread events={before} />
      ) : (
        <details class="attempt">
          <summary>Before the first attempt</summary>
          <Thread events={before} />
        </details>
      )}
    </>
  )
}

/** The verdicts and the results of the verify command, in the order of their times. Their texts are in the thread. */
function findingWords({ verdicts, checks }: Attempt): string {
  return [
    ...verdicts.map(({ at, verdict }) => ({ at, word: verdict })),
    ...checks.map(({ at, ok }) => ({ at, word: ok ? 'verified' : 'not verified' })),
  ]
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .map(({ word }) => word)
    .join(', ')
}

function Thread({ events }: { readonly events: readonly TaskEventView[] }): JSX.Element {
  return (
    <ol class="thread">
      {events.map(({ seq, at, what, text }) => (
        <li key={seq}>
          <span class="quiet number">{formatClock(at, daemonNow())}</span> {visibleText(what)}
          {text === null ? null : <p class="agent-text">{visibleText(text)}</p>}
        </li>
      ))}
    </ol>
  )
}

/** What reviewers and the verify command have found, as evidence for a question. */
export function Findings({
  attempt: { verdicts, checks },
}: {
  readonly attempt: Pick<Attempt, 'verdicts' | 'checks'>
}): JSX.Element | null {
  if (verdicts.length === 0 && checks.length === 0) return null
  return (
    <ul class="findings">
      {verdicts.map(({ by, at, verdict, comments }) => (
        <li key={`${at} ${by ?? ''}`} data-verdict={verdict}>
          <strong class={verdict === 'APPROVED' ? 'good' : 'problem'}>{verdict}</strong> by {by ?? 'you'}
          {comments === '' ? null : <span class="agent-text">: {visibleText(comments)}</span>}
        </li>
      ))}
      {checks.map((check) => (
        <li key={`${check.at} ${check.stage}`} data-check={check.stage}>
          <strong class={check.ok ? 'good' : 'problem'}>{check.ok ? 'verified' : 'not verified'}</strong> {visibleText(checkText(check))}
          {check.ok || check.output.trim() === '' ? null : <pre>{visibleText(check.output.trim())}</pre>}
        </li>
      ))}
    </ul>
  )
}

function checkText({ stage, command, ok, end, code, signal, ms, member, changed }: ReportCheckView): string {
  const where = stage === 'merge' ? 'on the merged files' : `in the files of ${member}`
  const how =
    end === 'late'
      ? 'took too long'
      : end === 'unable'
        ? 'could not be started'
        : code === null
          ? `ended by ${signal ?? 'a signal'}`
          : `ended with exit code ${code}`
  const files = changed.length === 0 ? '' : `; it changed ${changed.join(', ')}, which were put back`
  return `${where}: ${command} ${ok ? 'passed' : how} after ${formatDuration(ms)}${files}`
}
