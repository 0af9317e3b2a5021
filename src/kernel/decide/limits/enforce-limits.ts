// Applies limits and budgets: grants a model call the longest answer that fits, and warns, holds or ends a process that reaches a limit.
// Continues a waiting process as soon as there is room. limits.ts computes the amounts.
// Tests: test/tables/kernel/state/limits.test.ts, test/properties/budgets.test.ts.
import {
  MIN_ANSWER_TOKENS,
  payerChainOf,
  applyLimitChange,
  mayBypassGateway,
  grantCall,
  configuredLimits,
  meteringOf,
  findExhausted,
  findExhaustedLimit,
  findReachedLimit,
  tallyWithBelow,
  limitsToWarnOf,
  usedOf,
} from '../../state/limits.ts'
import { payerOf } from '../../state/accounts.ts'
import { releaseHolds } from '../holds/release-holds.ts'
import { paidSubtree } from './payer.ts'
import { enforceReachedLimit } from './limit-reached.ts'
import { budgetsToWarnOf, configuredBudgets, withWarning } from '../../state/home.ts'
import type { GrantedCall, PromisedRoom, Reached } from '../../state/limits.ts'
import type { CallGrant } from '../../model/reports.ts'
import type { CallEstimate, Process } from '../../model/process.ts'
import type { LiveTable } from '../../state/live-table.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Sender, Uuid } from '../../model/ids.ts'
import type { LimitChange } from '../../model/inputs.ts'

/** A model call that is about to begin. */
export interface PlannedCall {
  /** the call begins a new step, so a limit of steps applies */
  readonly isNewStep: boolean
  /** the estimated cost; undefined: unknown */
  readonly estimate: CallEstimate | undefined
}

type RefusedCall = Exclude<CallGrant, { readonly ack: 'go' }>

/** Grants or refuses a model call of a process without holds. The caller must record a granted reserve at once. */
export function requestCall(draft: DecisionDraft, process: Process, { isNewStep, estimate }: PlannedCall): GrantedCall | RefusedCall {
  const { mono } = draft.now
  const reached = (isNewStep ? findExhaustedLimit(draft, process, 'step', mono) : null) ?? findExhausted(draft, process, 'call', mono)
  const granted = reached ?? (estimate ? grantCall(draft, process, estimate) : UNLIMITED_GRANT)
  if (!('limit' in granted)) return granted
  const ack = enforceReachedLimit(draft, process, granted, estimate)
  return { ack, reason: draft.mustGet(process.uuid).note }
}

const UNLIMITED_GRANT: GrantedCall = { maxOutputTokens: null, reserve: null }

/** Answers a granted call, and wakes processes that may use the room that it leaves. */
export function beginGrantedCall(draft: DecisionDraft, process: Process, { maxOutputTokens, reserve }: GrantedCall): CallGrant | 'go' {
  if (reserve) wakeWaiting(draft, payerChainOf(draft, process))
  return maxOutputTokens === null ? 'go' : { ack: 'go', maxOutputTokens }
}

/** Runs after new usage or an ended call: records warnings, enforces limits, and wakes processes that wait for room. */
export function enforceLimitsAfterUsage(draft: DecisionDraft, uuid: Uuid): void {
  const accounts = payerChainOf(draft, draft.mustGet(uuid))
  const hasLimits = accounts.some(({ spec }) => configuredLimits(spec.limits).length > 0)
  if (!hasLimits && configuredBudgets(draft.home).length === 0) return
  for (const account of accounts) warnOfLimits(draft, account)
  warnOfHomeBudgets(draft, uuid)
  const process = draft.mustGet(uuid)
  const { life } = process
  const reached =
    life.state === 'running' && !life.stopping ? findReachedLimit(draft, process, draft.now.mono, isMeteredByReports(process)) : null
  if (reached) enforceReachedLimit(draft, process, reached)
  wakeWaiting(draft, accounts)
}

/** True when model calls are not requested beforehand, but reported afterwards. */
function isMeteredByReports(process: Process): boolean {
  return mayBypassGateway(process) || meteringOf(process) === 'report'
}

/** Warns of each limit once, until that limit changes. */
export function warnOfLimits(draft: DecisionDraft, account: Process): void {
  for (const figures of limitsToWarnOf(draft, account, draft.now.mono)) draft.emit(account.uuid, { type: 'limit.warned', ...figures })
}

/** Warns of each budget of the home once a period, in the journal of the process that has spent the money. */
function warnOfHomeBudgets(draft: DecisionDraft, uuid: Uuid): void {
  for (const figures of budgetsToWarnOf(draft.home)) {
    draft.emit(uuid, { type: 'limit.warned', ...figures })
    draft.home = withWarning(draft.home, figures.limit)
  }
}

/** Wakes processes that wait for room in the limits of these accounts. Runs when a call has begun or ended, or a member has ended. */
function wakeWaiting(draft: DecisionDraft, accounts: readonly Process[]): void {
  if (draft.home.hasWaiting) return wakeAllOfHome(draft)
  const top = accounts.findLast(({ uuid, spec }) => configuredLimits(spec.limits).length > 0 && draft.get(uuid) !== undefined)
  if (top && tallyWithBelow(draft, draft.mustGet(top.uuid)).waiting > 0) wakeAllWithRoom(draft, top.uuid)
}

/** Wakes processes that waited for the end of a process's open calls. */
export function wakeWaitingAfterEnd(draft: DecisionDraft, ended: Process): void {
  if (draft.home.hasWaiting) return wakeAllOfHome(draft)
  const payer = payerOf(ended)
  const above = payer === null ? undefined : draft.get(payer)
  if (above) wakeWaiting(draft, payerChainOf(draft, above))
}

/** Releases the budget holds of all processes that have room now. */
export function wakeAllOfHome(draft: DecisionDraft): void {
  draft.home = { ...draft.home, hasWaiting: false }
  wakeWithRoom(draft, [...draft.all()])
}

/** Releases the budget holds of `root` and of the processes that it pays for, where there is room now. */
function wakeAllWithRoom(draft: DecisionDraft, root: Uuid): void {
  wakeWithRoom(draft, paidSubtree(draft, root))
}

function wakeWithRoom(draft: DecisionDraft, uuids: readonly Uuid[]): void {
  const promised = { tokens: 0, outputTokens: 0, nanoUsd: 0 }
  for (const uuid of uuids) {
    const process = draft.mustGet(uuid)
    if (!isHeldByBudget(process)) continue
    const blocking = findBlockingLimit(draft, process, draft.now.mono, promised)
    if (blocking?.scope === 'home' && blocking.shouldWait) draft.home = { ...draft.home, hasWaiting: true }
    if (blocking !== null) continue
    addPromise(promised, process.wants)
    releaseHolds(draft, uuid, 'system', ({ reason }) => reason === 'budget')
  }
}

/** True for a running process with the hold `budget`. */
export function isHeldByBudget({ life }: Process): boolean {
  return life.state === 'running' && !life.stopping && life.holds.some(({ reason }) => reason === 'budget')
}

/** True when the limits have room for the refused call of a held process, or for its next action. */
export function hasRoom(draft: DecisionDraft, process: Process): boolean {
  return findBlockingLimit(draft, process, draft.now.mono) === null
}

/** The limit or the budget of the home that leaves no room for the next action of a process; null: there is room. */
export function findBlockingLimit(table: LiveTable, process: Process, mono: number, promised?: PromisedRoom): Reached | null {
  const {
    wants,
    spec: { limits },
    progress,
  } = process
  const reached =
    findExhaustedLimit(table, process, 'step', mono) ??
    findExhausted(table, process, 'call', mono) ??
    findReachedLimit(table, process, mono, isMeteredByReports(process))
  if (reached) return reached
  const turn = progress.turnOpen ? null : findExhaustedLimit(table, process, 'turn', mono)
  if (turn) return turn
  const time = limits.timeoutMs === undefined ? 0 : usedOf(table, process, 'timeoutMs', mono)
  if (limits.timeoutMs !== undefined && time >= limits.timeoutMs)
    return { limit: 'timeoutMs', used: time, of: limits.timeoutMs, scope: process, shouldWait: false }
  const granted = wants === undefined ? null : grantCall(table, process, wants, promised)
  return granted && 'limit' in granted ? granted : null
}

/** Adds the minimum room for the call that a released process will soon request. */
function addPromise(promised: { -readonly [K in keyof PromisedRoom]: PromisedRoom[K] }, wants: CallEstimate | undefined): void {
  if (!wants) return
  const answer = Math.min(MIN_ANSWER_TOKENS, wants.maxOutputTokens ?? MIN_ANSWER_TOKENS)
  promised.tokens += wants.inputTokens + answer
  promised.outputTokens += answer
  if (wants.usd) promised.nanoUsd += Math.ceil((wants.inputTokens * wants.usd.perInputToken + answer * wants.usd.perOutputToken) * 1e9)
}

/** Changes the limits of a living process, and releases the holds that no longer apply. */
export function changeLimits(draft: DecisionDraft, process: Process, change: LimitChange, by: Sender): void {
  const { uuid, spec } = process
  draft.emit(uuid, { type: 'process.limited', spec: { ...spec, limits: applyLimitChange(spec.limits, change) }, by })
  wakeAllWithRoom(draft, uuid)
}
