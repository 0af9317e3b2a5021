// Runs the verify command of reported tasks and handles its result. A failure counts as a failed attempt, and the task returns to its
// implementer with the output. No review starts before the command passes (verify-rules.ts). Must never read files: the daemon runs the
// command. Test: test/tables/kernel/crew/decide/verify.test.ts.
import { commandResultText, recordVerifyResult } from './verify-results.ts'
import { failTask, requeueTask, failedAttemptsText } from './release-task.ts'
import { handleMergeVerifyResult } from './merge-task.ts'
import { dismissForLostFiles } from './lost-files.ts'
import { currentImplementer, hasUnusedFiles } from '../state/queries.ts'
import { taskName } from '../text/task-text.ts'
import { awaitsVerify } from '../state/verify-rules.ts'
import { unexpectedResultText } from '../text/unexpected-result.ts'
import type { CrewDraft } from './draft.ts'
import type { VerifyResult } from '../../model/crew/shell-command-results.ts'
import type { Task } from '../../model/crew/crew.ts'
import type { Job, JobResult } from '../../model/crew/facts.ts'

type Verify = Extract<Job, { type: 'verify' }>

/** Requests the verify command of one reported task. It runs in the implementer's files, after the implementer's turn. */
export function verifyNextTask(draft: CrewDraft): boolean {
  const { crew, spec } = draft
  for (const task of crew.tasks) {
    const worker = awaitsVerify(crew, spec, task) && task.prepared ? currentImplementer(crew, task) : undefined
    if (!worker || !hasUnusedFiles(crew, worker)) continue
    draft.requestJob({ type: 'verify', member: worker.id, task: task.id, read: task.verify === 'own' ? [task.seqs.text] : [] })
    return true
  }
  return false
}

/** Handles the result of a verify command. A result for a task that was reassigned or closed meanwhile is ignored. */
export function handleVerifyResult(draft: CrewDraft, job: Verify, result: JobResult): void {
  if (job.merge) return handleMergeVerifyResult(draft, job, result)
  const { member, task: id } = job
  const task = draft.findTask(id)
  if (!task || task.implementer !== member || !awaitsVerify(draft.crew, draft.spec, task)) return
  if (result.type === 'error' && result.lost !== undefined) return dismissForLostFiles(draft, result.lost, result.error)
  if (result.type !== 'verified')
    return requeueTask(draft, task, { reason: `the verify command could not run: ${unexpectedResultText(result)}`, counts: true })
  if (recordVerifyResult(draft, { task: id, member, stage: 'review' }, result))
    return draft.messageCoordinator(
      `${taskName(task)} passed verify: ${commandResultText(result)}.${task.reviews ? ' Assign its review.' : ''}`,
      task,
    )
  sendTaskBack(draft, draft.requireTask(id), result)
}

/** Sends a task back to its implementer with the output. Fails the task after its last attempt. */
function sendTaskBack(draft: CrewDraft, task: Task, result: VerifyResult): void {
  const { attempts, implementer } = task
  const reason = `verify failed: ${commandResultText(result)}`
  if (attempts >= draft.spec.maxAttempts) return failTask(draft, task, `${failedAttemptsText(task)} failed; the last reason: ${reason}`)
  if (implementer) draft.send(implementer, { from: 'system', task: task.id, text: failureText(task, result) })
  draft.messageCoordinator(`${taskName(task)} went back to ${implementer}: ${reason}`, task)
}

function failureText(task: Task, result: VerifyResult): string {
  const { command, ran, changed } = result
  return [
    `${taskName(task)} failed verify: ${commandResultText(result)}. Its review starts only after this command passes.`,
    ran.output.trim() === '' ? 'The command printed nothing.' : `The end of the output:\n\n${ran.output.trimEnd()}`,
    changed.length === 0 ? '' : `The command changed files, and reeve restored them: ${changed.join(', ')}.`,
    `Find the cause and fix it. You can run \`${command}\` yourself. Then call report_implementation_complete.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}
