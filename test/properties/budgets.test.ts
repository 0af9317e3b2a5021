// Budgets over random trees: children with parallel calls, known and unknown prices, crashes, resumes, forks and raises. A simple
// model recomputes every sum. With exact estimates no budget is ever exceeded. Without them, the excess is at most twice the
// reservations at the last grant. The large size makes 100,000 calls.
import { expect, test } from 'vitest'
import { tallyOf } from '../../src/kernel/state/accounts.ts'
import { tallyWithBelow } from '../../src/kernel/state/limits.ts'
import { forkPointNow } from '../../src/kernel/decide/fork.ts'
import { deep } from '../support/deep.ts'
import { BudgetModel } from '../support/kernel/budget-model.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { World, kernelSpec } from '../support/kernel/world.ts'
import type { ReplyValue } from '../../src/kernel/model/effects.ts'
import type { InputBody } from '../../src/kernel/model/inputs.ts'
import type { Report } from '../../src/kernel/model/reports.ts'
import type { CallEstimate, Process } from '../../src/kernel/model/process.ts'
import type { CallRequest, Call, Spender } from '../support/kernel/budget-model.ts'
import type { PickNumber } from '../support/kernel/random-inputs.ts'
import type { Limits } from '../../src/kernel/model/words.ts'
import type { CallUsage } from '../../src/kernel/model/usage.ts'

const LIVES = deep(10, 175)
const COMMANDS_PER_LIFE = 2_600
const MAX_LIVING = 8

class Life {
  world = new World(1_000)
  readonly model = new BudgetModel()
  readonly pick: PickNumber
  readonly hasExactEstimates: boolean
  calls = 0
  refused = 0
  estimated = 0
  #count = 0
  /** the reservations of each account and its descendants when its last call was granted */
  readonly #reservedAtGrant = new Map<string, { tokens: number; nano: number }>()

  constructor(seed: number) {
    this.pick = makeSeededPick(seed)
    this.hasExactEstimates = seed % 2 === 0
  }

  play(): void {
    const { pick } = this
    const living = this.model.living()
    const p = living[pick(Math.max(1, living.length))]
    const percent = pick(100)
    if (!p || (percent < 4 && living.length < MAX_LIVING)) this.#spawn(pick(4) === 0 ? null : (p ?? null))
    else if (percent < 92) this.#callOrEnd(p)
    else if (percent < 94) this.#kill(p)
    else if (percent < 96) this.#resume()
    else if (percent < 98) this.#raise(p)
    else if (percent < 99 && this.pick(3) === 0 && living.length < MAX_LIVING) this.#fork(p)
    else if (pick(3) > 0) this.world.commit()
    else if (pick(8) === 0) this.#crash()
    this.#check()
  }

  #input(body: InputBody): ReplyValue | null {
    const { effects } = this.world.step(body)
    this.world.journal.clear()
    const answer = effects.find((effect) => effect.type === 'reply' || effect.type === 'refuse')
    if (answer?.type === 'refuse') throw new Error(`${body.type} was refused: ${answer.message}`)
    return answer?.type === 'reply' ? answer.value : null
  }

  #report(p: Spender, report: Report): Extract<ReplyValue, { type: 'ack' }> {
    const value = this.#input({ type: 'report', reply: 1, uuid: p.uuid, pid: this.#row(p).pid, report })
    if (value?.type !== 'ack') throw new Error('no acknowledgement')
    return value
  }

  #row({ uuid }: Spender): Process {
    const row = this.world.overlay.get(uuid)
    if (!row) throw new Error(`${uuid} is not in the table`)
    return row
  }

  #limits(): { limits: Limits; known: Spender['limits'] } {
    const pickOne = <T>(values: readonly T[]): T => values[this.pick(values.length)] as T
    const budgetTokens = pickOne([undefined, undefined, 6_000, 200_000, 4_000_000])
    // Each limit bounds the output tokens, so that each call is reserved. Calls without a bound are charged in another way.
    const maxOutputTokens = pickOne([1e9, 1e9, 1e9, 400_000])
    const usd = pickOne([undefined, undefined, 0.02, 2, 20])
    const refuse = this.pick(3) === 0
    const terminate = this.pick(4) === 0
    const limits: Limits = {
      ...(budgetTokens === undefined ? {} : { budgetTokens }),
      ...(usd === undefined ? {} : { budgetUsd: usd }),
      maxOutputTokens,
      ...(refuse ? { unknownPrice: 'refuse' } : {}),
      ...(terminate ? { actions: { budgetTokens: 'terminate', budgetUsd: 'terminate', maxOutputTokens: 'terminate' } } : {}),
    }
    return {
      limits,
      known: {
        ...(budgetTokens === undefined ? {} : { budgetTokens }),
        ...(usd === undefined ? {} : { nano: Math.round(usd * 1e9) }),
        maxOutputTokens,
        ...(refuse ? { refuse } : {}),
      },
    }
  }

  #spawn(parent: Spender | null): void {
    this.#count += 1
    const uuid = `p${this.#count}`
    const metered = this.pick(2) === 0
    const { limits, known } = this.#limits()
    const spec = kernelSpec({ driver: metered ? 'acp' : 'native', interactive: true, intent: '', limits })
    this.#input({ type: 'spawn', reply: 1, by: 'user', uuid, spec, parent: parent?.uuid ?? null })
    this.#start(this.model.spawn(uuid, parent?.uuid ?? null, parent?.uuid ?? null, { limits: known, metered }))
  }

  #start(p: Spender): void {
    const { uuid } = p
    const { pid } = this.#row(p)
    p.attached = true
    this.#input({
      type: 'start',
      uuid,
      pid,
      containment: { kind: 'group', path: null, marker: uuid },
      missingKeys: [],
      ...(p.metered ? { metered: true } : {}),
    })
    this.#report(p, { type: 'up', ...(p.metered ? { sessionId: `s${uuid}` } : {}) })
  }

  #callOrEnd(p: Spender): void {
    const isOpen = p.open.length > 0 && (!p.metered || p.open.length > 3 || this.pick(2) === 0)
    if (isOpen) this.#endCall(p, p.open[this.pick(p.open.length)] as Call)
    else this.#call(p)
  }

  #randomCall(): CallRequest {
    const { pick } = this
    const priced = pick(5) > 0
    return {
      input: 10 + pick(4_000),
      answer: [500, 4_096, 16_384][pick(3)] as number,
      inNano: priced ? ([100, 3_000][pick(2)] as number) : 0,
      outNano: priced ? ([400, 15_000][pick(2)] as number) : 0,
      priced,
    }
  }

  #call(p: Spender): void {
    const row = this.#row(p)
    if (row.life.state !== 'running' || !row.life.attached) return
    const request = this.#randomCall()
    const ask: CallEstimate = {
      inputTokens: request.input,
      maxOutputTokens: request.answer,
      usd: request.priced ? { perInputToken: request.inNano / 1e9, perOutputToken: request.outNano / 1e9 } : null,
    }
    const step = row.progress.wholeStep + 1
    const id = `c${this.calls + this.refused}`
    const isHeld = row.life.holds.length > 0
    const expected = isHeld ? null : this.model.grant(p, request)
    const answer = this.#report(
      p,
      p.metered
        ? { type: 'call.started', call: id, model: 'm', provider: 'x', ask }
        : { type: 'model.started', step, attempt: 1, model: 'm', ask },
    )
    if (answer.ack !== 'go') {
      expect(expected, `${p.uuid} was refused: ${answer.reason}`).toBeNull()
      expect(isHeld || !p.metered || (answer.reason ?? '')).toBeTruthy()
      this.refused += 1
      return this.#recordEnds()
    }
    const granted = answer.maxOutputTokens ?? request.answer
    // Allows one token of rounding, as the kernel's prices are floating point numbers.
    expect(Math.abs(granted - (expected ?? -9))).toBeLessThanOrEqual(1)
    this.calls += 1
    p.open.push({ id, step, ...request, grant: granted })
    for (const account of this.model.accountsOf(p)) this.#checkGrant(account, request)
  }

  /** Checks that no account is over a budget when a call begins, with its reservations included. */
  #checkGrant(account: Spender, { priced }: CallRequest): void {
    const [used, reserved] = [this.model.usageOf(account), this.model.reservedFor(account)]
    const { budgetTokens, nano, maxOutputTokens } = account.limits
    if (budgetTokens !== undefined) expect(used.tokens + reserved.tokens).toBeLessThanOrEqual(budgetTokens)
    if (nano !== undefined && priced) expect(used.nano + reserved.nano).toBeLessThanOrEqual(nano)
    if (maxOutputTokens !== undefined) expect(used.output + reserved.output).toBeLessThanOrEqual(maxOutputTokens)
    this.#reservedAtGrant.set(account.uuid, reserved)
  }

  #endCall(p: Spender, call: Call): void {
    const { pick } = this
    const input = this.hasExactEstimates ? call.input : call.input + pick(2 * call.input)
    const output = pick(3) === 0 ? call.grant : pick(call.grant + 1)
    const usage: CallUsage = {
      inputTokens: input,
      outputTokens: output,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: call.priced ? (input * call.inNano + output * call.outNano) / 1e9 : null,
    }
    if (p.metered) this.#report(p, { type: 'call.finished', call: call.id, usage, status: 200 })
    else if (pick(8) === 0)
      this.#report(p, { type: 'model.failed', step: call.step, attempt: 1, error: 'cut', status: null, retryInMs: 0, usage })
    else this.#report(p, { type: 'model.finished', step: call.step, message: [], usage, finish: 'stop', durationMs: 1, calls: [] })
    this.model.charge(p, call, { input, output, estimated: false })
    // The agent's own report is not counted again.
    if (p.metered && pick(3) === 0) this.#report(p, { type: 'usage', usage })
    this.#recordEnds()
  }

  /** Records in the model which processes have ended, children before their parents. */
  #recordEnds(): void {
    const hasEnded = (p: Spender): boolean => this.world.overlay.get(p.uuid)?.life.state !== 'running'
    for (const p of this.model
      .living()
      .filter(hasEnded)
      .toSorted((a, b) => this.model.accountsOf(b).length - this.model.accountsOf(a).length))
      this.model.end(p)
    for (const uuid of [...this.world.overlay.all()]) this.#release(uuid)
    this.model.reap()
  }

  #release(uuid: string): void {
    const row = this.world.overlay.get(uuid)
    if (row?.life.state === 'zombie') this.#input({ type: 'released', uuid, pid: row.pid, survivors: [] })
  }

  #kill(p: Spender): void {
    const row = this.#row(p)
    if (row.life.state !== 'running') return
    this.#report(p, { type: 'exited', code: 1, osSignal: null })
    if (this.#row(p).life.state === 'running')
      this.#input({ type: 'signal', reply: 1, by: 'user', uuid: p.uuid, signal: 'SIGKILL', subtree: false, graceMs: 0, freeze: false })
    this.#recordEnds()
  }

  #resume(): void {
    const deadProcesses = [...this.model.all.values()].filter(({ state }) => state === 'dead')
    const p = deadProcesses[this.pick(Math.max(1, deadProcesses.length))]
    if (!p || this.model.living().length >= MAX_LIVING) return
    this.#input({
      type: 'resume',
      reply: 1,
      by: 'user',
      uuid: p.uuid,
      endedRow: this.world.dead.get(p.uuid) ?? null,
      subtree: false,
      only: false,
      message: null,
      spec: null,
      rerun: false,
    })
    this.model.resume(p)
    this.#start(p)
  }

  /** Raises the budget of a held process. Then each process that has room and no driver starts again. */
  #raise(p: Spender): void {
    const row = this.#row(p)
    if (row.life.state !== 'running' || row.life.holds.length === 0) return
    const { budgetTokens, nano } = p.limits
    const [tokens, usd] = [this.pick(400_000) + 1, (this.pick(2_000) + 1) / 1_000]
    const add = { ...(budgetTokens === undefined ? {} : { budgetTokens: tokens }), ...(nano === undefined ? {} : { budgetUsd: usd }) }
    this.#input({
      type: 'resume',
      reply: 1,
      by: 'user',
      uuid: p.uuid,
      endedRow: null,
      subtree: false,
      only: false,
      message: null,
      spec: null,
      rerun: false,
      limits: { set: {}, add },
    })
    if (budgetTokens !== undefined) p.limits.budgetTokens = budgetTokens + tokens
    if (nano !== undefined) p.limits.nano = nano + Math.round(usd * 1e9)
    for (const spender of this.model.living()) if (this.#isIdle(spender)) this.#start(spender)
  }

  #isIdle(p: Spender): boolean {
    const { life } = this.#row(p)
    return life.state === 'running' && !life.attached && life.holds.length === 0
  }

  #fork(origin: Spender): void {
    const row = this.#row(origin)
    const point = forkPointNow(row)
    if (point === null || (origin.metered && row.sessionId === null)) return
    this.#count += 1
    const uuid = `p${this.#count}`
    this.#input({ type: 'fork', reply: 1, by: 'user', uuid, origin: row, at: point, message: null, spec: null })
    const payer = [origin.spawner, origin.payer].find((uuid) => uuid !== null && this.model.all.get(uuid)?.state === 'up') ?? origin.spawner
    this.#start(this.model.spawn(uuid, origin.spawner, payer, { limits: { ...origin.limits }, metered: origin.metered }))
  }

  /** Starts a new daemon, which reads all rows again. Held processes come back, running ones have ended. */
  #crash(): void {
    this.world.restart(500)
    const rows = JSON.parse(JSON.stringify([...this.world.table.rows()])) as Process[]
    this.world.table.apply(rows, this.world.table.lastPid)
    for (const { uuid } of rows) {
      const p = this.model.all.get(uuid) as Spender
      this.#input({ type: 'boot', uuid, survivors: [] })
      this.estimated += p.open.length
      if (this.world.overlay.get(uuid)) {
        this.model.cutOff(p)
        p.attached = false
      } else {
        for (const spender of this.model.paidBy(p)) this.model.cutOff(spender)
        this.model.end(p)
        this.model.reap()
      }
    }
  }

  #check(): void {
    // Dead processes do not change: they are checked only sometimes.
    const checked = this.pick(50) === 0 ? this.model.all.values() : this.model.living()
    for (const p of checked) {
      const row = p.state === 'up' ? this.#row(p) : this.world.dead.get(p.uuid)
      if (!row) throw new Error(`${p.uuid} is gone`)
      const tally = tallyOf({ ...row, below: {}, settled: {} })
      if (tally.inputTokens + tally.outputTokens !== p.used.tokens || tally.nanoUsd !== p.used.nano) this.#fail(p, 'its own', tally)
      if (row.usage.estimated !== p.estimated || row.usage.unpriced !== p.unpriced) this.#fail(p, 'its marks', row.usage)
      if ((row.payer ?? row.parentUuid) !== p.payer) this.#fail(p, 'its payer', row)
      if (p.state === 'up') this.#checkSubtree(p, row)
    }
  }

  #checkSubtree(p: Spender, row: Process): void {
    const tally = tallyWithBelow(this.world.overlay, row)
    const [used, reserved] = [this.model.usageOf(p), this.model.reservedFor(p)]
    if (tally.inputTokens + tally.outputTokens !== used.tokens || tally.outputTokens !== used.output || tally.nanoUsd !== used.nano)
      this.#fail(p, 'the sum', tally)
    if (tally.reservedTokens !== reserved.tokens || Math.abs(tally.reservedNanoUsd - reserved.nano) > 10)
      this.#fail(p, 'the reserve', tally)
    const { budgetTokens, nano } = p.limits
    const slack = this.hasExactEstimates ? { tokens: 0, nano: 0 } : (this.#reservedAtGrant.get(p.uuid) ?? { tokens: 0, nano: 0 })
    const excess = this.hasExactEstimates ? 0 : 2
    if (budgetTokens !== undefined && used.tokens > budgetTokens + excess * slack.tokens + p.joined.tokens)
      this.#fail(p, 'the budget of tokens', tally)
    if (nano !== undefined && used.nano > nano + excess * slack.nano + p.joined.nano) this.#fail(p, 'the budget of money', tally)
  }

  #fail(p: Spender, description: string, found: object): never {
    throw new Error(
      `${description} of ${p.uuid}: ${JSON.stringify(found)}, should be ${JSON.stringify({ ...p, sum: this.model.usageOf(p), reserved: this.model.reservedFor(p) })}`,
    )
  }
}

test(`in ${LIVES} lives of random trees, every sum equals that of the model`, () => {
  let [calls, refused, estimated] = [0, 0, 0]
  for (let seed = 1; seed <= LIVES; seed += 1) {
    const life = new Life(seed)
    for (let command = 1; command <= COMMANDS_PER_LIFE; command += 1) {
      try {
        life.play()
      } catch (error) {
        throw new Error(`life ${seed}, command ${command}`, { cause: error })
      }
    }
    calls += life.calls
    refused += life.refused
    estimated += life.estimated
  }
  expect(calls).toBeGreaterThan(570 * LIVES)
  expect(refused).toBeGreaterThan(28 * LIVES)
  expect(estimated).toBeGreaterThan(LIVES / 2)
}, 900_000)
