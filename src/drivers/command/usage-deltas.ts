// Turns an agent's usage figures into deltas: figures of steps, sums since the last result, and totals of a session. Guarantees that no
// usage is charged twice, even if a step or an earlier incarnation has already reported it. Counters never decrease. Test:
// test/tables/drivers/command/observation-mapper.test.ts.
import { NO_TOKENS, mapTokens } from './formats/format.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Launch } from '../port.ts'
import type { Observation, AgentPricing, Tokens } from './formats/format.ts'
import type { CallUsage } from '../../kernel/model/usage.ts'

type UsageFigure = Extract<Observation, { type: 'used' }>
export type Charge = Tokens & { readonly costUsd: number }

export const NO_CHARGE: Charge = { ...NO_TOKENS, costUsd: 0 }
const PAGE_FACTS = 500

export interface UsageDeltasOptions {
  /** the usage charged to this process so far, by session id */
  readonly charged: ReadonlyMap<string, Charge>
  /** the session that the first session of this process copies; its totals include the usage of the copied session */
  readonly forkOf?: string
  /** whether the session may be older than this process; its first total may then include usage that reeve does not know */
  readonly mayBeOlder: boolean
  readonly price: (priced: AgentPricing, tokens: Tokens) => Promise<number | null>
}

export class UsageDeltas {
  readonly #options: UsageDeltasOptions
  readonly #sessions: Map<string, Charge>
  #session = ''
  #chargedSince: Charge = NO_CHARGE

  constructor(options: UsageDeltasOptions) {
    this.#options = options
    this.#sessions = new Map(options.charged)
  }

  /** The usage charged so far, by session id. The next program of a conversation continues from it. */
  get charged(): ReadonlyMap<string, Charge> {
    return this.#sessions
  }

  /** Attributes all later usage to this session. */
  beginSession(session: string): void {
    const { forkOf } = this.#options
    if (forkOf !== undefined) inheritCharge(this.#sessions, session, forkOf)
    this.#session = session
  }

  async charge(used: UsageFigure): Promise<CallUsage> {
    const tokens = this.#deltaOf(used)
    const costUsd = await this.#costOf(used, tokens)
    const estimated = used.span === 'session' && this.#options.mayBeOlder && !this.#sessions.has(this.#session)
    const charge = { ...tokens, costUsd: costUsd ?? 0 }
    this.#sessions.set(this.#session, addCharges(this.#chargedInSession, charge))
    this.#chargedSince = used.span === 'since' ? NO_CHARGE : addCharges(this.#chargedSince, charge)
    return { ...tokens, costUsd, ...(estimated ? { estimated } : {}) }
  }

  get #chargedInSession(): Charge {
    return this.#sessions.get(this.#session) ?? NO_CHARGE
  }

  /** Returns the usage already charged that a figure with this span includes. */
  #alreadyCharged({ span }: UsageFigure): Charge {
    if (span === 'step') return NO_CHARGE
    return span === 'since' ? this.#chargedSince : this.#chargedInSession
  }

  #deltaOf(used: UsageFigure): Tokens {
    const counted = this.#alreadyCharged(used)
    return mapTokens((bucket) => Math.max(0, used.tokens[bucket] - counted[bucket]))
  }

  /**
   * Returns the cost of a figure. A step's cost may come only with the result: until then the price list counts, or else 0. Null for
   * other figures means that the price is unknown.
   */
  async #costOf(used: UsageFigure, delta: Tokens): Promise<number | null> {
    if (used.costUsd !== null) return Math.max(0, used.costUsd - this.#alreadyCharged(used).costUsd)
    const listed = used.priced ? await this.#options.price(used.priced, delta) : null
    return listed ?? (used.span === 'step' ? 0 : null)
  }
}

function addCharges(one: Charge, other: Charge): Charge {
  return { ...mapTokens((bucket) => one[bucket] + other[bucket]), costUsd: one.costUsd + other.costUsd }
}

/** Starts a copied session with the totals of the session that it copies. */
function inheritCharge(sessions: Map<string, Charge>, session: string, forkOf: string): void {
  if (session !== '' && !sessions.has(session)) sessions.set(session, sessions.get(forkOf) ?? NO_CHARGE)
}

/** Reads from the journal what the process was charged, by session. The session of a fork starts with the charges of its origin. */
export async function readCharges({ history }: Pick<Launch, 'history'>): Promise<Map<string, Charge>> {
  const charged = new Map<string, Charge>()
  let session = ''
  let forkOf: string | null = null
  let after = 0
  for (let page = await history(after, PAGE_FACTS); page.length > 0; page = await history(after, PAGE_FACTS)) {
    for (const fact of page) {
      if (fact.body.type === 'process.forked') forkOf = fact.body.state.sessionId
      if (fact.body.type === 'process.handle') session = assignSessionId(charged, session, fact.body.sessionId)
      if (forkOf !== null) inheritCharge(charged, session, forkOf)
      const usage = usageOf(fact)
      if (usage !== null) charged.set(session, addCharges(charged.get(session) ?? NO_CHARGE, { ...usage, costUsd: usage.costUsd ?? 0 }))
      after = fact.seq
    }
  }
  return charged
}

/** Returns the usage of a fact. Calls by the gateway count too, because the session's total contains them. */
function usageOf({ body }: StoredFact): CallUsage | null {
  return body.type === 'model.finished' || body.type === 'usage.reported' || body.type === 'call.finished' ? body.usage : null
}

/** Moves usage that was charged before the session had an id to that id. Returns the current session id. */
function assignSessionId(charged: Map<string, Charge>, session: string, id: string | undefined): string {
  const before = charged.get('')
  if (session !== '' || id === undefined || before === undefined) return id ?? session
  charged.delete('')
  charged.set(id, before)
  return id
}
