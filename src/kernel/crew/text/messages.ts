// Messages to members of a crew: what to do, and how to end the turn. Each is built from the crew's state and from facts. Must never
// decide. Test: test/tables/kernel/crew/decide/task-lifecycle.test.ts.
import { isActive, isWorker } from '../state/queries.ts'
import { stateText } from '../state/phases.ts'
import { reopenedText, taskTextsOf, taskName } from './task-text.ts'
import type { CrewFact, JobResult, CrewFactOf } from '../../model/crew/facts.ts'
import type { Crew, Member, Task } from '../../model/crew/crew.ts'
import type { MemberId, TaskId } from '../../model/crew/words.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

const REPORT_THEN_COMMIT =
  'When the task is done, call report_implementation_complete with a summary. Do not commit yet: after the approval, a message asks you to commit.'

function findLastFact<T extends CrewFact['type']>(facts: readonly CrewFact[], type: T, task: Task): CrewFactOf<T> | undefined {
  return facts.findLast((fact): fact is CrewFactOf<T> => fact.type === type && (!('task' in fact) || fact.task === task.id))
}

function joinParagraphs(...parts: (string | false | null | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join('\n\n')
}

/** The assignment of a task: its text, the results of needed tasks, and the remains of earlier attempts. */
export function assignmentText(spec: CrewSpec, task: Task, facts: readonly CrewFact[], files: FilesOrigin = {}): string {
  const { text, acceptance } = taskTextsOf(task, facts)
  return joinParagraphs(
    `Task ${taskName(task)}`,
    text ?? 'reeve could not read the text of this task. Ask the coordinator for it with post_message.',
    acceptance && `Accepted when: ${acceptance}`,
    reopenedText(task, facts),
    neededResultsText(task, facts),
    earlierAttemptsText(task, facts, files),
    handoverText(facts, files),
    keptFilesText(task, files, facts),
    reportInstructionText(spec, task),
  )
}

function reportInstructionText({ git }: CrewSpec, task: Task): string {
  if (task.role === 'researcher')
    return 'Do not change project files. When you have the answer, call report_implementation_complete with the complete answer as the summary.'
  return git ? REPORT_THEN_COMMIT : 'When the task is done, call report_implementation_complete with a summary.'
}

/** The text of a conflict task. */
export function conflictTaskText(
  { git }: CrewSpec,
  { commit, branch, where, task }: { readonly commit: string; readonly branch: string; readonly where: string; readonly task: string },
): string {
  return joinParagraphs(
    `The commit ${commit} of ${task} conflicts with ${git?.branch ?? "the crew's branch"} in: ${where}.`,
    `Your worktree is at ${git?.branch ?? "the crew's branch"}. Run \`git merge ${branch}\` there, and resolve the conflict so that both changes work. Do not finish the merge commit until a message asks you to commit.`,
  )
}

function neededResultsText(task: Task, facts: readonly CrewFact[]): string {
  const results = facts.flatMap((fact) => {
    if (fact.type === 'task.answered' && fact.task !== task.id)
      return [`The user answered ${fact.task}: ${fact.text ?? fact.option ?? 'done'}`]
    if (fact.type === 'task.taken' && fact.report !== undefined) return [`${fact.task} reported: ${fact.report}`]
    return fact.type === 'task.reported' && fact.task !== task.id ? [`${fact.task} reported: ${fact.summary}`] : []
  })
  return results.join('\n\n')
}

function earlierAttemptsText(task: Task, facts: readonly CrewFact[], { kept }: FilesOrigin): string {
  const verdict = findLastFact(facts, 'task.verdict', task)
  return joinParagraphs(
    task.attempts > 0 &&
      `${task.attempts} earlier ${task.attempts === 1 ? 'attempt' : 'attempts'} failed; the last reason: ${task.reason ?? 'unknown'}`,
    task.attempts === 0 && task.reason !== null && `A worker began this task before, and it went back to the queue: ${task.reason}`,
    verdict?.verdict === 'DENIED' && `${verdict.member === null ? 'The user' : 'A reviewer'} commented: ${verdict.comments}`,
    task.salvaged &&
      kept === undefined &&
      `The uncommitted changes of that attempt are at ${task.salvaged}. Look at them before you start.`,
  )
}

/**
 * The origin of the files in a prepared worktree. `kept`: the ref that they come from. `without`: why the predecessor's files are missing.
 */
type FilesOrigin = Pick<Extract<JobResult, { type: 'prepared' }>, 'kept' | 'without'>

/** The paragraph about reported files that the worktree starts from. */
function keptFilesText(task: Task, { kept }: FilesOrigin, facts: readonly CrewFact[]): string {
  const failedMerge = findLastFact(facts, 'task.verify', task)
  if (failedMerge && !failedMerge.ok) return mergeFailureText(failedMerge, kept)
  if (kept === undefined) return ''
  const author = findLastFact(facts, 'task.reported', task)?.member ?? 'another worker'
  return `Your worktree contains the files as ${author === task.implementer ? 'you' : author} reported them, uncommitted (${kept}). Check them, finish what is missing, and report.`
}

/** The paragraph about an approved change whose merged files failed verify. */
function mergeFailureText({ command, ran, changed }: CrewFactOf<'task.verify'>, kept: string | undefined): string {
  return joinParagraphs(
    `The change was reviewed and approved, and \`${command}\` passed on it alone. Merged with the changes that landed since, it failed.`,
    kept && "Your worktree contains the merged files: the head of the crew's branch plus the change, uncommitted.",
    ran.output.trim() === '' ? 'The command printed nothing.' : `The end of the output:\n\n${ran.output.trimEnd()}`,
    changed.length > 0 && `The command changed files, and reeve restored them: ${changed.join(', ')}.`,
    `Make both changes work together. You can run \`${command}\` yourself.`,
  )
}

function handoverText(facts: readonly CrewFact[], { without }: FilesOrigin): string {
  const fact = facts.findLast((fact): fact is CrewFactOf<'crew.replaced'> => fact.type === 'crew.replaced')
  if (!fact) return ''
  const files = without === undefined ? 'with its files as it left them' : `without its files, because they could not be read (${without})`
  return `You take over from ${fact.member}, ${files}. It wrote: ${fact.summary}`
}

/** The message to a successor whose predecessor addressed feedback or awaited its review. */
export function takeOverText(spec: CrewSpec, task: Task, facts: readonly CrewFact[], files: FilesOrigin = {}): string {
  const verdict = findLastFact(facts, 'task.verdict', task)
  const feedbackQuote =
    task.state === 'addressing_feedback' &&
    verdict &&
    `${verdict.member === null ? 'The user' : 'The reviewer'} commented: ${verdict.comments}`
  return joinParagraphs(
    `Task ${taskName(task)} is yours now.`,
    handoverText(facts, files),
    taskTextsOf(task, facts).text,
    feedbackQuote,
    task.state === 'addressing_feedback'
      ? reportInstructionText(spec, task)
      : 'Its review is in progress. Call signal_ready; the verdict arrives as a message.',
  )
}

/** The message to an implementer that reviewed another task meanwhile, or whose messages were lost. */
export function continueTaskText(spec: CrewSpec, task: Task, facts: readonly CrewFact[]): string {
  const verdict = findLastFact(facts, 'task.verdict', task)
  if (task.state !== 'addressing_feedback' || !verdict) return takeOverText(spec, task, facts)
  return joinParagraphs(feedbackText(task, verdict.member, verdict.comments), `The task was: ${taskTextsOf(task, facts).text}`)
}

export function feedbackText(task: Task, by: MemberId | null, comments: string): string {
  return joinParagraphs(
    `${by ?? 'The user'} sent ${taskName(task)} back:`,
    comments,
    'Address each comment in the code, or explain in your summary why you did not. Then call report_implementation_complete.',
  )
}

export function reviewRequestText(
  spec: CrewSpec,
  task: Task,
  { dir, branch, head, read: facts, own: ownTask }: Extract<JobResult, { type: 'briefed' }> & { readonly own: TaskId | null },
): string {
  const { text, acceptance } = taskTextsOf(task, facts)
  const reopened = facts.findLast((fact) => fact.type === 'task.reopened' && fact.task === task.id)
  const report = findLastFact(facts, 'task.reported', task)
  const { base, implementer, implementers } = task
  const earlierImplementers = implementers.filter((id) => id !== implementer)
  const rangeText =
    base &&
    head &&
    base !== head &&
    `Run \`git diff ${base}..${head}\` in your own worktree to see the change, or \`git show ${head}:FILE\` to see one file. Both include uncommitted changes.`
  const locationText = dir && `The work is in ${dir}${branch ? `, on branch ${branch}` : ''}. Read it there, and do not change anything.`
  const { differs } = task.landing ?? {}
  const newReviewText =
    differs &&
    `This change was approved before. The author then committed something that differs in: ${differs.files.join(', ')}. Run \`git diff ${differs.from}..${differs.commit}\` to see the difference${spec.git ? `, and \`git diff ${spec.git.branch}...${differs.commit}\` to see the whole change` : ''}. If it resolves a conflict, the first commit contains the conflict markers. Approve this commit only if it is correct as it is.`
  return joinParagraphs(
    `Review ${taskName(task)}, implemented by ${implementer ?? 'another worker'}${earlierImplementers.length > 0 ? ` (earlier: ${earlierImplementers.join(', ')})` : ''}.`,
    spec.git !== null && (newReviewText || rangeText || locationText),
    spec.git !== null &&
      ownTask !== null &&
      `Your own change for ${ownTask} is in your worktree and waits: do not change anything there. To run the other change, use a separate directory.`,
    text,
    acceptance && `Accepted when: ${acceptance}`,
    reopened?.type === 'task.reopened' && `This task was done before, and the user sent it back: ${reopened.comments}`,
    report && `The implementer's report: ${report.summary}`,
    task.check?.ok && `reeve ran \`${task.check.command}\` on exactly these files, and it passed. You need not run it again.`,
    'Call report_review_verdict with APPROVED, or with DENIED and comments. Each comment names the file and line, the problem, and how to fix it.',
  )
}

/** The request to commit. `conflict`: what the worker must resolve as well; null if nothing. */
export function commitRequestText(task: Task, conflict: string | null = null): string {
  const request = `${taskName(task)} is approved: commit it on your branch now. Include everything that belongs to the task, and change nothing else. The commit message states what changed and why, and begins with "${task.id}: ". When \`git status\` is clean, call signal_ready.`
  return joinParagraphs(request, conflict !== null && `The commit ${conflict}.`)
}

/** The instruction for a commit that conflicts with the crew's branch, without its subject and its last full stop. */
export function mergeInstructionText({
  branch,
  files,
  tasks,
}: {
  readonly branch: string
  readonly files: readonly string[]
  readonly tasks: readonly string[]
}): string {
  const landedText = tasks.length > 0 ? ` (${tasks.join(', ')} changed the same files and landed)` : ''
  return `conflicts with ${branch} in ${files.join(', ')}${landedText}. When your change is committed, run \`git merge ${branch}\` in your worktree. Resolve the conflict so that both changes work, and commit the merge. Another member reviews the result`
}

export function commitReminderText(task: Task, reason: string): string {
  return `${taskName(task)} is not committed yet: ${reason}. Commit it on your branch, then end your turn.`
}

const CLOSING_TOOLS = 'post_message, report_implementation_complete, report_review_verdict or signal_ready'

export function reminderText({ phase, task, turn }: Pick<Member, 'phase' | 'task' | 'turn'>, outcome: 'ok' | 'interrupted'): string {
  const event = outcome === 'interrupted' ? 'Your turn was cut off.' : turnEndText(phase, task, turn)
  if (phase === 'reviewing') return `${event} You are reviewing ${task}: continue, then call report_review_verdict.`
  if (phase === 'implementing' || phase === 'addressing_feedback')
    return `${event} You are working on ${task}: continue, decide open questions yourself, and call report_implementation_complete when it is done.`
  return `${event} Call signal_ready. If you have something to report, call post_message.`
}

function turnEndText(phase: Member['phase'], task: Member['task'], { answered, saidReady }: Member['turn']): string {
  if (saidReady) return `You called signal_ready, but you still hold ${task} (${stateText(phase)}).`
  return answered ? 'You will get no answer: a program coordinates this crew.' : `Your turn ended without a call of ${CLOSING_TOOLS}.`
}

/** The state of the crew, for a coordinator that has just started. */
export function briefingText(crew: Crew): string {
  const tasks = crew.tasks.map(
    (task) =>
      `- ${taskName(task)}: ${stateText(task.state)}${task.implementer ? `, ${task.implementer}` : ''}${task.reason ? ` (${task.reason})` : ''}`,
  )
  const members = crew.members
    .filter((member) => isWorker(member) && isActive(member))
    .map(
      ({ id, role, phase, task, held, heldFor }) =>
        `- ${id}, ${role}: ${stateText(phase)}${task ? ` (${task})` : ''}${held ? `, paused${heldFor ? ` (${heldFor})` : ''}` : ''}`,
    )
  return joinParagraphs(
    'You coordinate this crew.',
    tasks.length > 0 ? `Tasks:\n${tasks.join('\n')}` : 'There are no tasks yet.',
    members.length > 0 ? `Workers:\n${members.join('\n')}` : 'There are no workers yet: spawn_worker starts one.',
    'get_task shows one task with its text and thread. Assign the tasks that are ready, then end your turn. Reports arrive as messages.',
  )
}
