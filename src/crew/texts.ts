// What members of a crew are told: whole texts, made of facts that were read and of the row. Owns their wording: what to do, and
// how to end the turn. Must never decide. Test: test/tables/crew-ways.test.ts.
import { hasRoom, isBeyondReview, isLiving, isWorker, named, openTasks } from './finding.ts'
import type { CrewFact } from './facts.ts'
import type { Crew, CrewSpec, JobResult, Member, MemberId, Task } from './types.ts'

type FactOf<T extends CrewFact['type']> = Extract<CrewFact, { type: T }>

const REPORT = 'When it is done, call report_implementation_complete with a summary; commit nothing before you are told to.'

function pick<T extends CrewFact['type']>(read: readonly CrewFact[], type: T, task: Task): FactOf<T> | undefined {
  return read.findLast((fact): fact is FactOf<T> => fact.type === type && (!('task' in fact) || fact.task === task.id))
}

function paragraphs(...parts: (string | false | null | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join('\n\n')
}

/** What to do, what an earlier try came to, and what those before it found. */
export function assignment(spec: CrewSpec, task: Task, read: readonly CrewFact[]): string {
  const added = pick(read, 'task.added', task)
  return paragraphs(
    `Task ${named(task)}`,
    added?.text ?? 'Its text could not be read: ask with post_message.',
    added?.acceptance && `Accepted when: ${added.acceptance}`,
    results(task, read),
    earlier(task, read),
    handedOver(read),
    ending(spec, task),
  )
}

function ending({ git }: CrewSpec, task: Task): string {
  if (task.role === 'researcher') return 'Change no files that matter. When you know the answer, call report_implementation_complete with it as the summary.'
  return git ? REPORT : 'When it is done, call report_implementation_complete with a summary.'
}

/** Of the task that a conflict becomes. */
export function conflictText({ git }: CrewSpec, { commit, branch, where, task }: { readonly commit: string; readonly branch: string; readonly where: string; readonly task: string }): string {
  return paragraphs(
    `The commit ${commit} of ${task} conflicts with ${git?.branch ?? 'the crew\'s branch'} in: ${where}.`,
    `Your worktree is at ${git?.branch ?? 'the crew\'s branch'}: run \`git merge ${branch}\` there, and resolve the conflict so that both changes work. Finish the merge commit only when you are told to commit.`,
  )
}

function results(task: Task, read: readonly CrewFact[]): string {
  const found = read.flatMap((fact) => {
    if (fact.type === 'task.answered' && fact.task !== task.id) return [`${fact.task} was answered by a person: ${fact.text ?? fact.option ?? 'done'}`]
    return fact.type === 'task.reported' && fact.task !== task.id ? [`${fact.task} reported: ${fact.summary}`] : []
  })
  return found.join('\n\n')
}

function earlier(task: Task, read: readonly CrewFact[]): string {
  const verdict = pick(read, 'task.verdict', task)
  return paragraphs(
    task.attempts > 0 && `${task.attempts} earlier ${task.attempts === 1 ? 'try' : 'tries'} failed; the last: ${task.reason ?? 'no reason is known'}`,
    task.attempts === 0 && task.reason !== null && `It was begun before, and went back: ${task.reason}`,
    verdict?.verdict === 'DENIED' && `A reviewer said of it: ${verdict.comments}`,
    task.salvaged && `What it left uncommitted is at ${task.salvaged}: look there before you begin anew.`,
  )
}

function handedOver(read: readonly CrewFact[]): string {
  const fact = read.findLast((one): one is FactOf<'crew.replaced'> => one.type === 'crew.replaced')
  return fact ? `You take over from ${fact.member}, with its files as they were. It wrote: ${fact.summary}` : ''
}

/** For the successor of one that was addressing feedback or waited for its review. */
export function takeOver(spec: CrewSpec, task: Task, read: readonly CrewFact[]): string {
  const verdict = pick(read, 'task.verdict', task)
  const feedbackGiven = task.state === 'addressing_feedback' && verdict && `The reviewer said: ${verdict.comments}`
  return paragraphs(`Task ${named(task)} is yours now.`, handedOver(read), pick(read, 'task.added', task)?.text, feedbackGiven, task.state === 'addressing_feedback' ? ending(spec, task) : 'It is being reviewed: wait for the verdict. Call signal_ready.')
}

export function feedback(task: Task, by: MemberId | null, comments: string): string {
  return paragraphs(`${by ?? 'A person'} sent ${named(task)} back:`, comments, 'Address this, then call report_implementation_complete.')
}

export function reviewRequest(spec: CrewSpec, task: Task, { dir, branch, head, read }: Extract<JobResult, { type: 'briefed' }>): string {
  const added = pick(read, 'task.added', task)
  const report = pick(read, 'task.reported', task)
  const { base, implementer, implementers } = task
  const others = implementers.filter((one) => one !== implementer)
  const range = base && head && base !== head && `See it in your own worktree: \`git diff ${base}..${head}\`, or a file by \`git show ${head}:FILE\`. That has also what is not committed yet.`
  const there = dir && `The work is in ${dir}${branch ? `, on branch ${branch}` : ''}: look there, and change nothing.`
  return paragraphs(
    `Review ${named(task)}, done by ${implementer ?? 'somebody'}${others.length > 0 ? ` (earlier: ${others.join(', ')})` : ''}.`,
    spec.git !== null && (range || there),
    added?.text,
    added?.acceptance && `Accepted when: ${added.acceptance}`,
    report && `Its report: ${report.summary}`,
    'Call report_review_verdict with APPROVED, or with DENIED and comments that say what is missing.',
  )
}

export function commitRequest(task: Task): string {
  return `${named(task)} is approved: commit it on your branch now, all of it, with a message that says what changed and why (begin it with "${task.id}: "). Change nothing else, and end your turn when \`git status\` is clean.`
}

export function commitReminder(task: Task, reason: string): string {
  return `${named(task)} is not committed yet: ${reason}. Commit it on your branch, and end your turn.`
}

const CLOSING = 'post_message, report_implementation_complete, report_review_verdict or signal_ready'

export function reminder({ phase, task }: Pick<Member, 'phase' | 'task'>, outcome: 'ok' | 'interrupted', answered: boolean): string {
  const what = outcome === 'interrupted' ? 'Your turn was cut off.' : answered ? 'Nobody will answer you: a program coordinates this crew.' : `Your turn ended without one of ${CLOSING}.`
  if (phase === 'reviewing') return `${what} You review ${task}: go on, and call report_review_verdict.`
  if (phase === 'implementing' || phase === 'addressing_feedback') return `${what} You work on ${task}: go on, decide yourself what is open, and call report_implementation_complete when it is done.`
  return `${what} Call signal_ready, or post_message if there is something to say.`
}

/** The state in words, for a coordinator that has just come. */
export function briefing(crew: Crew): string {
  const tasks = crew.tasks.map((task) => `- ${named(task)}: ${task.state.replaceAll('_', ' ')}${task.implementer ? `, ${task.implementer}` : ''}${task.reason ? ` (${task.reason})` : ''}`)
  const members = crew.members.filter((one) => isWorker(one) && isLiving(one)).map(({ id, role, phase, task }) => `- ${id}, ${role}: ${phase.replaceAll('_', ' ')}${task ? ` (${task})` : ''}`)
  return paragraphs('You coordinate this crew.', tasks.length > 0 ? `Tasks:\n${tasks.join('\n')}` : 'There are no tasks yet.', members.length > 0 ? `Workers:\n${members.join('\n')}` : 'There are no workers yet: spawn_worker starts one.', 'get_task shows a task whole.')
}

export function stalled(crew: Crew, spec: CrewSpec): string {
  const open = openTasks(crew)
  if (open.length === 0) return 'All tasks are closed. Call complete_crew with a summary, or add tasks.'
  return `Nothing goes on: ${open.slice(0, 20).map((task) => `${named(task)} is ${task.state.replaceAll('_', ' ')}`).join('; ')}. Assign them (assign_task, assign_review, approve_commit), cancel them, or call complete_crew.${beyond(crew, spec)}`
}

/** The way out where all who could review await reviews of their own. */
function beyond(crew: Crew, spec: CrewSpec): string {
  const ids = crew.tasks.filter((task) => isBeyondReview(crew, task)).map(({ id }) => id)
  if (ids.length === 0) return ''
  return ` Nobody who is there can review ${ids.join(', ')}: ${hasRoom(crew, spec) ? 'spawn_worker starts somebody who can' : 'take one back with cancel_task and requeue, so that its worker can review another, or retire a worker and start a new one'}.`
}
