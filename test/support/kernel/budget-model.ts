// A simple model of budgets in whole numbers, without code of the kernel: every sum is recomputed each time. Money is in billionths
// of a dollar. The model follows the rules: who pays for whom, the reservation of an open call, and the charge for an unknown end.
export interface Sum {
  tokens: number
  nano: number
}

export interface Call {
  id: string
  step: number
  input: number
  grant: number
  /** the price of an input token, and of an output token */
  inNano: number
  outNano: number
  priced: boolean
}

export interface Spender {
  uuid: string
  spawner: string | null
  payer: string | null
  /** `zombie`: it has ended, and stays in the table until it is reaped */
  state: 'up' | 'zombie' | 'dead'
  metered: boolean
  /** a driver runs it; a placeholder disappears when it ends */
  attached: boolean
  limits: { budgetTokens?: number; nano?: number; maxOutputTokens?: number; refuse?: boolean }
  used: Sum
  output: number
  estimated: boolean
  unpriced: boolean
  open: Call[]
  /** the usage of descendants that was settled with this process */
  below: Sum & { output: number }
  /** the part of its usage that its payer already has in `below` */
  settled: Sum & { output: number }
  /** usage that joined from other processes and that this process did not pay for at the time */
  joined: Sum
}

export interface CallRequest {
  input: number
  answer: number
  /** the price of an input token, and of an output token */
  inNano: number
  outNano: number
  priced: boolean
}

const MIN_GRANT = 1_000

export class BudgetModel {
  readonly all = new Map<string, Spender>()
  /** the processes that are not dead, for speed */
  readonly #table = new Set<Spender>()

  spawn(uuid: string, spawner: string | null, payer: string | null, fields: Pick<Spender, 'limits' | 'metered'>): Spender {
    const zero = { tokens: 0, nano: 0, output: 0 }
    const spender: Spender = {
      uuid,
      spawner,
      payer,
      state: 'up',
      attached: true,
      ...fields,
      used: { tokens: 0, nano: 0 },
      output: 0,
      estimated: false,
      unpriced: false,
      open: [],
      below: { ...zero },
      settled: { ...zero },
      joined: { tokens: 0, nano: 0 },
    }
    this.all.set(uuid, spender)
    this.#table.add(spender)
    return spender
  }

  living(): Spender[] {
    return [...this.#table].filter((p) => p.state === 'up')
  }

  #inTable(): Spender[] {
    return [...this.#table]
  }

  reap(): void {
    for (const p of this.#table) {
      if (p.state === 'zombie') p.state = 'dead'
      if (p.state === 'dead') this.#table.delete(p)
    }
  }

  payerOf(p: Spender): Spender | undefined {
    const payer = p.payer === null ? undefined : this.all.get(p.payer)
    return payer?.state === 'dead' ? undefined : payer
  }

  accountsOf(p: Spender): Spender[] {
    const payer = this.payerOf(p)
    return payer ? [p, ...this.accountsOf(payer)] : [p]
  }

  /** Returns the process and all processes that it pays for, each after its own payer. */
  paidBy(p: Spender): Spender[] {
    return [
      p,
      ...this.#inTable()
        .filter((spender) => spender !== p && spender.payer === p.uuid)
        .flatMap((spender) => this.paidBy(spender)),
    ]
  }

  usageOf(p: Spender): Sum & { output: number } {
    const sum = { tokens: p.used.tokens + p.below.tokens, nano: p.used.nano + p.below.nano, output: p.output + p.below.output }
    for (const descendant of this.paidBy(p).slice(1)) {
      sum.tokens += descendant.used.tokens + descendant.below.tokens - descendant.settled.tokens
      sum.nano += descendant.used.nano + descendant.below.nano - descendant.settled.nano
      sum.output += descendant.output + descendant.below.output - descendant.settled.output
    }
    return sum
  }

  reservedFor(p: Spender): Sum & { output: number } {
    const sum = { tokens: 0, nano: 0, output: 0 }
    for (const { input, grant, inNano, outNano } of this.paidBy(p).flatMap((spender) => spender.open)) {
      sum.tokens += input + grant
      sum.output += grant
      sum.nano += input * inNano + grant * outNano
    }
    return sum
  }

  /** Returns the largest number of tokens that the call may request as answer; null: the call is refused. */
  grant(p: Spender, request: CallRequest): number | null {
    const amounts = this.accountsOf(p).flatMap((account) => this.#availableAmounts(account, request))
    const grant = Math.min(request.answer, ...amounts)
    return amounts.some((amount) => amount <= -1) || grant < Math.min(MIN_GRANT, request.answer) ? null : grant
  }

  #availableAmounts(account: Spender, { input, inNano, outNano, priced }: CallRequest): number[] {
    const { budgetTokens, nano, maxOutputTokens, refuse } = account.limits
    const used = this.usageOf(account)
    const reserved = this.reservedFor(account)
    const amounts: number[] = []
    if (budgetTokens !== undefined) amounts.push(used.tokens >= budgetTokens ? -1 : budgetTokens - used.tokens - reserved.tokens - input)
    if (maxOutputTokens !== undefined) amounts.push(used.output >= maxOutputTokens ? -1 : maxOutputTokens - used.output - reserved.output)
    if (nano === undefined) return amounts
    if (used.nano >= nano || (!priced && refuse)) return [...amounts, -1]
    return priced ? [...amounts, Math.floor((nano - used.nano - reserved.nano - input * inNano) / outNano)] : amounts
  }

  charge(p: Spender, call: Call, used: { input: number; output: number; estimated: boolean }): void {
    p.open = p.open.filter((openCall) => openCall !== call)
    p.used.tokens += used.input + used.output
    p.output += used.output
    p.estimated ||= used.estimated
    p.unpriced ||= !call.priced
    if (call.priced) p.used.nano += used.input * call.inNano + used.output * call.outNano
  }

  /** Charges the open calls of a process whose daemon died. How the calls ended is unknown. */
  cutOff(p: Spender): void {
    for (const call of [...p.open]) this.charge(p, call, { input: call.input, output: 0, estimated: true })
  }

  /** Ends a process: charges its open calls, and settles the usage of its subtree with its payer, which now pays for its children. */
  end(p: Spender): void {
    this.cutOff(p)
    const payer = this.payerOf(p)
    for (const descendant of this.paidBy(p).toReversed()) this.#settle(descendant)
    if (payer) for (const child of this.#inTable()) if (child.payer === p.uuid) child.payer = payer.uuid
    p.state = p.attached ? 'zombie' : 'dead'
    if (!p.attached) this.#table.delete(p)
  }

  #settle(p: Spender): void {
    const payer = this.payerOf(p)
    if (!payer) return
    const total = { tokens: p.used.tokens + p.below.tokens, nano: p.used.nano + p.below.nano, output: p.output + p.below.output }
    for (const key of ['tokens', 'nano', 'output'] as const) payer.below[key] += total[key] - p.settled[key]
    p.settled = total
  }

  /** Returns the usage plus the reservations of open calls. */
  #usageWithReservations(p: Spender): Sum {
    const [used, reserved] = [this.usageOf(p), this.reservedFor(p)]
    return { tokens: used.tokens + reserved.tokens, nano: used.nano + reserved.nano }
  }

  /**
   * Starts a new incarnation. Its spawner pays for it, or its last payer. It pays again for its children; their usage meanwhile is added.
   */
  resume(p: Spender): void {
    const before = new Map(this.living().map((spender) => [spender.uuid, this.#usageWithReservations(spender)]))
    Object.assign(p, { state: 'up', attached: true })
    this.#table.add(p)
    const payer = [p.spawner, p.payer].find((uuid) => uuid !== null && this.all.get(uuid)?.state === 'up')
    if (payer) p.payer = payer
    for (const child of this.living()) if (child.spawner === p.uuid) child.payer = p.uuid
    for (const spender of this.living()) {
      const current = this.#usageWithReservations(spender)
      const previous = before.get(spender.uuid) ?? { tokens: 0, nano: 0 }
      // A process that now pays for fewer processes may have budget left again.
      spender.joined.tokens += Math.max(0, current.tokens - previous.tokens)
      spender.joined.nano += Math.max(0, current.nano - previous.nano)
    }
  }
}
