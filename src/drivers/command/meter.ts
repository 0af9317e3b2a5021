// What an agent used, as deltas: from what its steps say, from what it says of all since, and from a session's totals.
// Owns that nothing is charged twice: not what a step has said already, and not what this process was charged for in an
// earlier incarnation. A counter never goes down. Test: test/tables/command-narrator.test.ts.
import { NO_TOKENS, mapTokens } from './formats/format.ts'
import type { StoredFact } from '../../kernel/facts.ts'
import type { CallUsage } from '../../kernel/types.ts'
import type { Launch } from '../port.ts'
import type { Observed, Priced, Tokens } from './formats/format.ts'

type Used = Extract<Observed, { type: 'used' }>
export type Charge = Tokens & { readonly costUsd: number }

export const NOTHING: Charge = { ...NO_TOKENS, costUsd: 0 }
const PAGE_FACTS = 500

export interface MeterOptions {
  /** what this process was charged for already, by the session it was in */
  readonly charged: ReadonlyMap<string, Charge>
  /** the session that the first one here begins as a copy of: its totals count what was charged in that */
  readonly forkOf?: string
  /** the session may be older than this process: its first total counts what nobody here knows */
  readonly foreign: boolean
  readonly price: (priced: Priced, tokens: Tokens) => Promise<number | null>
}

export class Meter {
  readonly #options: MeterOptions
  readonly #sessions: Map<string, Charge>
  #session = ''
  #since: Charge = NOTHING

  constructor(options: MeterOptions) {
    this.#options = options
    this.#sessions = new Map(options.charged)
  }

  /** What was charged so far, by session: what the next program of a conversation goes on from. */
  get charged(): ReadonlyMap<string, Charge> {
    return this.#sessions
  }

  /** What comes from here on is of this session. */
  begin(session: string): void {
    const { forkOf } = this.#options
    if (forkOf !== undefined) inherit(this.#sessions, session, forkOf)
    this.#session = session
  }

  async charge(used: Used): Promise<CallUsage> {
    const tokens = this.#deltaOf(used)
    const costUsd = await this.#costOf(used, tokens)
    const estimated = used.span === 'session' && this.#options.foreign && !this.#sessions.has(this.#session)
    const charge = { ...tokens, costUsd: costUsd ?? 0 }
    this.#sessions.set(this.#session, plus(this.#inSession, charge))
    this.#since = used.span === 'since' ? NOTHING : plus(this.#since, charge)
    return { ...tokens, costUsd, ...(estimated ? { estimated } : {}) }
  }

  get #inSession(): Charge {
    return this.#sessions.get(this.#session) ?? NOTHING
  }

  /** What a total of this kind has counted that was charged before. */
  #counted({ span }: Used): Charge {
    if (span === 'step') return NOTHING
    return span === 'since' ? this.#since : this.#inSession
  }

  #deltaOf(used: Used): Tokens {
    const counted = this.#counted(used)
    return mapTokens((bucket) => Math.max(0, used.tokens[bucket] - counted[bucket]))
  }

  /** What a step cost may come with the result: until then it is what the list says, or nothing. Else null is an unknown price. */
  async #costOf(used: Used, delta: Tokens): Promise<number | null> {
    if (used.costUsd !== null) return Math.max(0, used.costUsd - this.#counted(used).costUsd)
    const listed = used.priced ? await this.#options.price(used.priced, delta) : null
    return listed ?? (used.span === 'step' ? 0 : null)
  }
}

function plus(one: Charge, other: Charge): Charge {
  return { ...mapTokens((bucket) => one[bucket] + other[bucket]), costUsd: one.costUsd + other.costUsd }
}

/** A copy of a session begins with the totals of that one. */
function inherit(sessions: Map<string, Charge>, session: string, forkOf: string): void {
  if (session !== '' && !sessions.has(session)) sessions.set(session, sessions.get(forkOf) ?? NOTHING)
}

/** What the journal of a process says that it was charged for, by session; of a fork with what its session began with. */
export async function chargedBefore({ history }: Pick<Launch, 'history'>): Promise<Map<string, Charge>> {
  const charged = new Map<string, Charge>()
  let session = ''
  let forkOf: string | null = null
  let after = 0
  for (let page = await history(after, PAGE_FACTS); page.length > 0; page = await history(after, PAGE_FACTS)) {
    for (const fact of page) {
      if (fact.body.type === 'process.forked') forkOf = fact.body.state.sessionId
      if (fact.body.type === 'process.handle') session = named(charged, session, fact.body.sessionId)
      if (forkOf !== null) inherit(charged, session, forkOf)
      const usage = usageOf(fact)
      if (usage !== null) charged.set(session, plus(charged.get(session) ?? NOTHING, { ...usage, costUsd: usage.costUsd ?? 0 }))
      after = fact.seq
    }
  }
  return charged
}

/** What a call through the gateway was charged for is in the session's total, too. */
function usageOf({ body }: StoredFact): CallUsage | null {
  return body.type === 'model.finished' || body.type === 'usage.reported' || body.type === 'call.finished' ? body.usage : null
}

/** What was charged before the session had a name is its. */
function named(charged: Map<string, Charge>, session: string, id: string | undefined): string {
  const before = charged.get('')
  if (session !== '' || id === undefined || before === undefined) return id ?? session
  charged.delete('')
  charged.set(id, before)
  return id
}
