// The board of a crew as text: the lane of each task, and what its card states. Also the attempts of one task with their events. Pure.
// Test: test/tables/faces/crew-board.test.ts.
import type { CrewTaskView, TaskEventView } from '../api/views/crew.ts'
import type { ReportCheckView, ReportTaskView, ReportVerdictView } from '../api/views/crew-report.ts'
import { formatCost, formatElapsed } from './format.ts'

export const LANES = ['queued', 'implementing', 'review', 'feedback', 'commit', 'done', 'failed'] as const
export type Lane = (typeof LANES)[number]

const LANE_OF: Readonly<Record<CrewTaskView['state'], Lane>> = {
  queued: 'queued',
  waiting: 'queued',
  implementing: 'implementing',
  awaiting_review: 'review',
  in_review: 'review',
  addressing_feedback: 'feedback',
  approved: 'commit',
  committing: 'commit',
  merging: 'commit',
  done: 'done',
  failed: 'failed',
  cancelled: 'failed',
}

/** The lane of a task. A task that waits for the user is in the lane in which it will continue. */
export function laneOf({ state, asks }: Pick<CrewTaskView, 'state' | 'asks'>): Lane {
  if (state !== 'waiting') return LANE_OF[state]
  return asks === 'gate' ? 'commit' : asks === 'review' ? 'review' : 'queued'
}

type Card = Pick<
  CrewTaskView,
  | 'state'
  | 'asks'
  | 'needs'
  | 'implementer'
  | 'reviewer'
  | 'verdict'
  | 'check'
  | 'attempts'
  | 'denials'
  | 'startedAt'
  | 'endedAt'
  | 'spent'
  | 'merged'
  | 'reason'
>

const ASKED: Readonly<Record<NonNullable<CrewTaskView['asks']>, string>> = {
  human: 'your answer',
  gate: 'the commit',
  review: 'the review',
}

/** The numbers of attempts that a reviewer denied, and that failed for another reason; each only if there are some. */
export function failedTexts({ attempts, denials }: Pick<CrewTaskView, 'attempts' | 'denials'>): string[] {
  return [...(denials > 0 ? [`${denials} denied`] : []), ...(attempts > denials ? [`${attempts - denials} failed`] : [])]
}

/** Who has the task and for how long, and its wait, verdict, check or end. `tasks`: all of the crew. `now`: wall ms. */
export function cardText(task: Card, tasks: readonly Pick<CrewTaskView, 'id' | 'state' | 'asks'>[], now: number): string {
  const who = task.state === 'in_review' ? `${task.reviewer ?? 'nobody'} reviews` : (task.implementer ?? '')
  const began = task.startedAt === null ? null : Date.parse(task.startedAt)
  const end = task.endedAt === null ? now : Date.parse(task.endedAt)
  return [
    ...(task.asks === null ? [] : [`waits for you: ${ASKED[task.asks]}`]),
    ...(task.state === 'queued' ? needsTexts(task, tasks) : []),
    ...(who === '' ? [] : [who]),
    ...(began === null ? [] : [formatElapsed(end - began)]),
    ...(task.verdict === null ? [] : [`${task.verdict}${task.reviewer === null ? '' : ` by ${task.reviewer}`}`]),
    ...(task.check === null ? [] : [task.check.ok ? 'verified' : 'verify failed']),
    ...failedTexts(task),
    ...(task.spent.costUsd === 0 ? [] : [formatCost(task.spent.costUsd, task.spent.unpriced)]),
    ...(task.merged === null ? [] : [`merged ${task.merged.slice(0, 7)}`]),
    ...(task.reason === null ? [] : [task.reason]),
  ].join(' · ')
}

/** The tasks that a queued task needs and that are not done, each with its lane. */
function needsTexts({ needs }: Pick<Card, 'needs'>, tasks: readonly Pick<CrewTaskView, 'id' | 'state' | 'asks'>[]): string[] {
  const open = tasks.filter(({ id, state }) => needs.includes(id) && state !== 'done')
  return open.length === 0 ? [] : [`needs ${open.map((task) => `${task.id} (${laneOf(task)})`).join(', ')}`]
}

/** An attempt at a task, with what happened in it. */
export interface Attempt {
  readonly number: number
  readonly member: string
  /** how the attempt ended and after how long, or for how long it has lasted */
  readonly outcome: string
  readonly isOpen: boolean
  readonly verdicts: readonly ReportVerdictView[]
  readonly checks: readonly ReportCheckView[]
  readonly events: readonly TaskEventView[]
}

export interface EventsByAttempt {
  /** what happened before the first attempt */
  readonly before: readonly TaskEventView[]
  /** the newest first */
  readonly attempts: readonly Attempt[]
}

type Tries = Pick<ReportTaskView, 'tries' | 'verdicts' | 'checks'>

/** Divides the events of a task by its attempts. Whatever happened after the end of an attempt belongs to it, until the next one begins. */
export function eventsByAttempt({ tries, verdicts, checks }: Tries, history: readonly TaskEventView[], now: number): EventsByAttempt {
  const starts = tries.map(({ startedAt }) => Date.parse(startedAt))
  const inAttempt = <T extends { readonly at: string }>(all: readonly T[], index: number): T[] =>
    all.filter(({ at }) => starts.findLastIndex((start) => start <= Date.parse(at)) === index)
  return {
    before: inAttempt(history, -1),
    attempts: tries
      .map(({ member, startedAt, endedAt, outcome, reason }, index): Attempt => {
        const length = formatElapsed((endedAt === null ? now : Date.parse(endedAt)) - Date.parse(startedAt))
        const end = endedAt === null ? `for ${length}` : `${outcome ?? 'ended'} after ${length}`
        return {
          number: index + 1,
          member,
          outcome: reason === null || reason === '' ? end : `${end}: ${reason}`,
          isOpen: endedAt === null,
          verdicts: inAttempt(verdicts, index),
          checks: inAttempt(checks, index),
          events: inAttempt(history, index),
        }
      })
      .toReversed(),
  }
}
