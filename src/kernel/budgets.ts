// Budgets at work: who asks before a call gets as long an answer as there is room for; who has used more is warned, and held or
// ended; who waits goes on as soon as there is room. Owns the order of these; the figures are those of limits.ts.
// Tests: test/tables/limits.test.ts, test/properties/budgets.test.ts.
import { LEAST_ANSWER_TOKENS, accountsOver, changedLimits, goesRound, grant, limitsSet, meteringOf, noRoomFor, reachedBy, tallyWithBelow, toWarnOf, usedOf } from './limits.ts'
import { payerOf } from './accounts.ts'
import { release } from './pausing.ts'
import { paidSubtree } from './payers.ts'
import { reach } from './reaching.ts'
import type { Granted, LimitChange, Promised } from './limits.ts'
import type { Permit } from './reports.ts'
import type { CallAsk, Process, Sender, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** What is to begin: a step (or another try of one, or a summary), and what it may cost, if anybody knows. */
export interface Call {
  readonly isNewStep: boolean
  readonly ask: CallAsk | undefined
}

type Refused = Exclude<Permit, { readonly ack: 'go' }>

/** Asked before each call to a model, while nothing holds the process. What is granted is to be reserved at once. */
export function askForCall(work: Work, process: Process, { isNewStep, ask }: Call): Granted | Refused {
  const { mono } = work.now
  const reached = (isNewStep ? noRoomFor(work, process, 'step', mono) : null) ?? noRoomFor(work, process, 'call', mono)
  const granted = reached ?? (ask ? grant(work, process, ask) : NOT_ASKED)
  if (!('limit' in granted)) return granted
  const ack = reach(work, process, granted, ask)
  return { ack, reason: work.need(process.uuid).note }
}

const NOT_ASKED: Granted = { maxOutputTokens: null, reserve: null }

/** After it has used more, or what was reserved for it is free: soft marks, hard ones, and who waits for room. */
export function spentMore(work: Work, uuid: Uuid): void {
  const accounts = accountsOver(work, work.need(uuid))
  if (accounts.every(({ spec }) => limitsSet(spec.limits).length === 0)) return
  for (const account of accounts) warnOfLimits(work, account)
  const process = work.need(uuid)
  const { life } = process
  const reached = life.state === 'running' && !life.stopping ? reachedBy(work, process, work.now.mono, isTold(process)) : null
  if (reached) reach(work, process, reached)
  wakeWaiting(work, accounts)
}

/** Nobody asks before its calls: it tells of them afterwards. */
function isTold(process: Process): boolean {
  return goesRound(process) || meteringOf(process) === 'report'
}

/** Of each limit once, until it is another one. */
export function warnOfLimits(work: Work, account: Process): void {
  for (const figures of toWarnOf(work, account, work.now.mono)) work.emit(account.uuid, { type: 'limit.warned', ...figures })
}

/** A call has begun or ended below these accounts, or somebody who had one is gone. */
export function wakeWaiting(work: Work, accounts: readonly Process[]): void {
  const top = accounts.findLast(({ uuid, spec }) => limitsSet(spec.limits).length > 0 && work.get(uuid) !== undefined)
  if (top && tallyWithBelow(work, work.need(top.uuid)).waiting > 0) wakeWhereRoom(work, top.uuid)
}

/** One has ended, and what was reserved for its calls is free: who waited for that goes on. */
export function wakeAfter(work: Work, ended: Process): void {
  const payer = payerOf(ended)
  const above = payer === null ? undefined : work.get(payer)
  if (above) wakeWaiting(work, accountsOver(work, above))
}

/** The budget of a process is another one, or there is more left of it: who was held by it goes on, itself and below. */
function wakeWhereRoom(work: Work, root: Uuid): void {
  const promised = { tokens: 0, outputTokens: 0, nanoUsd: 0 }
  for (const uuid of paidSubtree(work, root)) {
    const process = work.need(uuid)
    if (!isHeldByBudget(process) || !hasRoom(work, process, promised)) continue
    promise(promised, process.wants)
    release(work, uuid, 'system', ({ reason }) => reason === 'budget')
  }
}

export function isHeldByBudget({ life }: Process): boolean {
  return life.state === 'running' && !life.stopping && life.holds.some(({ reason }) => reason === 'budget')
}

/** Whether it could go on: with the call that it was refused, or with whatever it does next. */
export function hasRoom(work: Work, process: Process, promised?: Promised): boolean {
  const { mono } = work.now
  const { wants, spec, progress } = process
  if (noRoomFor(work, process, 'step', mono) ?? noRoomFor(work, process, 'call', mono) ?? reachedBy(work, process, mono, isTold(process))) return false
  if (!progress.turnOpen && noRoomFor(work, process, 'turn', mono)) return false
  if (spec.limits.timeoutMs !== undefined && usedOf(work, process, 'timeoutMs', mono) >= spec.limits.timeoutMs) return false
  return wants === undefined || !('limit' in grant(work, process, wants, promised))
}

/** Who goes on asks in a moment: what it then needs at least is not for the next one. */
function promise(promised: { -readonly [K in keyof Promised]: Promised[K] }, wants: CallAsk | undefined): void {
  if (!wants) return
  const answer = Math.min(LEAST_ANSWER_TOKENS, wants.maxOutputTokens ?? LEAST_ANSWER_TOKENS)
  promised.tokens += wants.inputTokens + answer
  promised.outputTokens += answer
  if (wants.usd) promised.nanoUsd += Math.ceil((wants.inputTokens * wants.usd.perInputToken + answer * wants.usd.perOutputToken) * 1e9)
}

/** A process that lives gets other limits; whom they held goes on where there is room now. */
export function changeLimits(work: Work, process: Process, change: LimitChange, by: Sender): void {
  const { uuid, spec } = process
  work.emit(uuid, { type: 'process.limited', spec: { ...spec, limits: changedLimits(spec.limits, change) }, by })
  wakeWhereRoom(work, uuid)
}
