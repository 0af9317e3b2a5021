// A packed row against the row: whatever it is and whatever is written in it, unpacked it is the same, and rows that are alike share.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Packer } from '../../src/daemon/packed.ts'
import { Episode } from '../support/kernel/episode.ts'
import { seeded } from '../support/kernel/random.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import type { Process } from '../../src/kernel/types.ts'

/** The rows at the end of a life by chance. */
function rows(seed: number): Process[] {
  const pick = seeded(seed)
  const episode = new Episode()
  while (episode.inputs < 120) episode.play(pick)
  episode.world.commit()
  return [...episode.world.table.rows()]
}

const word = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('running', '0', '"', '\\', '\\"', '":', '"x":1', '\u0000', '[1,2]', 'a\u0000b'))
const number = fc.oneof(fc.constantFrom(0, -1, 1e-7, 1.5e300, Number.MAX_SAFE_INTEGER), fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0))

test('a row comes out of its packing as it was', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), word, word, number, (seed, one, other, some) => {
      const packer = new Packer()
      for (const row of rows(seed)) {
        const spec = { ...row.spec, name: one, intent: other, cwd: other, system: one, env: { [one]: other }, limits: { budgetUsd: some } }
        const odd = { ...row, spec, note: one, progress: { ...row.progress, lastText: other }, usage: { ...row.usage, costUsd: some } }
        for (const process of [row, odd]) expect(packer.pack(process).unpack()).toEqual(process)
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)

test('processes of one agent have one shape, which goes with the last of them', () => {
  const [row] = rows(1)
  const packer = new Packer()
  const packed = Array.from({ length: 20 }, (_, i) => packer.pack({
    ...row as Process, uuid: `p${i}`, pid: 100 + i, spec: kernelSpec({ name: `n${i}`, intent: `work ${i}`, cwd: `/home/${i}` }), note: `note ${i}`, seq: 9 + i,
  }))
  expect(packer.size).toBe(1)
  expect(packed.map((one) => one.unpack().spec.limits === packed[0]?.shape.spec.limits)).not.toContain(false)
  for (const one of packed.slice(1)) packer.drop(one)
  expect(packer.size).toBe(1)
  for (const one of packed.slice(0, 1)) packer.drop(one)
  expect(packer.size).toBe(0)
})
