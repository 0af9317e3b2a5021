// The dumb model's ledger: who pays for whom, and what of that is used. Sums are made anew each time that somebody asks.
import type { Ending, Proc } from './model.ts'

const MAX_STEPS: Ending = { code: 1, reason: 'max steps exceeded', cause: 'limit' }

interface Used { tokens: number; taken: number }

export abstract class ModelLedger {
  /** the dead too */
  readonly all = new Map<string, Proc>()

  abstract finish(p: Proc, exit: Ending): void
  abstract drop(p: Proc, which: (hold: Proc['holds'][number]) => boolean): void
  abstract elapsedOf(p: Proc): number
  abstract invalid(): never
  abstract addHold(p: Proc, hold: Proc['holds'][number], freeze: boolean): void

  lives(p: Proc): boolean {
    return p.state === 'created' || p.state === 'running'
  }

  payerOf(p: Proc): Proc | undefined {
    const payer = p.payer === null ? undefined : this.all.get(p.payer)
    return payer?.state === 'dead' ? undefined : payer
  }

  /** It and who pays for it. */
  accounts(p: Proc): Proc[] {
    const payer = this.payerOf(p)
    return payer ? [p, ...this.accounts(payer)] : [p]
  }

  /** Those that it pays for, directly or not; each after its own payer. */
  paid(p: Proc): Proc[] {
    const found = [p]
    for (const one of found) found.push(...[...this.all.values()].filter((other) => other.state !== 'dead' && other.payer === one.uuid))
    return found
  }

  /** With all below it. */
  used(p: Proc): Used {
    const sum = { tokens: p.tokens + p.below.tokens, taken: p.taken + p.below.taken }
    for (const one of this.paid(p).slice(1)) {
      sum.tokens += one.tokens + one.below.tokens - one.settled.tokens
      sum.taken += one.taken + one.below.taken - one.settled.taken
    }
    return sum
  }

  /** It ends: what it and all below it used passes up, and who was paid by it is paid by its payer. */
  leave(p: Proc): void {
    const payer = this.payerOf(p)
    for (const one of this.paid(p).reverse()) this.#settle(one)
    if (payer) for (const one of this.all.values()) if (one.payer === p.uuid && one.state !== 'dead') one.payer = payer.uuid
  }

  /** All of it is released: what came to count after its end passes up too. */
  bury(p: Proc): void {
    this.#settle(p)
    p.state = 'dead'
  }

  #settle(p: Proc): void {
    const payer = this.payerOf(p)
    if (!payer) return
    const whole = { tokens: p.tokens + p.below.tokens, taken: p.taken + p.below.taken }
    payer.below.tokens += whole.tokens - p.settled.tokens
    payer.below.taken += whole.taken - p.settled.taken
    p.settled = whole
  }

  /** A new incarnation: who spawned it pays, or who has paid last; and it pays again for whom it spawned. */
  payAgain(p: Proc): void {
    for (const uuid of [p.lineage, p.payer]) {
      const payer = uuid === null ? undefined : this.all.get(uuid)
      if (!payer || !this.lives(payer)) continue
      p.payer = payer.uuid
      break
    }
    for (const one of this.all.values()) if (one.lineage === p.uuid && one.state !== 'dead') one.payer = p.uuid
  }

  /** What becomes of it when no step, or no call, is left: null, or the acknowledgement. */
  noRoom(p: Proc, isStep: boolean): string | null {
    const over = this.accounts(p)
    const steps = isStep ? over.find((one) => this.used(one).taken >= one.maxSteps) : undefined
    const tokens = over.find((one) => this.used(one).tokens >= one.budgetTokens)
    if (!steps && !tokens) return null
    if (p.stopping) this.finish(p, p.stopping)
    else if (steps) for (const one of this.paid(steps).reverse()) if (this.lives(one)) this.finish(one, MAX_STEPS)
    if (p.stopping || steps || !tokens) return 'stop'
    for (const one of new Set([tokens, p])) this.#holdForBudget(one)
    return 'held'
  }

  #holdForBudget(p: Proc): void {
    if (p.state === 'running' && !p.stopping && !p.holds.some(({ reason }) => reason === 'budget')) this.addHold(p, { reason: 'budget', root: null, by: 'system' }, p.driver !== 'native')
  }

  /** Errors: INVALID where there is nothing to add to. */
  limit(p: Proc, { set, add }: { readonly set: { readonly budgetTokens?: number }; readonly add: { readonly budgetTokens?: number } }): void {
    if (add.budgetTokens !== undefined && p.budgetTokens === Infinity) this.invalid()
    p.budgetTokens = (set.budgetTokens ?? p.budgetTokens) + (add.budgetTokens ?? 0)
  }

  /** More of it lets go on who waited below it; and a person may ask again where there is room now. */
  goOnWithMore(p: Proc, { limits, by }: { readonly limits?: object; readonly by: string }): void {
    for (const one of limits ? this.paid(p) : by === 'user' ? [p] : []) if (this.#hasRoom(one)) this.drop(one, ({ reason }) => reason === 'budget')
  }

  #hasRoom(p: Proc): boolean {
    if (p.state !== 'running' || p.stopping) return false
    return this.accounts(p).every((one) => this.used(one).tokens < one.budgetTokens && this.used(one).taken < one.maxSteps) && this.elapsedOf(p) < p.timeoutMs
  }

  /** Nobody was asked before the call of an agent of others: what is over a budget is held after it. */
  spent(p: Proc): void {
    const tokens = p.external && p.state === 'running' && !p.stopping ? this.accounts(p).find((one) => this.used(one).tokens >= one.budgetTokens) : undefined
    if (tokens) for (const one of new Set([tokens, p])) this.#holdForBudget(one)
  }
}
