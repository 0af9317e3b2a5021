// Compares the usage ledger with the processes themselves after random lives. The lives have several models, failed calls, calls through
// the gateway, summaries, forks, removals, and imports of removed processes. The daemon crashes between any two batches of an update. A
// crash is a copy of the files at that moment, opened as another store.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FactBody, StoredFact } from '../../src/kernel/model/facts.ts'
import type { Process } from '../../src/kernel/model/process.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import type { UsageRow, HomeStore } from '../../src/store/store.ts'
import { deep } from '../support/deep.ts'
import { CommitMaker, endFacts, specOf, uuidOf } from '../support/store/facts.ts'
import { tempDir } from '../support/tmp.ts'
import type { Uuid } from '../../src/kernel/model/ids.ts'
import type { CallUsage, Usage } from '../../src/kernel/model/usage.ts'

const PROCESSES = 4
/** More facts than one batch of an update has. */
const FACTS_PER_JUMP = 700

const usage: fc.Arbitrary<CallUsage> = fc.record(
  {
    inputTokens: fc.nat(1_000),
    outputTokens: fc.nat(100),
    cacheReadTokens: fc.nat(50),
    cacheWriteTokens: fc.nat(50),
    costUsd: fc.option(fc.integer({ min: 0, max: 1_000 }).map((cents) => cents / 64)),
    estimated: fc.constant(true),
  },
  { requiredKeys: ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] },
)
const step = fc.nat(6)
const model = fc.constantFrom('a/one', 'b/two', 'c/three')
const call = fc.constantFrom('x', 'y')
const failure = { attempt: fc.constant(1), error: fc.constant('it broke'), status: fc.constant(null), retryInMs: fc.constant(0) }
const reserve = fc.constant({ inputTokens: 1, maxOutputTokens: null, usd: null })
const factOf = <T extends FactBody['type']>(type: T, fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<FactBody> =>
  fc.record({ type: fc.constant(type), ...fields }) as unknown as fc.Arbitrary<FactBody>

const stepFact: fc.Arbitrary<FactBody> = fc.oneof(
  factOf('model.started', { step, attempt: fc.constant(1), model }),
  factOf('model.finished', {
    step,
    message: fc.constant([{ type: 'text', text: 'long '.repeat(2_000) }]),
    usage,
    finish: fc.constant('stop'),
    durationMs: fc.constant(1),
  }),
  factOf('model.failed', { step, ...failure, usage }),
  factOf('model.failed', { step, ...failure }),
  factOf('usage.reported', { usage }),
  factOf('compaction.started', { step, attempt: fc.constant(1), model }),
  factOf('compaction.failed', { step, ...failure, usage }),
  factOf('context.compacted', {
    step,
    summary: fc.constant('short'),
    ranges: fc.constant([]),
    before: fc.constant(2),
    after: fc.constant(1),
    usage,
    durationMs: fc.constant(1),
  }),
  factOf('call.started', { call, model, provider: fc.constant('p'), reserve }),
  factOf('call.finished', { call, usage, status: fc.constant(200) }),
)

type Operation =
  | { readonly do: 'spawn'; readonly processNumber: number; readonly parent: number; readonly agent: string }
  | { readonly do: 'fork'; readonly processNumber: number; readonly from: number }
  | { readonly do: 'write'; readonly processNumber: number; readonly bodies: readonly FactBody[] }
  | { readonly do: 'end' | 'remove' | 'importRemoved'; readonly processNumber: number }
  | { readonly do: 'jump' | 'account' | 'crash' }

const processNumber = fc.nat(PROCESSES - 1)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('spawn' as const), processNumber, parent: processNumber, agent: fc.constantFrom('ann', 'bob') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fork' as const), processNumber, from: processNumber }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('write' as const), processNumber, bodies: fc.array(stepFact, { minLength: 1, maxLength: 8 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('end', 'remove', 'importRemoved'), processNumber }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('jump', 'account', 'crash') }) },
)

interface RemovedProcess {
  readonly process: Process
  readonly facts: readonly StoredFact[]
}

/** The processes as the acknowledged commits left them, and their store. */
class Lives {
  store: HomeStore
  dir: string
  commits = new CommitMaker()
  readonly living = new Map<Uuid, Process>()
  readonly removed = new Map<Uuid, RemovedProcess>()
  readonly roots = new Map<Uuid, Uuid>()
  #crashes = 0

  constructor(store: HomeStore, dir: string) {
    this.store = store
    this.dir = dir
  }

  async perform(operation: Operation): Promise<void> {
    const uuid = 'processNumber' in operation ? uuidOf(operation.processNumber + 1) : ''
    const process = this.living.get(uuid)
    const isOver = process?.life.state === 'dead'
    switch (operation.do) {
      case 'spawn':
        return this.roots.has(uuid) ? undefined : this.#spawn(uuid, uuidOf(operation.parent + 1), operation.agent)
      case 'fork':
        return this.roots.has(uuid) || !this.living.has(uuidOf(operation.from + 1))
          ? undefined
          : this.#fork(uuid, uuidOf(operation.from + 1))
      case 'write':
        return process && !isOver ? this.#commit(this.commits.write(uuid, ...operation.bodies)) : undefined
      case 'end':
        return process && !isOver ? this.#commit(this.commits.write(uuid, ...endFacts())) : undefined
      case 'remove':
        return process && isOver ? this.#remove(process) : undefined
      case 'importRemoved':
        return this.#importRemoved(uuid)
      case 'jump':
        this.commits.cursor += FACTS_PER_JUMP
        return
      case 'account':
        await this.store.updateUsageLedger()
        return
      case 'crash':
        return this.#crash()
    }
  }

  async #commit(commit: ReturnType<CommitMaker['write']>): Promise<void> {
    await this.store.commit(commit)
    for (const process of commit.processes) this.living.set(process.uuid, process)
  }

  async #spawn(uuid: Uuid, parent: Uuid, agent: string): Promise<void> {
    const parentUuid = this.living.has(parent) ? parent : null
    this.commits.pid += 1
    await this.#commit(
      this.commits.write(
        uuid,
        { type: 'process.spawned', pid: this.commits.pid, spec: specOf({ agent }), parentUuid, depth: 1, by: 'user' },
        { type: 'process.started', mono: 1, attached: true, containment: null },
      ),
    )
    this.roots.set(uuid, this.roots.get(parentUuid ?? '') ?? uuid)
  }

  async #fork(uuid: Uuid, origin: Uuid): Promise<void> {
    await this.#commit(this.commits.fork(uuid, origin, this.living.get(origin)?.seq ?? 0))
    this.roots.set(uuid, uuid)
  }

  async #remove(process: Process): Promise<void> {
    const facts = await this.store.facts(process.uuid, 0, 10_000)
    expect(await this.store.remove(process.uuid, 1)).toBe(true)
    this.living.delete(process.uuid)
    this.removed.set(process.uuid, { process, facts })
  }

  /** Imports a process from a backup: its usage is not counted twice, and later usage is added. */
  async #importRemoved(uuid: Uuid): Promise<void> {
    const removed = this.removed.get(uuid)
    if (!removed || removed.process.originUuid !== null) return
    await using staging = this.store.stage()
    await staging.add(removed.facts)
    this.commits.cursor += removed.facts.length
    await this.store.updateUsageLedger()
    await staging.publish(removed.process)
    this.removed.delete(uuid)
    this.living.set(uuid, removed.process)
  }

  async #crash(): Promise<void> {
    const crashDir = `${this.dir}-${++this.#crashes}`
    cpSync(this.dir, crashDir, { recursive: true })
    await this.store[Symbol.asyncDispose]()
    this.dir = crashDir
    this.store = await openSqliteStore({ dir: crashDir })
  }
}

async function rowsOf(store: HomeStore): Promise<UsageRow[]> {
  while (await store.updateUsageLedger());
  const rows: UsageRow[] = []
  for (let after: UsageRow | undefined; ;) {
    const page = await store.usageRows({ limit: 3, ...(after ? { after } : {}) })
    rows.push(...page)
    after = page.at(-1)
    if (page.length < 3) return rows
  }
}

type Sum = Pick<
  Usage,
  'steps' | 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'costUsd' | 'unpriced' | 'estimated'
>

const ZERO: Sum = {
  steps: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
  unpriced: false,
  estimated: false,
}

function sumOf(sums: readonly Sum[]): Sum {
  return sums.reduce<Sum>(
    (sum, addend) => ({
      steps: sum.steps + addend.steps,
      inputTokens: sum.inputTokens + addend.inputTokens,
      outputTokens: sum.outputTokens + addend.outputTokens,
      cacheReadTokens: sum.cacheReadTokens + addend.cacheReadTokens,
      cacheWriteTokens: sum.cacheWriteTokens + addend.cacheWriteTokens,
      costUsd: sum.costUsd + addend.costUsd,
      unpriced: sum.unpriced || addend.unpriced,
      estimated: sum.estimated || addend.estimated,
    }),
    ZERO,
  )
}

test("the ledger's sums equal those of the processes exactly", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 20, maxLength: 120, size: 'max' }), async (list) => {
      await using folder = await tempDir()
      const dir = join(folder.path, 'state')
      const lives = new Lives(await openSqliteStore({ dir }), dir)
      try {
        for (const operation of list) await lives.perform(operation)
        const rows = await rowsOf(lives.store)
        const allProcesses = [...lives.living.values(), ...[...lives.removed.values()].map(({ process }) => process)]
        for (const { uuid, usage: used, spec } of allProcesses) {
          const ownRows = rows.filter((row) => row.uuid === uuid)
          expect(sumOf(ownRows), uuid).toEqual(sumOf([used]))
          expect(
            ownRows.every((row) => row.agent === spec.agent && row.root === lives.roots.get(uuid)),
            uuid,
          ).toBe(true)
        }
        expect(sumOf(rows)).toEqual(sumOf(allProcesses.map(({ usage: used }) => used)))
        expect(await lives.store.verify()).toEqual([])
      } finally {
        await lives.store[Symbol.asyncDispose]()
      }
    }),
    { numRuns: deep(15, 100), interruptAfterTimeLimit: 25_000, markInterruptAsFailure: false },
  )
})
