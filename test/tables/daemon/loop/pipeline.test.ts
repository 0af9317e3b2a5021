// The commit pipeline: which inputs share a commit, when results become visible, and the handling of a failed batch.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import type { RequestBody } from '../../../../src/daemon/loop/pipeline.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'
import { journalOf, openCore, waitUntilSettled, type Core, type CoreOptions } from '../../../support/kernel/daemon-core.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'
import { uuidOf } from '../../../support/store/facts.ts'
import { tempDir } from '../../../support/tmp.ts'

const A = uuidOf(1)
const B = uuidOf(2)
const C = uuidOf(3)

async function withCore(useCore: (core: Core) => Promise<void>, options: Partial<CoreOptions> = {}): Promise<void> {
  await using dir = await tempDir()
  await using core = await openCore({ dir: dir.path, ...options })
  await useCore(core)
}

const spawnRequest = (uuid: string, name: string | null = null): RequestBody => ({
  type: 'spawn',
  by: 'user',
  uuid,
  parent: null,
  spec: kernelSpec({ name, interactive: true }),
})
const sendRequest = (uuid: string, id: string): RequestBody => ({ type: 'send', by: 'user', uuid, id, text: id })
const reportRequest = (core: Core, uuid: string, body: Report): RequestBody => ({
  type: 'report',
  uuid,
  pid: core.table.get(uuid)?.pid ?? 0,
  report: body,
})
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'answered',
    (error: unknown) => (error instanceof KernelError ? error.code : String(error)),
  )

describe('a batch', () => {
  test('contains all inputs of one turn: one commit, decided in order on the changes so far', () =>
    withCore(async ({ pipeline, store, table }) => {
      const answers = [
        pipeline.request(spawnRequest(A, 'x')),
        pipeline.request(spawnRequest(B, 'x')),
        pipeline.request(sendRequest(A, 'm')),
        pipeline.request(sendRequest(C, 'm')),
      ]
      expect(await Promise.all(answers.map(codeOf))).toEqual(['answered', 'CONFLICT', 'answered', 'NOT_FOUND'])
      expect(store.attempts).toBe(1)
      expect(store.commits[0]?.facts.map((fact) => [fact.cursor, fact.uuid, fact.seq, fact.body.type])).toEqual([
        [1, A, 1, 'process.spawned'],
        [2, A, 2, 'process.queue'],
        [3, A, 3, 'process.queue'],
      ])
      expect(table.findByName('x')).toBe(A)
    }))

  test('inputs during a commit form the next batch, and are not visible before they are durable', () =>
    withCore(async ({ pipeline, store, table, effects, published }) => {
      store.holdCommits()
      const firstRequest = pipeline.request(spawnRequest(A))
      await waitUntilSettled()
      const laterRequests = [pipeline.request(spawnRequest(B)), pipeline.request(sendRequest(A, 'm'))]
      await waitUntilSettled()
      expect([store.attempts, table.size, effects.length, published.length, pipeline.cursor]).toEqual([1, 0, 0, 0, 0])
      store.releaseCommits()
      expect(await codeOf(firstRequest)).toBe('answered')
      expect(await Promise.all(laterRequests.map(codeOf))).toEqual(['answered', 'answered'])
      expect(store.commits.map((commit) => commit.facts.map((fact) => fact.uuid))).toEqual([
        [A, A],
        [B, B, A],
      ])
      expect(published.map((fact) => fact.cursor)).toEqual([1, 2, 3, 4, 5])
    }))

  test('takes at most 250 inputs', () =>
    withCore(async ({ pipeline, store }) => {
      await pipeline.request(spawnRequest(A))
      for (let i = 0; i < 625; i += 1) pipeline.submit({ type: 'hold', uuid: A, reason: i % 2 === 0 ? 'loop' : 'breaker' })
      pipeline.submit({ type: 'release', uuid: A, reason: 'loop' })
      await pipeline.waitUntilIdle()
      expect(store.commits).toHaveLength(3)
      expect(store.commits.at(-1)?.facts.map((fact) => fact.body.type)).toEqual(['process.released'])
    }))

  test('contains at most 60 ends of processes, after all other inputs', () =>
    withCore(
      async (core) => {
        const { pipeline, store, table } = core
        const endingProcesses = Array.from({ length: 130 }, (_, index) => uuidOf(100 + index))
        await Promise.all([A, ...endingProcesses].map((uuid) => pipeline.request(spawnRequest(uuid))))
        for (const uuid of endingProcesses) {
          const containment = { kind: 'group', path: null, marker: 'm' } as const
          pipeline.submit({ type: 'start', uuid, pid: table.get(uuid)?.pid ?? 0, containment, missingKeys: [] })
        }
        await pipeline.waitUntilIdle()
        const before = store.commits.length
        const exitReports = endingProcesses.map((uuid) =>
          pipeline.request(reportRequest(core, uuid, { type: 'exited', code: 0, osSignal: null })),
        )
        await Promise.all([...exitReports, pipeline.request(sendRequest(A, 'm'))])
        const commits = store.commits.slice(before).map(({ facts }) => facts.map(({ body }) => body.type))
        expect(commits.map((types) => types.filter((type) => type === 'process.exited').length)).toEqual([60, 60, 10])
        expect(commits[0]?.[0]).toBe('process.queue')
      },
      { maxProcesses: 1_000 },
    ))

  test('whose inputs cause no fact is not committed', () =>
    withCore(async ({ pipeline, store }) => {
      pipeline.submit({ type: 'tick', uuid: A })
      expect(await codeOf(pipeline.request(sendRequest(A, 'm')))).toBe('NOT_FOUND')
      expect(store.attempts).toBe(0)
    }))
})

describe('a flood', () => {
  /** Records each `reply` effect, and `turn` for each turn of the event loop. The clock advances by 5 ms at each `reply`. */
  async function turnsOfFlood(flood: (core: Core) => Promise<unknown>): Promise<string[]> {
    await using dir = await tempDir()
    const events: string[] = []
    await using core = await openCore({
      dir: dir.path,
      maxProcesses: 1_000,
      perform: ({ type }, { clock }) => {
        if (type !== 'reply') return
        clock.wind(5)
        events.push(type)
      },
    })
    let isOver = false
    const recordTurn = (): void => {
      events.push('turn')
      if (!isOver) setImmediate(recordTurn)
    }
    setImmediate(recordTurn)
    await flood(core)
    isOver = true
    return events
  }
  /** Returns the number of recorded effects in each turn. */
  const effectsPerTurn = (events: readonly string[]): number[] =>
    events
      .join(' ')
      .split('turn')
      .map((turn) => turn.trim().split(' ').filter(Boolean).length)

  test('of simultaneous inputs yields to the event loop', async () => {
    const events = await turnsOfFlood(({ pipeline }) =>
      Promise.all(Array.from({ length: 40 }, (_, index) => pipeline.request(spawnRequest(uuidOf(index + 1))))),
    )
    expect(events.filter((event) => event === 'reply')).toHaveLength(40)
    expect(Math.max(...effectsPerTurn(events))).toBeLessThanOrEqual(4)
  })

  test('of inputs that cause each other yields to the event loop', async () => {
    const events = await turnsOfFlood(async ({ pipeline }) => {
      for (let index = 0; index < 40; index += 1) await pipeline.request(spawnRequest(uuidOf(index + 1)))
    })
    expect(events.filter((event) => event === 'reply')).toHaveLength(40)
    expect(Math.max(...effectsPerTurn(events))).toBeLessThanOrEqual(4)
  })

  test('stays in order, and later inputs follow it', () =>
    withCore(async ({ pipeline, clock, effects, table }) => {
      const order: string[] = []
      const answers = Array.from({ length: 20 }, (_, index) =>
        pipeline.request(spawnRequest(uuidOf(index + 1))).then(() => {
          clock.wind(11)
          order.push(`${index}`)
          if (index === 0) answers.push(pipeline.request(sendRequest(uuidOf(20), 'm')).then(() => void order.push('sent')))
        }),
      )
      await Promise.all(answers)
      await Promise.all(answers)
      expect(order).toEqual([...Array.from({ length: 20 }, (_, index) => `${index}`), 'sent'])
      expect([table.size, effects.filter(({ type }) => type === 'reply').length]).toEqual([20, 21])
    }))
})

describe('a batch that fails', () => {
  test('is tried again input by input, and only the failing input is refused', () =>
    withCore(async (core) => {
      const { pipeline, store, logged, table } = core
      store.fault = ({ facts }) => (facts.some((fact) => fact.uuid === B) ? new KernelError('INTERNAL', 'not this one') : null)
      const answers = [spawnRequest(A), spawnRequest(B), spawnRequest(C), sendRequest(A, 'm'), sendRequest(B, 'm')].map((body) =>
        codeOf(pipeline.request(body)),
      )
      expect(await Promise.all(answers)).toEqual(['answered', 'INTERNAL', 'answered', 'answered', 'NOT_FOUND'])
      expect(table.get(B)).toBeUndefined()
      expect([table.get(A)?.pid, table.get(C)?.pid, table.lastPid]).toEqual([1, 2, 2])
      expect((await journalOf(core, A)).map((fact) => [fact.cursor, fact.seq])).toEqual([
        [1, 1],
        [2, 2],
        [5, 3],
      ])
      expect(logged).toEqual(['the commit of spawn failed: not this one'])
    }))

  test('is neither applied nor performed nor published', () =>
    withCore(async ({ pipeline, store, table, effects, published }) => {
      store.fault = () => new KernelError('READ_ONLY', 'no')
      expect(await codeOf(pipeline.request(spawnRequest(A)))).toBe('READ_ONLY')
      expect([table.size, effects.length, published.length, pipeline.cursor, table.lastPid]).toEqual([0, 0, 0, 0, 0])
      store.fault = () => null
      expect(await codeOf(pipeline.request(spawnRequest(A)))).toBe('answered')
      expect(table.get(A)?.pid).toBe(1)
    }))

  test('with an unexpected error is reported to the client as INTERNAL', () =>
    withCore(async ({ pipeline, store }) => {
      store.fault = () => {
        throw new RangeError('bad')
      }
      expect(await codeOf(pipeline.request(spawnRequest(A)))).toBe('INTERNAL')
    }))
})

describe.each(['FENCED', 'STORE_REGRESSED'] as const)('a store that ends with %s', (code) => {
  const fence = new KernelError(code, 'another store is there')

  test('refuses the requests of the batch and all later ones with its error, and nothing is tried again', () =>
    withCore(async ({ pipeline, store, table, published }) => {
      await pipeline.request(spawnRequest(A))
      store.fault = () => fence
      const answers = [spawnRequest(B), sendRequest(A, 'm')].map((body) => codeOf(pipeline.request(body)))
      pipeline.submit({ type: 'tick', uuid: A })
      expect(await Promise.all(answers)).toEqual([code, code])
      expect([store.attempts, await pipeline.fenced, table.size]).toEqual([2, fence, 1])
      const seen = published.length
      // The store could write again, but the table is no longer true.
      store.fault = () => null
      expect(await codeOf(pipeline.request(spawnRequest(C)))).toBe(code)
      await expect(pipeline.runBetweenCommits(async () => ({ pid: 0, cursor: 0 }))).rejects.toBe(fence)
      pipeline.submit({ type: 'tick', uuid: A })
      await pipeline.close()
      expect([store.attempts, published.length]).toEqual([2, seen])
    }))

  test('refuses the requests that arrived while its commit was in flight', () =>
    withCore(async ({ pipeline, store }) => {
      store.fault = () => fence
      store.holdCommits()
      const first = codeOf(pipeline.request(spawnRequest(A)))
      while (store.attempts === 0) await new Promise(setImmediate)
      const second = codeOf(pipeline.request(spawnRequest(B)))
      store.releaseCommits()
      expect(await Promise.all([first, second])).toEqual([code, code])
      expect(store.attempts).toBe(1)
    }))
})

describe('a broken invariant', () => {
  test('fails only the input that caused it', () =>
    withCore(async ({ pipeline, logged }) => {
      const answers = [
        spawnRequest(A),
        { type: 'signal', by: 'user', uuid: A, signal: 'SIGFOO', subtree: false, graceMs: null, freeze: false } as unknown as RequestBody,
        sendRequest(A, 'm'),
      ]
      expect(await Promise.all(answers.map((body) => codeOf(pipeline.request(body))))).toEqual(['answered', 'INTERNAL', 'answered'])
      expect(logged.join()).toContain('input signal met a broken invariant')
    }))

  test('in an effect stops neither the other effects nor the pipeline', () =>
    withCore(
      async ({ pipeline, logged }) => {
        expect(await Promise.all([spawnRequest(A), spawnRequest(B)].map((body) => codeOf(pipeline.request(body))))).toEqual([
          'answered',
          'answered',
        ])
        expect(await codeOf(pipeline.request(sendRequest(A, 'm')))).toBe('answered')
        expect(logged).toEqual(['performing start failed: cannot plan', 'performing start failed: cannot plan'])
      },
      {
        perform: (effect) => {
          if (effect.type === 'start') throw new Error('cannot plan')
        },
      },
    ))
})

test('the report of an ended incarnation is answered, and writes nothing', () =>
  withCore(async (core) => {
    await core.pipeline.request(spawnRequest(A))
    expect(await core.pipeline.request(reportRequest(core, A, { type: 'drained' }))).toEqual({ type: 'ack', ack: 'late' })
    expect(core.store.attempts).toBe(1)
  }))

test('`close` finishes the waiting inputs, and accepts no more', () =>
  withCore(async ({ pipeline, store, table }) => {
    const pendingRequest = codeOf(pipeline.request(spawnRequest(A)))
    await pipeline.close()
    expect(await pendingRequest).toBe('answered')
    pipeline.submit({ type: 'hold', uuid: A, reason: 'loop' })
    expect(await codeOf(pipeline.request(spawnRequest(B)))).toBe('UNAVAILABLE')
    expect([store.attempts, table.size]).toEqual([1, 1])
  }))
