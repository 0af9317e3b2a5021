// The limits: what is counted against each, whether the subtree counts with it, and what becomes of a process that has reached
// it. One table. Owns the figures and the question whether there is room for more; acts on nothing (budgets.ts does).
// Tests: test/tables/limits.test.ts, test/properties/budgets.test.ts.
import { KernelError } from './errors.ts'
import { addTally, nanoOf, payerOf, tallyOf, usdOf } from './accounts.ts'
import type { Tally } from './accounts.ts'
import type { CallAsk, Clock, LimitAction, LimitName, Limits, Process, Usage } from './types.ts'
import type { View } from './view.ts'

export const LIMIT_NAMES = [
  'maxSteps', 'maxTurns', 'maxMessages', 'maxToolCalls', 'maxChildren', 'maxDepth',
  'maxInputTokens', 'maxOutputTokens', 'maxCacheReadTokens', 'maxCacheWriteTokens', 'budgetTokens', 'budgetUsd',
  'cpuTimeMs', 'timeoutMs', 'memoryBytes', 'outputBytes',
] as const satisfies readonly LimitName[]

/** What a process has used, with all that it pays for. */
interface Use {
  readonly process: Process
  readonly tally: Tally
  /** monotonic ms */
  readonly now: number
}

/**
 * When it is looked at: `step`, `turn`, `call`, `message`: before one begins, and none begins when all is used; `after`: when something
 * was used, and then it is reached with more than there is; `measured`: the same, with all that there is. `ask`: who asks for
 * more is refused.
 */
type When = 'step' | 'turn' | 'call' | 'message' | 'after' | 'measured' | 'ask' | 'clock'

interface Row {
  readonly used: (use: Use) => number
  readonly when: When
  /** null: there is nothing to do but to refuse what was asked for */
  readonly action: LimitAction | null
  readonly unit: 'usd' | 'ms' | 'bytes' | string
}

const NO_USE = (): number => 0

export const LIMITS: Readonly<Record<LimitName, Row>> = {
  maxSteps: { used: ({ tally }) => tally.steps, when: 'step', action: 'terminate', unit: 'steps' },
  maxTurns: { used: ({ tally }) => tally.turns, when: 'turn', action: 'terminate', unit: 'turns' },
  maxMessages: { used: ({ tally }) => tally.messagesSent, when: 'message', action: null, unit: 'messages' },
  maxToolCalls: { used: ({ tally }) => tally.toolCalls, when: 'after', action: 'terminate', unit: 'tool calls' },
  maxChildren: { used: NO_USE, when: 'ask', action: null, unit: 'children' },
  maxDepth: { used: NO_USE, when: 'ask', action: null, unit: 'levels below it' },
  maxInputTokens: { used: ({ tally }) => tally.inputTokens, when: 'call', action: 'suspend', unit: 'input tokens' },
  maxOutputTokens: { used: ({ tally }) => tally.outputTokens, when: 'call', action: 'suspend', unit: 'output tokens' },
  maxCacheReadTokens: { used: ({ tally }) => tally.cacheReadTokens, when: 'call', action: 'suspend', unit: 'tokens read from the cache' },
  maxCacheWriteTokens: { used: ({ tally }) => tally.cacheWriteTokens, when: 'call', action: 'suspend', unit: 'tokens written to the cache' },
  budgetTokens: { used: ({ tally }) => tokensIn(tally), when: 'call', action: 'suspend', unit: 'tokens' },
  budgetUsd: { used: ({ tally }) => usdOf(tally.nanoUsd), when: 'call', action: 'suspend', unit: 'usd' },
  cpuTimeMs: { used: ({ tally }) => tally.cpuTimeMs, when: 'measured', action: 'terminate', unit: 'ms' },
  timeoutMs: { used: ({ process, now }) => activeMs(process.clock, now), when: 'clock', action: 'terminate', unit: 'ms' },
  memoryBytes: { used: ({ tally }) => tally.rssBytes, when: 'measured', action: 'terminate', unit: 'bytes' },
  outputBytes: { used: ({ tally }) => tally.outputBytes, when: 'measured', action: 'terminate', unit: 'bytes' },
}

/** The share from which on a limit is warned of. */
export const WARN_AT = 0.8

/** Fewer tokens than these are no answer that is worth its price. */
export const LEAST_ANSWER_TOKENS = 1_000
/** What an answer may have that nobody has set a limit to, where a budget has to cover it. */
const ASSUMED_ANSWER_TOKENS = 32_768

/** A limit that there is no room under. `scope` is whose it is. */
export interface Reached {
  readonly limit: LimitName
  readonly used: number
  readonly of: number
  readonly scope: Process
  /** it is open calls alone that leave no room */
  readonly waits: boolean
}

/** What those will ask for in a moment who were told to go on. */
export interface Promised {
  readonly tokens: number
  readonly outputTokens: number
  readonly nanoUsd: number
}

const NO_PROMISE: Promised = { tokens: 0, outputTokens: 0, nanoUsd: 0 }

export interface Granted {
  /** null: nobody sets a limit to the answer */
  readonly maxOutputTokens: number | null
  /** null: no limit asks for one */
  readonly reserve: CallAsk | null
}

/** Of all four kinds. */
export function tokensOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

function tokensIn({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Tally): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

function activeMs({ elapsedMs, since }: Clock, now: number): number {
  return elapsedMs + (since === null ? 0 : Math.max(0, now - since))
}

/** The limits that are set. */
export function limitsSet(limits: Limits): readonly LimitName[] {
  const names = Object.keys(limits)
  return names.length === 0 ? NONE : LIMIT_NAMES.filter((name) => limits[name] !== undefined)
}

const NONE: readonly LimitName[] = []

/** What becomes of who has reached it; `null` of those that only refuse. */
export function actionOf(limits: Limits, limit: LimitName): LimitAction | null {
  const { action } = LIMITS[limit]
  return action === null ? null : (limits.actions?.[limit] ?? action)
}

/** The process, and who pays for it, as far as they are in the table; the nearest first. */
export function accountsOver(view: View, process: Process): readonly Process[] {
  const found = [process]
  for (let uuid = payerOf(process); uuid !== null; ) {
    const payer = view.get(uuid)
    if (!payer) break
    found.push(payer)
    uuid = payerOf(payer)
  }
  return found
}

/** What it has used, with all that is below it in the lineage of the spawns. */
export function tallyWithBelow(view: View, process: Process): Tally {
  return addTally(tallyOf(process), view.accounts.below(process.uuid))
}

/** The figures of a limit of a process. */
export function usedOf(view: View, process: Process, limit: LimitName, now: number): number {
  return LIMITS[limit].used({ process, tally: tallyWithBelow(view, process), now })
}

/** Limits whose soft mark it has come to and that nobody was warned of yet. */
export function toWarnOf(view: View, process: Process, now: number): readonly Omit<Reached, 'waits' | 'scope'>[] {
  const { limits } = process.spec
  const names = limitsSet(limits)
  if (names.length === 0) return []
  const use: Use = { process, now, tally: tallyWithBelow(view, process) }
  return names.flatMap((limit) => {
    const of = limits[limit] ?? 0
    const used = LIMITS[limit].used(use)
    return of > 0 && used >= of * (limits.warnAt ?? WARN_AT) && !process.warned?.includes(limit) ? [{ limit, used, of }] : []
  })
}

/** The limit of it, or of who pays for it, that leaves no room for what is about to begin; null: there is room. */
export function noRoomFor(view: View, process: Process, what: 'step' | 'turn' | 'call' | 'message', now: number): Reached | null {
  return firstReached(view, process, now, (limit, { used, of }) => LIMITS[limit].when === what && used >= of)
}

/** The limit that was reached by what was used; `counted` where nobody asks before a call. */
export function reachedBy(view: View, process: Process, now: number, counted: boolean): Reached | null {
  return firstReached(view, process, now, (limit, { used, of }) => {
    const { when } = LIMITS[limit]
    if (when === 'measured' || (when === 'call' && counted)) return used >= of
    return (when === 'after' || when === 'turn') && used > of
  })
}

type IsReached = (limit: LimitName, figures: { readonly used: number; readonly of: number }) => boolean

function firstReached(view: View, process: Process, now: number, isReached: IsReached): Reached | null {
  for (const scope of accountsOver(view, process)) {
    const { limits } = scope.spec
    const names = limitsSet(limits)
    if (names.length === 0) continue
    const use: Use = { process: scope, now, tally: tallyWithBelow(view, scope) }
    for (const limit of names) {
      const figures = { used: LIMITS[limit].used(use), of: limits[limit] ?? 0 }
      if (isReached(limit, figures)) return { limit, ...figures, scope, waits: false }
    }
  }
  return null
}

/** How long an answer the budgets of a process, and of who pays for it, have room for; or which of them has none. */
export function grant(view: View, process: Process, ask: CallAsk, promised: Promised = NO_PROMISE): Granted | Reached {
  let most = ask.maxOutputTokens ?? ASSUMED_ANSWER_TOKENS
  const least = Math.min(LEAST_ANSWER_TOKENS, most)
  let isLimited = false
  for (const scope of accountsOver(view, process)) {
    for (const room of roomsIn(view, scope, ask, promised)) {
      isLimited = true
      if (room.answer < least) return { limit: room.limit, used: room.used, of: room.of, scope, waits: room.afterOpenCalls >= least }
      most = Math.min(most, room.answer)
    }
  }
  const maxOutputTokens = isLimited ? most : ask.maxOutputTokens
  return { maxOutputTokens, reserve: isLimited ? { ...ask, maxOutputTokens } : null }
}

interface Room {
  readonly limit: LimitName
  readonly used: number
  readonly of: number
  /** tokens that an answer may have */
  readonly answer: number
  /** the same when no other call is open, and none has cost anything */
  readonly afterOpenCalls: number
}

/** What each budget of one process has room for. */
function roomsIn(view: View, scope: Process, ask: CallAsk, promised: Promised): readonly Room[] {
  const { budgetTokens, budgetUsd, maxOutputTokens, unknownPrice } = scope.spec.limits
  if (budgetTokens === undefined && budgetUsd === undefined && maxOutputTokens === undefined) return []
  const tally = tallyWithBelow(view, scope)
  const rooms: Room[] = []
  if (budgetTokens !== undefined) {
    const used = tokensIn(tally)
    rooms.push({ limit: 'budgetTokens', used, of: budgetTokens, ...answers(budgetTokens - used - ask.inputTokens, tally.reservedTokens + promised.tokens, 1) })
  }
  if (maxOutputTokens !== undefined) {
    rooms.push({ limit: 'maxOutputTokens', used: tally.outputTokens, of: maxOutputTokens, ...answers(maxOutputTokens - tally.outputTokens, tally.reservedOutputTokens + promised.outputTokens, 1) })
  }
  if (budgetUsd !== undefined) {
    const figures = { limit: 'budgetUsd', used: usdOf(tally.nanoUsd), of: budgetUsd } as const
    if (ask.usd !== null) {
      const { perInputToken, perOutputToken } = ask.usd
      rooms.push({ ...figures, ...answers(nanoOf(budgetUsd) - tally.nanoUsd - Math.ceil(perInputToken * ask.inputTokens * 1e9), tally.reservedNanoUsd + promised.nanoUsd, perOutputToken * 1e9) })
    } else if (unknownPrice === 'refuse') rooms.push({ ...figures, answer: -1, afterOpenCalls: -1 })
    else if (tally.nanoUsd >= nanoOf(budgetUsd)) rooms.push({ ...figures, answer: -1, afterOpenCalls: -1 })
    else rooms.push({ ...figures, answer: Infinity, afterOpenCalls: Infinity })
  }
  return rooms
}

function answers(left: number, reserved: number, perToken: number): Pick<Room, 'answer' | 'afterOpenCalls'> {
  return { answer: tokensFor(left - reserved, perToken), afterOpenCalls: tokensFor(left, perToken) }
}

function tokensFor(left: number, perToken: number): number {
  if (left < 0) return -1
  return perToken <= 0 ? Infinity : Math.floor(left / perToken)
}

/** Is what it says of a call asked before the call, told after it, or not at all? */
export function meteringOf({ spec, metered }: Pick<Process, 'spec' | 'metered'>): 'call' | 'report' | 'none' {
  if (spec.driver === 'native' || metered) return 'call'
  return spec.driver === 'acp' || (spec.driver === 'command' && spec.format !== undefined) ? 'report' : 'none'
}

/** It was led to the gateway, and none of its calls has come by there: its own settings may say otherwise. */
export function goesRound({ metered, calls }: Pick<Process, 'metered' | 'calls'>): boolean {
  return metered === true && calls === undefined
}

/** `budget: $0.9500 of $1 are spent` */
export function reachedWords({ limit, used, of, whose, ask }: { readonly limit: LimitName; readonly used: number; readonly of: number; readonly whose: string | null; readonly ask?: CallAsk | undefined }): string {
  const isBudget = LIMITS[limit].when === 'call'
  const name = `${isBudget ? 'budget' : 'limit'}${whose === null ? '' : ` of ${whose}`}`
  return `${name}: ${figures(limit, used, of)}${ask && used < of ? `; ${nextCall(limit, ask)}` : ''}`
}

export function figures(limit: LimitName, used: number, of: number): string {
  const { unit } = LIMITS[limit]
  switch (unit) {
    case 'usd': return `$${used.toFixed(4)} of $${of} are spent`
    case 'ms': return `${Math.round(used / 100) / 10} s of ${of / 1_000} s ${limit === 'cpuTimeMs' ? 'of CPU time ' : ''}are used`
    case 'bytes': return `${mebibytes(used)} of ${mebibytes(of)} MiB ${limit === 'memoryBytes' ? 'of memory ' : 'of output '}are used`
    default: return `${used} of ${of} ${unit} are used`
  }
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 104_857.6) / 10
}

function nextCall(limit: LimitName, { inputTokens, usd }: CallAsk): string {
  if (limit !== 'budgetUsd') return `the next call needs ${limit === 'maxOutputTokens' ? '' : `${inputTokens} and `}${LEAST_ANSWER_TOKENS} more`
  if (usd === null) return 'the price of the model is not known'
  return `the next call may cost $${(inputTokens * usd.perInputToken + LEAST_ANSWER_TOKENS * usd.perOutputToken).toFixed(4)}`
}

/** Other limits: those that are named are set, and what is added to one that is there is added. */
export interface LimitChange {
  readonly set: Limits
  readonly add: { readonly [L in LimitName]?: number }
}

/** Errors: INVALID where there is nothing to add to. */
export function changedLimits(limits: Limits, { set, add }: LimitChange): Limits {
  const sums = Object.entries(add).map(([name, more]) => {
    const before = limits[name as LimitName]
    if (before === undefined) throw new KernelError('INVALID', `it has no ${name} that could be raised: give a figure without a plus`)
    return [name, before + more]
  })
  const actions = set.actions ? { actions: { ...limits.actions, ...set.actions } } : {}
  return { ...limits, ...set, ...actions, ...Object.fromEntries(sums) }
}
