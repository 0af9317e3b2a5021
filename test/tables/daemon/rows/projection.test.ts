// Rows that change although their own process does not: through the name of a process that they wait for, a limit of an ancestor, and
// their descendants. test/properties/rows.test.ts has random histories.
import { expect, test } from 'vitest'
import { WorkTracker } from '../../../../src/daemon/rows/doing.ts'
import { Projection } from '../../../../src/daemon/rows/projection.ts'
import { EventLoopTurns } from '../../../../src/drivers/common/event-loop-turns.ts'
import type { RowView } from '../../../../src/api/views/rows.ts'
import type { InputBody } from '../../../../src/kernel/model/inputs.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import type { Signal } from '../../../../src/kernel/model/words.ts'
import { kernelSpec, World } from '../../../support/kernel/world.ts'

const ALL = { of: 'all' } as const

/** A tree of three processes: `root` has spawned `child`, and `child` has spawned `leaf`. */
async function openWorktree(): Promise<{
  readonly projection: Projection
  readonly row: (uuid: string) => RowView | undefined
  /** decides inputs, commits them, and returns the UUIDs of the changed rows */
  readonly play: (...inputs: readonly InputBody[]) => Promise<string[]>
  readonly world: World
  /** opens another projection of the same rows; `onRead` is called after its read of the ended processes */
  readonly openAnother: (onRead: (projection: Projection) => void) => Promise<Projection>
}> {
  const world = new World()
  const dead = new Map<string, Process>()
  const work = new WorkTracker()
  let cursor = 0
  const make = (onRead: () => void): Projection =>
    new Projection({
      table: world.table,
      store: {
        dead: async () => {
          const found = [...dead.values()]
          onRead()
          return found
        },
        process: async (uuid) => dead.get(uuid),
      },
      work,
      clock: { now: () => ({ wall: world.wall, mono: world.mono }) } as never,
      slices: new EventLoopTurns().newQueue(),
      cursor: () => cursor,
      keepMs: 86_400_000,
    })
  const projection = make(() => {})
  const openAnother = async (onRead: (projection: Projection) => void): Promise<Projection> => {
    const another: Projection = make(() => onRead(another))
    await another.open()
    return another
  }
  world.onCommit = (facts, processes) => {
    work.onFacts(facts.map((fact) => ({ ...fact, cursor: (cursor += 1) })))
    for (const process of processes) if (process.life.state === 'dead') dead.set(process.uuid, process)
    projection.onCommit(processes)
  }
  const play = async (...inputs: readonly InputBody[]): Promise<string[]> => {
    for (const input of inputs) world.step(input)
    world.commit()
    return (await projection.flush())?.changes.map(({ uuid }) => uuid).toSorted() ?? []
  }
  const spawn = (uuid: string, parent: string | null): InputBody => ({
    type: 'spawn',
    reply: 0,
    by: 'user',
    uuid,
    parent,
    spec: kernelSpec({ name: uuid, interactive: true }),
  })
  await play(spawn('root', null), spawn('child', 'root'), spawn('leaf', 'child'))
  return { projection, play, world, openAnother, row: (uuid) => projection.rows(ALL).find((each) => each.uuid === uuid) }
}

function signal(uuid: string, name: Signal, subtree: boolean): InputBody {
  return { type: 'signal', reply: 0, by: 'user', uuid, signal: name, subtree, graceMs: null, freeze: false }
}
const pause = (uuid: string, subtree: boolean): InputBody => signal(uuid, 'SIGPAUSE', subtree)

test('a renamed process changes the rows that wait for it', async () => {
  const { play, row, world } = await openWorktree()
  await play(pause('root', true))
  expect(row('leaf')?.why?.text ?? '').toContain('root')
  const process = world.table.get('root')
  if (!process) throw new Error('no root')
  const renamed: Process = { ...process, spec: { ...process.spec, name: 'renamed' }, seq: process.seq + 1 }
  world.overlay.put(renamed)
  expect(await play()).toEqual(['child', 'leaf', 'root'])
  expect(row('leaf')?.why?.text ?? '').toContain('renamed')
})

test('the row of a process with a limit shows it, and the rows below name that process', async () => {
  const { play, row, world } = await openWorktree()
  expect([row('root')?.budgetOf, row('leaf')?.budgetOf]).toEqual([null, null])
  const process = world.table.get('root')
  if (!process) throw new Error('no root')
  world.overlay.put({ ...process, spec: { ...process.spec, limits: { budgetUsd: 2 } }, seq: process.seq + 1 })
  expect(await play()).toEqual(['child', 'leaf', 'root'])
  expect(row('root')).toMatchObject({ budgetOf: 'root', budget: { limit: 'budgetUsd', used: 0, of: 2, warnAt: 0.8 } })
  expect(row('leaf')).toMatchObject({ budgetOf: 'root', budget: null })
})

test('an ended process keeps its row while a descendant lives, and loses it when `keepMs` has passed after the last end', async () => {
  const { play, row, world, projection } = await openWorktree()
  await play(pause('child', true))
  expect(row('root')?.sub).toMatchObject({ live: 3, held: 2 })
  await play(signal('child', 'SIGKILL', false))
  const child = world.table.get('child')
  if (child?.life.state === 'zombie') await play({ type: 'released', uuid: 'child', pid: child.pid, survivors: [] })
  expect(row('child')).toMatchObject({ status: 'stopped', why: null, sub: { live: 1 } })
  expect(row('root')?.sub).toMatchObject({ live: 2 })
  world.wind(2 * 86_400_000)
  projection.expire()
  expect(await projection.flush()).toBeNull()
  await play(signal('leaf', 'SIGKILL', false))
  const leaf = world.table.get('leaf')
  if (leaf?.life.state === 'zombie') await play({ type: 'released', uuid: 'leaf', pid: leaf.pid, survivors: [] })
  projection.expire()
  expect(row('leaf')).toMatchObject({ status: 'stopped' })
  world.wind(2 * 86_400_000)
  projection.expire()
  projection.expire()
  await projection.flush()
  expect(projection.rows(ALL).map(({ uuid }) => uuid)).toEqual(['root'])
  expect(row('root')?.sub).toMatchObject({ live: 1, failed: 0 })
})

test('a process that is removed while the rows are loaded has no row', async () => {
  const { play, world, openAnother } = await openWorktree()
  await play(signal('leaf', 'SIGKILL', false))
  const leaf = world.table.get('leaf')
  if (leaf?.life.state === 'zombie') await play({ type: 'released', uuid: 'leaf', pid: leaf.pid, survivors: [] })
  const uuidsAfter = async (onRead: (projection: Projection) => void): Promise<string[]> =>
    (await openAnother(onRead)).rows(ALL).map(({ uuid }) => uuid)
  expect(await uuidsAfter(() => {})).toEqual(['child', 'leaf', 'root'])
  expect(await uuidsAfter((projection) => projection.remove('leaf'))).toEqual(['child', 'root'])
})

test('a removal is told also if the row was dropped before, because its process ended too long ago', async () => {
  const { play, world, projection } = await openWorktree()
  await play(signal('leaf', 'SIGKILL', false))
  const leaf = world.table.get('leaf')
  if (leaf?.life.state === 'zombie') await play({ type: 'released', uuid: 'leaf', pid: leaf.pid, survivors: [] })
  const cursors = [projection.cursor]
  world.wind(2 * 86_400_000)
  projection.expire()
  expect((await projection.flush())?.removed).toEqual([])
  cursors.push(projection.cursor)
  projection.remove('leaf')
  expect(await projection.flush()).toMatchObject({ changes: [], removed: ['leaf'] })
  expect(cursors.map((cursor) => projection.since(cursor, ALL))).toMatchObject([
    { gone: ['leaf'], removed: ['leaf'] },
    { gone: ['leaf'], removed: ['leaf'] },
  ])
  expect(projection.since(projection.cursor, ALL)).toMatchObject({ gone: [], removed: [] })
})

test('an old row stays while a viewer keeps it, and goes with the last of them', async () => {
  const { play, world, projection, row } = await openWorktree()
  await play(signal('leaf', 'SIGKILL', false))
  const leaf = world.table.get('leaf')
  if (leaf?.life.state === 'zombie') await play({ type: 'released', uuid: 'leaf', pid: leaf.pid, survivors: [] })
  for (const _viewer of [1, 2]) projection.keep('leaf')
  world.wind(2 * 86_400_000)
  const isKept = async (): Promise<boolean> => {
    projection.expire()
    await projection.flush()
    return row('leaf') !== undefined
  }
  expect(await isKept()).toBe(true)
  projection.release('leaf')
  expect(await isKept()).toBe(true)
  projection.release('leaf')
  expect(await isKept()).toBe(false)
})
