// The commit pipeline: what shares a commit, what is seen when, and what happens to a batch that fails.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../src/kernel/errors.ts'
import { bootAll } from '../../src/daemon/boot.ts'
import type { RequestBody } from '../../src/daemon/pipeline.ts'
import type { Container } from '../../src/drivers/contain/contain.ts'
import type { ErrorCode } from '../../src/kernel/errors.ts'
import type { Report } from '../../src/kernel/reports.ts'
import { journalOf, openCore, settled, type Core, type CoreOptions } from '../support/kernel/daemon-core.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import { uuidOf } from '../support/store-facts.ts'
import { tempDir } from '../support/tmp.ts'

const A = uuidOf(1)
const B = uuidOf(2)
const C = uuidOf(3)

async function withCore(use: (core: Core) => Promise<void>, options: Partial<CoreOptions> = {}): Promise<void> {
  await using dir = await tempDir()
  await using core = await openCore({ dir: dir.path, ...options })
  await use(core)
}

const spawn = (uuid: string, name: string | null = null): RequestBody => ({ type: 'spawn', by: 'user', uuid, parent: null, spec: kernelSpec({ name, interactive: true }) })
const send = (uuid: string, id: string): RequestBody => ({ type: 'send', by: 'user', uuid, id, text: id })
const report = (core: Core, uuid: string, what: Report): RequestBody => ({ type: 'report', uuid, pid: core.table.get(uuid)?.pid ?? 0, report: what })
const codeOf = (promise: Promise<unknown>): Promise<string> => promise.then(() => 'answered', (error: unknown) => (error instanceof KernelError ? error.code : String(error)))

describe('a batch', () => {
  test('is all that is said in one go: one commit, decided in order on the changes so far', () => withCore(async ({ pipeline, store, table }) => {
    const answers = [pipeline.request(spawn(A, 'x')), pipeline.request(spawn(B, 'x')), pipeline.request(send(A, 'm')), pipeline.request(send(C, 'm'))]
    expect(await Promise.all(answers.map(codeOf))).toEqual(['answered', 'CONFLICT', 'answered', 'NOT_FOUND'])
    expect(store.tried).toBe(1)
    expect(store.commits[0]?.facts.map((fact) => [fact.cursor, fact.uuid, fact.seq, fact.body.type])).toEqual([
      [1, A, 1, 'process.spawned'], [2, A, 2, 'process.queue'], [3, A, 3, 'process.queue'],
    ])
    expect(table.named('x')).toBe(A)
  }))

  test('what arrives while one is in flight is the next, and nothing of it is seen before it is durable', () => withCore(async ({ pipeline, store, table, effects, published }) => {
    store.hold()
    const first = pipeline.request(spawn(A))
    await settled()
    const second = [pipeline.request(spawn(B)), pipeline.request(send(A, 'm'))]
    await settled()
    expect([store.tried, table.size, effects.length, published.length, pipeline.cursor]).toEqual([1, 0, 0, 0, 0])
    store.letGo()
    expect(await codeOf(first)).toBe('answered')
    expect(await Promise.all(second.map(codeOf))).toEqual(['answered', 'answered'])
    expect(store.commits.map((commit) => commit.facts.map((fact) => fact.uuid))).toEqual([[A, A], [B, B, A]])
    expect(published.map((fact) => fact.cursor)).toEqual([1, 2, 3, 4, 5])
  }))

  test('takes 1,000 inputs at most', () => withCore(async ({ pipeline, store }) => {
    await pipeline.request(spawn(A))
    for (let i = 0; i < 2_500; i += 1) pipeline.submit({ type: 'hold', uuid: A, reason: i % 2 === 0 ? 'loop' : 'breaker' })
    pipeline.submit({ type: 'release', uuid: A, reason: 'loop' })
    await pipeline.idle()
    expect(store.commits).toHaveLength(3)
    expect(store.commits.at(-1)?.facts.map((fact) => fact.body.type)).toEqual(['process.released'])
  }))

  test('that decides nothing commits nothing', () => withCore(async ({ pipeline, store }) => {
    pipeline.submit({ type: 'tick', uuid: A })
    expect(await codeOf(pipeline.request(send(A, 'm')))).toBe('NOT_FOUND')
    expect(store.tried).toBe(0)
  }))
})

describe('a batch that fails', () => {
  test('is tried one by one, and only the offender is refused', () => withCore(async (core) => {
    const { pipeline, store, logged, table } = core
    store.fault = ({ facts }) => (facts.some((fact) => fact.uuid === B) ? new KernelError('INTERNAL', 'not this one') : null)
    const answers = [spawn(A), spawn(B), spawn(C), send(A, 'm'), send(B, 'm')].map((body) => codeOf(pipeline.request(body)))
    expect(await Promise.all(answers)).toEqual(['answered', 'INTERNAL', 'answered', 'answered', 'NOT_FOUND'])
    expect(table.get(B)).toBeUndefined()
    expect([table.get(A)?.pid, table.get(C)?.pid, table.lastPid]).toEqual([1, 2, 2])
    expect((await journalOf(core, A)).map((fact) => [fact.cursor, fact.seq])).toEqual([[1, 1], [2, 2], [5, 3]])
    expect(logged).toEqual(['the commit of spawn failed: not this one'])
  }))

  test('is not applied, not performed and not published', () => withCore(async ({ pipeline, store, table, effects, published }) => {
    store.fault = () => new KernelError('READ_ONLY', 'no')
    expect(await codeOf(pipeline.request(spawn(A)))).toBe('READ_ONLY')
    expect([table.size, effects.length, published.length, pipeline.cursor, table.lastPid]).toEqual([0, 0, 0, 0, 0])
    store.fault = () => null
    expect(await codeOf(pipeline.request(spawn(A)))).toBe('answered')
    expect(table.get(A)?.pid).toBe(1)
  }))

  test('by an error of no known kind is INTERNAL to the client', () => withCore(async ({ pipeline, store }) => {
    store.fault = () => { throw new RangeError('bad') }
    expect(await codeOf(pipeline.request(spawn(A)))).toBe('INTERNAL')
  }))
})

describe('a broken invariant', () => {
  test('ends the input that met it, and nothing else', () => withCore(async ({ pipeline, logged }) => {
    const answers = [spawn(A), { type: 'signal', by: 'user', uuid: A, signal: 'SIGFOO', subtree: false, graceMs: null, freeze: false } as unknown as RequestBody, send(A, 'm')]
    expect(await Promise.all(answers.map((body) => codeOf(pipeline.request(body))))).toEqual(['answered', 'INTERNAL', 'answered'])
    expect(logged.join()).toContain('input signal met a broken invariant')
  }))

  test('in what performs an effect stops neither the others nor the pipeline', () => withCore(async ({ pipeline, logged }) => {
    expect(await Promise.all([spawn(A), spawn(B)].map((body) => codeOf(pipeline.request(body))))).toEqual(['answered', 'answered'])
    expect(await codeOf(pipeline.request(send(A, 'm')))).toBe('answered')
    expect(logged).toEqual(['performing start failed: cannot plan', 'performing start failed: cannot plan'])
  }, { perform: (effect) => {
    if (effect.type === 'start') throw new Error('cannot plan')
  } }))
})

test('a late report is answered and writes nothing', () => withCore(async (core) => {
  await core.pipeline.request(spawn(A))
  expect(await core.pipeline.request(report(core, A, { type: 'drained' }))).toEqual({ type: 'ack', ack: 'late' })
  expect(core.store.tried).toBe(1)
}))

test('close finishes what waits, and takes nothing more', () => withCore(async ({ pipeline, store, table }) => {
  const waits = codeOf(pipeline.request(spawn(A)))
  await pipeline.close()
  expect(await waits).toBe('answered')
  pipeline.submit({ type: 'hold', uuid: A, reason: 'loop' })
  expect(await codeOf(pipeline.request(spawn(B)))).toBe('UNAVAILABLE')
  expect([store.tried, table.size]).toEqual([1, 1])
}))

describe('a start that cannot write what has become of a row', () => {
  const container = { recover: async () => ({ outcome: 'gone', survivors: [] }) } as unknown as Container

  test.each<[ErrorCode, string]>([['DISK_FULL', 'DISK_FULL'], ['READ_ONLY', 'UNAVAILABLE']])('by %s is refused: nothing is shown as running that nobody runs', async (code, refused) => {
    await using dir = await tempDir()
    {
      await using core = await openCore({ dir: dir.path })
      await core.pipeline.request(spawn(A))
    }
    {
      await using core = await openCore({ dir: dir.path, faults: (store) => { store.fault = () => new KernelError(code, 'no') } })
      expect(await codeOf(bootAll({ ...core, container }))).toBe(refused)
    }
    await using core = await openCore({ dir: dir.path })
    expect(await codeOf(bootAll({ ...core, container }))).toBe('answered')
    expect([core.table.size, (await core.store.process(A))?.life.state]).toEqual([0, 'dead'])
  })
})
