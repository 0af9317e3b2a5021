// Accounts: what the living descendants of a process have used and may still use, in the lineage of the spawns.
// Owns an index that is derived from the rows and never stored: `put` keeps it, in any order of the rows, and an account costs
// nothing while nobody has it as payer. Money is counted in whole billionths of a dollar, so that no sum depends on its history.
// Tests: test/tables/accounts.test.ts, test/properties/budgets.test.ts.
import type { CallAsk, Process, Uuid } from './types.ts'

const KEYS = [
  'steps', 'turns', 'messagesSent', 'toolCalls', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'nanoUsd', 'cpuTimeMs', 'outputBytes',
  'rssBytes', 'unpriced', 'estimated', 'openCalls', 'waiting', 'reservedTokens', 'reservedOutputTokens', 'reservedNanoUsd',
] as const

/** Counters of one process or of many, all whole numbers. `unpriced`, `estimated`: how many processes have such calls; `waiting`: how many wait for room. */
export type Tally = { readonly [K in (typeof KEYS)[number]]: number }

const NANO = 1e9

export const EMPTY: Tally = Object.fromEntries(KEYS.map((key) => [key, 0])) as Tally

export function addTally(a: Tally, b: Tally): Tally {
  return combine(a, b, 1)
}

function combine(a: Tally, b: Tally, sign: 1 | -1): Tally {
  const sum = {} as { -readonly [K in keyof Tally]: number }
  for (const key of KEYS) sum[key] = a[key] + sign * b[key]
  return sum
}

function isEmpty(tally: Tally): boolean {
  return tally === EMPTY || KEYS.every((key) => tally[key] === 0)
}

export function nanoOf(usd: number): number {
  return Math.round(usd * NANO)
}

export function usdOf(nano: number): number {
  return nano / NANO
}

/** Who pays for it now; null: nobody. */
export function payerOf({ payer, parentUuid }: Pick<Process, 'payer' | 'parentUuid'>): Uuid | null {
  return payer === undefined ? parentUuid : payer
}

/** What a process and its ended descendants have used, and what its open calls may use. `settled`: without what its payer knows already. */
export function tallyOf(process: Pick<Process, 'usage' | 'below' | 'settled' | 'progress' | 'calls' | 'wants'>, without: 'settled' | 'nothing' = 'nothing'): Tally {
  const { usage, below, progress, calls } = process
  const settled = without === 'settled' ? process.settled : undefined
  const count = (name: 'steps' | 'turns' | 'messagesSent' | 'toolCalls' | 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'cpuTimeMs' | 'outputBytes'): number =>
    Math.round((usage[name] ?? 0) + (below?.[name] ?? 0) - (settled?.[name] ?? 0))
  return {
    steps: count('steps'), turns: count('turns'), messagesSent: count('messagesSent'), toolCalls: count('toolCalls'),
    inputTokens: count('inputTokens'), outputTokens: count('outputTokens'), cacheReadTokens: count('cacheReadTokens'), cacheWriteTokens: count('cacheWriteTokens'),
    nanoUsd: nanoOf(usage.costUsd + (below?.costUsd ?? 0) - (settled?.costUsd ?? 0)),
    cpuTimeMs: count('cpuTimeMs'), outputBytes: count('outputBytes'), rssBytes: usage.rssBytes ?? 0,
    unpriced: usage.unpriced || below?.unpriced ? 1 : 0, estimated: usage.estimated || below?.estimated ? 1 : 0,
    waiting: process.wants ? 1 : 0,
    ...reserved(progress.reserve, calls),
  }
}

type Reserved = Pick<Tally, 'openCalls' | 'reservedTokens' | 'reservedOutputTokens' | 'reservedNanoUsd'>

const NOTHING_RESERVED: Reserved = { openCalls: 0, reservedTokens: 0, reservedOutputTokens: 0, reservedNanoUsd: 0 }

function reserved(own: CallAsk | undefined, calls: Process['calls'] = []): Reserved {
  if (own === undefined && calls.length === 0) return NOTHING_RESERVED
  const sum = { ...NOTHING_RESERVED }
  for (const ask of own === undefined ? calls.map(({ reserve }) => reserve) : [own, ...calls.map(({ reserve }) => reserve)]) {
    sum.openCalls += 1
    sum.reservedTokens += ask.inputTokens + (ask.maxOutputTokens ?? 0)
    sum.reservedOutputTokens += ask.maxOutputTokens ?? 0
    sum.reservedNanoUsd += nanoOf(priceOf(ask))
  }
  return sum
}

/** What it may cost in USD; 0 where nobody knows. */
function priceOf({ inputTokens, maxOutputTokens, usd }: CallAsk): number {
  return usd === null ? 0 : inputTokens * usd.perInputToken + (maxOutputTokens ?? 0) * usd.perOutputToken
}

/** A process that has a payer or is one. */
interface Node {
  readonly payer: Uuid | null
  readonly own: Tally
  /** of all that it pays for, directly or not */
  readonly below: Tally
  readonly members: number
}

const NOBODY: Node = { payer: null, own: EMPTY, below: EMPTY, members: 0 }

/** The index, or a layer over another one: what is put into the layer leaves the one below as it is. */
export class Accounts {
  readonly #under: Accounts | null
  readonly #nodes = new Map<Uuid, Node>()
  readonly #members = new Map<Uuid, Set<Uuid>>()

  constructor(under: Accounts | null) {
    this.#under = under
  }

  /** What the living descendants of a process have used that it does not know yet, and may still use. */
  below(uuid: Uuid): Tally {
    return this.#node(uuid)?.below ?? EMPTY
  }

  /** Those that it pays for itself. */
  *members(uuid: Uuid): Generator<Uuid> {
    if (this.#under) for (const member of this.#under.members(uuid)) if (!this.#members.get(uuid)?.has(member) && this.#node(member)?.payer === uuid) yield member
    for (const member of [...(this.#members.get(uuid) ?? [])]) if (this.#node(member)?.payer === uuid) yield member
  }

  /** Takes over a row as it is now; the dead leave. */
  put(before: Process | undefined, process: Process): void {
    if (before !== undefined && isUntouched(before, process)) return
    const node = this.#node(process.uuid)
    const payer = process.life.state === 'dead' ? null : payerOf(process)
    if (node === undefined && payer === null) return
    const own = payer === null ? EMPTY : tallyOf(process, 'settled')
    const old = node ?? NOBODY
    if (old.payer === payer) this.#grow(process.uuid, old, own)
    else this.#move(process.uuid, old, { payer, own })
  }

  #grow(uuid: Uuid, old: Node, own: Tally): void {
    const more = combine(own, old.own, -1)
    if (isEmpty(more)) return
    this.#set(uuid, { ...old, own })
    this.#addUp(old.payer, more, 1)
  }

  /** With all that it pays for. */
  #move(uuid: Uuid, old: Node, { payer, own }: Pick<Node, 'payer' | 'own'>): void {
    this.#addUp(old.payer, addTally(old.own, old.below), -1)
    if (old.payer !== null) this.#leave(old.payer, uuid)
    this.#set(uuid, { ...old, payer, own })
    if (payer !== null) this.#join(payer, uuid)
    this.#addUp(payer, addTally(own, old.below), 1)
  }

  #addUp(from: Uuid | null, tally: Tally, sign: 1 | -1): void {
    if (isEmpty(tally)) return
    for (let uuid = from; uuid !== null; ) {
      const node = this.#node(uuid) ?? NOBODY
      this.#set(uuid, { ...node, below: combine(node.below, tally, sign) })
      uuid = node.payer
    }
  }

  #join(payer: Uuid, uuid: Uuid): void {
    const members = this.#members.get(payer)
    if (members) members.add(uuid)
    else this.#members.set(payer, new Set([uuid]))
    const node = this.#node(payer) ?? NOBODY
    this.#set(payer, { ...node, members: node.members + 1 })
  }

  #leave(payer: Uuid, uuid: Uuid): void {
    const members = this.#members.get(payer)
    members?.delete(uuid)
    if (members?.size === 0) this.#members.delete(payer)
    const node = this.#node(payer) ?? NOBODY
    this.#set(payer, { ...node, members: node.members - 1 })
  }

  #node(uuid: Uuid): Node | undefined {
    return this.#nodes.get(uuid) ?? (this.#under === null ? undefined : this.#under.#node(uuid))
  }

  /** A layer must say of a node that it is no more; the index itself forgets it. */
  #set(uuid: Uuid, node: Node): void {
    if (this.#under === null && node.payer === null && node.members === 0) this.#nodes.delete(uuid)
    else this.#nodes.set(uuid, node)
  }
}

/** Most facts change nothing of what is counted. */
function isUntouched(a: Process, b: Process): boolean {
  return a.usage === b.usage && a.progress.reserve === b.progress.reserve && a.calls === b.calls && a.below === b.below && a.settled === b.settled
    && a.payer === b.payer && a.wants === b.wants && a.life.state === b.life.state
}
