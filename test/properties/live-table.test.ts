// Compares the live table and its overlays with a plain list of rows. Random rows are overlaid, applied and packed, in batches of any size.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Table } from '../../src/daemon/loop/table.ts'
import { Overlay } from '../../src/kernel/state/live-table.ts'
import { RandomRun } from '../support/kernel/random-run.ts'
import { compareIndexesWithRows } from '../support/kernel/compare-with-model.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import type { Process } from '../../src/kernel/model/process.ts'
import type { LiveTable } from '../../src/kernel/state/live-table.ts'

const isCounted = ({ life }: Process): boolean => life.state === 'created' || (life.state === 'running' && life.holds.length === 0)

/** Every value of any row in a random life, in order. */
function valuesOfLife(seed: number): Process[] {
  const run = new RandomRun()
  const pick = makeSeededPick(seed)
  const values: Process[] = []
  const step = run.world.step.bind(run.world)
  run.world.step = (body) => {
    const decision = step(body)
    values.push(...decision.changes.processes.values())
    return decision
  }
  while (run.inputs < 120) run.play(pick)
  return values
}

const sortByUuid = (rows: Iterable<Process>): Process[] => [...rows].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))

function expectSameRows(view: LiveTable, rows: ReadonlyMap<string, Process>): void {
  const livingRows = [...rows.values()].filter(({ life }) => life.state !== 'dead')
  expect([...view.all()].toSorted()).toEqual(livingRows.map(({ uuid }) => uuid).toSorted())
  for (const row of rows.values()) expect(view.get(row.uuid)).toEqual(row.life.state === 'dead' ? undefined : row)
  expect(view.activeCount).toBe(livingRows.filter(isCounted).length)
  expect(compareIndexesWithRows(view)).toBeNull()
}

test('table and overlays show the same as a list of rows', () => {
  fc.assert(
    fc.property(
      fc.nat(1_000_000),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean(), fc.boolean()), { minLength: 1 }),
      (seed, batches) => {
        const remainingValues = valuesOfLife(seed)
        const table = new Table(100)
        const rows = new Map<string, Process>()
        for (let batch = 0; remainingValues.length > 0; batch += 1) {
          const [size, nested, packs] = batches[batch % batches.length] ?? [1, false, false]
          const overlay = new Overlay(table)
          const inner = nested ? new Overlay(overlay) : overlay
          const batchValues = remainingValues.splice(0, size)
          for (const process of batchValues) {
            inner.put(process)
            rows.set(process.uuid, process)
          }
          expectSameRows(inner, rows)
          for (const process of inner.processes.values()) overlay.put(process)
          table.apply(overlay.processes.values(), Math.max(table.lastPid, ...batchValues.map(({ pid }) => pid)))
          if (packs) table.pack()
          expectSameRows(table, rows)
          const livingRows = [...rows.values()].filter(({ life }) => life.state !== 'dead')
          for (const row of livingRows) {
            expect(table.byPid(row.pid)).toEqual(row)
            expect(table.lastSeq(row.uuid)).toBe(row.seq)
          }
          expect(sortByUuid(table.rows())).toEqual(sortByUuid(livingRows))
          expect(table.size).toBe(livingRows.length)
          expect(table.suspended).toBe(livingRows.filter(({ life }) => life.state === 'running' && life.holds.length > 0).length)
          expect(table.runningUuids().toSorted()).toEqual(
            livingRows
              .filter(isCounted)
              .map(({ uuid }) => uuid)
              .toSorted(),
          )
        }
      },
    ),
    { numRuns: 60 },
  )
})
