// The part of the simple model that counts usage: who pays for whom, and the usage so far. Sums are recomputed at each read.
import type { Ending, Proc } from './model.ts'

const MAX_STEPS: Ending = { code: 1, reason: 'max steps exceeded', cause: 'limit' }

interface UsageCounters {
  tokens: number
  steps: number
}

export abstract class ModelLedger {
  /** all processes, dead ones included */
  readonly all = new Map<string, Proc>()

  abstract exit(p: Proc, exit: Ending): void
  abstract release(p: Proc, matches: (hold: Proc['holds'][number]) => boolean): void
  abstract elapsedOf(p: Proc): number
  abstract invalid(): never
  abstract addHold(p: Proc, hold: Proc['holds'][number], freeze: boolean): void

  isLiving(p: Proc): boolean {
    return p.state === 'created' || p.state === 'running'
  }

  payerOf(p: Proc): Proc | undefined {
    const payer = p.payer === null ? undefined : this.all.get(p.payer)
    return payer?.state === 'dead' ? undefined : payer
  }

  /** Returns the process, its payer, the payer of that one, and so on. */
  accounts(p: Proc): Proc[] {
    const payer = this.payerOf(p)
    return payer ? [p, ...this.accounts(payer)] : [p]
  }

  /** Returns the process and those that it pays for, directly or indirectly, each after its own payer. */
  paidBy(p: Proc): Proc[] {
    const found = [p]
    for (const payer of found) found.push(...[...this.all.values()].filter((proc) => proc.state !== 'dead' && proc.payer === payer.uuid))
    return found
  }

  /** Returns the usage of the process and of all processes that it pays for. */
  usageOf(p: Proc): UsageCounters {
    const sum = { tokens: p.tokens + p.below.tokens, steps: p.steps + p.below.steps }
    for (const proc of this.paidBy(p).slice(1)) {
      sum.tokens += proc.tokens + proc.below.tokens - proc.settled.tokens
      sum.steps += proc.steps + proc.below.steps - proc.settled.steps
    }
    return sum
  }

  /** Settles a process that exits: adds the usage of its subtree to its payer's, and makes that payer pay for its children. */
  settleAtExit(p: Proc): void {
    const payer = this.payerOf(p)
    for (const proc of this.paidBy(p).reverse()) this.#settle(proc)
    if (payer) for (const proc of this.all.values()) if (proc.payer === p.uuid && proc.state !== 'dead') proc.payer = payer.uuid
  }

  /** Settles a process that is reaped: adds its usage since its end to its payer's. */
  settleAtReap(p: Proc): void {
    this.#settle(p)
    p.state = 'dead'
  }

  #settle(p: Proc): void {
    const payer = this.payerOf(p)
    if (!payer) return
    const total = { tokens: p.tokens + p.below.tokens, steps: p.steps + p.below.steps }
    payer.below.tokens += total.tokens - p.settled.tokens
    payer.below.steps += total.steps - p.settled.steps
    p.settled = total
  }

  /** Starts a new incarnation: its spawner pays for it, or its last payer. It pays again for the processes that it has spawned. */
  payAgain(p: Proc): void {
    for (const uuid of [p.lineage, p.payer]) {
      const payer = uuid === null ? undefined : this.all.get(uuid)
      if (!payer || !this.isLiving(payer)) continue
      p.payer = payer.uuid
      break
    }
    for (const proc of this.all.values()) if (proc.lineage === p.uuid && proc.state !== 'dead') proc.payer = p.uuid
    for (const proc of this.all.values()) if (proc.lineage === p.uuid && this.isLiving(proc)) proc.parent = p.uuid
  }

  /** Applies the outcome of a used-up limit of steps or tokens. Returns the acknowledgement. Null if no limit is used up. */
  applyUsedUpLimit(p: Proc, isStep: boolean): string | null {
    const accounts = this.accounts(p)
    const stepOwner = isStep ? accounts.find((proc) => this.usageOf(proc).steps >= proc.maxSteps) : undefined
    const tokenOwner = accounts.find((proc) => this.usageOf(proc).tokens >= proc.budgetTokens)
    if (!stepOwner && !tokenOwner) return null
    if (p.stopping) this.exit(p, p.stopping)
    else if (stepOwner) for (const proc of this.paidBy(stepOwner).reverse()) if (this.isLiving(proc)) this.exit(proc, MAX_STEPS)
    if (p.stopping || stepOwner || !tokenOwner) return 'stop'
    for (const proc of new Set([tokenOwner, p])) this.#holdForBudget(proc)
    return 'held'
  }

  #holdForBudget(p: Proc): void {
    if (p.state === 'running' && !p.stopping && !p.holds.some(({ reason }) => reason === 'budget'))
      this.addHold(p, { reason: 'budget', root: null, by: 'system' }, p.driver !== 'native')
  }

  /** Sets the token budget or adds to it. Refuses with INVALID if there is no budget to add to. */
  changeLimits(
    p: Proc,
    { set, add }: { readonly set: { readonly budgetTokens?: number }; readonly add: { readonly budgetTokens?: number } },
  ): void {
    if (add.budgetTokens !== undefined && p.budgetTokens === Infinity) this.invalid()
    p.budgetTokens = (set.budgetTokens ?? p.budgetTokens) + (add.budgetTokens ?? 0)
  }

  /** Releases processes that wait for budget and now have room, after a change of limits or on the user's request. */
  releaseBudgetHolds(p: Proc, { limits, by }: { readonly limits?: object; readonly by: string }): void {
    for (const proc of limits ? this.paidBy(p) : by === 'user' ? [p] : [])
      if (this.#hasRoom(proc)) this.release(proc, ({ reason }) => reason === 'budget')
  }

  #hasRoom(p: Proc): boolean {
    if (p.state !== 'running' || p.stopping) return false
    return (
      this.accounts(p).every((proc) => this.usageOf(proc).tokens < proc.budgetTokens && this.usageOf(proc).steps < proc.maxSteps) &&
      this.elapsedOf(p) < p.timeoutMs
    )
  }

  /** Holds an external agent that is over its budget. It is checked after each call, because its calls need no permission in advance. */
  holdIfOverBudget(p: Proc): void {
    const tokenOwner =
      p.external && p.state === 'running' && !p.stopping
        ? this.accounts(p).find((proc) => this.usageOf(proc).tokens >= proc.budgetTokens)
        : undefined
    if (tokenOwner) for (const proc of new Set([tokenOwner, p])) this.#holdForBudget(proc)
  }
}
