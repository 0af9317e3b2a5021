// A person's answer to what the crew asked. Owns what each option means; an answer to what is no longer asked changes nothing.
// Test: test/tables/crew-ways.test.ts.
import { close, requeue } from './effects.ts'
import { named, holderOf } from './finding.ts'
import { deny } from './reports.ts'
import type { Command } from './commands.ts'
import type { CrewWork } from './crew-work.ts'
import type { Task } from './types.ts'

type Answer = Extract<Command, { type: 'answered' }>

export function answered(work: CrewWork, command: Answer): string {
  const task = work.task(command.task)
  if (task?.state !== 'waiting' || !task.ask || (command.id !== undefined && command.id !== task.ask.id)) return 'late: nothing was changed'
  const reason = task.ask.for
  work.emit({ type: 'task.answered', task: task.id, option: command.option, text: command.text })
  const now = work.needTask(task.id)
  if (reason === 'human') close(work, now, { type: 'task.done', task: now.id, reason: command.text }, `${named(now)} is done: ${command.text ?? 'a person said so'}`)
  else decideWork(work, now, reason, command)
  return `${named(task)} is answered`
}

/** A text alone says what is missing. */
function decideWork(work: CrewWork, task: Task, reason: 'gate' | 'review', { option, text }: Answer): void {
  if (option === 'cancel') return close(work, task, { type: 'task.cancelled', task: task.id, reason: text ?? 'a person said so' }, `${named(task)} was cancelled by a person`)
  if (option === 'approve' && reason === 'gate') return work.emit({ type: 'task.approved', task: task.id, by: 'user' })
  if (option === 'approve') return work.emit({ type: 'task.verdict', task: task.id, member: null, verdict: 'APPROVED', comments: text ?? '' })
  const comments = text ?? 'a person said no'
  if (holderOf(work.crew, task)) deny(work, task, null, comments)
  else requeue(work, task, { reason: `a person said: ${comments}`, counts: true })
}
