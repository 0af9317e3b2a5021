// What the dialog of a resume sends, and the command line that does the same. Must make no request. Pure.
// Test: test/tables/web/resume-form.test.ts.
import type { ProcessView, ResumeBody } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { commandName } from '../../src/faces/process-names.ts'
import { limitValue, LIMIT_UNITS, type Limit } from '../process/limit-units.ts'
import { EFFORTS } from '../word-lists.ts'

export interface ResumeFields {
  readonly message: string
  readonly model: string
  readonly effort: string
  readonly limit: Limit
  /** how much is added to the limit, or its value if the process has none */
  readonly amount: string
  /** true: it runs again from its beginning */
  readonly rerun: boolean
  /** true: also the processes that were paused together with it */
  readonly withBelow: boolean
}

/** What is known about the process beside its row. */
export type ResumeFacts = Pick<ProcessView, 'limits' | 'sessionId'>

/** The limits that the dialog offers: those with a flag of `reeve resume`. */
export const RESUME_LIMITS = (Object.keys(LIMIT_UNITS) as Limit[]).filter((limit) => LIMIT_UNITS[limit].flag !== null)

/** What can be chosen for a process. */
export interface ResumeChoices {
  readonly message: boolean
  /** model and effort; only an ended process takes others */
  readonly model: boolean
  readonly rerun: boolean
  readonly withBelow: boolean
}

export function resumeChoices({ kind, driver, endedAt, sub }: Pick<RowView, 'kind' | 'driver' | 'endedAt' | 'sub'>): ResumeChoices {
  const isEnded = endedAt !== null
  return {
    message: kind === 'agent' || (kind === 'command' && isEnded),
    model: isEnded && kind === 'agent',
    rerun: isEnded && (driver === 'acp' || driver === 'command'),
    withBelow: !isEnded && sub.held > 1,
  }
}

/** Whether an ended process has no session to continue, so that it can only run again. */
export function mustRerun({ driver, turn }: Pick<RowView, 'driver' | 'turn'>, { sessionId }: Pick<ResumeFacts, 'sessionId'>): boolean {
  return sessionId === null && (driver === 'command' || (driver === 'acp' && turn > 0))
}

/** The fields that were filled in and can be chosen. A process that runs again from its beginning takes no message. */
function chosenOf(row: RowView, fields: ResumeFields): ResumeFields {
  const choices = resumeChoices(row)
  const rerun = choices.rerun && fields.rerun
  return {
    ...fields,
    rerun,
    message: choices.message && !rerun ? fields.message.trim() : '',
    model: choices.model ? fields.model.trim() : '',
    effort: choices.model ? fields.effort : '',
    withBelow: choices.withBelow && fields.withBelow,
  }
}

/** Whether the amount is empty or a number above 0. With any other amount nothing is sent: a typed limit must not be lost in silence. */
export function isAmountValid({ amount }: Pick<ResumeFields, 'amount'>): boolean {
  const typed = Number(amount)
  return amount.trim() === '' || (Number.isFinite(typed) && typed > 0)
}

/** The fields that were filled in, as a resume or a fork sends them. */
export function filledFields({
  message,
  model,
  effort,
}: Pick<ResumeFields, 'message' | 'model' | 'effort'>): Pick<ResumeBody, 'message' | 'model' | 'effort'> {
  const word = EFFORTS.find((one) => one === effort)
  return {
    ...(message === '' ? {} : { message }),
    ...(model === '' ? {} : { model }),
    ...(word === undefined ? {} : { effort: word }),
  }
}

/** The limit that changes; null: none does. */
function changeOf(
  { limit, amount }: ResumeFields,
  limits: ResumeFacts['limits'],
): { readonly isRaised: boolean; readonly value: number } | null {
  if (amount.trim() === '') return null
  return { isRaised: limits[limit] !== undefined, value: limitValue(limit, Number(amount)) }
}

/** The body of the request. Null: the amount is not valid. */
export function resumeBody(row: RowView, fields: ResumeFields, limits: ResumeFacts['limits']): ResumeBody | null {
  if (!isAmountValid(fields)) return null
  const { message, model, effort, rerun, withBelow, limit } = chosenOf(row, fields)
  const change = changeOf(fields, limits)
  return {
    ...filledFields({ message, model, effort }),
    ...(change === null ? {} : { [change.isRaised ? 'raise' : 'limits']: { [limit]: change.value } }),
    ...(rerun ? { rerun } : {}),
    ...(withBelow ? { subtree: true } : {}),
  }
}

/** The words of the command line. Null: the amount is not valid. */
export function resumeCommand(row: RowView, fields: ResumeFields, limits: ResumeFacts['limits']): string[] | null {
  if (!isAmountValid(fields)) return null
  const { message, model, effort, rerun, withBelow, limit, amount } = chosenOf(row, fields)
  const change = changeOf(fields, limits)
  const { flag, unit } = LIMIT_UNITS[limit]
  return [
    'reeve',
    'resume',
    ...(rerun ? ['--rerun'] : []),
    ...(withBelow ? ['--subtree'] : []),
    ...(model === '' ? [] : ['--model', model]),
    ...(effort === '' ? [] : ['--effort', effort]),
    ...(change === null || flag === null ? [] : [flag, `${change.isRaised ? '+' : ''}${amount.trim()}${unit[1]}`]),
    ...(message === '' ? [] : ['--message', message]),
    commandName(row),
  ]
}
