// The live table and the overlay against a dumb list of rows: whatever is laid over, applied and packed, in batches of any size.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Table } from '../../src/daemon/table.ts'
import { Overlay } from '../../src/kernel/view.ts'
import { Episode } from '../support/kernel/episode.ts'
import { compareIndexes } from '../support/kernel/compare.ts'
import { seeded } from '../support/kernel/random.ts'
import type { Process } from '../../src/kernel/types.ts'
import type { View } from '../../src/kernel/view.ts'

const counts = ({ life }: Process): boolean => life.state === 'created' || (life.state === 'running' && life.holds.length === 0)

/** Every value that any row had in a life by chance, in order. */
function values(seed: number): Process[] {
  const episode = new Episode()
  const pick = seeded(seed)
  const found: Process[] = []
  const step = episode.world.step.bind(episode.world)
  episode.world.step = (body) => {
    const decision = step(body)
    found.push(...decision.changes.processes.values())
    return decision
  }
  while (episode.inputs < 120) episode.play(pick)
  return found
}

const byUuid = (rows: Iterable<Process>): Process[] => [...rows].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))

function expectSame(view: View, rows: ReadonlyMap<string, Process>): void {
  const living = [...rows.values()].filter(({ life }) => life.state !== 'dead')
  expect([...view.all()].toSorted()).toEqual(living.map(({ uuid }) => uuid).toSorted())
  for (const row of rows.values()) expect(view.get(row.uuid)).toEqual(row.life.state === 'dead' ? undefined : row)
  expect(view.active).toBe(living.filter(counts).length)
  expect(compareIndexes(view)).toBeNull()
}

test('table and overlays show what a list of rows shows', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean(), fc.boolean()), { minLength: 1 }), (seed, batches) => {
      const all = values(seed)
      const table = new Table(100)
      const rows = new Map<string, Process>()
      for (let batch = 0; all.length > 0; batch += 1) {
        const [size, nested, packs] = batches[batch % batches.length] ?? [1, false, false]
        const overlay = new Overlay(table)
        const inner = nested ? new Overlay(overlay) : overlay
        const taken = all.splice(0, size)
        for (const process of taken) {
          inner.put(process)
          rows.set(process.uuid, process)
        }
        expectSame(inner, rows)
        for (const process of inner.processes.values()) overlay.put(process)
        table.apply(overlay.processes.values(), Math.max(table.lastPid, ...taken.map(({ pid }) => pid)))
        if (packs) table.pack()
        expectSame(table, rows)
        const living = [...rows.values()].filter(({ life }) => life.state !== 'dead')
        for (const row of living) {
          expect(table.byPid(row.pid)).toEqual(row)
          expect(table.seq(row.uuid)).toBe(row.seq)
        }
        expect(byUuid(table.rows())).toEqual(byUuid(living))
        expect(table.size).toBe(living.length)
        expect(table.suspended).toBe(living.filter(({ life }) => life.state === 'running' && life.holds.length > 0).length)
        expect(table.running().toSorted()).toEqual(living.filter(counts).map(({ uuid }) => uuid).toSorted())
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)
