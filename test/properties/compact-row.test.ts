// Packed rows. Unpacking restores the row, whatever its texts and numbers are, and the rows of one agent share memory.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RowPacker } from '../../src/daemon/loop/compact-row.ts'
import { RandomRun } from '../support/kernel/random-run.ts'
import { makeSeededPick } from '../support/kernel/random-inputs.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import type { Process } from '../../src/kernel/model/process.ts'
import { changedSpec } from '../support/spec-changes.ts'

/** The rows at the end of a random life. */
function rowsOfLife(seed: number): Process[] {
  const pick = makeSeededPick(seed)
  const run = new RandomRun()
  while (run.inputs < 120) run.play(pick)
  run.world.commit()
  return [...run.world.table.rows()]
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('running', '0', '"', '\\', '\\"', '":', '"x":1', '\u0000', '[1,2]', 'a\u0000b'),
)
const number = fc.oneof(
  fc.constantFrom(0, -1, 1e-7, 1.5e300, Number.MAX_SAFE_INTEGER),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
)

test('an unpacked row equals the row before it was packed', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), text, text, number, (seed, firstText, secondText, amount) => {
      const packer = new RowPacker()
      for (const row of rowsOfLife(seed)) {
        const spec = changedSpec(row.spec, {
          name: firstText,
          intent: secondText,
          cwd: secondText,
          system: firstText,
          env: { [firstText]: secondText },
          limits: { budgetUsd: amount },
        })
        const changedRow = {
          ...row,
          spec,
          note: firstText,
          progress: { ...row.progress, lastText: secondText },
          usage: { ...row.usage, costUsd: amount },
        }
        for (const process of [row, changedRow]) expect(packer.pack(process).unpack()).toEqual(process)
      }
    }),
    { numRuns: 60 },
  )
})

test('processes of one agent share one shape, which is freed with the last of them', () => {
  const [row] = rowsOfLife(1)
  const packer = new RowPacker()
  const packed = Array.from({ length: 20 }, (_, i) =>
    packer.pack({
      ...(row as Process),
      uuid: `p${i}`,
      pid: 100 + i,
      spec: kernelSpec({ name: `n${i}`, intent: `work ${i}`, cwd: `/home/${i}` }),
      note: `note ${i}`,
      seq: 9 + i,
    }),
  )
  expect(packer.size).toBe(1)
  expect(packed.map((packedRow) => packedRow.unpack().spec.limits === packed[0]?.shape.spec.limits)).not.toContain(false)
  for (const packedRow of packed.slice(1)) packer.release(packedRow)
  expect(packer.size).toBe(1)
  for (const packedRow of packed.slice(0, 1)) packer.release(packedRow)
  expect(packer.size).toBe(0)
})
