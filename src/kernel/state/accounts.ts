// Accounts: the usage of each process and of the living processes that it pays for, and the reserves of their open calls. The parent pays
// for a process, unless a fact has named another payer (`payerOf`). The index is derived from the rows and never stored. Rows may be put
// in any order. A process without a payer has an entry only while it pays for others. Money is counted in whole billionths of a dollar, so
// that sums do not depend on the order.
// Tests: test/tables/kernel/state/accounts.test.ts, test/properties/budgets.test.ts.
import type { CallEstimate, Process } from '../model/process.ts'
import type { Uuid } from '../model/ids.ts'
import type { Counter } from '../model/usage.ts'

const TALLY_KEYS = [
  'steps',
  'turns',
  'messagesSent',
  'toolCalls',
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'nanoUsd',
  'cpuTimeMs',
  'outputBytes',
  'rssBytes',
  'unpriced',
  'estimated',
  'openCalls',
  'waiting',
  'reservedTokens',
  'reservedOutputTokens',
  'reservedNanoUsd',
] as const

/**
 * Counters of one or many processes, all integers. `unpriced` counts the processes with calls without a known price. `estimated` counts
 * those with estimated usage, and `waiting` those that wait for room in a limit.
 */
export type Tally = { readonly [K in (typeof TALLY_KEYS)[number]]: number }

const NANO_PER_USD = 1e9

export const EMPTY_TALLY: Tally = Object.fromEntries(TALLY_KEYS.map((key) => [key, 0])) as Tally

export function addTally(a: Tally, b: Tally): Tally {
  return combine(a, b, 1)
}

function combine(a: Tally, b: Tally, sign: 1 | -1): Tally {
  const sum = {} as { -readonly [K in keyof Tally]: number }
  for (const key of TALLY_KEYS) sum[key] = a[key] + sign * b[key]
  return sum
}

function isEmpty(tally: Tally): boolean {
  return tally === EMPTY_TALLY || TALLY_KEYS.every((key) => tally[key] === 0)
}

/** Converts USD to whole billionths of a dollar. */
export function toNanoUsd(usd: number): number {
  return Math.round(usd * NANO_PER_USD)
}

export function toUsd(nano: number): number {
  return nano / NANO_PER_USD
}

/** The process whose limits also count the usage of this one; null: none. */
export function payerOf({ payer, parentUuid }: Pick<Process, 'payer' | 'parentUuid'>): Uuid | null {
  return payer === undefined ? parentUuid : payer
}

/**
 * The usage of a process and its ended descendants, and the possible usage of its open calls. `omit`: `settled` omits the
 * part that its payer has counted.
 */
export function tallyOf(
  process: Pick<Process, 'usage' | 'below' | 'settled' | 'progress' | 'calls' | 'wants'>,
  omit: 'settled' | 'nothing' = 'nothing',
): Tally {
  const { usage, below, progress, calls } = process
  const settled = omit === 'settled' ? process.settled : undefined
  const count = (name: Exclude<Counter, 'costUsd'>): number =>
    Math.round((usage[name] ?? 0) + (below?.[name] ?? 0) - (settled?.[name] ?? 0))
  return {
    steps: count('steps'),
    turns: count('turns'),
    messagesSent: count('messagesSent'),
    toolCalls: count('toolCalls'),
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cacheReadTokens: count('cacheReadTokens'),
    cacheWriteTokens: count('cacheWriteTokens'),
    nanoUsd: toNanoUsd(usage.costUsd + (below?.costUsd ?? 0) - (settled?.costUsd ?? 0)),
    cpuTimeMs: count('cpuTimeMs'),
    outputBytes: count('outputBytes'),
    rssBytes: usage.rssBytes ?? 0,
    unpriced: usage.unpriced || below?.unpriced ? 1 : 0,
    estimated: usage.estimated || below?.estimated ? 1 : 0,
    waiting: process.wants ? 1 : 0,
    ...reservedOf(progress.reserve, calls),
  }
}

type Reserved = Pick<Tally, 'openCalls' | 'reservedTokens' | 'reservedOutputTokens' | 'reservedNanoUsd'>

const NOTHING_RESERVED: Reserved = { openCalls: 0, reservedTokens: 0, reservedOutputTokens: 0, reservedNanoUsd: 0 }

function reservedOf(stepCall: CallEstimate | undefined, gatewayCalls: Process['calls'] = []): Reserved {
  const reserves = gatewayCalls.map(({ reserve }) => reserve)
  if (stepCall === undefined && reserves.length === 0) return NOTHING_RESERVED
  const sum = { ...NOTHING_RESERVED }
  for (const estimate of stepCall === undefined ? reserves : [stepCall, ...reserves]) {
    sum.openCalls += 1
    sum.reservedTokens += estimate.inputTokens + (estimate.maxOutputTokens ?? 0)
    sum.reservedOutputTokens += estimate.maxOutputTokens ?? 0
    sum.reservedNanoUsd += toNanoUsd(maxCostUsd(estimate))
  }
  return sum
}

/** A dead process has no open calls: they were charged at its end. */
function reservedNanoOf(process: Process | undefined): number {
  if (process === undefined || process.life.state === 'dead') return 0
  return reservedOf(process.progress.reserve, process.calls).reservedNanoUsd
}

/** The maximum cost in USD; 0 if the price is unknown. */
function maxCostUsd({ inputTokens, maxOutputTokens, usd }: CallEstimate): number {
  return usd === null ? 0 : inputTokens * usd.perInputToken + (maxOutputTokens ?? 0) * usd.perOutputToken
}

/** The entry of a process that has a payer or is a payer. */
interface AccountNode {
  readonly payer: Uuid | null
  /** counters of the process that its payer has not counted */
  readonly own: Tally
  /** sum over all processes that it pays for, directly or indirectly */
  readonly below: Tally
  /** number of processes that it pays for directly */
  readonly payeeCount: number
}

const EMPTY_NODE: AccountNode = { payer: null, own: EMPTY_TALLY, below: EMPTY_TALLY, payeeCount: 0 }

/** The index of all accounts. With a base it is a layer: its changes hide entries of the base, but never change the base. */
export class Accounts {
  /** the maximum cost of all open calls of all processes, in billionths of a dollar */
  reservedNanoUsd: number
  readonly #base: Accounts | null
  readonly #nodes = new Map<Uuid, AccountNode>()
  readonly #payees = new Map<Uuid, Set<Uuid>>()

  constructor(base: Accounts | null) {
    this.#base = base
    this.reservedNanoUsd = base?.reservedNanoUsd ?? 0
  }

  /** The usage of a process's payees that it has not counted yet, and the possible usage of their open calls. */
  below(uuid: Uuid): Tally {
    return this.#node(uuid)?.below ?? EMPTY_TALLY
  }

  /** The processes that a process pays for directly. */
  *payees(uuid: Uuid): Generator<Uuid> {
    // A layer cannot remove a payee from the set of its base. So the newest entry of the payee decides who pays.
    if (this.#base)
      for (const payee of this.#base.payees(uuid)) if (!this.#payees.get(uuid)?.has(payee) && this.#node(payee)?.payer === uuid) yield payee
    // The copy lets the caller change the set meanwhile.
    for (const payee of [...(this.#payees.get(uuid) ?? [])]) if (this.#node(payee)?.payer === uuid) yield payee
  }

  /** Updates the index for a changed row. A dead process has no payer: its entry goes as soon as it pays for no other. */
  put(before: Process | undefined, process: Process): void {
    if (before !== undefined && hasSameCounts(before, process)) return
    this.reservedNanoUsd += reservedNanoOf(process) - reservedNanoOf(before)
    const node = this.#node(process.uuid)
    const payer = process.life.state === 'dead' ? null : payerOf(process)
    if (node === undefined && payer === null) return
    const own = payer === null ? EMPTY_TALLY : tallyOf(process, 'settled')
    const old = node ?? EMPTY_NODE
    if (old.payer === payer) this.#update(process.uuid, old, own)
    else this.#move(process.uuid, old, { payer, own })
  }

  #update(uuid: Uuid, old: AccountNode, own: Tally): void {
    const change = combine(own, old.own, -1)
    if (isEmpty(change)) return
    this.#set(uuid, { ...old, own })
    this.#addToPayers(old.payer, change, 1)
  }

  /** Moves a process to another payer, together with all processes that it pays for. */
  #move(uuid: Uuid, old: AccountNode, { payer, own }: Pick<AccountNode, 'payer' | 'own'>): void {
    this.#addToPayers(old.payer, addTally(old.own, old.below), -1)
    if (old.payer !== null) this.#removePayee(old.payer, uuid)
    this.#set(uuid, { ...old, payer, own })
    if (payer !== null) this.#addPayee(payer, uuid)
    this.#addToPayers(payer, addTally(own, old.below), 1)
  }

  /** Adds the counters to the process `from` and to all its payers. */
  #addToPayers(from: Uuid | null, tally: Tally, sign: 1 | -1): void {
    if (isEmpty(tally)) return
    for (let uuid = from; uuid !== null;) {
      const node = this.#node(uuid) ?? EMPTY_NODE
      this.#set(uuid, { ...node, below: combine(node.below, tally, sign) })
      uuid = node.payer
    }
  }

  #addPayee(payer: Uuid, uuid: Uuid): void {
    const payees = this.#payees.get(payer)
    if (payees) payees.add(uuid)
    else this.#payees.set(payer, new Set([uuid]))
    const node = this.#node(payer) ?? EMPTY_NODE
    this.#set(payer, { ...node, payeeCount: node.payeeCount + 1 })
  }

  #removePayee(payer: Uuid, uuid: Uuid): void {
    const payees = this.#payees.get(payer)
    payees?.delete(uuid)
    if (payees?.size === 0) this.#payees.delete(payer)
    const node = this.#node(payer) ?? EMPTY_NODE
    this.#set(payer, { ...node, payeeCount: node.payeeCount - 1 })
  }

  #node(uuid: Uuid): AccountNode | undefined {
    return this.#nodes.get(uuid) ?? (this.#base === null ? undefined : this.#base.#node(uuid))
  }

  /** Stores a node. The index deletes an unneeded node; a layer keeps it, because it must hide the one of its base. */
  #set(uuid: Uuid, node: AccountNode): void {
    if (this.#base === null && node.payer === null && node.payeeCount === 0) this.#nodes.delete(uuid)
    else this.#nodes.set(uuid, node)
  }
}

/** True if nothing that is counted has changed, as after most facts. */
function hasSameCounts(a: Process, b: Process): boolean {
  return (
    a.usage === b.usage &&
    a.progress.reserve === b.progress.reserve &&
    a.calls === b.calls &&
    a.below === b.below &&
    a.settled === b.settled &&
    a.payer === b.payer &&
    a.wants === b.wants &&
    a.life.state === b.life.state
  )
}
