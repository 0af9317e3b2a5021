// The limits, as one table: the usage that each limit counts, the time of its check, and the action when it is reached. Also decides
// whether there is room for more. enforce-limits.ts acts on these decisions.
// Tests: test/tables/kernel/state/limits.test.ts, test/properties/budgets.test.ts.
import { CAPABILITIES, isExternal } from '../model/capabilities.ts'
import { KernelError } from '../model/errors.ts'
import { addTally, toNanoUsd, payerOf, tallyOf, toUsd } from './accounts.ts'
import { configuredBudgets, findSpentBudget, leftNanoUsd, reachedBudget, type ReachedHomeBudget } from './home.ts'
import type { Tally } from './accounts.ts'
import type { CallEstimate, ProcessClock, Process } from '../model/process.ts'
import type { LiveTable } from './live-table.ts'
import {
  HOME_BUDGETS,
  LIMIT_NAMES,
  type BoundName,
  type HomeBudgetName,
  type LimitAction,
  type LimitName,
  type Limits,
  type Metering,
  type RefusingLimit,
} from '../model/words.ts'
import type { Usage } from '../model/usage.ts'
import type { LimitChange } from '../model/inputs.ts'

/** The usage of a process, together with all processes that it pays for. */
interface LimitUse {
  readonly process: Process
  readonly tally: Tally
  /** monotonic ms */
  readonly now: number
}

/** When a limit is checked. */
export type LimitCheck =
  /** before a step, turn, model call or message begins; a used-up limit prevents it */
  | 'step'
  | 'turn'
  | 'call'
  | 'message'
  /** after usage; the limit is reached when usage exceeds it */
  | 'after'
  /** after a measurement; the limit is reached when usage equals or exceeds it */
  | 'measured'
  /** before a spawn, which a used-up limit refuses */
  | 'ask'
  /** when its deadline passes */
  | 'clock'

interface LimitRule {
  readonly used: (use: LimitUse) => number
  readonly when: LimitCheck
  /** null: the only action is to refuse the request */
  readonly action: LimitAction | null
  /** `usd`, `ms` and `bytes` have their own texts; any other unit is printed after the amount */
  readonly unit: 'usd' | 'ms' | 'bytes' | string
}

const NO_USE = (): number => 0

type LimitTable = { readonly [L in LimitName]: LimitRule & { readonly action: L extends RefusingLimit ? null : LimitAction } }

export const LIMITS: LimitTable = {
  maxSteps: { used: ({ tally }) => tally.steps, when: 'step', action: 'terminate', unit: 'steps' },
  maxTurns: { used: ({ tally }) => tally.turns, when: 'turn', action: 'terminate', unit: 'turns' },
  maxMessages: { used: ({ tally }) => tally.messagesSent, when: 'message', action: null, unit: 'messages' },
  maxToolCalls: { used: ({ tally }) => tally.toolCalls, when: 'after', action: 'terminate', unit: 'tool calls' },
  maxChildren: { used: NO_USE, when: 'ask', action: null, unit: 'children' },
  maxDepth: { used: NO_USE, when: 'ask', action: null, unit: 'levels below it' },
  maxInputTokens: { used: ({ tally }) => tally.inputTokens, when: 'call', action: 'suspend', unit: 'input tokens' },
  maxOutputTokens: { used: ({ tally }) => tally.outputTokens, when: 'call', action: 'suspend', unit: 'output tokens' },
  maxCacheReadTokens: { used: ({ tally }) => tally.cacheReadTokens, when: 'call', action: 'suspend', unit: 'tokens read from the cache' },
  maxCacheWriteTokens: {
    used: ({ tally }) => tally.cacheWriteTokens,
    when: 'call',
    action: 'suspend',
    unit: 'tokens written to the cache',
  },
  budgetTokens: { used: ({ tally }) => tokensIn(tally), when: 'call', action: 'suspend', unit: 'tokens' },
  budgetUsd: { used: ({ tally }) => toUsd(tally.nanoUsd), when: 'call', action: 'suspend', unit: 'usd' },
  cpuTimeMs: { used: ({ tally }) => tally.cpuTimeMs, when: 'measured', action: 'terminate', unit: 'ms' },
  timeoutMs: { used: ({ process, now }) => activeMs(process.clock, now), when: 'clock', action: 'terminate', unit: 'ms' },
  memoryBytes: { used: ({ tally }) => tally.rssBytes, when: 'measured', action: 'terminate', unit: 'bytes' },
  outputBytes: { used: ({ tally }) => tally.outputBytes, when: 'measured', action: 'terminate', unit: 'bytes' },
}

/** A warning is recorded when this share of a limit is used, unless the limits have their own `warnAt`. */
export const WARN_AT = 0.8

/** The room that a call must have for its answer, in tokens. A shorter answer is not worth its price. */
export const MIN_ANSWER_TOKENS = 1_000
/** The assumed length of an answer without a maximum, for a budget that must cover it. */
const ASSUMED_ANSWER_TOKENS = 32_768

/** A limit without room. */
export interface ReachedLimit {
  readonly limit: LimitName
  readonly used: number
  readonly of: number
  /** the process that has the limit */
  readonly scope: Process
  /** only open calls use up the room, so it is worth waiting for their end */
  readonly shouldWait: boolean
}

/** A limit of a process or a budget of the home without room. */
export type Reached = ReachedLimit | ReachedHomeBudget

/** Room that is promised to processes that were just released, because they will request their calls next. */
export interface PromisedRoom {
  readonly tokens: number
  readonly outputTokens: number
  readonly nanoUsd: number
}

const NO_PROMISE: PromisedRoom = { tokens: 0, outputTokens: 0, nanoUsd: 0 }

export interface GrantedCall {
  /** maximum length of the answer; null: unlimited */
  readonly maxOutputTokens: number | null
  /** the estimate to reserve; null: no limit needs it */
  readonly reserve: CallEstimate | null
}

/** The sum of input, output, cache read and cache write tokens. */
export function tokensOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

function tokensIn({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Tally): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

function activeMs({ elapsedMs, since }: ProcessClock, now: number): number {
  return elapsedMs + (since === null ? 0 : Math.max(0, now - since))
}

/** The names of the limits that are set. */
export function configuredLimits(limits: Limits): readonly LimitName[] {
  const names = Object.keys(limits)
  return names.length === 0 ? NO_LIMITS : LIMIT_NAMES.filter((name) => limits[name] !== undefined)
}

const NO_LIMITS: readonly LimitName[] = []

/** The action for a process that has reached the limit; null: the limit only refuses requests. */
export function limitActionOf(limits: Limits, limit: LimitName): LimitAction | null {
  const { action } = LIMITS[limit]
  return action === null ? null : (limits.actions?.[limit] ?? action)
}

/** The process and all its payers in the table, nearest first. Their limits apply to the process. */
export function payerChainOf(table: LiveTable, process: Process): readonly Process[] {
  const found = [process]
  for (let uuid = payerOf(process); uuid !== null;) {
    const payer = table.get(uuid)
    if (!payer) break
    found.push(payer)
    uuid = payerOf(payer)
  }
  return found
}

/** The usage of a process, together with that of all processes that it pays for or has paid for. */
export function tallyWithBelow(table: LiveTable, process: Process): Tally {
  return addTally(tallyOf(process), table.accounts.below(process.uuid))
}

/** The usage that counts for a limit, in the unit of the limit. */
export function usedOf(table: LiveTable, process: Process, limit: LimitName, now: number): number {
  return LIMITS[limit].used({ process, tally: tallyWithBelow(table, process), now })
}

/** The limits of a process that need a warning now: nearly used up, and not warned of yet. */
export function limitsToWarnOf(table: LiveTable, process: Process, now: number): readonly Omit<ReachedLimit, 'shouldWait' | 'scope'>[] {
  const { limits } = process.spec
  const names = configuredLimits(limits)
  if (names.length === 0) return []
  const use: LimitUse = { process, now, tally: tallyWithBelow(table, process) }
  return names.flatMap((limit) => {
    const of = limits[limit] ?? 0
    const used = LIMITS[limit].used(use)
    return of > 0 && used >= of * (limits.warnAt ?? WARN_AT) && !process.warned?.includes(limit) ? [{ limit, used, of }] : []
  })
}

/** The limit, of the process or of a payer, that prevents the next step, turn, call or message; null: there is room. */
export function findExhaustedLimit(
  table: LiveTable,
  process: Process,
  action: 'step' | 'turn' | 'call' | 'message',
  now: number,
): ReachedLimit | null {
  return findFirst(table, process, now, (limit, { used, of }) => LIMITS[limit].when === action && used >= of)
}

/** What prevents the next turn or call: a limit of the process or of a payer, or a budget of the home. Null: there is room. */
export function findExhausted(table: LiveTable, process: Process, action: 'turn' | 'call', now: number): Reached | null {
  return findExhaustedLimit(table, process, action, now) ?? findSpentBudget(table.home)
}

/**
 * The limit, of the process or of a payer, or the budget of the home, that past usage has reached. `countsCalls`: model calls are reported
 * afterwards, so their limits are checked here.
 */
export function findReachedLimit(table: LiveTable, process: Process, now: number, countsCalls: boolean): Reached | null {
  const reached = findFirst(table, process, now, (limit, { used, of }) => {
    const { when } = LIMITS[limit]
    if (when === 'measured' || (when === 'call' && countsCalls)) return used >= of
    return (when === 'after' || when === 'turn') && used > of
  })
  return reached ?? (countsCalls ? findSpentBudget(table.home) : null)
}

type IsReached = (limit: LimitName, figures: { readonly used: number; readonly of: number }) => boolean

function findFirst(table: LiveTable, process: Process, now: number, isReached: IsReached): ReachedLimit | null {
  for (const scope of payerChainOf(table, process)) {
    const { limits } = scope.spec
    const names = configuredLimits(limits)
    if (names.length === 0) continue
    const use: LimitUse = { process: scope, now, tally: tallyWithBelow(table, scope) }
    for (const limit of names) {
      const figures = { used: LIMITS[limit].used(use), of: limits[limit] ?? 0 }
      if (isReached(limit, figures)) return { limit, ...figures, scope, shouldWait: false }
    }
  }
  return null
}

/** Grants the longest answer that all budgets of a process, its payers and the home have room for, or returns the budget without room. */
export function grantCall(
  table: LiveTable,
  process: Process,
  estimate: CallEstimate,
  promised: PromisedRoom = NO_PROMISE,
): GrantedCall | Reached {
  let maxAnswer = estimate.maxOutputTokens ?? ASSUMED_ANSWER_TOKENS
  const minAnswer = Math.min(MIN_ANSWER_TOKENS, maxAnswer)
  let isLimited = false
  for (const scope of payerChainOf(table, process)) {
    for (const room of roomsIn(table, scope, estimate, promised)) {
      isLimited = true
      if (room.answer < minAnswer)
        return { limit: room.limit, used: room.used, of: room.of, scope, shouldWait: room.afterOpenCalls >= minAnswer }
      maxAnswer = Math.min(maxAnswer, room.answer)
    }
  }
  for (const { limit, answer, afterOpenCalls } of homeRooms(table, estimate, promised)) {
    isLimited = true
    if (answer < minAnswer) return reachedBudget(table.home, limit, afterOpenCalls >= minAnswer)
    maxAnswer = Math.min(maxAnswer, answer)
  }
  const maxOutputTokens = isLimited ? maxAnswer : estimate.maxOutputTokens
  return { maxOutputTokens, reserve: isLimited ? { ...estimate, maxOutputTokens } : null }
}

interface Room extends AnswerRoom {
  readonly limit: LimitName
  readonly used: number
  readonly of: number
}

interface AnswerRoom {
  /** the maximum length of an answer, in tokens; negative: not even the input has room */
  readonly answer: number
  /** the same if all open calls ended without cost */
  readonly afterOpenCalls: number
}

/** The room for a call in each budget of one process. */
function roomsIn(table: LiveTable, scope: Process, estimate: CallEstimate, promised: PromisedRoom): readonly Room[] {
  const { budgetTokens, budgetUsd, maxOutputTokens, unknownPrice } = scope.spec.limits
  if (budgetTokens === undefined && budgetUsd === undefined && maxOutputTokens === undefined) return []
  const tally = tallyWithBelow(table, scope)
  const rooms: Room[] = []
  if (budgetTokens !== undefined) {
    const used = tokensIn(tally)
    rooms.push({
      limit: 'budgetTokens',
      used,
      of: budgetTokens,
      ...answerRoom(budgetTokens - used - estimate.inputTokens, tally.reservedTokens + promised.tokens, 1),
    })
  }
  if (maxOutputTokens !== undefined) {
    rooms.push({
      limit: 'maxOutputTokens',
      used: tally.outputTokens,
      of: maxOutputTokens,
      ...answerRoom(maxOutputTokens - tally.outputTokens, tally.reservedOutputTokens + promised.outputTokens, 1),
    })
  }
  if (budgetUsd !== undefined) {
    const left = toNanoUsd(budgetUsd) - tally.nanoUsd
    const room = roomForMoney(estimate, left, tally.reservedNanoUsd + promised.nanoUsd, unknownPrice)
    rooms.push({ limit: 'budgetUsd', used: toUsd(tally.nanoUsd), of: budgetUsd, ...room })
  }
  return rooms
}

/** The room for a call in each budget of the home. */
function homeRooms(
  table: LiveTable,
  estimate: CallEstimate,
  promised: PromisedRoom,
): readonly (AnswerRoom & { readonly limit: HomeBudgetName })[] {
  const reserved = table.accounts.reservedNanoUsd + promised.nanoUsd
  return configuredBudgets(table.home).map((limit) => ({ limit, ...roomForMoney(estimate, leftNanoUsd(table.home, limit), reserved) }))
}

/** The room that is left of a budget of money. A call of unknown price has room until the budget is spent, unless it is refused. */
function roomForMoney(
  { usd, inputTokens }: CallEstimate,
  left: number,
  reserved: number,
  unknownPrice: Limits['unknownPrice'] = 'warn',
): AnswerRoom {
  if (usd !== null) return answerRoom(left - Math.ceil(usd.perInputToken * inputTokens * 1e9), reserved, usd.perOutputToken * 1e9)
  const answer = unknownPrice === 'refuse' || left <= 0 ? -1 : Infinity
  return { answer, afterOpenCalls: answer }
}

function answerRoom(left: number, reserved: number, perToken: number): AnswerRoom {
  return { answer: affordableTokens(left - reserved, perToken), afterOpenCalls: affordableTokens(left, perToken) }
}

function affordableTokens(left: number, perToken: number): number {
  if (left < 0) return -1
  return perToken <= 0 ? Infinity : Math.floor(left / perToken)
}

/**
 * How model calls are counted: requested beforehand (`call`), reported afterwards (`report`), or not at all (`none`).
 * An agent that is configured for the gateway but has steps without gateway calls counts as reporting.
 */
export function meteringOf(process: Pick<Process, 'spec' | 'metered' | 'calls' | 'progress'>): Metering {
  const { spec, metered, progress } = process
  if (CAPABILITIES[spec.driver].recordsContext || (metered && !(mayBypassGateway(process) && progress.step > 0))) return 'call'
  return isExternal(spec) ? 'report' : 'none'
}

/** True when the process is configured for the gateway, but no call has used it. Settings of the agent may bypass it. */
export function mayBypassGateway({ metered, calls }: Pick<Process, 'metered' | 'calls'>): boolean {
  return metered === true && calls === undefined
}

/** A text such as `budget: $0.9500 of $1 are spent`. `whose`: the owner of the limit; null: the process itself. */
export function reachedText({
  limit,
  used,
  of,
  whose,
  ask,
}: {
  readonly limit: BoundName
  readonly used: number
  readonly of: number
  readonly whose: string | null
  readonly ask?: CallEstimate | undefined
}): string {
  const kind = isHomeBudget(limit) || LIMITS[limit].when === 'call' ? 'budget' : 'limit'
  const owner = isHomeBudget(limit) ? 'the home' : whose
  const name = `${kind}${owner === null ? '' : ` of ${owner}`}`
  return `${name}: ${amountsText(limit, used, of)}${ask && used < of ? `; ${nextCallText(limit, ask)}` : ''}`
}

/** The limit that a text of `reachedText` is about. */
export interface NotedLimit {
  readonly limit: BoundName
  /** `whose` of that text; null: the process itself, or the home */
  readonly whose: string | null
  /** such as `$0.9500 of $1 are spent` */
  readonly amounts: string
}

/** Reads a text of `reachedText`, because after a restart only the note of a process has its limit. Null: it is another text. */
export function readReachedText(text: string): NotedLimit | null {
  const [, whose = null, amounts = ''] = /^(?:budget|limit)(?: of (the home|[0-9a-f]{8}))?: (.*)$/.exec(text) ?? []
  const limit = limitOf(amounts)
  return limit === undefined ? null : { limit, whose: isHomeBudget(limit) ? null : whose, amounts }
}

/** Whether a note is about a limit that is reached, or near. */
export function isLimitNote(note: string): boolean {
  return limitOf(note) !== undefined || readReachedText(note) !== null || /^context: \d+ % are used$/.test(note)
}

/** The limit whose amounts a text begins with. */
function limitOf(amounts: string): BoundName | undefined {
  const form = (text: string): string => text.replace(/\d[\d.]*(?:e[+-]?\d+)?/g, '0')
  const [used = ''] = amounts.split('; ')
  return [...LIMIT_NAMES, ...HOME_BUDGETS].find((name) => form(amountsText(name, 0, 0)) === form(used))
}

/** A text such as `80 of 100 steps are used`. */
export function amountsText(limit: BoundName, used: number, of: number): string {
  if (isHomeBudget(limit)) return `$${used.toFixed(4)} of $${of} are spent ${limit === 'dailyUsd' ? 'today' : 'this month'}`
  const { unit } = LIMITS[limit]
  switch (unit) {
    case 'usd':
      return `$${used.toFixed(4)} of $${of} are spent`
    case 'ms':
      return `${Math.round(used / 100) / 10} s of ${of / 1_000} s ${limit === 'cpuTimeMs' ? 'of CPU time ' : ''}are used`
    case 'bytes':
      return `${mebibytes(used)} of ${mebibytes(of)} MiB ${limit === 'memoryBytes' ? 'of memory ' : 'of output '}are used`
    default:
      return `${used} of ${of} ${unit} are used`
  }
}

/** True for a budget of the home. */
export function isHomeBudget(limit: BoundName | 'context'): limit is HomeBudgetName {
  return HOME_BUDGETS.some((name) => name === limit)
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 104_857.6) / 10
}

function nextCallText(limit: BoundName, { inputTokens, usd }: CallEstimate): string {
  if (limit !== 'budgetUsd' && !isHomeBudget(limit))
    return `the next call needs ${limit === 'maxOutputTokens' ? '' : `${inputTokens} and `}${MIN_ANSWER_TOKENS} more`
  if (usd === null) return 'the price of the model is not known'
  return `the next call may cost $${(inputTokens * usd.perInputToken + MIN_ANSWER_TOKENS * usd.perOutputToken).toFixed(4)}`
}

/** The limits after a change. Errors: INVALID if there is no limit to add to. */
export function applyLimitChange(limits: Limits, { set, add }: LimitChange): Limits {
  const sums = Object.entries(add).map(([name, more]) => {
    const before = limits[name as LimitName]
    if (before === undefined) throw new KernelError('INVALID', `the process has no ${name} to add to: give a value without a plus`)
    return [name, before + more]
  })
  const actions = set.actions ? { actions: { ...limits.actions, ...set.actions } } : {}
  return { ...limits, ...set, ...actions, ...Object.fromEntries(sums) }
}
