// Asks: an agent requests a permission or an answer, and the user gives it. An answer during a pause, or one that the user may take back
// for a time, is stored with its ask. The agent gets the answer when that time or the pause is over (release-holds.ts). Must never let an
// agent answer, because only the user decides. The approval of a plan also sets the permissions of the process, within those of its parent.
// Tests: test/tables/kernel/decide/asks/asks.test.ts, test/e2e/native/plan.test.ts.
import { KernelError } from '../../model/errors.ts'
import { boundEvidence } from './ask-evidence.ts'
import { checkQueueSpace } from '../message-queue.ts'
import { deliverAnswer, isTextAMessage } from './deliver-answer.ts'
import { freezeDrained } from '../holds/release-holds.ts'
import { isEnding, isLiving, isSuspended } from '../../model/status.ts'
import type { InputOf } from '../../model/inputs.ts'
import type { Ack, ReportOf } from '../../model/reports.ts'
import type { Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import { isAnswerDue, type Ask, type PendingAsk } from '../../model/asks.ts'
import { fitToParent } from '../../state/permissions.ts'
import { ruleBypassProblem } from '../../state/tool-rules.ts'
import type { Sender, Uuid } from '../../model/ids.ts'
import { truncate } from '../../util/truncate.ts'

/** maximum number of open asks per process */
const MAX_ASKS = 32
/** maximum number of options per ask */
const MAX_OPTIONS = 64
/** maximum length of an ask's text */
const TEXT_CHARS = 4_000
/** maximum length of an option's name */
const NAME_CHARS = 200

/** Records an ask. Returns `late` if the ask is already known, or the agent has no turn. Errors: RESOURCE_EXHAUSTED. */
export function recordAsk(draft: DecisionDraft, process: Process, { ask }: ReportOf<'waiting'>): Ack {
  const { life, asks = [] } = process
  const isKnown = asks.some(({ id }) => id === ask.id)
  if (life.state !== 'running' || (life.activity !== 'working' && life.activity !== 'waiting') || isKnown) return 'late'
  if (openAsks(process).length >= MAX_ASKS) throw new KernelError('RESOURCE_EXHAUSTED', openQuestionsText(process))
  const bounded = describeAsk(ask, process.progress)
  freezeDrained(draft, draft.emit(process.uuid, { type: 'process.waiting', question: bounded.text, ask: bounded }))
  return 'ok'
}

/** Limits the number of options and the length of texts, and adds the step and the last text of the process. */
function describeAsk({ id, kind, text, options, callId, at, evidence }: Ask, { step, lastText }: Process['progress']): Ask {
  const firstOptions = options
    .slice(0, MAX_OPTIONS)
    .map((option) => ({ id: option.id, name: truncate(option.name, NAME_CHARS, '…'), kind: option.kind }))
  return {
    id,
    kind,
    text: truncate(text, TEXT_CHARS, '…'),
    options: firstOptions,
    callId,
    at,
    ...(evidence ? { evidence: boundEvidence(evidence) } : {}),
    step,
    ...(lastText === null ? {} : { message: lastText }),
  }
}

/** Closes an ask that the agent has withdrawn. */
export function withdrawAsk(draft: DecisionDraft, process: Process, { id }: ReportOf<'unasked'>): Ack {
  if (!process.asks?.some((ask) => ask.id === id)) return 'late'
  draft.emit(process.uuid, { type: 'process.unasked', id })
  return 'ok'
}

/**
 * Records the user's answer. It is delivered at once, unless the process is suspended or the user may take it back. Errors: NOT_FOUND,
 * PERMISSION, INVALID, CONFLICT, RESOURCE_EXHAUSTED for a text that must be a message while the queue is full.
 */
export function answerAsk(draft: DecisionDraft, input: InputOf<'answer'>): void {
  const { uuid, by, text } = input
  const process = draft.requireLiving(uuid)
  if (by.startsWith('agent:')) throw new KernelError('PERMISSION', 'only the user can answer a question of a process')
  if (isEnding(process)) throw new KernelError('INVALID', `process ${process.pid} is stopping`)
  const ask = findOpenAsk(process, input)
  const { id, kind } = ask
  const chosen = checkOption(process, input, ask.options)
  const hasMessage = isTextAMessage(process, ask, { option: chosen, text })
  if (hasMessage) checkQueueSpace(process)
  const option = kind === 'plan' && chosen !== null ? applyPlanAnswer(draft, process, { option: chosen, by }) : chosen
  const canUndo = kind !== 'plan' && !process.spec.crew
  const { undoMs = 0 } = input
  const delivery = canUndo && undoMs > 0 ? { at: draft.now.wall + undoMs, dueMono: draft.now.mono + undoMs } : null
  draft.emit(uuid, { type: 'process.answered', id, option, text, by, ...(delivery ? { delivery } : {}) })
  const isHeld = isSuspended(process)
  if (process.spec.crew) draft.followUps.push({ type: 'answered', uuid, id, option, text })
  else if (!isHeld && !delivery) deliverAnswer(draft, process, ask, { option, text })
  const notes = [
    ...(hasMessage ? ['the agent gets the text as a message, because the answer itself has no place for it'] : []),
    ...(option === chosen ? [] : [`its parent must ask, so the answer counts as \`${option}\``]),
    ...(isHeld && !process.spec.crew ? ['the process is suspended: it gets the answer when it resumes'] : []),
    ...(undoMs > 0 && !canUndo ? ['the answer counts at once, so it cannot be taken back'] : []),
  ]
  const undo = canUndo && (delivery || isHeld) ? { undo: { id, until: delivery?.at ?? null } } : {}
  draft.replyDone(input.reply, uuid, { note: notes.length === 0 ? null : notes.join('; '), ...undo })
}

/** Opens an ask again whose answer the agent does not have. Errors: NOT_FOUND, PERMISSION, INVALID, CONFLICT. */
export function withdrawAnswer(draft: DecisionDraft, { uuid, by, id, reply }: InputOf<'withdrawAnswer'>): void {
  const process = draft.requireLiving(uuid)
  if (by.startsWith('agent:')) throw new KernelError('PERMISSION', 'only the user can take back an answer')
  if (isEnding(process)) throw new KernelError('INVALID', `process ${process.pid} is stopping`)
  const ask = process.asks?.find((known) => known.id === id)
  const obstacle = withdrawObstacle(process, ask)
  if (obstacle !== null) {
    const hint = ask && !ask.answer ? 'Answer it.' : 'Send the agent a message, or interrupt it.'
    throw new KernelError('CONFLICT', `the answer to "${id}" cannot be taken back: ${obstacle}`, undefined, hint)
  }
  draft.emit(uuid, { type: 'process.unanswered', id, by })
  draft.replyDone(reply, uuid)
}

/** Why the answer to an ask cannot be taken back; null: it can. */
function withdrawObstacle({ pid, spec }: Process, ask: PendingAsk | undefined): string | null {
  if (spec.crew || ask?.kind === 'plan') return 'it counted at once'
  if (!ask) return `process ${pid} has the answer already, or does not ask this`
  return ask.answer ? null : `the question of process ${pid} is open`
}

/** Delivers the stored answers whose time has come to a running agent. */
export function deliverDueAnswers(draft: DecisionDraft, uuid: Uuid): void {
  const process = draft.mustGet(uuid)
  const { life, asks = [] } = process
  if (life.state !== 'running' || life.holds.length > 0 || isEnding(process)) return
  for (const ask of asks) {
    if (!ask.answer || !isAnswerDue(ask, draft.now.mono)) continue
    draft.emit(uuid, { type: 'process.delivered', id: ask.id })
    deliverAnswer(draft, process, ask, ask.answer)
  }
}

/**
 * Records the permissions that the user's answer to a plan grants. Returns the option that counts: a child gets no more than its parent
 * has. Errors: PERMISSION while the parent plans, or denies; INVALID for a policy that would let a rule be bypassed.
 */
function applyPlanAnswer(
  draft: DecisionDraft,
  { uuid, pid, spec, parentUuid }: Process,
  { option, by }: { readonly option: string; readonly by: Sender },
): string {
  if (option !== 'allow' && option !== 'ask') return option
  if (spec.driver !== 'native' || spec.permissions?.default !== 'plan') return option
  const parent = parentUuid === null ? undefined : draft.get(parentUuid)
  const living = parent && isLiving(parent) ? parent : null
  const { spec: approved } = fitToParent({ ...spec, permissions: { ...spec.permissions, default: option } }, living?.spec ?? null)
  const { permissions = { default: option } } = approved
  const { default: policy } = permissions
  if (policy === 'plan' || policy === 'deny')
    throw new KernelError(
      'PERMISSION',
      `process ${pid} gets no more permissions than its parent ${living?.pid}, which ${policy === 'plan' ? 'is still planning' : 'denies by default'}`,
      undefined,
      policy === 'plan' ? `Answer the plan of ${living?.pid} first, or deny this one.` : 'Deny the plan, with a message.',
    )
  const bypassable = ruleBypassProblem(permissions, approved)
  if (bypassable !== null) throw new KernelError('INVALID', bypassable, undefined, 'Approve the plan with `ask`.')
  draft.emit(uuid, { type: 'process.limited', spec: approved, by })
  return policy
}

/** The asks of a process that have no answer. */
export function openAsks({ asks = [] }: Pick<Process, 'asks'>): readonly PendingAsk[] {
  return asks.filter((ask) => ask.answer === undefined)
}

function openQuestionsText(process: Process): string {
  return `process ${process.pid} has ${openAsks(process).length} open questions`
}

/** The open ask with this id; null: the only one. Errors: INVALID; CONFLICT if the user saw an ask that is no longer open. */
function findOpenAsk(process: Process, { id, wasShown }: InputOf<'answer'>): Ask {
  const open = openAsks(process)
  if (wasShown && !open.some((ask) => ask.id === id)) throw changedAskError(process)
  const asks = open.map(({ id: known, text, options }) => ({ id: known, text, options }))
  const [first] = open
  if (!first) throw new KernelError('INVALID', `process ${process.pid} asks nothing`, { asks })
  const ids = open.map((ask) => ask.id).join(', ')
  if (id === null && open.length > 1) throw new KernelError('INVALID', `${openQuestionsText(process)}; name one of them: ${ids}`, { asks })
  const found = id === null ? first : open.find((ask) => ask.id === id)
  if (!found) throw new KernelError('INVALID', `process ${process.pid} does not ask "${id}"; it asks ${ids}`, { asks })
  return found
}

/** The error for an answer to an ask that is no longer open. */
export function changedAskError(process: Pick<Process, 'pid' | 'asks'>): KernelError {
  const open = openAsks(process)
  const asks = open.map(({ id, text, options }) => ({ id, text, options }))
  const now = open.length === 0 ? 'it asks nothing now' : `it asks ${open.map(({ id }) => id).join(', ')} now`
  return new KernelError(
    'CONFLICT',
    `process ${process.pid} no longer asks this: ${now}`,
    { asks },
    `Nothing was changed. \`reeve answer ${process.pid}\` shows its questions.`,
  )
}

/** The chosen option; null for an ask without options. Errors: INVALID. */
function checkOption({ pid }: Process, { option, text }: InputOf<'answer'>, options: Ask['options']): string | null {
  const ids = options.map(({ id }) => id)
  if (ids.length === 0) {
    if (option !== null || text === null) throw new KernelError('INVALID', `process ${pid} expects a text as the answer`, { options })
    return null
  }
  if (option === null || !ids.includes(option)) {
    throw new KernelError('INVALID', `process ${pid} expects one of ${ids.join(', ')}${option === null ? '' : `, not "${option}"`}`, {
      options,
    })
  }
  return option
}
