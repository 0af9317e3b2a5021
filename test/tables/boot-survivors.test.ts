// What a daemon's start cannot end, a process that waits in the kernel for a dead disk say: its row stays a zombie and it is
// tried again until it is gone. The container is the test's own, as no test has such a program.
import { expect, test } from 'vitest'
import { bootAll } from '../../src/daemon/boot.ts'
import { Incarnations } from '../../src/daemon/incarnations.ts'
import { Sampler } from '../../src/daemon/sampler.ts'
import type { Keys } from '../../src/daemon/keys.ts'
import type { Container, StopResult } from '../../src/drivers/contain/contain.ts'
import { journalOf, openCore, settled } from '../support/kernel/daemon-core.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import { uuidOf } from '../support/store-facts.ts'
import { tempDir } from '../support/tmp.ts'

const A = uuidOf(1)
const RETRY_MS = 5_000
const SURVIVED: StopResult = { outcome: 'survived', survivors: [77] }

test('what survives the start of a daemon is tried again until it has ended', async () => {
  await using dir = await tempDir()
  {
    await using core = await openCore({ dir: dir.path })
    await core.pipeline.request({ type: 'spawn', by: 'user', uuid: A, parent: null, spec: kernelSpec({ driver: 'command', argv: ['x'] }) })
    core.pipeline.submit({ type: 'start', uuid: A, pid: 1, containment: { kind: 'group', path: null, marker: 'm' }, missingKeys: [] })
  }
  const results: StopResult[] = [SURVIVED, SURVIVED, SURVIVED]
  const container = { recover: async () => results.shift() ?? { outcome: 'killed', survivors: [] } } as unknown as Container
  const keys = { forget: () => undefined } as unknown as Keys
  let incarnations: Incarnations | null = null
  await using core = await openCore({ dir: dir.path, perform: (effect) => { if (effect.type === 'release') incarnations?.perform(effect) } })
  incarnations = new Incarnations({ ...core, container, drivers: {}, heard: () => undefined, sampler: new Sampler({ ...core, get: () => undefined, tell: () => undefined, log: () => undefined }), tmpDir: dir.path, keys, gateways: { decide: () => null, open: () => Promise.reject(new Error('nobody asks for it')) }, worktrees: { of: () => null }, composeNodes: { start: () => undefined }, desk: { seatFor: () => null }, log: () => undefined })
  incarnations.connect(core.pipeline)
  await bootAll({ ...core, container })
  for (let tries = 0; tries < 2; tries += 1) {
    await settled()
    expect(core.table.get(A)?.life.state).toBe('zombie')
    core.clock.wind(RETRY_MS)
  }
  await settled()
  await core.pipeline.idle()
  expect((await core.store.process(A))?.life.state).toBe('dead')
  const said = (await journalOf(core, A)).flatMap(({ body }) => (body.type === 'process.error' ? [body.message] : []))
  expect(said).toEqual(['still alive: 77', 'still alive after the kill: 77'])
})
