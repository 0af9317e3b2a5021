// Compares the store with a simple model (arrays) under random commands: commits, refused commits, forks of forks, complete and
// interrupted removals, closes and crashes.
// A crash is a copy of the files at that moment, opened as another store.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { AsyncCommand } from 'fast-check'
import { expect, test } from 'vitest'
import type { FactBody, StoredFact } from '../../src/kernel/model/facts.ts'
import type { Process } from '../../src/kernel/model/process.ts'
import { MAX_INLINE_BYTES } from '../../src/store/journal/blobs.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/postgres.ts'
import { describePostgres } from '../support/postgres/describe-postgres.ts'
import type { PostgresServer } from '../support/postgres/server.ts'
import type { HomeStore, LocalStore, Store } from '../../src/store/store.ts'
import { deep } from '../support/deep.ts'
import { FACT_TYPES, bodyOf } from '../support/store/arbitraries.ts'
import { CommitMaker, type MadeCommit, endFacts, modelFinished, specOf, toolFinished, uuidOf } from '../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../support/store/test-store.ts'
import { tempDir } from '../support/tmp.ts'
import type { Uuid } from '../../src/kernel/model/ids.ts'

const PROCESSES = 9
const REMOVED_AT = 1_700_000_000_001

/** The acknowledged content of the store. */
class Model {
  commits = new CommitMaker()
  facts: StoredFact[] = []
  /** the readable journal of each process: a fork has a copy of its origin's part here */
  readonly journals = new Map<Uuid, StoredFact[]>()
  cursor = 0
  pid = 0
  readonly processes = new Map<Uuid, Process>()
  readonly removed = new Map<Uuid, Process>()

  apply({ facts, processes, counters }: MadeCommit): void {
    this.facts.push(...facts)
    this.cursor = counters.cursor
    this.pid = counters.pid
    for (const fact of facts) this.#journal(fact).push(fact)
    for (const process of processes) this.processes.set(process.uuid, process)
  }

  remove(process: Process): void {
    this.facts = this.facts.filter(({ uuid }) => uuid !== process.uuid)
    this.processes.delete(process.uuid)
    this.removed.set(process.uuid, process)
  }

  #journal({ uuid, body }: StoredFact): StoredFact[] {
    const begun = body.type === 'process.forked' ? (this.journals.get(body.origin.uuid) ?? []).slice(0, body.origin.seq) : []
    return this.journals.get(uuid) ?? this.journals.set(uuid, begun).get(uuid) ?? []
  }

  ownFacts(uuid: Uuid): StoredFact[] {
    return this.facts.filter((fact) => fact.uuid === uuid)
  }

  /** The whole journal of an existing process. */
  journalOf(uuid: Uuid): StoredFact[] {
    return this.processes.has(uuid) ? (this.journals.get(uuid) ?? []) : []
  }

  isFree(uuid: Uuid): boolean {
    return !this.processes.has(uuid) && !this.removed.has(uuid)
  }

  /** Makes a `CommitMaker` that continues from the acknowledged facts, after a refused commit. */
  restart(): void {
    this.commits = new CommitMaker({ pid: this.pid, cursor: this.cursor }, [...this.processes.values()])
  }
}

/** A store with what the test does to it from outside. */
interface Real extends AsyncDisposable {
  readonly store: TestedStore
  /** Closes the store, and opens it again. */
  close(): Promise<void>
  /** Opens the store again as it is on the disk, as if its daemon had been killed. */
  crash(): Promise<void>
  /** Closes the store. Returns the number of its facts, long texts, and processes whose removal is unfinished. */
  countRows(): Promise<{ readonly facts: number; readonly texts: number; readonly doomed: number }>
}

type TestedStore = Store & Pick<LocalStore, 'verify'>

class RealFile implements Real {
  store: HomeStore
  #dir: string
  #crashes = 0

  constructor(store: HomeStore, dir: string) {
    this.store = store
    this.#dir = dir
  }

  async close(): Promise<void> {
    await this.store[Symbol.asyncDispose]()
    this.store = await openSqliteStore({ dir: this.#dir })
  }

  async crash(): Promise<void> {
    const crashDir = `${this.#dir}-${++this.#crashes}`
    cpSync(this.#dir, crashDir, { recursive: true })
    await this.store[Symbol.asyncDispose]()
    this.#dir = crashDir
    this.store = await openSqliteStore({ dir: crashDir })
  }

  async countRows(): ReturnType<Real['countRows']> {
    await this.store[Symbol.asyncDispose]()
    const count = (table: string): number =>
      changeStoreFile(this.#dir, (db) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']))
    expect(changeStoreFile(this.#dir, (db) => db.prepare('PRAGMA freelist_count').get()?.['freelist_count'])).toBe(0)
    return { facts: count('journal'), texts: count('blobs'), doomed: count('doomed') }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]()
  }
}

class RealDatabase implements Real {
  store: PostgresStore
  readonly #server: PostgresServer
  readonly #url: string

  private constructor(store: PostgresStore, server: PostgresServer, url: string) {
    this.store = store
    this.#server = server
    this.#url = url
  }

  static async open(server: PostgresServer): Promise<RealDatabase> {
    const url = await server.createDatabase()
    return new RealDatabase(await openPostgresStore({ url, durability: 'single' }), server, url)
  }

  async close(): Promise<void> {
    await this.store[Symbol.asyncDispose]()
    this.store = await openPostgresStore({ url: this.#url, durability: 'single' })
  }

  async crash(): Promise<void> {
    const abandoned = this.store
    this.store = await openPostgresStore({ url: this.#url, durability: 'single' })
    // The writer before is fenced, so that closing it writes nothing.
    await abandoned[Symbol.asyncDispose]()
  }

  async countRows(): ReturnType<Real['countRows']> {
    await this.store[Symbol.asyncDispose]()
    const count = async (table: string): Promise<number> =>
      Number((await this.#server.query(`SELECT count(*) AS n FROM reeve.${table}`, this.#url))[0]?.['n'])
    return { facts: await count('fact'), texts: await count('blob'), doomed: await count('doomed') }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]()
  }
}

type Step = AsyncCommand<Model, Real>

async function commitToBoth(model: Model, real: Real, nextCommit: MadeCommit): Promise<void> {
  expect(await real.store.commit(nextCommit)).toStrictEqual(nextCommit.facts)
  model.apply(nextCommit)
}

const isRunning = (model: Readonly<Model>, uuid: Uuid): boolean => (model.processes.get(uuid)?.life.state ?? 'dead') === 'running'

/** The kernel gives no two living processes one name. */
const isLivingName = (model: Readonly<Model>, name: string): boolean =>
  [...model.processes.values()].some(({ spec, life }) => spec.name === name && life.state !== 'dead')

const makeCommand = (name: string, check: Step['check'], run: Step['run']): Step => ({ check, run, toString: () => name })

const spawnCommand = fc
  .tuple(fc.nat(PROCESSES - 1), fc.option(fc.constantFrom('ann', 'bob')), fc.boolean())
  .map(([number, name, hasLongText]) =>
    makeCommand(
      `spawn ${number} ${name}`,
      (model) => model.isFree(uuidOf(number)) && (name === null || !isLivingName(model, name)),
      async (model, real) =>
        commitToBoth(
          model,
          real,
          model.commits.spawn(uuidOf(number), specOf({ name, system: hasLongText ? 'system '.repeat(2_000) : null })),
        ),
    ),
  )

/** Forks at any fact of any process, also in the middle of a step: the store must accept that. */
const forkCommand = fc
  .tuple(fc.nat(PROCESSES - 1), fc.nat(PROCESSES - 1), fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean())
  .map(([number, from, part, ends]) =>
    makeCommand(
      `fork ${from} at ${part} as ${number}${ends ? ', which ends' : ''}`,
      (model) => model.isFree(uuidOf(number)) && !model.isFree(uuidOf(from)),
      async (model, real) => {
        const origin = uuidOf(from)
        const factCount = model.journals.get(origin)?.length ?? 0
        const forkCommit = model.commits.fork(uuidOf(number), origin, 1 + Math.floor(part * (factCount - 1)), ...(ends ? endFacts() : []))
        if (model.processes.has(origin)) return commitToBoth(model, real, forkCommit)
        await expect(real.store.commit(forkCommit)).rejects.toMatchObject({ code: 'COLLECTED' })
        model.restart()
      },
    ),
  )

const stepsCommand = fc
  .tuple(fc.array(fc.nat(PROCESSES - 1), { minLength: 1 }), fc.integer({ min: 1, max: 70 }), fc.constantFrom('text', 'long '.repeat(2_000)))
  .map(([numbers, count, text]) =>
    makeCommand(
      `steps ${numbers.join()} ×${count}`,
      (model) => numbers.some((number) => isRunning(model, uuidOf(number))),
      async (model, real) => {
        const uuids = [...new Set(numbers.map(uuidOf))].filter((uuid) => isRunning(model, uuid))
        for (let index = 0; index < count; index++) {
          const step = model.cursor
          const bodies = index % 2 === 0 ? modelFinished(step, text) : toolFinished(step, text)
          await commitToBoth(
            model,
            real,
            model.commits.group(uuids.flatMap((uuid) => bodies.map((body): [Uuid, FactBody] => [uuid, body]))),
          )
        }
      },
    ),
  )

const BODIES: readonly FactBody[] = [
  { type: 'process.note', text: 'a note' },
  { type: 'process.working', turn: 1, message: 'work' },
  { type: 'process.drained', inFlight: null },
  { type: 'process.output', stream: 'stdout', text: 'out' },
  { type: 'process.queue', id: 'm', from: 'user', text: 'x'.repeat(9_000) },
]
const writeFacts = fc
  .tuple(fc.nat(PROCESSES - 1), fc.array(fc.constantFrom(...BODIES), { minLength: 1, maxLength: 4 }))
  .map(([number, bodies]) =>
    makeCommand(
      `write ${number} ${bodies.map(({ type }) => type).join()}`,
      (model) => isRunning(model, uuidOf(number)),
      async (model, real) => commitToBoth(model, real, model.commits.write(uuidOf(number), ...bodies)),
    ),
  )

const endProcess = fc.nat(PROCESSES - 1).map((number) =>
  makeCommand(
    `end ${number}`,
    (model) => isRunning(model, uuidOf(number)),
    async (model, real) => commitToBoth(model, real, model.commits.write(uuidOf(number), ...endFacts())),
  ),
)

const removeCommand = fc.tuple(fc.nat(PROCESSES - 1), fc.nat(3)).map(([number, pieces]) =>
  makeCommand(
    `remove ${number} and sweep ${pieces} pieces`,
    () => true,
    async (model, { store }) => {
      const uuid = uuidOf(number)
      const process = model.processes.get(uuid)
      if (process && process.life.state !== 'dead') await expect(store.remove(uuid, 1)).rejects.toMatchObject({ code: 'CONFLICT' })
      else expect(await store.remove(uuid, REMOVED_AT)).toBe(process !== undefined)
      if (process?.life.state === 'dead') model.remove(process)
      for (let piece = 0; piece < pieces; piece++) await store.sweep()
    },
  ),
)

const refusedCommand = fc.nat(PROCESSES - 1).map((number) =>
  makeCommand(
    `refused ${number}`,
    (model) => isRunning(model, uuidOf(number)),
    async (model, real) => {
      const refusedCommit = model.commits.write(uuidOf(number), ...modelFinished(1, 'never '.repeat(2_000)), ...endFacts())
      await expect(real.store.commit({ ...refusedCommit, processes: [] })).rejects.toMatchObject({ code: 'INTERNAL' })
      model.restart()
    },
  ),
)

const closeCommand = fc.constant(
  makeCommand(
    'close',
    () => true,
    async (_, real) => real.close(),
  ),
)

const crashCommand = fc.constant(
  makeCommand(
    'crash',
    () => true,
    async (_, real) => real.crash(),
  ),
)

const readPages = fc.tuple(fc.nat(PROCESSES - 1), fc.nat(400), fc.nat(200)).map(([number, after, limit]) =>
  makeCommand(
    `read ${number} after ${after} limit ${limit}`,
    () => true,
    async (model, { store }) => {
      const uuid = uuidOf(number)
      const [whole, ownFacts] = [model.journalOf(uuid), model.ownFacts(uuid)]
      const types = ['process.note', 'tool.started']
      expect(await store.process(uuid)).toStrictEqual(model.processes.get(uuid))
      expect(await store.facts(uuid, after, limit)).toStrictEqual(whole.slice(after, after + limit))
      expect(await store.tail(uuid, limit)).toStrictEqual(limit === 0 ? [] : whole.slice(-limit))
      expect(await store.tail(uuid, limit, undefined, after)).toStrictEqual(
        limit === 0 || after === 0 ? [] : whole.slice(0, after - 1).slice(-limit),
      )
      expect(await store.tail(uuid, limit, types)).toStrictEqual(
        limit === 0 ? [] : whole.filter(({ body }) => types.includes(body.type)).slice(-limit),
      )
      expect(await store.since({ afterCursor: after, limit })).toStrictEqual(
        model.facts.filter(({ cursor }) => cursor > after).slice(0, limit),
      )
      expect(await store.since({ afterCursor: after, limit, uuid })).toStrictEqual(
        ownFacts.filter(({ cursor }) => cursor > after).slice(0, limit),
      )
      expect((await store.forks(uuid)).map((row) => row.uuid)).toEqual(forksOf(model, uuid))
      for (const step of [
        after,
        ...startsOf(whole)
          .slice(after % 7, (after % 7) + 2)
          .map((start) => start.step),
      ]) {
        expect(await store.stepBounds(uuid, step), `step ${step}`).toEqual(boundsOf(startsOf(whole), step))
      }
    },
  ),
)

/** The forks of a process, the newest first. */
function forksOf({ processes }: Readonly<Model>, uuid: Uuid): Uuid[] {
  return [...processes.values()]
    .filter(({ originUuid }) => originUuid === uuid)
    .toSorted((a, b) => b.pid - a.pid)
    .map((row) => row.uuid)
}

function startsOf(facts: readonly StoredFact[]): { seq: number; step: number }[] {
  return facts.flatMap(({ seq, body }) => (body.type === 'model.started' ? [{ seq, step: body.step }] : []))
}

function boundsOf(starts: readonly { seq: number; step: number }[], step: number): object | null {
  const firstStart = starts.find((start) => start.step === step)
  return firstStart ? { first: firstStart.seq, next: starts.find((start) => start.step > step)?.seq ?? null } : null
}

/** Compares the whole content, at the end of each run. */
async function compareStores(model: Model, store: TestedStore): Promise<void> {
  const allProcesses = [...model.processes.values()]
  const { counters, processes } = await store.load()
  const liveProcesses = allProcesses.filter(({ life }) => life.state !== 'dead')
  const byUuid = (a: Process, b: Process): number => (a.uuid < b.uuid ? -1 : 1)
  expect(processes.toSorted(byUuid)).toStrictEqual(liveProcesses.toSorted(byUuid))
  expect(counters).toEqual({ pid: model.processes.size + model.removed.size, cursor: model.cursor })
  for (const [
    uuid,
    {
      pid,
      spec: { name },
      originUuid,
    },
  ] of model.removed) {
    expect(await store.process(uuid)).toBeUndefined()
    for (const ref of [uuid, String(pid)])
      expect(await store.tombstone(ref)).toEqual({ uuid, pid, name, removedAt: REMOVED_AT, originUuid })
  }
  const deadProcesses = allProcesses
    .filter(({ life }) => life.state === 'dead')
    .toSorted((a, b) => (b.clock.exitedAt ?? 0) - (a.clock.exitedAt ?? 0))
  expect(await store.dead({ limit: 100 })).toStrictEqual(deadProcesses)
  for (const name of ['ann', 'bob']) {
    const named = allProcesses.filter(({ spec }) => spec.name === name).toSorted((a, b) => b.pid - a.pid)
    expect(await store.find(name)).toEqual(named.map(({ uuid }) => uuid))
  }
  expect((await store.collectable({ limit: 100 })).map(({ uuid }) => uuid)).toEqual(deadProcesses.toReversed().map(({ uuid }) => uuid))
  expect((await store.size()).dead).toBe(deadProcesses.length)
  expect(await store.since({ afterCursor: 0, limit: 10_000 })).toStrictEqual(model.facts)
  await compareJournals(model, store)
}

async function compareJournals(model: Model, store: TestedStore): Promise<void> {
  for (const uuid of model.journals.keys()) {
    expect(await store.facts(uuid, 0, 10_000)).toStrictEqual(model.journalOf(uuid))
    expect((await store.forks(uuid)).map((row) => row.uuid)).toEqual(forksOf(model, uuid))
  }
  for (const [uuid, { originUuid }] of model.removed) {
    if (originUuid !== null) expect((await store.removedForks(originUuid)).map((tombstone) => tombstone.uuid)).toContain(uuid)
  }
  expect(await store.verify()).toEqual([])
}

/** After the last sweep nothing of a removed process is left, except the facts and long texts with which forks begin. */
async function compareRest(model: Model, real: Real): Promise<void> {
  while (await real.store.sweep());
  await compareJournals(model, real.store)
  const facts = [
    ...new Map([...model.processes.keys()].flatMap((uuid) => model.journalOf(uuid)).map((fact) => [fact.cursor, fact])).values(),
  ]
  const longTexts = new Set(facts.flatMap(({ body }) => textsOf(body)).filter((text) => Buffer.byteLength(text) > MAX_INLINE_BYTES))
  expect(await real.countRows()).toEqual({ facts: facts.length, texts: longTexts.size, doomed: 0 })
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

async function checkCommands(open: () => Promise<Real>, runs: number): Promise<void> {
  const commands = fc.commands(
    [
      spawnCommand,
      stepsCommand,
      spawnCommand,
      stepsCommand,
      forkCommand,
      forkCommand,
      forkCommand,
      writeFacts,
      endProcess,
      endProcess,
      removeCommand,
      removeCommand,
      refusedCommand,
      closeCommand,
      crashCommand,
      readPages,
    ],
    {
      maxCommands: 50,
      size: 'max',
    },
  )
  await fc.assert(
    fc.asyncProperty(commands, async (list) => {
      await using real = await open()
      const model = new Model()
      await fc.asyncModelRun(() => ({ model, real }), list)
      await compareStores(model, real.store)
      await compareRest(model, real)
    }),
    { numRuns: runs, endOnFailure: false, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
  )
}

test('after any commands, the store has the acknowledged content', async () => {
  await using folders = new AsyncDisposableStack()
  await checkCommands(
    async () => {
      const dir = join(folders.use(await tempDir()).path, 'state')
      return new RealFile(await openSqliteStore({ dir }), dir)
    },
    deep(12, 100),
  )
})

describePostgres('a store in a database', {}, (suite) => {
  test('after any commands, has the acknowledged content', async () => {
    await checkCommands(() => RealDatabase.open(suite.server), deep(6, 60))
  })

  test('returns any fact of any type unchanged', async () => {
    await using real = await RealDatabase.open(suite.server)
    await checkFacts(real.store, 30)
    await real.close()
    expect(await real.store.verify()).toEqual([])
  })
})

/** The row after any facts. The fold is not used, because it would refuse facts in an impossible order. */
function rowAfter(before: Process, facts: readonly StoredFact[]): Process {
  const spec = facts.findLast(({ body }) => 'spec' in body && body.spec !== undefined)
  return {
    ...before,
    seq: before.seq + facts.length,
    specSeq: spec?.seq ?? before.specSeq,
    ...(spec && 'spec' in spec.body && spec.body.spec ? { spec: spec.body.spec } : {}),
  }
}

test('the store returns any fact of any type unchanged', async () => {
  await using fixture = await openTestStore()
  const process = await checkFacts(fixture.store, 60)
  expect(await (await fixture.reopen()).process(process.uuid)).toStrictEqual(process)
  expect(await fixture.store.verify()).toEqual([])
})

/** Returns the process after all facts. */
async function checkFacts(store: TestedStore, runs: number): Promise<Process> {
  const commits = new CommitMaker()
  const A = uuidOf(1)
  await store.commit(commits.spawn(A))
  let { cursor } = commits
  let process = commits.get(A)
  const bodies = fc.array(fc.constantFrom(...FACT_TYPES.filter((type) => type !== 'process.forked')).chain(bodyOf), {
    minLength: 1,
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(bodies, async (list) => {
      const facts = list.map((body, index): StoredFact => ({
        cursor: cursor + index + 1,
        uuid: A,
        seq: process.seq + index + 1,
        pid: 1,
        at: cursor,
        body,
      }))
      const rowWithFacts = rowAfter(process, facts)
      await store.commit({ facts, processes: [rowWithFacts], lastPid: 1 })
      const previousSeq = process.seq
      process = rowWithFacts
      cursor += facts.length
      expect(await store.facts(A, previousSeq, facts.length)).toStrictEqual(facts)
      expect(await store.since({ afterCursor: cursor - facts.length, limit: 100 })).toStrictEqual(facts)
      expect(await store.process(A)).toStrictEqual(process)
    }),
    { numRuns: runs },
  )
  return process
}
