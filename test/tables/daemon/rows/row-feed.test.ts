// The feed of rows with a slow reader: the changes that wait for it are bounded; beyond the bound it gets a snapshot instead. Who asks for
// an old process changes no other list.
import { expect, test } from 'vitest'
import { applyRowEvent, type RowEvent } from '../../../../src/api/row-events.ts'
import type { RowView } from '../../../../src/api/views/rows.ts'
import { RowFeed } from '../../../../src/daemon/rows/row-feed.ts'
import type { RowScope } from '../../../../src/daemon/rows/scope.ts'
import { EventLoopTurns } from '../../../../src/drivers/common/event-loop-turns.ts'
import type { InputBody } from '../../../../src/kernel/model/inputs.ts'
import { kernelSpec, World } from '../../../support/kernel/world.ts'

const COUNT = 400
const ALL = { of: 'all' } as const

/** A feed of a world with many processes. */
class FeedWorld implements Disposable {
  readonly world = new World(COUNT)
  readonly feed: RowFeed
  readonly #errors: unknown[] = []
  #cursor = 0

  /** `readDead`: the newest ended processes of the store */
  constructor(readDead: () => Promise<[]> = async () => []) {
    this.feed = new RowFeed({
      table: this.world.table,
      store: { dead: readDead, process: async (uuid) => this.world.dead.get(uuid) },
      clock: { now: () => ({ wall: this.world.wall, mono: this.world.mono }) } as never,
      slices: new EventLoopTurns().newQueue(),
      cursor: () => this.#cursor,
      log: (_, error) => this.#errors.push(error),
    })
    this.world.onCommit = (facts, processes) => {
      this.feed.onCommit(
        facts.map((fact) => ({ ...fact, cursor: (this.#cursor += 1) })),
        processes,
      )
    }
    this.#play(
      Array.from({ length: COUNT }, (_, index) => ({
        type: 'spawn',
        reply: 0,
        by: 'user',
        uuid: `p${index}`,
        parent: null,
        spec: kernelSpec({ name: `p${index}`, interactive: true }),
      })),
    )
  }

  /** Changes all rows, and waits until the frame with these changes is made. */
  async changeAll(name: 'SIGPAUSE' | 'SIGRESUME'): Promise<void> {
    this.#play(
      Array.from({ length: COUNT }, (_, index) => ({
        type: 'signal',
        reply: 0,
        by: 'user',
        uuid: `p${index}`,
        signal: name,
        subtree: false,
        graceMs: null,
        freeze: false,
      })),
    )
    await this.rows()
  }

  endLongAgo(uuid: string): void {
    this.#play([{ type: 'signal', reply: 0, by: 'user', uuid, signal: 'SIGKILL', subtree: false, graceMs: null, freeze: false }])
    const process = this.world.table.get(uuid)
    if (process?.life.state === 'zombie') this.#play([{ type: 'released', uuid, pid: process.pid, survivors: [] }])
    this.world.wind(2 * 86_400_000)
  }

  async rows(): Promise<RowView[]> {
    return (JSON.parse(await this.feed.snapshot(ALL, 'objects')) as { rows: RowView[] }).rows
  }

  #play(inputs: readonly InputBody[]): void {
    for (const input of inputs) this.world.step(input)
    this.world.commit()
  }

  [Symbol.dispose](): void {
    this.feed.close()
    expect(this.#errors).toEqual([])
  }
}

class Reader {
  readonly rows = new Map<string, RowView>()
  readonly #events: AsyncGenerator<Buffer>

  constructor(feed: RowFeed, signal: AbortSignal) {
    this.#events = feed.follow({ scope: ALL, shape: 'objects', signal })
  }

  /** Reads and applies the next event. Skips those that only show that the daemon is alive: they come if the test is slow. */
  async next(): Promise<RowEvent> {
    const { value } = await this.#events.next()
    const event = JSON.parse(/^data: (.*)$/m.exec(String(value))?.[1] ?? '') as RowEvent
    if (event.type === 'alive') return this.next()
    applyRowEvent(this.rows, event)
    return event
  }
}

const sortByUuid = (rows: Iterable<RowView>): RowView[] => [...rows].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))

test('a reader that is more than 1,000 changed rows behind gets a snapshot, and misses nothing', async () => {
  using world = new FeedWorld()
  const abort = new AbortController()
  const reader = new Reader(world.feed, abort.signal)
  expect((await reader.next()).type).toBe('reset')
  // Two frames of 400 rows wait for it; a third one does not fit.
  for (const name of ['SIGPAUSE', 'SIGRESUME'] as const) await world.changeAll(name)
  expect((await reader.next()).type).toBe('rows')
  for (const name of ['SIGPAUSE', 'SIGRESUME', 'SIGPAUSE', 'SIGRESUME', 'SIGPAUSE'] as const) await world.changeAll(name)
  const types: string[] = []
  const last = await world.rows()
  while (JSON.stringify(sortByUuid(reader.rows.values())) !== JSON.stringify(last)) types.push((await reader.next()).type)
  expect(types).toContain('reset')
  // These are the frame that was being read, the snapshot, and at most one frame that came meanwhile.
  expect(types.length).toBeLessThanOrEqual(3)
  expect(last.every(({ status }) => status === 'suspended')).toBe(true)
  await world.changeAll('SIGRESUME')
  expect((await reader.next()).type).toBe('rows')
  expect(sortByUuid(reader.rows.values())).toEqual(await world.rows())
  abort.abort()
})

test('no reader misses a change because another reader is slow', async () => {
  using world = new FeedWorld()
  const abort = new AbortController()
  const [slow, quick] = [new Reader(world.feed, abort.signal), new Reader(world.feed, abort.signal)]
  await Promise.all([slow.next(), quick.next()])
  const types = new Set<string>()
  for (let round = 0; round < 8; round += 1) {
    await world.changeAll(round % 2 === 0 ? 'SIGPAUSE' : 'SIGRESUME')
    const last = JSON.stringify(await world.rows())
    while (JSON.stringify(sortByUuid(quick.rows.values())) !== last) types.add((await quick.next()).type)
  }
  expect(types).not.toContain('reset')
  expect((await slow.next()).type).toBe('reset')
  expect(sortByUuid(slow.rows.values())).toEqual(await world.rows())
  abort.abort()
})

test('a request for the snapshot of a subtree ends when the feed is closed before the rows are loaded', async () => {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<[]>()
  const world = new FeedWorld(() => {
    asked.resolve()
    return answer.promise
  })
  const reading = world.feed.snapshot({ of: 'subtree', root: 'ended' }, 'objects')
  await asked.promise
  world.feed.close()
  answer.resolve([])
  // If the feed waited for a frame that never comes, it would occupy the only thread, and the test would never reach this line.
  expect(await reading).toBeTypeOf('string')
})

test('a snapshot of a process that ended long ago has its row, and no other viewer gets it', async () => {
  using world = new FeedWorld()
  world.endLongAgo('p0')
  const uuidsIn = async (scope: RowScope): Promise<string[]> =>
    (JSON.parse(await world.feed.snapshot(scope, 'objects')) as { rows: RowView[] }).rows.map(({ uuid }) => uuid)
  expect(await uuidsIn({ of: 'subtree', root: 'p0' })).toEqual(['p0'])
  expect(await uuidsIn({ of: 'recent' })).not.toContain('p0')
  expect(await uuidsIn({ of: 'subtree', root: 'unknown' })).toEqual([])
})
