// What the daemon does with the kernel's effects where time lies between the effect and what comes of it.
import { expect, test } from 'vitest'
import { Incarnations } from '../../src/daemon/incarnations.ts'
import { Sampler } from '../../src/daemon/sampler.ts'
import type { Keys } from '../../src/daemon/keys.ts'
import type { Container } from '../../src/drivers/contain/contain.ts'
import { openCore, settled } from '../support/kernel/daemon-core.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import { uuidOf } from '../support/store-facts.ts'
import { tempDir } from '../support/tmp.ts'

const A = uuidOf(1)

test('keys that are found after the end of their process are forgotten', async () => {
  await using dir = await tempDir()
  const found = Promise.withResolvers<{ values: Record<string, string>; missing: string[] }>()
  const kept = new Set<string>()
  const of: Keys['of'] = async ({ uuid }) => found.promise.finally(() => kept.add(uuid))
  const keys = { of, forget: (uuid: string) => void kept.delete(uuid) } as unknown as Keys
  const container = { plan: () => ({ kind: 'group', path: null, marker: 'm' }) } as unknown as Container
  let incarnations: Incarnations | null = null
  await using core = await openCore({ dir: dir.path, perform: (effect) => { if (effect.type === 'start' || effect.type === 'release') incarnations?.perform(effect) } })
  incarnations = new Incarnations({ ...core, container, drivers: {}, heard: () => undefined, sampler: new Sampler({ ...core, get: () => undefined, tell: () => undefined, log: () => undefined }), tmpDir: dir.path, keys, gateways: { decide: () => null, open: () => Promise.reject(new Error('nobody asks for it')) }, worktrees: { of: () => null }, composeNodes: { start: () => undefined }, desk: { seatFor: () => null }, log: () => undefined })
  incarnations.connect(core.pipeline)
  await core.pipeline.request({ type: 'spawn', by: 'user', uuid: A, parent: null, spec: kernelSpec({ credentials: ['KEY'] }) })
  await core.pipeline.request({ type: 'signal', by: 'user', uuid: A, signal: 'SIGKILL', subtree: false, graceMs: null, freeze: false })
  expect(core.table.get(A)).toBeUndefined()
  found.resolve({ values: { KEY: 'secret' }, missing: [] })
  await settled()
  expect([...kept]).toEqual([])
})
