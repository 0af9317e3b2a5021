// EffectPerformer: a process ends while its keys are still being looked up.
import { expect, test } from 'vitest'
import { EffectPerformer } from '../../../../src/daemon/incarnation/effect-performer.ts'
import { Sampler } from '../../../../src/daemon/incarnation/sampler.ts'
import { StartInputs } from '../../../../src/daemon/incarnation/start-inputs.ts'
import type { ContainmentManager } from '../../../../src/drivers/contain/containment-contract.ts'
import { openCore } from '../../../support/kernel/daemon-core.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'
import { uuidOf } from '../../../support/store/facts.ts'
import { tempDir } from '../../../support/tmp.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const A = uuidOf(1)

test('keys that are found after the end of their process are forgotten', async () => {
  await using dir = await tempDir()
  const foundKeys = Promise.withResolvers<{ values: Record<string, string>; missing: string[] }>()
  const events: string[] = []
  const credentials: ConstructorParameters<typeof EffectPerformer>[0]['credentials'] = {
    resolveAndKeep: async () => {
      const found = await foundKeys.promise
      events.push('kept')
      return found
    },
    forget: () => void events.push('forgotten'),
    storedKeys: () => ({}),
    inputs: new StartInputs(),
  }
  const containments = { plan: () => ({ kind: 'group', path: null, marker: 'm' }) } as unknown as ContainmentManager
  let performer: EffectPerformer | null = null
  await using core = await openCore({
    dir: dir.path,
    perform: (effect) => {
      if (effect.type === 'start' || effect.type === 'release') performer?.perform(effect)
    },
  })
  performer = new EffectPerformer({
    apiSockets: { open: async () => undefined, close: () => {} },
    ...core,
    containments,
    drivers: {},
    recordActivity: () => undefined,
    sampler: new Sampler({ ...core, get: () => undefined, report: () => undefined, log: () => undefined }),
    tmpDir: dir.path,
    credentials,
    gateways: { decide: () => null, open: () => Promise.reject(new Error('not requested here')) },
    worktrees: { openFor: () => null },
    nodeStarter: { start: () => undefined },
    crewJobs: { perform: () => undefined },
    toolService: { openAccess: () => null },
    log: () => undefined,
  })
  performer.connect(core.pipeline)
  await core.pipeline.request({ type: 'spawn', by: 'user', uuid: A, parent: null, spec: kernelSpec({ credentials: ['KEY'] }) })
  await core.pipeline.request({ type: 'signal', by: 'user', uuid: A, signal: 'SIGKILL', subtree: false, graceMs: null, freeze: false })
  expect(core.table.get(A)).toBeUndefined()
  foundKeys.resolve({ values: { KEY: 'secret' }, missing: [] })
  await waitUntil(() => events.length > 2, 'the keys are kept and forgotten')
  expect(events).toEqual(['forgotten', 'kept', 'forgotten'])
  expect(core.logged).toEqual([])
})
