// The daemon's handling of effects when time passes between an effect and its result.
import { expect, test } from 'vitest'
import { EffectPerformer } from '../../../../src/daemon/incarnation/perform.ts'
import { Sampler } from '../../../../src/daemon/incarnation/sampler.ts'
import type { Credentials } from '../../../../src/daemon/incarnation/credentials.ts'
import type { ContainmentManager } from '../../../../src/drivers/contain/containment-contract.ts'
import { openCore, waitUntilSettled } from '../../../support/kernel/daemon-core.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'
import { uuidOf } from '../../../support/store/facts.ts'
import { tempDir } from '../../../support/tmp.ts'

const A = uuidOf(1)

test('keys that are found after the end of their process are forgotten', async () => {
  await using dir = await tempDir()
  const foundKeys = Promise.withResolvers<{ values: Record<string, string>; missing: string[] }>()
  const keptKeys = new Set<string>()
  const resolveKeys: Credentials['resolveAndKeep'] = async ({ uuid }) => foundKeys.promise.finally(() => keptKeys.add(uuid))
  const credentials = { of: resolveKeys, forget: (uuid: string) => void keptKeys.delete(uuid) } as unknown as Credentials
  const containments = { plan: () => ({ kind: 'group', path: null, marker: 'm' }) } as unknown as ContainmentManager
  let incarnations: EffectPerformer | null = null
  await using core = await openCore({
    dir: dir.path,
    perform: (effect) => {
      if (effect.type === 'start' || effect.type === 'release') incarnations?.perform(effect)
    },
  })
  incarnations = new EffectPerformer({
    apiSockets: { open: async () => undefined, close: () => {} },
    ...core,
    containments,
    drivers: {},
    recordOutput: () => undefined,
    sampler: new Sampler({ ...core, get: () => undefined, report: () => undefined, log: () => undefined }),
    tmpDir: dir.path,
    keys: credentials,
    gateways: { decide: () => null, open: () => Promise.reject(new Error('not requested here')) },
    worktrees: { openFor: () => null },
    composeNodes: { start: () => undefined },
    crewJobs: { perform: () => undefined },
    toolService: { openAccess: () => null },
    log: () => undefined,
  })
  incarnations.connect(core.pipeline)
  await core.pipeline.request({ type: 'spawn', by: 'user', uuid: A, parent: null, spec: kernelSpec({ credentials: ['KEY'] }) })
  await core.pipeline.request({ type: 'signal', by: 'user', uuid: A, signal: 'SIGKILL', subtree: false, graceMs: null, freeze: false })
  expect(core.table.get(A)).toBeUndefined()
  foundKeys.resolve({ values: { KEY: 'secret' }, missing: [] })
  await waitUntilSettled()
  expect([...keptKeys]).toEqual([])
})
